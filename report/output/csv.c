/* SPDX-License-Identifier: MIT */
/*
 * A table as comma-separated values, RFC 4180: a line of column keys, a line a
 * row, lines end in CR LF, a field with a comma, a quotation mark or a line's
 * end in it is quoted.  An absent value is an empty field.
 *
 * A backtrace is two fields: its number, and its frames, innermost first, as
 * "function [file:line]" with " < " between them ("is called by").  A name with
 * " < " in it is written without the blanks.
 *
 * Names come from the traced program, and a spreadsheet takes what begins with
 * "=", "+", "-" or "@" for a formula: such a text gets an apostrophe before it,
 * which spreadsheets take for "this is text".
 */
#include "report/output/artifact.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/sink.h"
#include "report/core/text.h"
#include "report/core/vec.h"
#include "report/figure/table_rows.h"
#include "report/output/value.h"

/* The field under construction. */
struct csv_writing {
	struct sink *out;
	bool any_field; /* in this line */
	bool failed;
	struct {
		char *items;
		size_t count, capacity;
	} field;
};

static const char step[] = " < ";

static void field_add(struct csv_writing *writing, const char *text, size_t len)
{
	if (!vec_reserve(&writing->field, writing->field.count + len)) {
		writing->failed = true;
		return;
	}
	memcpy(writing->field.items + writing->field.count, text, len);
	writing->field.count += len;
}

static void field_puts(struct csv_writing *writing, const char *text)
{
	field_add(writing, text, strlen(text));
}

/* Writes the field and begins the next. */
static void field_end(struct csv_writing *writing)
{
	const char *text = writing->field.items;
	size_t len = writing->field.count;
	bool is_quoted = false;

	for (size_t i = 0; i < len; i++)
		is_quoted |= strchr(",\"\r\n", text[i]) != NULL;
	sink_puts(writing->out, writing->any_field ? "," : "");
	sink_puts(writing->out, is_quoted ? "\"" : "");
	for (size_t i = 0, start = 0; i < len; i++) {
		if (text[i] != '"' && i + 1 < len)
			continue;
		sink_write(writing->out, text + start, i + 1 - start);
		sink_puts(writing->out, text[i] == '"' ? "\"" : "");
		start = i + 1;
	}
	sink_puts(writing->out, is_quoted ? "\"" : "");
	writing->any_field = true;
	writing->field.count = 0;
}

static void line_end(struct csv_writing *writing)
{
	sink_puts(writing->out, "\r\n");
	writing->any_field = false;
}

/* Text of the traced program at the beginning of a field. */
static void guard_add(struct csv_writing *writing, const char *text)
{
	if (*text && strchr("=+-@\t\r", *text))
		field_puts(writing, "'");
}

/* @name without what stands between two frames. */
static void name_add(struct csv_writing *writing, const char *name)
{
	const char *at;

	while ((at = strstr(name, step))) {
		field_add(writing, name, (size_t)(at - name));
		field_puts(writing, "<");
		name = at + strlen(step);
	}
	field_puts(writing, name);
}

static void frame_add(struct csv_writing *writing,
		      const struct figure_frame *frame)
{
	char line[16];

	name_add(writing, value_frame_name(frame));
	if (!frame->file)
		return;
	field_puts(writing, " [");
	name_add(writing, text_basename(frame->file));
	snprintf(line, sizeof(line), frame->line ? ":%" PRIu32 "]" : "]",
		 frame->line);
	field_puts(writing, line);
}

static void stack_write(struct csv_writing *writing,
			const struct figure_stack *stack)
{
	char id[32];

	snprintf(id, sizeof(id), "%" PRIu64, stack->id);
	field_puts(writing, id);
	field_end(writing);
	for (size_t i = stack->count; i-- > 0;) {
		if (i + 1 == stack->count)
			guard_add(writing,
				  value_frame_name(&stack->frames[i]));
		else
			field_puts(writing, step);
		frame_add(writing, &stack->frames[i]);
	}
	if (stack->truncated) {
		if (stack->count)
			field_puts(writing, step);
		field_puts(writing, "…");
	}
	field_end(writing);
}

/* Rounded as in JSON, without zeros at the end. */
static void number_add(struct csv_writing *writing, double number, int places)
{
	double scale = places == 9 ? 1e9 : 1e6;
	char text[400];
	size_t len;

	snprintf(text, sizeof(text), "%.*f", places,
		 round(number * scale) / scale);
	len = strlen(text);
	while (len && text[len - 1] == '0')
		len--;
	if (len && text[len - 1] == '.')
		len--;
	field_add(writing, text, len);
}

static void cell_write(struct csv_writing *writing, enum cell_kind kind,
		       const struct cell *cell)
{
	char text[VALUE_TEXT_SIZE] = "";

	switch (cell->kind) {
	case CELL_STACK:
		stack_write(writing, cell->stack);
		return;
	case CELL_NONE:
		if (kind == CELL_STACK)
			field_end(writing);
		break;
	case CELL_LINK:
		guard_add(writing, cell->link->text);
		field_puts(writing, cell->link->text);
		break;
	case CELL_TEXT:
		guard_add(writing, cell->text);
		field_puts(writing, cell->text);
		break;
	case CELL_SECONDS:
		number_add(writing, cell->number, 9);
		break;
	case CELL_RATIO:
		number_add(writing, cell->number, 6);
		break;
	case CELL_FLAG:
		field_puts(writing, cell->flag ? "true" : "false");
		break;
	case CELL_LIST:
		for (size_t i = 0; i < cell->list->count; i++) {
			if (i)
				field_puts(writing, " ");
			else
				guard_add(writing, cell->list->items[i]);
			field_puts(writing, cell->list->items[i]);
		}
		break;
	case CELL_COUNT:
	case CELL_BYTES:
	case CELL_ID:
	case CELL_SIGNED:
	case CELL_ADDRESS:
	case CELL_DATE:
		value_format_plain(text, sizeof(text), cell);
		field_puts(writing, text);
		break;
	}
	field_end(writing);
}

static void head_write(struct csv_writing *writing,
		       const struct figure_table *table)
{
	for (size_t i = 0; i < table->column_count; i++) {
		const struct figure_column *column = &table->columns[i];

		if (column->kind == CELL_STACK) {
			field_puts(writing, column->key);
			field_puts(writing, "_id");
			field_end(writing);
		}
		field_puts(writing, column->key);
		field_end(writing);
	}
	line_end(writing);
}

static int render(const struct figure *figure, struct sink *out,
		  struct diag *diag)
{
	const struct figure_table *table = &figure->table;
	struct csv_writing writing = { .out = out };
	const struct cell *cells;
	struct table_rows rows;
	int status;

	if (figure->kind != FIGURE_TABLE)
		return diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
				"comma-separated values need a table");
	head_write(&writing, table);
	status = table_rows_begin(&rows, table, diag);
	while (status == 0 && !writing.failed && !out->error &&
	       (status = table_rows_next(&rows, &cells, diag)) > 0) {
		for (size_t i = 0; i < table->column_count; i++)
			cell_write(&writing, table->columns[i].kind, &cells[i]);
		line_end(&writing);
		status = 0;
	}
	vec_done(&writing.field);
	if (status < 0)
		return status;
	if (writing.failed)
		return diag_set(diag, -ENOMEM, NULL, DIAG_NO_OFFSET,
				"out of memory");
	return 0;
}

const struct artifact_format artifact_allocations_csv = {
	.name = "allocations.csv",
	.suffix = "allocations.csv",
	.subject = SUBJECT_ALLOCATIONS,
	.kind = FIGURE_TABLE,
	.summary = "the same as comma-separated values",
	.render = render,
};

const struct artifact_format artifact_groups_csv = {
	.name = "groups.csv",
	.suffix = "groups.csv",
	.subject = SUBJECT_GROUPS,
	.kind = FIGURE_TABLE,
	.summary = "the same as comma-separated values",
	.render = render,
};
