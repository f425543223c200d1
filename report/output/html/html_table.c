/* SPDX-License-Identifier: MIT */
#include "report/output/html/html_table.h"

#include <stdio.h>
#include <string.h>

#include "report/figure/definition.h"
#include "report/output/html/html_stack.h"
#include "report/output/html/html_value.h"
#include "report/output/table_layout.h"
#include "report/output/value.h"

static const char *column_class(const struct figure_column *column)
{
	if (column->kind == CELL_RATIO)
		return "num share";
	if (value_is_numeric(column->kind))
		return "num";
	return table_column_is_prose(column) ? "words prose" : "words";
}

/* @sort: NULL unless rows are in this column's order. */
static void column_write(struct html *html, const struct figure_column *column,
			 const char *sort)
{
	html_open(html, "th", column_class(column));
	html_attr(html, "scope", "col");
	if (sort)
		html_attr(html, "aria-sort", sort);
	html_term(html, column->label, column->definition);
	html_close(html);
}

static void head_write(struct html *html, const struct figure_table *table,
		       const struct table_layout *layout)
{
	const char *sort = layout->main_rises ? "ascending" : "descending";

	html_open(html, "thead", NULL);
	html_open(html, "tr", NULL);
	if (layout->heading != TABLE_NO_COLUMN)
		column_write(html, &table->columns[layout->heading], NULL);
	for (size_t i = 0; i < layout->count; i++)
		column_write(html, &table->columns[layout->order[i]],
			     layout->order[i] == layout->main ? sort : NULL);
	html_close(html);
	html_close(html);
	html_break(html);
}

static void share_attr(struct html *html, double ratio)
{
	double percent = ratio * 100;

	percent = percent > 100 ? 100 : percent > 0 ? percent : 0;
	html_attr_printf(html, "style", "--share:%.4g%%", percent);
}

/* Return: whether @heading begins with @detail: "libx.so+0x12", "libx.so". */
static bool is_said(const struct cell *heading, const char *detail)
{
	return heading->kind == CELL_TEXT &&
	       strncmp(heading->text, detail, strlen(detail)) == 0;
}

/* Return: how wide the spaces and the sign are that a row below another begins
   with, 0 if there is no sign: in characters. */
static size_t sign_width(const char *text)
{
	static const char space[] = "\xc2\xa0";
	static const char branch[] = "\xe2\x94\x94 ";
	static const char arrow[] = "\xe2\x86\xaa ";
	size_t width = 0;

	for (; strncmp(text, space, strlen(space)) == 0; width++)
		text += strlen(space);
	if (strncmp(text, branch, strlen(branch)) == 0 ||
	    strncmp(text, arrow, strlen(arrow)) == 0)
		return width + 2;
	return 0;
}

/* Further lines of a long heading stand below its text, not below its sign. */
static void hang_attr(struct html *html, const struct cell *heading)
{
	size_t width =
		heading->kind == CELL_TEXT ? sign_width(heading->text) : 0;

	if (width)
		html_attr_printf(html, "style", "--hang:%zuch", width);
}

/* What names the row, and where it is, in small letters below. */
static void heading_write(struct html *html, const struct figure_table *table,
			  const struct table_layout *layout,
			  const struct cell *row)
{
	bool any = false;

	html_open(html, "th",
		  column_class(&table->columns[layout->heading]));
	html_attr(html, "scope", "row");
	hang_attr(html, &row[layout->heading]);
	if (row[layout->heading].kind == CELL_STACK)
		html_stack_site(html, row[layout->heading].stack);
	else if (row[layout->heading].kind == CELL_TEXT &&
		 table_column_is_prose(&table->columns[layout->heading]))
		html_text(html, row[layout->heading].text);
	else
		html_value(html, &row[layout->heading]);
	for (size_t i = 0; i < layout->detail_count; i++) {
		const struct cell *cell = &row[layout->details[i]];

		if (cell->kind != CELL_TEXT || !*cell->text ||
		    is_said(&row[layout->heading], cell->text))
			continue;
		if (!any)
			html_open(html, "span", "where");
		else
			html_text(html, " \xc2\xb7 ");
		html_text(html, cell->text);
		any = true;
	}
	if (any)
		html_close(html);
	html_close(html);
}

/* A row of its own: backtraces need the width of all columns. */
static void calls_write(struct html *html, const struct figure_stack *stack,
			size_t columns)
{
	html_open(html, "tr", "more");
	html_open(html, "td", NULL);
	html_attr_printf(html, "colspan", "%zu", columns);
	html_stack_calls(html, stack);
	html_close(html);
	html_close(html);
	html_break(html);
}

static void row_write(struct html *html, const struct figure_table *table,
		      const struct table_layout *layout, const struct cell *row)
{
	size_t heading = layout->heading;

	html_open(html, "tr", NULL);
	if (heading != TABLE_NO_COLUMN)
		heading_write(html, table, layout, row);
	for (size_t i = 0; i < layout->count; i++) {
		const struct cell *cell = &row[layout->order[i]];

		html_open(html, "td",
			  column_class(&table->columns[layout->order[i]]));
		if (cell->kind == CELL_RATIO)
			share_attr(html, cell->number);
		html_value(html, cell);
		html_close(html);
	}
	html_close(html);
	html_break(html);
	if (heading != TABLE_NO_COLUMN && row[heading].kind == CELL_STACK &&
	    row[heading].stack->count)
		calls_write(html, row[heading].stack, 1 + layout->count);
}

static void rows_write(struct html *html, const struct figure_table *table,
		       const struct table_layout *layout)
{
	size_t rows = table->row_count;

	if (rows > HTML_TABLE_ROWS_MAX)
		rows = HTML_TABLE_ROWS_MAX;
	html_open(html, "tbody", NULL);
	for (size_t row = 0; row < rows; row++)
		row_write(html, table, layout,
			  &table->cells[row * table->column_count]);
	html_close(html);
}

/* What the columns mean, to unfold: the titles of the heads in a form that
   needs no pointer. */
static void terms_write(struct html *html, const struct figure_table *table)
{
	bool any = false;

	for (size_t i = 0; i < table->column_count; i++) {
		const struct figure_column *column = &table->columns[i];
		const struct definition *found =
			definition_find(column->definition);

		if (!found)
			continue;
		if (!any) {
			html_open(html, "details", "terms");
			html_element(html, "summary", NULL,
				     "What the columns mean");
			html_open(html, "dl", NULL);
			any = true;
		}
		html_open(html, "div", NULL);
		html_element(html, "dt", NULL, column->label);
		html_element(html, "dd", NULL, found->text);
		html_close(html);
	}
	if (any) {
		html_close(html);
		html_close(html);
	}
}

static void cut_write(struct html *html, const struct figure_table *table)
{
	char text[96];

	if (table->row_count <= HTML_TABLE_ROWS_MAX)
		return;
	snprintf(text, sizeof(text),
		 "The first %d of %zu rows; the files beside this page have "
		 "all.",
		 HTML_TABLE_ROWS_MAX, table->row_count);
	html_element(html, "p", "caption", text);
}

void html_table(struct html *html, const struct figure *figure)
{
	const struct figure_table *table = &figure->table;
	struct table_layout layout;

	if (!table->row_count) {
		html_element(html, "p", "empty", "Nothing to list.");
		return;
	}
	table_layout_compute(&layout, table);
	html_open(html, "div", "scroll");
	html_attr(html, "role", "region");
	html_attr(html, "tabindex", "0");
	html_attr(html, "aria-label",
		  figure->title && *figure->title ? figure->title
						  : figure->id);
	html_open(html, "table", NULL);
	head_write(html, table, &layout);
	rows_write(html, table, &layout);
	html_close(html);
	html_close(html);
	html_break(html);
	cut_write(html, table);
	terms_write(html, table);
}
