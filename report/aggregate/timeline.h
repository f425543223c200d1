/* SPDX-License-Identifier: MIT */
/*
 * Memory over time: of the run, which the engine keeps anyway, and of the
 * allocations that pass a filter.
 *
 * Whether an allocation passes may depend on its end, while levels must be
 * added up in the order of time.  So two passes over the trace are needed: one
 * that marks the allocations that pass, a bit each, and one that adds them up.
 *
 * Layer: aggregate.
 */
#ifndef REPORT_AGGREGATE_TIMELINE_H
#define REPORT_AGGREGATE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/engine/levels.h"

struct culled;
struct figure;
struct live_block;
struct record;
struct run;
struct scope;

/**
 * struct timeline - of marked allocations; zero-initialised has none
 * @marked: a bit an allocation, by its number; @capacity words of 64
 * @bytes, @blocks: level now
 * @highest_bytes:  and when it was first reached
 * @culled: how many came and went that the trace has only in sums; NULL for none
 */
struct timeline {
	uint64_t *marked;
	size_t capacity;
	struct levels levels;
	uint64_t bytes;
	uint64_t blocks;
	uint64_t highest_bytes;
	uint64_t highest_tick;
	struct levels *culled;
};

void timeline_done(struct timeline *timeline);

/* In the first pass.  Return: 0 or -ENOMEM. */
int timeline_mark(struct timeline *timeline, const struct record *record);

/* Return: whether the allocation with that number was marked. */
bool timeline_has(const struct timeline *timeline, uint64_t id);

/* In the first pass too, of what the trace has only in sums. */
int timeline_add_culled(struct timeline *timeline, const struct run *run,
			const struct culled *culled);

/* Before the second pass. */
void timeline_start(struct timeline *timeline, const struct run *run);
/* An engine_observer's functions for the second pass; @context is a struct
   timeline. */
int timeline_begun(void *context, const struct live_block *block);
int timeline_record(void *context, const struct record *record);
/* After the second pass. */
void timeline_finish(struct timeline *timeline);

/* SERIES "timeline" of the run: live bytes, live blocks, how many came and went
   in each bin, resident memory if sampled; NULL when out of memory. */
const struct figure *timeline_of_run(const struct scope *scope);

/* SERIES called @id of the marked allocations, without resident memory. */
struct figure *timeline_of_view(const struct timeline *timeline,
				const struct scope *scope, const char *id,
				const char *title);

#endif /* REPORT_AGGREGATE_TIMELINE_H */
