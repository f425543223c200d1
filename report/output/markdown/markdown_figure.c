/* SPDX-License-Identifier: MIT */
#include "report/output/markdown/markdown_figure.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "report/core/sink.h"
#include "report/core/text.h"
#include "report/output/markdown/markdown_text.h"
#include "report/output/markdown/markdown_tree.h"
#include "report/output/page_data.h"
#include "report/output/table_layout.h"
#include "report/output/value.h"

/* The call site and its callers say most. */
enum { STACK_FRAMES_MAX = 3, FRAME_PLACE_SIZE = 256 };

static void frame_write(struct sink *out, const struct figure_frame *frame,
			size_t letters)
{
	char place[FRAME_PLACE_SIZE];

	markdown_code(out, value_frame_name(frame), letters);
	if (!frame->file)
		return;
	snprintf(place, sizeof(place), "%s:%" PRIu32,
		 text_basename(frame->file), frame->line);
	sink_puts(out, " (");
	markdown_code(out, place, letters);
	sink_puts(out, ")");
}

static void stack_write(struct sink *out, const struct figure_stack *stack,
			const struct markdown_limits *limits)
{
	size_t count = stack->count - stack->plumbing;
	size_t shown = 0;

	for (size_t i = count; i-- > 0 && shown < STACK_FRAMES_MAX; shown++) {
		sink_puts(out, shown ? " \xe2\x86\x90 " : "");
		frame_write(out, &stack->frames[i],
			    shown ? limits->letters / 2 : limits->letters);
	}
	if (count > shown)
		sink_printf(out, " \xe2\x86\x90 %zu more", count - shown);
}

/* @write: markdown_code() in a table, markdown_code_outside() elsewhere. */
static void list_write(struct sink *out, const struct figure_list *list,
		       void (*write)(struct sink *, const char *, size_t),
		       const struct markdown_limits *limits)
{
	for (size_t i = 0; i < list->count; i++) {
		sink_puts(out, i ? " " : "");
		write(out, list->items[i], limits->letters);
	}
}

/* @is_name: texts are names, whatever they look like. */
static void cell_write(struct sink *out, const struct cell *cell, bool is_name,
		       const struct markdown_limits *limits)
{
	char shown[VALUE_TEXT_SIZE];

	if (value_format(shown, sizeof(shown), cell)) {
		sink_puts(out, shown);
	} else if (cell->kind == CELL_TEXT) {
		if (is_name || !value_is_prose(cell->text))
			markdown_code(out, cell->text, limits->letters);
		else
			markdown_text(out, cell->text);
	} else if (cell->kind == CELL_STACK) {
		stack_write(out, cell->stack, limits);
	} else if (cell->kind == CELL_LIST) {
		list_write(out, cell->list, markdown_code, limits);
	} else if (cell->kind == CELL_LINK) {
		markdown_code(out, cell->link->text, limits->letters);
	} else {
		sink_puts(out, "\xe2\x80\x93");
	}
}

void markdown_value(struct sink *out, const struct cell *cell,
		    const struct markdown_limits *limits)
{
	if (cell->kind == CELL_TEXT && !value_is_prose(cell->text))
		markdown_code_outside(out, cell->text, limits->letters * 3);
	else if (cell->kind == CELL_LIST)
		list_write(out, cell->list, markdown_code_outside, limits);
	else
		cell_write(out, cell, false, limits);
}

static void caption_write(struct sink *out, const char *caption)
{
	if (!caption || !*caption)
		return;
	markdown_text(out, caption);
	sink_puts(out, "\n\n");
}

/* A histogram: the class and its measures, not the bounds for programs. */
static size_t histogram_order(const struct figure_table *table, size_t *ret)
{
	size_t count = 0;

	for (size_t i = 2; i < table->column_count && i < TABLE_COLUMNS_MAX; i++)
		ret[count++] = i;
	return count;
}

/* What the table is about, what it is of, the rest. */
static size_t columns_order(const struct table_layout *layout, size_t *ret)
{
	size_t count = 0;
	size_t next = 0;

	while (next < layout->lead)
		ret[count++] = layout->order[next++];
	if (layout->heading != TABLE_NO_COLUMN)
		ret[count++] = layout->heading;
	while (next < layout->count)
		ret[count++] = layout->order[next++];
	return count;
}

/* Return: whether row @cells is a class of a histogram that nothing is in: all
   behind its bounds and its name is 0. */
static bool is_empty_class(const struct figure_table *table,
			   const struct cell *cells)
{
	for (size_t i = 3; i < table->column_count; i++)
		if (cells[i].kind != CELL_NONE && cells[i].count)
			return false;
	return table->is_histogram;
}

/* Where a function is, in its cell: "(`…/src/a.c:12`)", else its module unless
   the name says it. */
static void detail_write(struct sink *out, const struct table_layout *layout,
			 const struct cell *cells,
			 const struct markdown_limits *limits)
{
	for (size_t i = 0; i < layout->detail_count; i++) {
		const struct cell *cell = &cells[layout->details[i]];
		size_t len;

		if (cell->kind != CELL_TEXT || !*cell->text)
			continue;
		len = strlen(cell->text);
		if (strncmp(cells[layout->heading].text, cell->text, len) == 0)
			return;
		sink_puts(out, " (");
		if (len > limits->letters)
			markdown_code(out, text_basename(cell->text),
				      limits->letters);
		else
			markdown_code(out, cell->text, limits->letters);
		sink_puts(out, ")");
		return;
	}
}

static void row_write(struct sink *out, const struct figure_table *table,
		      const struct table_layout *layout,
		      const struct cell *cells, const size_t *order,
		      size_t columns, const struct markdown_limits *limits)
{
	sink_puts(out, "|");
	for (size_t i = 0; i < columns; i++) {
		const struct figure_column *column = &table->columns[order[i]];

		sink_puts(out, " ");
		if (cells[order[i]].kind == CELL_TEXT &&
		    table_column_is_prose(column))
			markdown_text(out, cells[order[i]].text);
		else
			cell_write(out, &cells[order[i]], true, limits);
		if (order[i] == layout->heading &&
		    cells[order[i]].kind == CELL_TEXT)
			detail_write(out, layout, cells, limits);
		sink_puts(out, " |");
	}
	sink_puts(out, "\n");
}

/* How many times as many rows there are of what no figure sorts: threads,
   processes.  Their first ones are no better than the rest. */
enum { UNSORTED_TIMES = 4 };

/* Return: how many rows of @table are shown. */
static size_t rows_shown(const struct figure_table *table,
			 const struct markdown_limits *limits)
{
	size_t most = limits->rows * (table->main_key ? 1 : UNSORTED_TIMES);

	/* The last class may be the one that holds most. */
	return table->is_histogram || table->row_count < most ? table->row_count
							       : most;
}

static void table_write(struct sink *out, const struct figure_table *table,
			const struct markdown_limits *limits)
{
	size_t order[TABLE_COLUMNS_MAX + 1];
	struct table_layout layout;
	size_t rows = rows_shown(table, limits);
	size_t columns;

	table_layout_compute(&layout, table);
	columns = table->is_histogram ? histogram_order(table, order)
				      : columns_order(&layout, order);
	sink_puts(out, "|");
	for (size_t i = 0; i < columns; i++) {
		sink_puts(out, " ");
		markdown_text(out, table->columns[order[i]].label);
		sink_puts(out, " |");
	}
	sink_puts(out, "\n|");
	for (size_t i = 0; i < columns; i++)
		sink_puts(out, value_is_numeric(table->columns[order[i]].kind)
				       ? " ---: |"
				       : " --- |");
	sink_puts(out, "\n");
	for (size_t row = 0; row < rows; row++) {
		const struct cell *cells =
			&table->cells[row * table->column_count];

		if (!is_empty_class(table, cells))
			row_write(out, table, &layout, cells, order, columns,
				  limits);
	}
	if (rows < table->row_count)
		sink_printf(out, "\nThe first %zu of %zu rows.\n", rows,
			    table->row_count);
}

static void scalars_write(struct sink *out, const struct figure *figure,
			  const struct markdown_limits *limits)
{
	sink_puts(out, "| | |\n| --- | --- |\n");
	for (size_t i = 0; i < figure->scalar_count; i++) {
		const struct figure_scalar *scalar = &figure->scalars[i];
		struct markdown_limits wide = { .letters = 3 *
							   limits->letters };
		char exact[VALUE_TEXT_SIZE];

		sink_puts(out, "| ");
		markdown_text(out, scalar->label);
		sink_puts(out, " | ");
		cell_write(out, &scalar->value, false, &wide);
		if (scalar->value.kind == CELL_BYTES &&
		    value_format_exact(exact, sizeof(exact), &scalar->value))
			sink_printf(out, " (%s)", exact);
		sink_puts(out, " |\n");
	}
}

void markdown_tiles(struct sink *out,
		    const struct figure_scalar *const *scalars, size_t count,
		    const struct markdown_limits *limits)
{
	sink_puts(out, "|");
	for (size_t i = 0; i < count; i++) {
		sink_puts(out, " ");
		markdown_text(out, scalars[i]->label);
		sink_puts(out, " |");
	}
	sink_puts(out, "\n|");
	for (size_t i = 0; i < count; i++)
		sink_puts(out, " --- |");
	sink_puts(out, "\n|");
	for (size_t i = 0; i < count; i++) {
		sink_puts(out, " **");
		cell_write(out, &scalars[i]->value, false, limits);
		sink_puts(out, "** |");
	}
	sink_puts(out, "\n");
}

/* GitHub's alerts; a quotation elsewhere. */
static void note_write(struct sink *out, const struct figure_note *note)
{
	static const char *const kinds[] = {
		[FIGURE_INFO] = "NOTE",
		[FIGURE_WARNING] = "WARNING",
		[FIGURE_ERROR] = "CAUTION",
	};

	sink_printf(out, "> [!%s]\n> ", kinds[note->severity]);
	markdown_text(out, note->text);
	sink_puts(out, "\n");
}

/* Return: the picture of "view.NAME.PART" or "PART" among the links. */
static const struct page_link *picture_find(const struct page_data *data,
					    const struct figure *figure,
					    const char *artifact)
{
	const struct page_link *link = NULL;

	while ((link = page_data_link(data, NULL, link))) {
		size_t len = strlen(link->view);
		bool in_view = len &&
			       strncmp(figure->id, "view.", 5) == 0 &&
			       strncmp(figure->id + 5, link->view, len) == 0 &&
			       figure->id[5 + len] == '.' &&
			       !strchr(figure->id + 6 + len, '.');
		bool of_trace = !len && !strchr(figure->id, '.');

		if ((in_view || of_trace) && strcmp(link->name, artifact) == 0)
			return link;
	}
	return NULL;
}

static void picture_write(struct sink *out, const struct figure *figure,
			  const struct page_link *link)
{
	sink_puts(out, "![");
	markdown_text(out, figure->title && *figure->title ? figure->title
							    : link->path);
	sink_puts(out, "](");
	markdown_target(out, link->path);
	sink_puts(out, ")\n\n");
}

/* What the numbers of a tree are, and the tree. */
static void tree_write(struct sink *out, const struct figure_tree *tree,
		       const struct markdown_limits *limits)
{
	sink_puts(out, "By ");
	markdown_text(out, tree->cost_label ? tree->cost_label
			   : tree->by_count ? "allocations"
					    : "bytes");
	sink_puts(out, tree->callees_first ? "; callers below callees:\n\n"
					   : "; callees below callers:\n\n");
	markdown_tree(out, tree, limits->letters);
}

/* Return: name of the artifact that draws @figure. */
static const char *picture_name(const struct figure *figure)
{
	if (figure->kind == FIGURE_TREE)
		return "flamegraph";
	return strcmp(figure->id, "residency") == 0 ? "residency" : "timeline";
}

static void drawing_write(struct sink *out, const struct figure *figure,
			  const struct page_data *data,
			  const struct markdown_limits *limits)
{
	bool is_tree = figure->kind == FIGURE_TREE;
	const struct page_link *link;

	if (template_figure_is_empty(figure)) {
		sink_puts(out, "Nothing to draw.\n");
		return;
	}
	link = picture_find(data, figure, picture_name(figure));
	if (link)
		picture_write(out, figure, link);
	if (is_tree)
		tree_write(out, &figure->tree, limits);
	else if (!link)
		markdown_series(out, &figure->series);
}

void markdown_figure(struct sink *out, const struct figure *figure,
		     const struct page_data *data,
		     const struct markdown_limits *limits)
{
	if (figure->kind != FIGURE_NOTE)
		caption_write(out, figure->caption);
	switch (figure->kind) {
	case FIGURE_SCALARS:
		scalars_write(out, figure, limits);
		break;
	case FIGURE_TABLE:
		if (figure->table.row_count)
			table_write(out, &figure->table, limits);
		else
			sink_puts(out, "Nothing to list.\n");
		break;
	case FIGURE_SERIES:
	case FIGURE_TREE:
		drawing_write(out, figure, data, limits);
		break;
	case FIGURE_NOTE:
		note_write(out, &figure->note);
		break;
	case FIGURE_HISTORY:
		break;
	case FIGURE_GROUP:
		for (size_t i = 0; i < figure->child_count; i++) {
			sink_puts(out, i ? "\n" : "");
			markdown_figure(out, figure->children[i], data, limits);
		}
		break;
	}
}
