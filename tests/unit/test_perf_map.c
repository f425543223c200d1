/* SPDX-License-Identifier: MIT */
/* Maps of generated code: lines, what overlaps, and what is no line. */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "report/symbol/perf_map.h"
#include "tests/lib/random.h"

static void assert_name(const struct perf_map *map, uint64_t addr,
			const char *name)
{
	const struct perf_map_entry *entry = perf_map_find(map, addr);

	if (!name) {
		assert_null(entry);
		return;
	}
	assert_non_null(entry);
	assert_int_equal(entry->name_len, strlen(name));
	assert_memory_equal(entry->name, name, entry->name_len);
}

static void fill(struct perf_map *map, const char *text)
{
	*map = (struct perf_map){ 0 };
	assert_int_equal(perf_map_add(map, text, strlen(text)), 0);
	assert_int_equal(perf_map_ready(map), 0);
}

static void test_lines(void **state)
{
	struct perf_map map;

	(void)state;
	fill(&map, "1000 10 one\n"
		   "0x2000 0xA LazyCompile:~two /a b.js:1:2\r\n"
		   "3000 10 three");
	assert_name(&map, 0xfff, NULL);
	assert_name(&map, 0x1000, "one");
	assert_name(&map, 0x100f, "one");
	assert_name(&map, 0x1010, NULL);
	assert_name(&map, 0x2009, "LazyCompile:~two /a b.js:1:2");
	assert_name(&map, 0x200a, NULL);
	assert_name(&map, 0x3001, "three");
	perf_map_done(&map);
	fill(&map, "");
	assert_name(&map, 0, NULL);
	assert_name(&map, UINT64_MAX, NULL);
	perf_map_done(&map);
}

static void test_last_line_counts(void **state)
{
	struct perf_map map;

	(void)state;
	fill(&map, "1000 100 old\n"
		   "1040 20 inside\n"
		   "10f0 20 behind\n"
		   "1050 20 over two\n"
		   "1000 10 start again\n");
	assert_name(&map, 0x1000, "start again");
	assert_name(&map, 0x1010, "old");
	assert_name(&map, 0x1040, "inside");
	assert_name(&map, 0x104f, "inside");
	assert_name(&map, 0x1050, "over two");
	assert_name(&map, 0x1070, "old");
	assert_name(&map, 0x10ef, "old");
	assert_name(&map, 0x10f0, "behind");
	assert_name(&map, 0x110f, "behind");
	assert_name(&map, 0x1110, NULL);
	perf_map_done(&map);
}

static void test_no_lines(void **state)
{
	static const char *const texts[] = {
		"\n\n \n",
		"1000\n",
		"1000 10\n",
		"1000 10 \n",
		"1000 10 \r\n",
		"1000 0 empty\n",
		"g000 10 no number\n",
		" 1000 10 space first\n",
		"1000  10 two spaces\n",
		"-1000 10 sign\n",
		"0x 10 no digits\n",
		"11112222333344445 10 too long\n",
		"1000000000000 10 beyond 48 bits\n",
		"fffffffffff0 11 ends beyond them\n",
		"1000 ffffffffffffffff wraps around\n",
		"1000\t10\ttabs\n",
	};
	struct perf_map map;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		fill(&map, texts[i]);
		assert_int_equal(map.count, 0);
		assert_name(&map, 0x1000, NULL);
		perf_map_done(&map);
	}
	fill(&map, "fffffffffff0 10 last\nffff 1 \xff\x01\n");
	assert_name(&map, 0xffffffffffff, "last");
	assert_name(&map, 0xffff, "\xff\x01");
	perf_map_done(&map);
}

static void test_long_name(void **state)
{
	enum { LONG = 100000 };
	char *text = malloc(LONG + 1);
	struct perf_map map;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', LONG);
	text[LONG] = '\0';
	memcpy(text, "1000 10 ", 8);
	fill(&map, text);
	assert_int_equal(map.count, 1);
	assert_in_range(map.items[0].name_len, 1, 4096);
	perf_map_done(&map);
	free(text);
}

/* Against the definition: the last line that covers an address. */
static void test_against_search(void **state)
{
	enum { LINES = 200, ADDRESSES = 300, ROUNDS = 50 };
	struct random random = { 1 };
	static char text[LINES * 40];

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t starts[LINES], sizes[LINES];
		struct perf_map map;
		size_t len = 0;

		for (int i = 0; i < LINES; i++) {
			starts[i] = random_below(&random, ADDRESSES);
			sizes[i] = 1 + random_below(&random, 1 + (unsigned)i);
			len += (size_t)snprintf(
				text + len, sizeof(text) - len,
				"%lx %lx f%d\n", (unsigned long)starts[i],
				(unsigned long)sizes[i], i);
		}
		fill(&map, text);
		for (uint64_t addr = 0; addr < 2 * ADDRESSES; addr++) {
			const struct perf_map_entry *entry =
				perf_map_find(&map, addr);
			int last = LINES;

			while (last-- > 0)
				if (addr - starts[last] < sizes[last])
					break;
			if (last < 0)
				assert_null(entry);
			else
				assert_ptr_equal(entry, &map.items[last]);
		}
		perf_map_done(&map);
	}
}

/* A hundred thousand lines for one place, newest first or last: no line is
   looked at again and again. */
static void test_many_for_one_place(void **state)
{
	enum { LINES = 100000, LINE_BYTES = 24 };
	char *text = malloc((size_t)LINES * LINE_BYTES + 1);
	struct perf_map map;
	size_t len = 0;

	(void)state;
	assert_non_null(text);
	for (unsigned i = 0; i < LINES; i++)
		len += (size_t)snprintf(text + len, LINE_BYTES + 1,
					"%x %x f\n", 0x100000 - i, 2 * i + 1);
	fill(&map, text);
	assert_ptr_equal(perf_map_find(&map, 0x100000),
			 &map.items[LINES - 1]);
	perf_map_done(&map);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_last_line_counts),
		cmocka_unit_test(test_no_lines),
		cmocka_unit_test(test_long_name),
		cmocka_unit_test(test_against_search),
		cmocka_unit_test(test_many_for_one_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
