/* SPDX-License-Identifier: MIT */
#include "report/output/table_layout.h"

#include <string.h>

#include "report/output/value.h"

bool table_column_is_prose(const struct figure_column *column)
{
	return strcmp(column->key, "what") == 0;
}

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

/* Return: the column called @key, or TABLE_NO_COLUMN. */
static size_t column_find(const struct figure_table *table, const char *key)
{
	for (size_t i = 0; key && i < table->column_count; i++)
		if (strcmp(table->columns[i].key, key) == 0)
			return i;
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
	size_t share = column_find(table, table->share_key);

	memset(ret, 0, sizeof(*ret));
	ret->heading = heading_find(table);
	ret->main = column_find(table, table->main_key);
	ret->main_rises = table->main_rises;
	order_add(ret, ret->main);
	order_add(ret, share);
	ret->lead = ret->count;
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < table->column_count; i++) {
			bool number = value_is_numeric(table->columns[i].kind);

			if (i == ret->heading || i == ret->main || i == share ||
			    number != (pass == 0))
				continue;
			if (!is_detail(table, ret->heading, i))
				order_add(ret, i);
			else if (ret->detail_count < TABLE_DETAILS_MAX)
				ret->details[ret->detail_count++] = i;
		}
	}
}
