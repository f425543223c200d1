/* SPDX-License-Identifier: MIT */
#include "report/aggregate/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/vec.h"
#include "report/event/run.h"

/* Times are compared as reports write them: to the nanosecond. */
static uint64_t lifetime(const struct rows *rows, const struct record *record)
{
	uint64_t end = record_is_leaked(record) ? rows->run->last_tick
						: record->free_tick;

	return run_span_ns(rows->run, record->alloc_tick, end);
}

static uint64_t sort_key(const struct rows *rows, const struct record *record)
{
	if (rows->sort_by == SORT_ADDRESS)
		return record->addr;
	if (rows->sort_by == SORT_SIZE)
		return record->size;
	if (rows->sort_by == SORT_USABLE_SIZE)
		return record->usable;
	if (rows->sort_by == SORT_LIFETIME)
		return lifetime(rows, record);
	return run_span_ns(rows->run, rows->run->first_tick, record->alloc_tick);
}

/* < 0: @a comes first.  Equal keys in the order of allocation. */
static int compare(const struct rows *rows, const struct record *a,
		   const struct record *b)
{
	uint64_t x = sort_key(rows, a), y = sort_key(rows, b);

	if (x != y)
		return (x < y) == (rows->order == SORT_ASCENDING) ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

static int compare_items(const void *a, const void *b, void *rows)
{
	return compare(rows, a, b);
}

void rows_init(struct rows *rows, enum sort_by sort_by, enum sort_order order,
	       uint64_t limit, size_t buffer_bytes, const char *directory)
{
	memset(rows, 0, sizeof(*rows));
	rows->limit = limit;
	rows->sort_by = sort_by;
	rows->order = order;
	rows->is_heap = limit <= buffer_bytes / sizeof(*rows->heap.items);
	runs_init(&rows->runs, sizeof(struct record), compare_items, rows,
		  buffer_bytes, directory);
}

void rows_done(struct rows *rows)
{
	vec_done(&rows->heap);
	runs_done(&rows->runs);
}

static void sift_down(struct rows *rows, size_t at)
{
	struct record *items = rows->heap.items;
	struct record moving = items[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= rows->heap.count)
			break;
		if (child + 1 < rows->heap.count &&
		    compare(rows, &items[child], &items[child + 1]) < 0)
			child++;
		if (compare(rows, &moving, &items[child]) >= 0)
			break;
		items[at] = items[child];
		at = child;
	}
	items[at] = moving;
}

/* The last of a full heap is on its top. */
static void note_size(struct rows *rows)
{
	if (rows->sort_by == SORT_SIZE && rows->order == SORT_DESCENDING)
		rows->size_min = rows->heap.items[0].size;
}

int rows_put(struct rows *rows, const struct record *record)
{
	struct record *slot;

	if (!rows->is_heap)
		return runs_add(&rows->runs, record);
	if (rows->heap.count == rows->limit) {
		if (compare(rows, record, &rows->heap.items[0]) >= 0)
			return 0;
		rows->heap.items[0] = *record;
		sift_down(rows, 0);
		note_size(rows);
		return 0;
	}
	slot = vec_push(&rows->heap);
	if (!slot)
		return -ENOMEM;
	*slot = *record;
	if (rows->heap.count < rows->limit)
		return 0;
	for (size_t i = rows->heap.count / 2; i-- > 0;)
		sift_down(rows, i);
	note_size(rows);
	return 0;
}

uint64_t rows_count(const struct rows *rows)
{
	uint64_t count = rows->is_heap ? rows->heap.count : rows->runs.count;

	return count < rows->limit ? count : rows->limit;
}

int rows_rewind(struct rows *rows)
{
	rows->at = 0;
	if (!rows->is_heap)
		return runs_rewind(&rows->runs);
	if (rows->heap.count)
		qsort_r(rows->heap.items, rows->heap.count,
			sizeof(*rows->heap.items), compare_items, rows);
	return 0;
}

int rows_next(struct rows *rows, const struct record **ret)
{
	const void *item;
	int status;

	if (rows->at == rows_count(rows))
		return 0;
	if (rows->is_heap) {
		*ret = &rows->heap.items[rows->at++];
		return 1;
	}
	status = runs_next(&rows->runs, &item);
	if (status > 0) {
		*ret = item;
		rows->at++;
	}
	return status;
}
