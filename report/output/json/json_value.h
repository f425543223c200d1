/* SPDX-License-Identifier: MIT */
/*
 * Cells, frames and figures as values of jansson, and what a value of JSON
 * cannot be.
 *
 * The first failure is kept; from then on nothing is made or set, and what a
 * caller hands over is freed, so that only the end has to ask for it.
 *
 * Layer: output.
 */
#ifndef REPORT_OUTPUT_JSON_JSON_VALUE_H
#define REPORT_OUTPUT_JSON_JSON_VALUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "report/figure/figure.h"

struct diag;
struct sink;
struct table_rows;

/**
 * struct json_values
 * @out:   where they go, borrowed: there are no more rows once that failed
 * @diag:  filled with @error, borrowed; may be NULL
 * @error: 0 or the negative errno of the first failure
 */
struct json_values {
	const struct sink *out;
	struct diag *diag;
	int error;
};

/* Unless something failed before: @why the member @key did. */
void json_value_fail(struct json_values *values, int error, const char *key,
		     const char *why);

/*
 * Each returns a new reference, or NULL: then @values has failed, or a library
 * call did, which whoever sets or writes the value sees.  @key is for messages.
 */
json_t *json_value_cell(struct json_values *values, const char *key,
			const struct cell *cell);
json_t *json_value_frame(struct json_values *values,
			 const struct figure_frame *frame);

/* frames[0] of @stack, which says whether frames are missing. */
json_t *json_value_outer_frame(struct json_values *values,
			       const struct figure_stack *stack);

/* An array of @count, null before @start; @is_whole: as integers. */
json_t *json_value_points(struct json_values *values, const char *key,
			  const double *points, size_t start, size_t count,
			  bool is_whole);
json_t *json_value_marks(struct json_values *values,
			 const struct figure_series *series);

/* The notes among the children of @group. */
json_t *json_value_notes(struct json_values *values,
			 const struct figure *group);

/* All of @figure, in @depth groups. */
json_t *json_value_figure(struct json_values *values,
			  const struct figure *figure, unsigned depth);

/* Sets @object's member @key unless @cell is none. */
void json_value_set_cell(struct json_values *values, json_t *object,
			 const char *key, const struct cell *cell);

/* The number of @stack as member KEY_id. */
void json_value_set_stack_id(struct json_values *values, json_t *object,
			     const char *key, const struct figure_stack *stack);

/* As table_rows_begin(), table_rows_next(), failures kept in @values.
   Return of the latter: whether there is another row and nothing has failed. */
void json_value_rows_begin(struct json_values *values, struct table_rows *rows,
			   const struct figure_table *table);
bool json_value_rows_next(struct json_values *values, struct table_rows *rows,
			  const struct cell **ret);

#endif /* REPORT_OUTPUT_JSON_JSON_VALUE_H */
