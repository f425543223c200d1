/* SPDX-License-Identifier: MIT */
/*
 * Any table or group as a JSON document.  The only file that knows jansson.
 *
 * Rows of a table are written one by one, each on a line of its own, so that
 * a million of them take the memory of one.  A backtrace is a number in the row
 * (BACKTRACE_id) and a list of frames: in the row too, or, in a table that
 * shares them, in the member "backtraces" after the rows, once each.
 *
 * Jansson drops what it cannot hold (NaN, invalid UTF-8) and keeps integers
 * signed, so every value passes through cell_json(), which refuses instead.
 */
#include "report/output/artifact.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/sink.h"
#include "report/core/units.h"
#include "report/core/vec.h"
#include "report/figure/table_rows.h"
#include "report/output/frame_texts.h"

enum {
	/* 15 digits bring every decimal of at most 15 back unchanged. */
	DUMP_FLAGS = JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY,
	GROUP_DEPTH_MAX = 8,
	KEY_SIZE = 64,
	STACKS_LIMIT = 1 << 16,
};

struct json_writing {
	struct sink *out;
	struct diag *diag;
	unsigned indent;
	bool any_member;
	int error;
	struct { /* of rows that share them, as they came */
		const struct figure_stack **items;
		size_t count, capacity;
	} stacks;
	size_t stacks_limit; /* with that many, look for equal ones */
	struct frame_texts frames;
};

static void writing_fail(struct json_writing *writing, int error,
			 const char *key, const char *why)
{
	if (!writing->error)
		writing->error =
			diag_set(writing->diag, error, NULL, DIAG_NO_OFFSET,
				 "JSON member %s: %s", key, why);
}

/* --- values ------------------------------------------------------------- */

static json_t *integer_json(struct json_writing *writing, const char *key,
			    uint64_t value)
{
	if (value > INT64_MAX) {
		writing_fail(writing, -EOVERFLOW, key,
			     "above the largest JSON integer, 2^63 - 1");
		return NULL;
	}
	return json_integer((json_int_t)value);
}

static json_t *real_json(struct json_writing *writing, const char *key,
			 double value, double places)
{
	if (!isfinite(value)) {
		writing_fail(writing, -EDOM, key, "not a finite number");
		return NULL;
	}
	value = round(value * places) / places;
	return json_real(value == 0 ? 0 : value); /* no "-0.0" */
}

static json_t *address_json(uint64_t address)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	return json_string(text);
}

static json_t *date_json(uint64_t realtime_ns)
{
	char text[UNITS_TEXT_SIZE];

	units_format_date(text, sizeof(text), realtime_ns);
	return json_string(text);
}

/* Takes @value.  A NULL is a failure. */
static void member_set(struct json_writing *writing, json_t *object,
		       const char *key, json_t *value)
{
	if (writing->error)
		json_decref(value);
	else if (!value || json_object_set_new(object, key, value) < 0)
		writing_fail(writing, -ENOMEM, key,
			     "out of memory, or not valid UTF-8");
}

static void item_append(struct json_writing *writing, json_t *array,
			const char *key, json_t *value)
{
	if (writing->error)
		json_decref(value);
	else if (!value || json_array_append_new(array, value) < 0)
		writing_fail(writing, -ENOMEM, key,
			     "out of memory, or not valid UTF-8");
}

static json_t *frame_json(struct json_writing *writing,
			  const struct figure_frame *frame)
{
	json_t *object = json_object();

	member_set(writing, object, "function", json_string(frame->function));
	if (frame->file)
		member_set(writing, object, "file", json_string(frame->file));
	if (frame->file && frame->line)
		member_set(writing, object, "line", json_integer(frame->line));
	if (*frame->module)
		member_set(writing, object, "module",
			   json_string(frame->module));
	member_set(writing, object, "address", address_json(frame->address));
	if (frame->is_inlined)
		member_set(writing, object, "inlined", json_true());
	return object;
}

/* frames[0] of @stack. */
static json_t *outer_frame_json(struct json_writing *writing,
				const struct figure_stack *stack)
{
	json_t *frame = frame_json(writing, &stack->frames[0]);

	if (stack->truncated)
		member_set(writing, frame, "truncated", json_true());
	return frame;
}

static json_t *stack_json(struct json_writing *writing, const char *key,
			  const struct figure_stack *stack)
{
	json_t *array = json_array();

	for (size_t i = 0; i < stack->count && !writing->error; i++)
		item_append(writing, array, key,
			    i == 0 ? outer_frame_json(writing, stack)
				   : frame_json(writing, &stack->frames[i]));
	return array;
}

static json_t *list_json(struct json_writing *writing, const char *key,
			 const struct figure_list *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count && !writing->error; i++)
		item_append(writing, array, key, json_string(list->items[i]));
	return array;
}

static json_t *cell_json(struct json_writing *writing, const char *key,
			 const struct cell *cell)
{
	switch (cell->kind) {
	case CELL_NONE:
		break;
	case CELL_COUNT:
	case CELL_BYTES:
	case CELL_ID:
		return integer_json(writing, key, cell->count);
	case CELL_SIGNED:
		return json_integer((json_int_t)cell->number_signed);
	case CELL_SECONDS:
		return real_json(writing, key, cell->number, 1e9);
	case CELL_RATIO:
		return real_json(writing, key, cell->number, 1e6);
	case CELL_ADDRESS:
		return address_json(cell->count);
	case CELL_DATE:
		return date_json(cell->count);
	case CELL_FLAG:
		return json_boolean(cell->flag);
	case CELL_TEXT:
		return json_string(cell->text);
	case CELL_LINK:
		return json_string(cell->link->text);
	case CELL_STACK:
		return stack_json(writing, key, cell->stack);
	case CELL_LIST:
		return list_json(writing, key, cell->list);
	}
	return NULL;
}

static void cell_set(struct json_writing *writing, json_t *object,
		     const char *key, const struct cell *cell)
{
	if (cell->kind != CELL_NONE && !writing->error)
		member_set(writing, object, key, cell_json(writing, key, cell));
}

/* --- dumping ------------------------------------------------------------ */

/* Strings hold no raw newline, so each one is a line's end. */
static int write_indented(const char *data, size_t len, void *context)
{
	struct json_writing *writing = context;
	size_t start = 0;

	for (size_t i = 0; i < len; i++) {
		if (data[i] != '\n')
			continue;
		sink_write(writing->out, data + start, i + 1 - start);
		for (unsigned n = 0; n < writing->indent; n++)
			sink_write(writing->out, " ", 1);
		start = i + 1;
	}
	sink_write(writing->out, data + start, len - start);
	return writing->out->error ? -1 : 0;
}

static int write_plain(const char *data, size_t len, void *context)
{
	struct sink *out = context;

	sink_write(out, data, len);
	return out->error ? -1 : 0;
}

/* Takes @value; writes it on one line to @out. */
static void dump_line(struct json_writing *writing, const char *key,
		      json_t *value, size_t flags, struct sink *out)
{
	if (!writing->error &&
	    (!value || json_dump_callback(value, write_plain, out,
					  DUMP_FLAGS | flags) < 0))
		writing_fail(writing, -EIO, key, "could not be written");
	json_decref(value);
}

/* Takes @value; writes it to the document, each line with its indent. */
static void dump_indented(struct json_writing *writing, const char *key,
			  json_t *value)
{
	if (!writing->error &&
	    (!value || json_dump_callback(value, write_indented, writing,
					  DUMP_FLAGS | JSON_INDENT(1)) < 0))
		writing_fail(writing, -EIO, key, "could not be written");
	json_decref(value);
}

/* What stack_json() holds, of frames whose texts are there already, as most
   are. */
static void write_stack(struct json_writing *writing, const char *key,
			const struct figure_stack *stack)
{
	struct sink *bytes = &writing->frames.bytes;

	sink_puts(writing->out, "[");
	for (size_t i = 0; i < stack->count && !writing->error; i++) {
		const struct figure_frame *frame = &stack->frames[i];
		struct frame_text *text;

		if (i == 0 && stack->truncated) {
			dump_line(writing, key, outer_frame_json(writing, stack),
				  0, writing->out);
			continue;
		}
		if (i)
			sink_puts(writing->out, ", ");
		text = frame_texts_get(&writing->frames, frame);
		if (!text) {
			writing_fail(writing, -ENOMEM, key, "out of memory");
			break;
		}
		if (!text->len) {
			text->begin = bytes->len;
			dump_line(writing, key, frame_json(writing, frame), 0,
				  bytes);
			text->len = bytes->len - text->begin;
		}
		if (!writing->error)
			sink_write(writing->out, bytes->data + text->begin,
				   text->len);
	}
	sink_puts(writing->out, "]");
}

/* --- figures as values -------------------------------------------------- */

static void scalars_set(struct json_writing *writing, json_t *object,
			const struct figure *figure)
{
	for (size_t i = 0; i < figure->scalar_count; i++)
		cell_set(writing, object, figure->scalars[i].key,
			 &figure->scalars[i].value);
}

static int compare_stacks(const void *a, const void *b)
{
	const struct figure_stack *x = *(const struct figure_stack *const *)a;
	const struct figure_stack *y = *(const struct figure_stack *const *)b;

	return (x->id > y->id) - (x->id < y->id);
}

/* Sorts the backtraces and keeps one of each, so that their number is that of
   different ones (twice that, in between) and not of rows. */
static void stacks_compact(struct json_writing *writing)
{
	const struct figure_stack **items = writing->stacks.items;
	size_t count = writing->stacks.count, kept = 0;

	if (count)
		qsort(items, count, sizeof(*items), compare_stacks);
	for (size_t i = 0; i < count; i++)
		if (!kept || items[kept - 1]->id != items[i]->id)
			items[kept++] = items[i];
	writing->stacks.count = kept;
	writing->stacks_limit = kept < STACKS_LIMIT ? STACKS_LIMIT : 2 * kept;
}

static void stack_id_set(struct json_writing *writing, json_t *object,
			 const char *key, const struct figure_stack *stack)
{
	char id_key[KEY_SIZE];

	snprintf(id_key, sizeof(id_key), "%s_id", key);
	member_set(writing, object, id_key,
		   integer_json(writing, id_key, stack->id));
}

/* The backtrace is to follow the rows. */
static void stack_keep(struct json_writing *writing, const char *key,
		       const struct figure_stack *stack)
{
	const struct figure_stack **slot;

	if (writing->stacks.count >= writing->stacks_limit)
		stacks_compact(writing);
	slot = vec_push(&writing->stacks);
	if (slot)
		*slot = stack;
	else
		writing_fail(writing, -ENOMEM, key, "out of memory");
}

static json_t *row_json(struct json_writing *writing,
			const struct figure_table *table,
			const struct cell *cells)
{
	json_t *object = json_object();

	for (size_t i = 0; i < table->column_count; i++) {
		const char *key = table->columns[i].key;

		if (cells[i].kind == CELL_STACK)
			stack_id_set(writing, object, key, cells[i].stack);
		cell_set(writing, object, key, &cells[i]);
	}
	return object;
}

static void rows_begin(struct json_writing *writing, struct table_rows *rows,
		       const struct figure_table *table)
{
	if (!writing->error)
		writing->error = table_rows_begin(rows, table, writing->diag);
}

/* Return: whether there is another row and nothing has failed. */
static bool rows_next(struct json_writing *writing, struct table_rows *rows,
		      const struct cell **ret)
{
	int status;

	if (writing->error || writing->out->error)
		return false;
	status = table_rows_next(rows, ret, writing->diag);
	if (status < 0)
		writing->error = status;
	return status > 0;
}

static json_t *rows_json(struct json_writing *writing, const char *key,
			 const struct figure_table *table)
{
	json_t *array = json_array();
	const struct cell *cells;
	struct table_rows rows;

	rows_begin(writing, &rows, table);
	while (rows_next(writing, &rows, &cells))
		item_append(writing, array, key,
			    row_json(writing, table, cells));
	return array;
}

/* A table inside a group: its rows, or an object where it has scalars too. */
static json_t *table_json(struct json_writing *writing,
			  const struct figure *figure)
{
	const char *key = figure->rows_key ? figure->rows_key : "rows";
	json_t *rows = rows_json(writing, key, &figure->table);
	json_t *object;

	if (!figure->scalar_count)
		return rows;
	object = json_object();
	scalars_set(writing, object, figure);
	member_set(writing, object, key, rows);
	return object;
}

static json_t *values_json(struct json_writing *writing, const char *key,
			   const double *values, size_t start, size_t count,
			   bool is_whole)
{
	json_t *array = json_array();

	for (size_t i = 0; i < start; i++)
		item_append(writing, array, key, json_null());
	for (size_t i = start; i < count && !writing->error; i++) {
		json_t *value = real_json(writing, key, values[i], 1e9);

		if (value && is_whole && values[i] >= 0 && values[i] < 9e18) {
			json_decref(value);
			value = json_integer((json_int_t)(values[i] + 0.5));
		}
		item_append(writing, array, key, value);
	}
	return array;
}

static json_t *marks_json(struct json_writing *writing,
			  const struct figure_series *series)
{
	json_t *marks = json_array();

	for (size_t i = 0; i < series->mark_count; i++) {
		const struct figure_mark *mark = &series->marks[i];
		json_t *item = json_object();

		member_set(writing, item, "seconds",
			   real_json(writing, "seconds", mark->seconds, 1e9));
		member_set(writing, item, "label", json_string(mark->label));
		item_append(writing, marks, "marks", item);
	}
	return marks;
}

static json_t *series_json(struct json_writing *writing,
			   const struct figure *figure)
{
	const struct figure_series *series = &figure->series;
	json_t *object = json_object();

	scalars_set(writing, object, figure);
	member_set(writing, object, "seconds",
		   values_json(writing, "seconds", series->seconds, 0,
			       series->point_count, false));
	for (size_t i = 0; i < series->curve_count; i++)
		member_set(writing, object, series->curves[i].key,
			   values_json(writing, series->curves[i].key,
				       series->curves[i].values,
				       series->curves[i].start,
				       series->point_count, true));
	member_set(writing, object, "marks", marks_json(writing, series));
	return object;
}

static json_t *note_json(struct json_writing *writing,
			 const struct figure_note *note)
{
	static const char *const names[] = { "info", "warning", "error" };
	json_t *object = json_object();

	member_set(writing, object, "severity",
		   json_string(names[note->severity]));
	member_set(writing, object, "text", json_string(note->text));
	return object;
}

static json_t *figure_json(struct json_writing *writing,
			   const struct figure *figure, unsigned depth);

static json_t *notes_json(struct json_writing *writing,
			  const struct figure *group)
{
	json_t *notes = json_array();

	for (size_t i = 0; i < group->child_count; i++)
		if (group->children[i]->kind == FIGURE_NOTE)
			item_append(
				writing, notes, "notes",
				note_json(writing, &group->children[i]->note));
	return notes;
}

/* Groups hold groups because we build them so, never because a trace does:
   the depth is bounded. */
static json_t *group_json(struct json_writing *writing,
			  const struct figure *group, unsigned depth)
{
	json_t *object = json_object();
	json_t *notes = notes_json(writing, group);

	scalars_set(writing, object, group);
	for (size_t i = 0; i < group->child_count && !writing->error; i++)
		if (group->children[i]->kind != FIGURE_NOTE)
			member_set(writing, object, group->children[i]->id,
				   figure_json(writing, group->children[i],
					       depth + 1));
	if (json_array_size(notes))
		member_set(writing, object, "notes", notes);
	else
		json_decref(notes);
	return object;
}

static json_t *figure_json(struct json_writing *writing,
			   const struct figure *figure, unsigned depth)
{
	json_t *object;

	switch (figure->kind) {
	case FIGURE_SCALARS:
		object = json_object();
		scalars_set(writing, object, figure);
		return object;
	case FIGURE_TABLE:
		return table_json(writing, figure);
	case FIGURE_SERIES:
		return series_json(writing, figure);
	case FIGURE_NOTE:
		return note_json(writing, &figure->note);
	case FIGURE_GROUP:
		if (depth < GROUP_DEPTH_MAX)
			return group_json(writing, figure, depth);
		break;
	case FIGURE_TREE:
		break;
	}
	writing_fail(writing, -EINVAL, figure->id, "has no form in JSON");
	return NULL;
}

/* --- the document ------------------------------------------------------- */

/* Keys are ours, [a-z0-9_.-]+: nothing to escape. */
static void write_key(struct json_writing *writing, const char *key)
{
	sink_printf(writing->out,
		    "%s \"%s\": ", writing->any_member ? ",\n" : "", key);
	writing->any_member = true;
}

static void write_member(struct json_writing *writing, const char *key,
			 json_t *value)
{
	if (writing->error) {
		json_decref(value);
		return;
	}
	write_key(writing, key);
	writing->indent = 1;
	dump_indented(writing, key, value);
}

/* On one line. */
static void write_line(struct json_writing *writing, const char *key,
		       json_t *value)
{
	if (writing->error) {
		json_decref(value);
		return;
	}
	write_key(writing, key);
	dump_line(writing, key, value, 0, writing->out);
}

static void write_scalars(struct json_writing *writing,
			  const struct figure *figure)
{
	for (size_t i = 0; i < figure->scalar_count; i++) {
		const struct figure_scalar *scalar = &figure->scalars[i];

		if (scalar->value.kind != CELL_NONE && !writing->error)
			write_member(writing, scalar->key,
				     cell_json(writing, scalar->key,
					       &scalar->value));
	}
}

static void write_series(struct json_writing *writing,
			 const struct figure_series *series)
{
	size_t points = series->point_count;

	write_line(writing, "seconds",
		   values_json(writing, "seconds", series->seconds, 0, points,
			       false));
	for (size_t i = 0; i < series->curve_count; i++) {
		const struct figure_curve *curve = &series->curves[i];

		write_line(writing, curve->key,
			   values_json(writing, curve->key, curve->values,
				       curve->start < points ? curve->start
							     : points,
				       points, true));
	}
	write_line(writing, "marks", marks_json(writing, series));
}

/* The backtraces that rows named, by rising number, each on its line. */
static void write_stacks(struct json_writing *writing)
{
	const struct figure_stack **items;
	size_t count;
	bool any = false;

	stacks_compact(writing);
	items = writing->stacks.items;
	count = writing->stacks.count;
	write_key(writing, "backtraces");
	sink_puts(writing->out, "{");
	for (size_t i = 0; i < count && !writing->error; i++) {
		sink_printf(writing->out, "%s  \"%" PRIu64 "\": ",
			    any ? ",\n" : "\n", items[i]->id);
		any = true;
		write_stack(writing, "backtraces", items[i]);
	}
	sink_puts(writing->out, any ? "\n }" : "}");
}

/* Takes @object, some members of a row. */
static void write_members(struct json_writing *writing, json_t *object,
			  bool *any)
{
	if (!writing->error && json_object_size(object)) {
		sink_puts(writing->out, *any ? ", " : "");
		*any = true;
		dump_line(writing, "rows", object, JSON_EMBED, writing->out);
	} else {
		json_decref(object);
	}
}

/* As jansson writes row_json(), but for backtraces that follow the rows; those
   that do not are not made values first. */
static void write_row(struct json_writing *writing,
		      const struct figure_table *table,
		      const struct cell *cells)
{
	json_t *object = json_object();
	bool any = false;

	sink_puts(writing->out, "{");
	for (size_t i = 0; i < table->column_count; i++) {
		const char *key = table->columns[i].key;

		if (cells[i].kind != CELL_STACK) {
			cell_set(writing, object, key, &cells[i]);
			continue;
		}
		stack_id_set(writing, object, key, cells[i].stack);
		if (table->shares_stacks) {
			stack_keep(writing, key, cells[i].stack);
			continue;
		}
		write_members(writing, object, &any);
		object = json_object();
		sink_printf(writing->out, ", \"%s\": ", key);
		write_stack(writing, key, cells[i].stack);
	}
	write_members(writing, object, &any);
	sink_puts(writing->out, "}");
}

static void write_rows(struct json_writing *writing,
		       const struct figure *figure)
{
	const char *key = figure->rows_key ? figure->rows_key : "rows";
	const struct cell *cells;
	struct table_rows rows;
	bool any = false;

	write_key(writing, key);
	sink_puts(writing->out, "[");
	rows_begin(writing, &rows, &figure->table);
	while (rows_next(writing, &rows, &cells)) {
		sink_puts(writing->out, any ? ",\n  " : "\n  ");
		any = true;
		write_row(writing, &figure->table, cells);
	}
	sink_puts(writing->out, any ? "\n ]" : "]");
}

static void write_children(struct json_writing *writing,
			   const struct figure *group)
{
	json_t *notes = notes_json(writing, group);

	for (size_t i = 0; i < group->child_count && !writing->error; i++) {
		const struct figure *child = group->children[i];

		if (child->kind != FIGURE_NOTE)
			write_member(writing, child->id,
				     figure_json(writing, child, 1));
	}
	if (json_array_size(notes))
		write_member(writing, "notes", notes);
	else
		json_decref(notes);
}

static int render(const struct figure *figure, struct sink *out,
		  struct diag *diag)
{
	struct json_writing writing = { .out = out, .diag = diag };
	char schema[128];

	frame_texts_init(&writing.frames);
	snprintf(schema, sizeof(schema), "memprof/%s/%u",
		 figure->schema ? figure->schema : figure->id,
		 figure->schema_version ? figure->schema_version : 1);
	sink_puts(out, "{\n");
	write_member(&writing, "schema", json_string(schema));
	if (figure->kind == FIGURE_TREE || figure->kind == FIGURE_NOTE)
		writing_fail(&writing, -EINVAL, figure->id,
			     "has no form as a document");
	else
		write_scalars(&writing, figure);
	if (figure->kind == FIGURE_SERIES && !writing.error)
		write_series(&writing, &figure->series);
	if (figure->kind == FIGURE_TABLE && !writing.error)
		write_rows(&writing, figure);
	if (figure->kind == FIGURE_TABLE && figure->more && !writing.error)
		write_rows(&writing, figure->more);
	if (figure->kind == FIGURE_TABLE && figure->table.shares_stacks &&
	    !writing.error)
		write_stacks(&writing);
	if (figure->kind == FIGURE_GROUP && !writing.error)
		write_children(&writing, figure);
	sink_puts(out, "\n}\n");
	vec_done(&writing.stacks);
	frame_texts_done(&writing.frames);
	return writing.error;
}

#define JSON_ARTIFACT(id, word, file, of, figure, text) \
	const struct artifact_format artifact_##id = {  \
		.name = word,                           \
		.suffix = file ".json",                 \
		.subject = of,                          \
		.kind = figure,                         \
		.summary = text,                        \
		.render = render,                       \
	}

JSON_ARTIFACT(allocations, "allocations", "allocations", SUBJECT_ALLOCATIONS,
	      FIGURE_TABLE, "every allocation of the view, as JSON");
JSON_ARTIFACT(groups, "groups", "groups", SUBJECT_GROUPS, FIGURE_TABLE,
	      "allocations with the same backtrace taken together, as JSON");
JSON_ARTIFACT(timeline_json, "timeline.json", "timeline", SUBJECT_TIMELINE,
	      FIGURE_SERIES, "memory over the run, as JSON");
JSON_ARTIFACT(sizes_json, "sizes.json", "sizes", SUBJECT_SIZES, FIGURE_TABLE,
	      "allocations by requested size, as JSON");
JSON_ARTIFACT(lifetimes_json, "lifetimes.json", "lifetimes", SUBJECT_LIFETIMES,
	      FIGURE_TABLE, "allocations by lifetime, as JSON");
JSON_ARTIFACT(summary, "summary", "summary", SUBJECT_SUMMARY, FIGURE_GROUP,
	      "the figures of the whole trace, as JSON");
JSON_ARTIFACT(mmaps, "mmaps", "mmaps", SUBJECT_MMAPS, FIGURE_TABLE,
	      "calls of mmap, munmap and mremap, resident memory, as JSON");
JSON_ARTIFACT(mallopts, "mallopts", "mallopts", SUBJECT_MALLOPTS, FIGURE_TABLE,
	      "calls of mallopt, as JSON");
JSON_ARTIFACT(threads, "threads", "threads", SUBJECT_THREADS, FIGURE_TABLE,
	      "threads, as JSON");
JSON_ARTIFACT(modules, "modules", "modules", SUBJECT_MODULES, FIGURE_TABLE,
	      "executable and libraries, as JSON");
JSON_ARTIFACT(markers, "markers", "markers", SUBJECT_MARKERS, FIGURE_TABLE,
	      "JSON: marks, numbers and phases that the program gave");
JSON_ARTIFACT(mappings, "mappings", "mappings", SUBJECT_MAPPINGS, FIGURE_TABLE,
	      "what resident memory is made of, by path, as JSON");
JSON_ARTIFACT(processes, "processes", "processes", SUBJECT_SUMMARY,
	      FIGURE_TABLE, "processes of several runs, as JSON");
