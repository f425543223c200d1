/* SPDX-License-Identifier: MIT */
#include "report/aggregate/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/vec.h"

void rows_init(struct rows *rows, enum sort_by sort_by, enum sort_order order,
	       uint64_t limit)
{
	memset(rows, 0, sizeof(*rows));
	rows->limit = limit;
	rows->sort_by = sort_by;
	rows->order = order;
}

void rows_done(struct rows *rows)
{
	vec_done(rows);
}

static uint64_t lifetime(const struct rows *rows, const struct record *record)
{
	uint64_t end = record_is_leaked(record) ? rows->last_tick
						: record->free_tick;

	return end > record->alloc_tick ? end - record->alloc_tick : 0;
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
	return record->alloc_order;
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

static void sift_down(struct rows *rows, size_t at)
{
	struct record moving = rows->items[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= rows->count)
			break;
		if (child + 1 < rows->count &&
		    compare(rows, &rows->items[child], &rows->items[child + 1]) <
			    0)
			child++;
		if (compare(rows, &moving, &rows->items[child]) >= 0)
			break;
		rows->items[at] = rows->items[child];
		at = child;
	}
	rows->items[at] = moving;
}

int rows_add(struct rows *rows, const struct record *record)
{
	struct record *slot;

	if (!rows->limit)
		return 0;
	if (rows->count == rows->limit) {
		if (compare(rows, record, &rows->items[0]) >= 0)
			return 0;
		rows->items[0] = *record;
		sift_down(rows, 0);
		return 0;
	}
	slot = vec_push(rows);
	if (!slot)
		return -ENOMEM;
	*slot = *record;
	if (rows->count == rows->limit)
		for (size_t i = rows->count / 2; i-- > 0;)
			sift_down(rows, i);
	return 0;
}

static int compare_items(const void *a, const void *b, void *rows)
{
	return compare(rows, a, b);
}

void rows_sort(struct rows *rows)
{
	if (rows->count)
		qsort_r(rows->items, rows->count, sizeof(*rows->items),
			compare_items, rows);
}
