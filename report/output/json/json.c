/* SPDX-License-Identifier: MIT */
/*
 * Any table or group as a JSON document.  Only this folder knows jansson.
 *
 * Rows of a table are written one by one, each on a line of its own, so that
 * a million of them take the memory of one.  A backtrace is a number in the row
 * (BACKTRACE_id) and a list of frames: in the row too, or, in a table that
 * shares them, in the member "backtraces" after the rows, once each.
 */
#include "report/output/artifact.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/sink.h"
#include "report/core/vec.h"
#include "report/figure/table_rows.h"
#include "report/output/frame_texts.h"
#include "report/output/json/json_value.h"

enum {
	/* 15 digits bring every decimal of at most 15 back unchanged. */
	DUMP_FLAGS = JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY,
	STACKS_LIMIT = 1 << 16,
};

struct json_writing {
	struct sink *out;
	struct json_values values;
	unsigned indent;
	bool any_member;
	struct { /* of rows that share them, as they came */
		const struct figure_stack **items;
		size_t count, capacity;
	} stacks;
	size_t stacks_limit; /* with that many, look for equal ones */
	struct frame_texts frames;
};

/* --- dumping ------------------------------------------------------------ */

/* A sink keeps its error for whoever asks it: to the library these never fail. */

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
	return 0;
}

static int write_plain(const char *data, size_t len, void *context)
{
	sink_write(context, data, len);
	return 0;
}

/* Takes @value; writes it on one line to @out. */
static void dump_line(struct json_writing *writing, const char *key,
		      json_t *value, size_t flags, struct sink *out)
{
	if (!writing->values.error &&
	    (!value || json_dump_callback(value, write_plain, out,
					  DUMP_FLAGS | flags) < 0))
		json_value_fail(&writing->values, -ENOMEM, key,
				"out of memory, or not valid UTF-8");
	json_decref(value);
}

/* Takes @value; writes it to the document, each line with its indent. */
static void dump_indented(struct json_writing *writing, const char *key,
			  json_t *value)
{
	if (!writing->values.error &&
	    (!value || json_dump_callback(value, write_indented, writing,
					  DUMP_FLAGS | JSON_INDENT(1)) < 0))
		json_value_fail(&writing->values, -ENOMEM, key,
				"out of memory, or not valid UTF-8");
	json_decref(value);
}

/* As jansson writes a stack that is a value; the texts of most frames are there
   already. */
static void write_stack(struct json_writing *writing, const char *key,
			const struct figure_stack *stack)
{
	struct json_values *values = &writing->values;
	struct sink *bytes = &writing->frames.bytes;

	sink_puts(writing->out, "[");
	for (size_t i = 0; i < stack->count && !values->error; i++) {
		const struct figure_frame *frame = &stack->frames[i];
		struct frame_text *text;

		if (i == 0 && stack->truncated) {
			dump_line(writing, key,
				  json_value_outer_frame(values, stack), 0,
				  writing->out);
			continue;
		}
		if (i)
			sink_puts(writing->out, ", ");
		text = frame_texts_get(&writing->frames, frame);
		if (!text) {
			json_value_fail(values, -ENOMEM, key, "out of memory");
			break;
		}
		if (!text->len) {
			text->begin = bytes->len;
			dump_line(writing, key, json_value_frame(values, frame),
				  0, bytes);
			text->len = bytes->len - text->begin;
			if (bytes->error)
				json_value_fail(values, bytes->error, key,
						"out of memory");
		}
		if (!values->error)
			sink_write(writing->out, bytes->data + text->begin,
				   text->len);
	}
	sink_puts(writing->out, "]");
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
		json_value_fail(&writing->values, -ENOMEM, key,
				"out of memory");
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
	if (writing->values.error) {
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
	if (writing->values.error) {
		json_decref(value);
		return;
	}
	write_key(writing, key);
	dump_line(writing, key, value, 0, writing->out);
}

static void write_scalars(struct json_writing *writing,
			  const struct figure *figure)
{
	struct json_values *values = &writing->values;

	for (size_t i = 0; i < figure->scalar_count; i++) {
		const struct figure_scalar *scalar = &figure->scalars[i];

		if (scalar->value.kind != CELL_NONE && !values->error)
			write_member(writing, scalar->key,
				     json_value_cell(values, scalar->key,
						     &scalar->value));
	}
}

static void write_series(struct json_writing *writing,
			 const struct figure_series *series)
{
	struct json_values *values = &writing->values;
	size_t points = series->point_count;

	write_line(writing, "seconds",
		   json_value_points(values, "seconds", series->seconds, 0,
				     points, false));
	for (size_t i = 0; i < series->curve_count; i++) {
		const struct figure_curve *curve = &series->curves[i];
		size_t start = curve->start < points ? curve->start : points;

		write_line(writing, curve->key,
			   json_value_points(values, curve->key, curve->values,
					     start, points, true));
	}
	write_line(writing, "marks", json_value_marks(values, series));
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
	for (size_t i = 0; i < count && !writing->values.error; i++) {
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
	if (!writing->values.error && json_object_size(object)) {
		sink_puts(writing->out, *any ? ", " : "");
		*any = true;
		dump_line(writing, "rows", object, JSON_EMBED, writing->out);
	} else {
		json_decref(object);
	}
}

/* As jansson writes a row as a value, but for backtraces that follow the rows;
   those that do not are not made values first. */
static void write_row(struct json_writing *writing,
		      const struct figure_table *table,
		      const struct cell *cells)
{
	struct json_values *values = &writing->values;
	json_t *object = json_object();
	bool any = false;

	sink_puts(writing->out, "{");
	for (size_t i = 0; i < table->column_count; i++) {
		const char *key = table->columns[i].key;

		if (cells[i].kind != CELL_STACK) {
			json_value_set_cell(values, object, key, &cells[i]);
			continue;
		}
		json_value_set_stack_id(values, object, key, cells[i].stack);
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
	json_value_rows_begin(&writing->values, &rows, &figure->table);
	while (json_value_rows_next(&writing->values, &rows, &cells)) {
		sink_puts(writing->out, any ? ",\n  " : "\n  ");
		any = true;
		write_row(writing, &figure->table, cells);
	}
	sink_puts(writing->out, any ? "\n ]" : "]");
}

static void write_children(struct json_writing *writing,
			   const struct figure *group)
{
	struct json_values *values = &writing->values;
	json_t *notes = json_value_notes(values, group);

	for (size_t i = 0; i < group->child_count && !values->error; i++) {
		const struct figure *child = group->children[i];

		if (child->kind != FIGURE_NOTE)
			write_member(writing, child->id,
				     json_value_figure(values, child, 1));
	}
	if (json_array_size(notes))
		write_member(writing, "notes", notes);
	else
		json_decref(notes);
}

static int render(const struct figure *figure, struct sink *out,
		  struct diag *diag)
{
	struct json_writing writing = { .out = out,
					.values = { .out = out,
						    .diag = diag } };
	struct json_values *values = &writing.values;
	char schema[128];

	frame_texts_init(&writing.frames);
	snprintf(schema, sizeof(schema), "memprof/%s/%u",
		 figure->schema ? figure->schema : figure->id,
		 figure->schema_version ? figure->schema_version : 1);
	sink_puts(out, "{\n");
	write_member(&writing, "schema", json_string(schema));
	if (figure->kind == FIGURE_TREE || figure->kind == FIGURE_NOTE ||
	    figure->kind == FIGURE_HISTORY)
		json_value_fail(values, -EINVAL, figure->id,
				"has no form as a document");
	else
		write_scalars(&writing, figure);
	if (figure->kind == FIGURE_SERIES && !values->error)
		write_series(&writing, &figure->series);
	if (figure->kind == FIGURE_TABLE && !values->error)
		write_rows(&writing, figure);
	if (figure->kind == FIGURE_TABLE && figure->more && !values->error)
		write_rows(&writing, figure->more);
	if (figure->kind == FIGURE_TABLE && figure->table.shares_stacks &&
	    !values->error)
		write_stacks(&writing);
	if (figure->kind == FIGURE_GROUP && !values->error)
		write_children(&writing, figure);
	sink_puts(out, "\n}\n");
	vec_done(&writing.stacks);
	frame_texts_done(&writing.frames);
	return writing.values.error;
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
