/* SPDX-License-Identifier: MIT */
/*
 * The first N records of an order, whatever their number.
 *
 * Layer: aggregate.
 */
#ifndef REPORT_AGGREGATE_ROWS_H
#define REPORT_AGGREGATE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/aggregate/sort.h"
#include "report/core/runs.h"
#include "report/engine/record.h"

struct run;

/**
 * struct rows - a heap with the worst record on top, or sorted runs
 * @limit: N, or SORT_NO_COUNT
 * @heap:  where N records are few enough to be held; @heap_count <= limit
 * @run:   for times, which are compared as reports write them
 * @size_min: smaller records do not make it any more; 0 if that is not known
 * @runs:  else all records: in a file but for the last
 */
struct rows {
	uint64_t limit;
	enum sort_by sort_by; /* SORT_TIMESTAMP to SORT_LIFETIME */
	enum sort_order order;
	const struct run *run; /* borrowed */
	bool is_heap;
	uint64_t size_min;
	struct {
		struct record *items;
		size_t count;
		size_t capacity;
	} heap;
	struct runs runs;
	uint64_t at; /* of rows_next() */
};

/* Other keys than those of allocations sort by time.  @buffer_bytes: memory for records,
   @directory: for the file, borrowed. */
void rows_init(struct rows *rows, enum sort_by sort_by, enum sort_order order,
	       uint64_t limit, size_t buffer_bytes, const char *directory);
void rows_done(struct rows *rows);

/* rows_add() of those that @size_min does not rule out. */
int rows_put(struct rows *rows, const struct record *record);

/* Return: 0 or negative errno.  Cost: O(log N), one compare when it does not
   make it. */
static inline int rows_add(struct rows *rows, const struct record *record)
{
	return record->size < rows->size_min || !rows->limit
		       ? 0
		       : rows_put(rows, record);
}

/* Return: how many rows_next() gives. */
uint64_t rows_count(const struct rows *rows);

/* Begins to read the first N in order; no rows_add() after it.  Return: 0 or
   negative errno. */
int rows_rewind(struct rows *rows);

/* Return: 1 with the next record, valid until the next call; 0 at the end;
   negative errno. */
int rows_next(struct rows *rows, const struct record **ret);

#endif /* REPORT_AGGREGATE_ROWS_H */
