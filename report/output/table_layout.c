/* SPDX-License-Identifier: MIT */
#include "report/output/table_layout.h"

#include <math.h>
#include <string.h>

#include "report/output/value.h"

static size_t heading_find(const struct figure_table *table)
{
	for (size_t i = 0; i < table->column_count; i++)
		if (table->columns[i].kind == CELL_TEXT ||
		    table->columns[i].kind == CELL_STACK)
			return i;
	return TABLE_NO_COLUMN;
}

static bool is_detail(const struct figure_table *table, size_t heading,
		      size_t column)
{
	static const char *const keys[] = { "location", "file", "module" };

	if (heading == TABLE_NO_COLUMN || column == heading ||
	    strcmp(table->columns[heading].key, "function") != 0 ||
	    table->columns[column].kind != CELL_TEXT)
		return false;
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (strcmp(table->columns[column].key, keys[i]) == 0)
			return true;
	return false;
}

static double cell_number(const struct figure_table *table, size_t row,
			  size_t column)
{
	const struct cell *cell =
		&table->cells[row * table->column_count + column];

	switch (cell->kind) {
	case CELL_COUNT:
	case CELL_BYTES:
	case CELL_ID:
		return (double)cell->count;
	case CELL_SIGNED:
		return (double)cell->number_signed;
	case CELL_SECONDS:
	case CELL_RATIO:
		return cell->number;
	case CELL_NONE:
	case CELL_ADDRESS:
	case CELL_DATE:
	case CELL_FLAG:
	case CELL_TEXT:
	case CELL_STACK:
	case CELL_LIST:
		break;
	}
	return NAN;
}

static bool never_rises(const struct figure_table *table, size_t column)
{
	for (size_t row = 1; row < table->row_count; row++)
		if (!(cell_number(table, row, column) <=
		      cell_number(table, row - 1, column)))
			return false;
	return table->row_count > 0;
}

/* Return: whether @column is @ratio of one whole in every row. */
static bool is_in_proportion(const struct figure_table *table, size_t column,
			     size_t ratio)
{
	double whole = cell_number(table, 0, column) /
		       cell_number(table, 0, ratio);

	for (size_t row = 0; row < table->row_count; row++) {
		double value = cell_number(table, row, column);
		double share = cell_number(table, row, ratio) * whole;

		if (!(fabs(value - share) <= 0.5 + 1e-6 * value))
			return false;
	}
	return table->row_count > 0;
}

static size_t ratio_find(const struct figure_table *table)
{
	for (size_t i = 0; i < table->column_count; i++)
		if (table->columns[i].kind == CELL_RATIO)
			return i;
	return TABLE_NO_COLUMN;
}

static size_t main_find(const struct figure_table *table, size_t ratio)
{
	for (size_t i = 0; i < table->column_count; i++) {
		enum cell_kind kind = table->columns[i].kind;

		if (kind == CELL_RATIO || !value_is_numeric(kind))
			continue;
		if (ratio == TABLE_NO_COLUMN)
			return never_rises(table, i) ? i : TABLE_NO_COLUMN;
		if (is_in_proportion(table, i, ratio) && never_rises(table, i))
			return i;
	}
	return TABLE_NO_COLUMN;
}

static void order_add(struct table_layout *layout, size_t column)
{
	if (column != TABLE_NO_COLUMN && layout->count < TABLE_COLUMNS_MAX)
		layout->order[layout->count++] = column;
}

void table_layout_compute(struct table_layout *ret,
			  const struct figure_table *table)
{
	size_t ratio = ratio_find(table);

	memset(ret, 0, sizeof(*ret));
	ret->heading = heading_find(table);
	ret->main = main_find(table, ratio);
	order_add(ret, ret->main);
	if (ret->main != TABLE_NO_COLUMN)
		order_add(ret, ratio);
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < table->column_count; i++) {
			bool number = value_is_numeric(table->columns[i].kind);
			bool placed = ret->main != TABLE_NO_COLUMN &&
				      (i == ret->main || i == ratio);

			if (i == ret->heading || placed ||
			    number != (pass == 0))
				continue;
			if (!is_detail(table, ret->heading, i))
				order_add(ret, i);
			else if (ret->detail_count < TABLE_DETAILS_MAX)
				ret->details[ret->detail_count++] = i;
		}
	}
}
