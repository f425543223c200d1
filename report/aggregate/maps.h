/* SPDX-License-Identifier: MIT */
/*
 * Calls of mmap, munmap, mremap and mallopt, samples of resident memory.
 *
 * Layer: aggregate.
 */
#ifndef REPORT_AGGREGATE_MAPS_H
#define REPORT_AGGREGATE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/aggregate/map_ranges.h"
#include "report/event/event.h"

struct figure;
struct scope;

enum { MAPS_ROWS_MAX = 100000 };

/* A call of mmap, munmap, mremap or mallopt, or a sample of resident memory; by
   @thread. */
struct map_call {
	struct event event;
	uint32_t thread;
};

/**
 * struct map_row - a call of mmap that was asked for
 * @key:   that rows are in the order of
 * @call:  number among all calls that are kept; @owner: among those of mmap
 */
struct map_row {
	uint64_t key;
	uint32_t call;
	uint32_t owner;
};

/**
 * struct maps - calls in the order of time
 * @ranges: what calls of mmap that are kept still hold
 * @selected: if @is_selected, all that was asked for in order; numbers @first
 *          to @last - 1 are shown
 *
 * At most MAPS_ROWS_MAX of each kind are kept, the rest only counted, so that
 * memory stays bounded.  Zero-initialised is empty.
 */
struct maps {
	struct {
		struct map_call *items;
		size_t count;
		size_t capacity;
		uint64_t total;
	} maps, mallopts, samples;
	struct map_ranges ranges;
	bool is_selected;
	struct {
		struct map_row *items;
		size_t count;
		size_t capacity;
	} selected;
	size_t first;
	size_t last;
};

void maps_done(struct maps *maps);

/* An engine_observer's event function; @context is a struct maps. */
int maps_add(void *context, const struct event *event, uint32_t thread);

/* TABLEs "mmaps", with the samples beside it where there are any, and
   "mallopts"; NULL when out of memory. */
const struct figure *maps_mmaps(const struct maps *maps,
				const struct scope *scope);
const struct figure *maps_mallopts(const struct maps *maps,
				   const struct scope *scope);

#endif /* REPORT_AGGREGATE_MAPS_H */
