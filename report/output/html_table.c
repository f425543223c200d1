/* SPDX-License-Identifier: MIT */
#include "report/output/html_table.h"

#include <stdio.h>
#include <string.h>

#include "report/figure/definition.h"
#include "report/output/html_value.h"
#include "report/output/value.h"

/* The first column of text names the row. */
static size_t heading_column(const struct figure_table *table)
{
	for (size_t i = 0; i < table->column_count; i++)
		if (table->columns[i].kind == CELL_TEXT ||
		    table->columns[i].kind == CELL_STACK)
			return i;
	return table->column_count;
}

static const char *kind_class(enum cell_kind kind)
{
	if (kind == CELL_RATIO)
		return "num share";
	if (value_is_numeric(kind))
		return "num";
	return kind == CELL_STACK ? "wide" : "words";
}

static void head_write(struct html *html, const struct figure_table *table)
{
	html_open(html, "thead", NULL);
	html_open(html, "tr", NULL);
	for (size_t i = 0; i < table->column_count; i++) {
		const struct figure_column *column =
			&table->columns[value_column(table, i)];

		html_open(html, "th", kind_class(column->kind));
		html_attr(html, "scope", "col");
		html_term(html, column->label, column->definition);
		html_close(html);
	}
	html_close(html);
	html_close(html);
	html_break(html);
}

static void cell_write(struct html *html, const struct figure_column *column,
		       const struct cell *cell, bool is_heading)
{
	html_open(html, is_heading ? "th" : "td", kind_class(column->kind));
	if (is_heading)
		html_attr(html, "scope", "row");
	if (cell->kind == CELL_RATIO) {
		double percent = cell->number * 100;

		percent = percent > 100 ? 100 : percent > 0 ? percent : 0;
		html_attr_printf(html, "style", "--share:%.4g%%", percent);
	}
	html_value(html, cell);
	html_close(html);
}

static void rows_write(struct html *html, const struct figure_table *table)
{
	size_t heading = heading_column(table);
	size_t rows = table->row_count;

	if (rows > HTML_TABLE_ROWS_MAX)
		rows = HTML_TABLE_ROWS_MAX;
	html_open(html, "tbody", NULL);
	for (size_t row = 0; row < rows; row++) {
		html_open(html, "tr", NULL);
		for (size_t i = 0; i < table->column_count; i++) {
			size_t at = value_column(table, i);

			cell_write(html, &table->columns[at],
				   &table->cells[row * table->column_count +
						 at],
				   at == heading);
		}
		html_close(html);
		html_break(html);
	}
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

	if (!table->row_count) {
		html_element(html, "p", "empty", "Nothing to list.");
		return;
	}
	html_open(html, "div", "scroll");
	html_attr(html, "role", "region");
	html_attr(html, "tabindex", "0");
	html_attr(html, "aria-label",
		  figure->title && *figure->title ? figure->title
						  : figure->id);
	html_open(html, "table", NULL);
	head_write(html, table);
	rows_write(html, table);
	html_close(html);
	html_close(html);
	html_break(html);
	cut_write(html, table);
	terms_write(html, table);
}
