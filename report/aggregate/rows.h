/* SPDX-License-Identifier: MIT */
/*
 * The first N records of an order, whatever their number.
 *
 * Layer: aggregate.
 */
#ifndef REPORT_AGGREGATE_ROWS_H
#define REPORT_AGGREGATE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "report/aggregate/sort.h"
#include "report/engine/record.h"

/**
 * struct rows - a heap with the worst record on top
 * @limit: N, or SORT_NO_COUNT
 *
 * count <= limit.
 */
struct rows {
	struct record *items;
	size_t count;
	size_t capacity;
	uint64_t limit;
	enum sort_by sort_by; /* SORT_TIMESTAMP to SORT_LIFETIME */
	enum sort_order order;
	uint64_t last_tick; /* when what was never freed stops living */
};

/* Other keys than those of allocations sort by time. */
void rows_init(struct rows *rows, enum sort_by sort_by, enum sort_order order,
	       uint64_t limit);
void rows_done(struct rows *rows);

/* Return: 0 or -ENOMEM.  Cost: O(log N), one compare when it does not make
   it. */
int rows_add(struct rows *rows, const struct record *record);

/* Puts @items in order; no rows_add() after it. */
void rows_sort(struct rows *rows);

#endif /* REPORT_AGGREGATE_ROWS_H */
