/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/memory.h"

/* Kept where the compiler cannot see that they are not used. */
static void *volatile kept;

static void skip_if_not_counted(void)
{
	if (!memory_used())
		skip();
}

static void test_count(void **state)
{
	uint64_t before;
	void *block = NULL;

	(void)state;
	kept = malloc(1);
	free(kept);
	kept = malloc(10);
	before = memory_used();
	free(kept);
	skip_if_not_counted();
	assert_true(before - memory_used() >= 10);
	before = memory_used();
	kept = malloc(100000);
	assert_in_range(memory_used() - before, 100000, 110000);
	kept = realloc(kept, 300000);
	assert_in_range(memory_used() - before, 300000, 310000);
	kept = realloc(kept, 1000);
	assert_in_range(memory_used() - before, 1000, 8192);
	free(kept);
	kept = calloc(1000, 1000);
	assert_in_range(memory_used() - before, 1000000, 1010000);
	free(kept);
	kept = strdup("the C library allocates too");
	assert_true(memory_used() > before);
	free(kept);
	assert_int_equal(posix_memalign(&block, 4096, 5000), 0);
	kept = block;
	assert_int_equal((uintptr_t)kept % 4096, 0);
	assert_true(memory_used() - before >= 5000);
	free(kept);
	assert_int_equal(memory_used(), before);
}

static void test_limit(void **state)
{
	const size_t mib = 1 << 20;
	void *small;
	volatile size_t many = SIZE_MAX / 2;

	(void)state;
	kept = malloc(100);
	skip_if_not_counted();
	assert_int_equal(memory_limit(), MEMORY_NO_LIMIT);
	assert_int_equal(memory_share(4, 1000), 1000);
	memory_set_limit(memory_used() + mib);
	kept = realloc(kept, mib / 2);
	assert_non_null(kept);
	assert_false(memory_refused());
	errno = 0;
	memory_set_phase("all");
	assert_null(malloc(mib));
	assert_int_equal(errno, ENOMEM);
	assert_true(memory_refused());
	assert_int_equal(memory_refusal().bytes, mib);
	assert_int_equal(memory_refusal().used, memory_used());
	assert_string_equal(memory_refusal().purpose, "all");
	memory_set_purpose("one");
	assert_null(realloc(kept, 2 * mib));
	assert_null(calloc(3, mib));
	assert_null(calloc(many, 4));
	/* The first one tells most. */
	assert_int_equal(memory_refusal().bytes, mib);
	assert_string_equal(memory_refusal().purpose, "all");
	assert_true(memory_share(4, mib) < mib);
	free(kept);
	kept = malloc(mib * 3 / 4);
	assert_non_null(kept);
	memory_forgive();
	assert_null(memory_refusal().purpose);
	assert_null(malloc(mib / 2));
	assert_string_equal(memory_refusal().purpose, "one");
	memory_set_purpose(NULL);
	memory_set_phase(NULL);
	memory_forgive();
	/* Small ones are granted, and noted. */
	memory_set_limit(memory_used());
	small = malloc(1000);
	assert_non_null(small);
	assert_int_equal(memory_refusal().bytes, 1000);
	free(small);
	free(kept);
	memory_set_limit(MEMORY_NO_LIMIT);
	memory_forgive();
	assert_false(memory_refused());
	kept = malloc(2 * mib);
	assert_non_null(kept);
	free(kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
