/* SPDX-License-Identifier: MIT */
/* Where the columns of a table go, and cells as people read them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "report/output/table_layout.h"
#include "report/output/value.h"

enum { COLUMNS = 6 };

static const struct figure_column columns[COLUMNS] = {
	{ "function", "Function", NULL, CELL_TEXT },
	{ "module", "Module", NULL, CELL_TEXT },
	{ "peak", "Peak", NULL, CELL_BYTES },
	{ "leaked", "Leaked", NULL, CELL_BYTES },
	{ "share", "Share", NULL, CELL_RATIO },
	{ "note", "Note", NULL, CELL_TEXT },
};

static void row_set(struct cell *row, uint64_t peak, uint64_t leaked,
		    double share)
{
	row[0] = cell_text("f");
	row[1] = cell_text("m");
	row[2] = cell_bytes(peak);
	row[3] = cell_bytes(leaked);
	row[4] = cell_ratio(share);
	row[5] = cell_none();
}

/* Whatever the values are, zeros and equal ones included. */
static void test_the_figure_names_the_main_column(void **state)
{
	static const size_t expected[] = { 3, 4, 2, 5 };
	static const uint64_t peaks[][3] = {
		{ 900, 800, 1 }, { 0, 0, 0 }, { 70, 20, 0 }, { 1, 2, 3 }
	};
	struct cell cells[3 * COLUMNS];
	struct figure_table table = { .columns = columns,
				      .column_count = COLUMNS,
				      .cells = cells,
				      .row_count = 3,
				      .main_key = "leaked",
				      .share_key = "share" };
	struct table_layout layout;

	(void)state;
	for (size_t i = 0; i < sizeof(peaks) / sizeof(peaks[0]); i++) {
		row_set(cells, peaks[i][0], 70, 0.7);
		row_set(cells + COLUMNS, peaks[i][1], 20, 0.2);
		row_set(cells + 2 * COLUMNS, peaks[i][2], 0, 0);
		table_layout_compute(&layout, &table);
		assert_int_equal(layout.heading, 0);
		assert_int_equal(layout.detail_count, 1);
		assert_int_equal(layout.details[0], 1);
		assert_int_equal(layout.main, 3);
		assert_false(layout.main_rises);
		assert_int_equal(layout.lead, 2);
		assert_int_equal(layout.count, 4);
		assert_memory_equal(layout.order, expected, sizeof(expected));
	}
}

/* A sum can be the main column without a share, and rise. */
static void test_main_without_share(void **state)
{
	static const size_t expected[] = { 3, 2, 4, 5 };
	struct figure_table table = { .columns = columns,
				      .column_count = COLUMNS,
				      .main_key = "leaked",
				      .main_rises = true };
	struct table_layout layout;

	(void)state;
	table_layout_compute(&layout, &table);
	assert_int_equal(layout.main, 3);
	assert_true(layout.main_rises);
	assert_int_equal(layout.lead, 1);
	assert_memory_equal(layout.order, expected, sizeof(expected));
}

/* Falling values alone make no order: the rows may be sorted by nothing. */
static void test_tables_that_name_none(void **state)
{
	static const size_t expected[] = { 2, 3, 4, 5 };
	struct cell cells[2 * COLUMNS];
	struct figure_table table = { .columns = columns,
				      .column_count = COLUMNS,
				      .cells = cells,
				      .row_count = 2 };
	struct table_layout layout;

	(void)state;
	row_set(cells, 9, 70, 0.7);
	row_set(cells + COLUMNS, 8, 20, 0.2);
	table_layout_compute(&layout, &table);
	assert_true(layout.main == TABLE_NO_COLUMN);
	assert_int_equal(layout.lead, 0);
	assert_int_equal(layout.count, 4);
	assert_memory_equal(layout.order, expected, sizeof(expected));
	table.main_key = "no column";
	table_layout_compute(&layout, &table);
	assert_true(layout.main == TABLE_NO_COLUMN);
	table.column_count = 0;
	table_layout_compute(&layout, &table);
	assert_true(layout.heading == TABLE_NO_COLUMN);
	assert_int_equal(layout.count, 0);
}

static void test_many_columns(void **state)
{
	struct figure_column many[2 * TABLE_COLUMNS_MAX];
	struct figure_table table = { .columns = many,
				      .column_count = 2 * TABLE_COLUMNS_MAX,
				      .cells = NULL,
				      .row_count = 0 };
	struct table_layout layout;

	(void)state;
	for (size_t i = 0; i < table.column_count; i++)
		many[i] = columns[2];
	table_layout_compute(&layout, &table);
	assert_int_equal(layout.count, TABLE_COLUMNS_MAX);
}

static void shows(struct cell cell, const char *shown, const char *exact,
		  const char *plain)
{
	char buf[VALUE_TEXT_SIZE];

	value_format(buf, sizeof(buf), &cell);
	assert_string_equal(buf, shown);
	value_format_exact(buf, sizeof(buf), &cell);
	assert_string_equal(buf, exact);
	value_format_plain(buf, sizeof(buf), &cell);
	assert_string_equal(buf, plain);
}

static void test_values(void **state)
{
	(void)state;
	shows(cell_bytes(512), "512 B", "", "512");
	shows(cell_bytes(9182344), "8.76 MiB", "9,182,344 bytes", "9182344");
	shows(cell_bytes(UINT64_MAX), "16.0 EiB",
	      "18,446,744,073,709,551,615 bytes", "18446744073709551615");
	shows(cell_count(1234), "1,234", "", "1234");
	shows(cell_signed(-1234), "\xe2\x88\x92" "1,234", "", "-1234");
	shows(cell_signed(INT64_MIN),
	      "\xe2\x88\x92" "9,223,372,036,854,775,808", "",
	      "-9223372036854775808");
	shows(cell_seconds(1.5), "1.50 s", "1.5 seconds", "1.5");
	shows(cell_ratio(0.12345), "12.3 %", "12.345 %", "0.12345");
	shows(cell_address(UINT64_MAX), "0xffffffffffffffff", "",
	      "0xffffffffffffffff");
	shows(cell_flag(true), "yes", "", "yes");
	shows(cell_none(), "", "", "");
}

static void test_prose(void **state)
{
	(void)state;
	assert_true(value_is_prose("exit status 0"));
	assert_true(value_is_prose("killed by signal 11 (Segmentation fault)"));
	assert_true(value_is_prose("unknown: the trace has no end."));
	assert_false(value_is_prose("/usr/bin/sqlite3"));
	assert_false(value_is_prose("std::vector"));
	assert_false(value_is_prose("a_b"));
	assert_false(value_is_prose("file.c"));
	assert_false(value_is_prose("<b>"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_figure_names_the_main_column),
		cmocka_unit_test(test_main_without_share),
		cmocka_unit_test(test_tables_that_name_none),
		cmocka_unit_test(test_many_columns),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_prose),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
