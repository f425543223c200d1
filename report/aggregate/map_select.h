/* SPDX-License-Identifier: MIT */
/*
 * Which calls of mmap a question is about, and in which order.
 *
 * Layer: aggregate.
 */
#ifndef REPORT_AGGREGATE_MAP_SELECT_H
#define REPORT_AGGREGATE_MAP_SELECT_H

#include <stdint.h>

#include "report/aggregate/sort.h"

struct filter;
struct maps;
struct run;

/**
 * struct map_question - all borrowed for the call
 * @sort_by: SORT_TIMESTAMP, SORT_ADDRESS, SORT_SIZE, SORT_LIFETIME; others are
 *           the first of these
 * @skip, @rows: of the rows in order, how many are left out and how many follow
 * @peak_tick, @peak_order: as in struct filter_context
 */
struct map_question {
	const struct run *run;
	struct filter *filter;
	enum sort_by sort_by;
	enum sort_order order;
	uint64_t skip;
	uint64_t rows;
	uint64_t peak_tick;
	uint64_t peak_order;
};

/**
 * map_select() - from now on maps_mmaps() shows the calls of mmap that pass
 *
 * After the last event.  Maps are as struct record says; where a filter compares
 * with the peak, what happened at the same time counts as the call that reached
 * it.
 *
 * Return: 0; -ENOMEM; -E2BIG when some of the calls were not kept, so that the
 * answer is not known.
 */
int map_select(struct maps *maps, const struct map_question *question);

#endif /* REPORT_AGGREGATE_MAP_SELECT_H */
