/* SPDX-License-Identifier: MIT */
/* docs/figures.md repeats the table of definitions, word by word. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "report/figure/definition.h"

static void test_document(void **state)
{
	FILE *file = fopen("docs/figures.md", "r");
	char expected[2048];
	char line[2048];
	size_t row = 0;

	(void)state;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		/* The table's rows, and no others, begin like this. */
		if (strncmp(line, "| `", 3) != 0)
			continue;
		assert_true(row < definition_count);
		snprintf(expected, sizeof(expected), "| `%s` | %s | %s |\n",
			 definitions[row].id, definitions[row].term,
			 definitions[row].text);
		assert_string_equal(line, expected);
		row++;
	}
	fclose(file);
	assert_int_equal(row, definition_count);
}

static void test_ids(void **state)
{
	(void)state;
	for (size_t i = 0; i < definition_count; i++) {
		const struct definition *found =
			definition_find(definitions[i].id);

		assert_ptr_equal(found, &definitions[i]);
		assert_int_equal(strspn(found->id,
					"abcdefghijklmnopqrstuvwxyz0123456789_"),
				 strlen(found->id));
		assert_true(strlen(found->text) > 10);
	}
	assert_null(definition_find("nothing"));
	assert_null(definition_find(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_document),
		cmocka_unit_test(test_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
