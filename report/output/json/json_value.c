/* SPDX-License-Identifier: MIT */
/*
 * Jansson drops what it cannot hold (NaN, invalid UTF-8) and keeps integers
 * signed, so every value passes through member_set() and item_append(), which
 * see that, and integer_json() and real_json(), which refuse instead.
 */
#include "report/output/json/json_value.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "report/core/diag.h"
#include "report/core/sink.h"
#include "report/core/units.h"
#include "report/figure/table_rows.h"

enum { GROUP_DEPTH_MAX = 8, KEY_SIZE = 64 };

void json_value_fail(struct json_values *values, int error, const char *key,
		     const char *why)
{
	if (!values->error)
		values->error =
			diag_set(values->diag, error, NULL, DIAG_NO_OFFSET,
				 "JSON member %s: %s", key, why);
}

static json_t *integer_json(struct json_values *values, const char *key,
			    uint64_t value)
{
	if (value > INT64_MAX) {
		json_value_fail(values, -EOVERFLOW, key,
				"above the largest JSON integer, 2^63 - 1");
		return NULL;
	}
	return json_integer((json_int_t)value);
}

static json_t *real_json(struct json_values *values, const char *key,
			 double value, double places)
{
	if (!isfinite(value)) {
		json_value_fail(values, -EDOM, key, "not a finite number");
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
static void member_set(struct json_values *values, json_t *object,
		       const char *key, json_t *value)
{
	if (values->error)
		json_decref(value);
	else if (!value || json_object_set_new(object, key, value) < 0)
		json_value_fail(values, -ENOMEM, key,
				"out of memory, or not valid UTF-8");
}

static void item_append(struct json_values *values, json_t *array,
			const char *key, json_t *value)
{
	if (values->error)
		json_decref(value);
	else if (!value || json_array_append_new(array, value) < 0)
		json_value_fail(values, -ENOMEM, key,
				"out of memory, or not valid UTF-8");
}

json_t *json_value_frame(struct json_values *values,
			 const struct figure_frame *frame)
{
	json_t *object = json_object();

	member_set(values, object, "function", json_string(frame->function));
	if (frame->file)
		member_set(values, object, "file", json_string(frame->file));
	if (frame->file && frame->line)
		member_set(values, object, "line", json_integer(frame->line));
	if (*frame->module)
		member_set(values, object, "module",
			   json_string(frame->module));
	member_set(values, object, "address", address_json(frame->address));
	if (frame->is_inlined)
		member_set(values, object, "inlined", json_true());
	return object;
}

json_t *json_value_outer_frame(struct json_values *values,
			       const struct figure_stack *stack)
{
	json_t *frame = json_value_frame(values, &stack->frames[0]);

	if (stack->truncated)
		member_set(values, frame, "truncated", json_true());
	return frame;
}

static json_t *stack_json(struct json_values *values, const char *key,
			  const struct figure_stack *stack)
{
	json_t *array = json_array();

	for (size_t i = 0; i < stack->count && !values->error; i++)
		item_append(values, array, key,
			    i ? json_value_frame(values, &stack->frames[i])
			      : json_value_outer_frame(values, stack));
	return array;
}

static json_t *list_json(struct json_values *values, const char *key,
			 const struct figure_list *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count && !values->error; i++)
		item_append(values, array, key, json_string(list->items[i]));
	return array;
}

json_t *json_value_cell(struct json_values *values, const char *key,
			const struct cell *cell)
{
	switch (cell->kind) {
	case CELL_NONE:
		break;
	case CELL_COUNT:
	case CELL_BYTES:
	case CELL_ID:
		return integer_json(values, key, cell->count);
	case CELL_SIGNED:
		return json_integer((json_int_t)cell->number_signed);
	case CELL_SECONDS:
		return real_json(values, key, cell->number, 1e9);
	case CELL_RATIO:
		return real_json(values, key, cell->number, 1e6);
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
		return stack_json(values, key, cell->stack);
	case CELL_LIST:
		return list_json(values, key, cell->list);
	}
	return NULL;
}

void json_value_set_cell(struct json_values *values, json_t *object,
			 const char *key, const struct cell *cell)
{
	if (cell->kind != CELL_NONE && !values->error)
		member_set(values, object, key,
			   json_value_cell(values, key, cell));
}

/* --- figures ------------------------------------------------------------ */

static void scalars_set(struct json_values *values, json_t *object,
			const struct figure *figure)
{
	for (size_t i = 0; i < figure->scalar_count; i++)
		json_value_set_cell(values, object, figure->scalars[i].key,
				    &figure->scalars[i].value);
}

void json_value_set_stack_id(struct json_values *values, json_t *object,
			     const char *key, const struct figure_stack *stack)
{
	char id_key[KEY_SIZE];

	snprintf(id_key, sizeof(id_key), "%s_id", key);
	member_set(values, object, id_key,
		   integer_json(values, id_key, stack->id));
}

static json_t *row_json(struct json_values *values,
			const struct figure_table *table,
			const struct cell *cells)
{
	json_t *object = json_object();

	for (size_t i = 0; i < table->column_count; i++) {
		const char *key = table->columns[i].key;

		if (cells[i].kind == CELL_STACK)
			json_value_set_stack_id(values, object, key,
						cells[i].stack);
		json_value_set_cell(values, object, key, &cells[i]);
	}
	return object;
}

void json_value_rows_begin(struct json_values *values, struct table_rows *rows,
			   const struct figure_table *table)
{
	if (!values->error)
		values->error = table_rows_begin(rows, table, values->diag);
}

bool json_value_rows_next(struct json_values *values, struct table_rows *rows,
			  const struct cell **ret)
{
	int status;

	if (values->error || values->out->error)
		return false;
	status = table_rows_next(rows, ret, values->diag);
	if (status < 0)
		values->error = status;
	return status > 0;
}

static json_t *rows_json(struct json_values *values, const char *key,
			 const struct figure_table *table)
{
	json_t *array = json_array();
	const struct cell *cells;
	struct table_rows rows;

	json_value_rows_begin(values, &rows, table);
	while (json_value_rows_next(values, &rows, &cells))
		item_append(values, array, key,
			    row_json(values, table, cells));
	return array;
}

/* A table inside a group: its rows, or an object where it has scalars too. */
static json_t *table_json(struct json_values *values,
			  const struct figure *figure)
{
	const char *key = figure->rows_key ? figure->rows_key : "rows";
	json_t *rows = rows_json(values, key, &figure->table);
	json_t *object;

	if (!figure->scalar_count)
		return rows;
	object = json_object();
	scalars_set(values, object, figure);
	member_set(values, object, key, rows);
	return object;
}

json_t *json_value_points(struct json_values *values, const char *key,
			  const double *points, size_t start, size_t count,
			  bool is_whole)
{
	json_t *array = json_array();

	for (size_t i = 0; i < start; i++)
		item_append(values, array, key, json_null());
	for (size_t i = start; i < count && !values->error; i++) {
		json_t *value = real_json(values, key, points[i], 1e9);

		if (value && is_whole && points[i] >= 0 && points[i] < 9e18) {
			json_decref(value);
			value = json_integer((json_int_t)(points[i] + 0.5));
		}
		item_append(values, array, key, value);
	}
	return array;
}

json_t *json_value_marks(struct json_values *values,
			 const struct figure_series *series)
{
	json_t *marks = json_array();

	for (size_t i = 0; i < series->mark_count; i++) {
		const struct figure_mark *mark = &series->marks[i];
		json_t *item = json_object();

		member_set(values, item, "seconds",
			   real_json(values, "seconds", mark->seconds, 1e9));
		member_set(values, item, "label", json_string(mark->label));
		item_append(values, marks, "marks", item);
	}
	return marks;
}

static json_t *series_json(struct json_values *values,
			   const struct figure *figure)
{
	const struct figure_series *series = &figure->series;
	json_t *object = json_object();

	scalars_set(values, object, figure);
	member_set(values, object, "seconds",
		   json_value_points(values, "seconds", series->seconds, 0,
				     series->point_count, false));
	for (size_t i = 0; i < series->curve_count; i++)
		member_set(values, object, series->curves[i].key,
			   json_value_points(values, series->curves[i].key,
					     series->curves[i].values,
					     series->curves[i].start,
					     series->point_count, true));
	member_set(values, object, "marks", json_value_marks(values, series));
	return object;
}

static json_t *note_json(struct json_values *values,
			 const struct figure_note *note)
{
	static const char *const names[] = { "info", "warning", "error" };
	json_t *object = json_object();

	member_set(values, object, "severity",
		   json_string(names[note->severity]));
	member_set(values, object, "text", json_string(note->text));
	return object;
}

json_t *json_value_notes(struct json_values *values,
			 const struct figure *group)
{
	json_t *notes = json_array();

	for (size_t i = 0; i < group->child_count; i++)
		if (group->children[i]->kind == FIGURE_NOTE)
			item_append(
				values, notes, "notes",
				note_json(values, &group->children[i]->note));
	return notes;
}

/* Groups hold groups because we build them so, never because a trace does:
   the depth is bounded. */
static json_t *group_json(struct json_values *values,
			  const struct figure *group, unsigned depth)
{
	json_t *object = json_object();
	json_t *notes = json_value_notes(values, group);

	scalars_set(values, object, group);
	for (size_t i = 0; i < group->child_count && !values->error; i++)
		if (group->children[i]->kind != FIGURE_NOTE)
			member_set(values, object, group->children[i]->id,
				   json_value_figure(values, group->children[i],
						     depth + 1));
	if (json_array_size(notes))
		member_set(values, object, "notes", notes);
	else
		json_decref(notes);
	return object;
}

json_t *json_value_figure(struct json_values *values,
			  const struct figure *figure, unsigned depth)
{
	json_t *object;

	switch (figure->kind) {
	case FIGURE_SCALARS:
		object = json_object();
		scalars_set(values, object, figure);
		return object;
	case FIGURE_TABLE:
		return table_json(values, figure);
	case FIGURE_SERIES:
		return series_json(values, figure);
	case FIGURE_NOTE:
		return note_json(values, &figure->note);
	case FIGURE_GROUP:
		if (depth < GROUP_DEPTH_MAX)
			return group_json(values, figure, depth);
		break;
	case FIGURE_TREE:
	case FIGURE_HISTORY:
		break;
	}
	json_value_fail(values, -EINVAL, figure->id, "has no form in JSON");
	return NULL;
}
