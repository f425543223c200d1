/* SPDX-License-Identifier: MIT */
/*
 * Which columns of a table people see where.
 *
 * A table has one column that names its rows: its first text or stack.  Beside
 * a function stand its place and module, smaller.  The numbers begin with the
 * one that the figure says it is about, and its share of the whole.
 *
 * Layer: output, private to the pages.
 */
#ifndef REPORT_OUTPUT_TABLE_LAYOUT_H
#define REPORT_OUTPUT_TABLE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "report/figure/figure.h"

/* Columns after these are not shown; no table of ours has as many. */
enum { TABLE_COLUMNS_MAX = 64, TABLE_DETAILS_MAX = 4 };

/* Where there is no such column. */
#define TABLE_NO_COLUMN ((size_t)-1)

/**
 * struct table_layout - numbers of columns
 * @heading:   the one that names rows, or TABLE_NO_COLUMN
 * @details:   shown within @heading, @detail_count of them
 * @main:      the one that the rows are sorted by, or TABLE_NO_COLUMN
 * @main_rises: lowest first
 * @order:     all others, @count of them: @main and its share, numbers, texts
 * @lead:      how many of them are @main and its share
 */
struct table_layout {
	size_t heading;
	size_t details[TABLE_DETAILS_MAX];
	size_t detail_count;
	size_t main;
	bool main_rises;
	size_t order[TABLE_COLUMNS_MAX];
	size_t count;
	size_t lead;
};

/* Return: whether texts of @column are words of ours, not names. */
bool table_column_is_prose(const struct figure_column *column);

/* Lays @table out: as it says, whatever its values are. */
void table_layout_compute(struct table_layout *ret,
			  const struct figure_table *table);

#endif /* REPORT_OUTPUT_TABLE_LAYOUT_H */
