/* SPDX-License-Identifier: MIT */
/*
 * Events in, finished allocations and aggregates out.
 *
 * The engine merges the lanes, pairs each free with its allocation and keeps
 * what every report needs: totals, the peak, statistics by backtrace, levels
 * over time.  Memory is O(live blocks + backtraces), never O(events).  Views
 * that must look at single allocations observe the records as they finish.
 *
 * Layer: engine.
 */
#ifndef REPORT_ENGINE_ENGINE_H
#define REPORT_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/engine/groups.h"
#include "report/engine/levels.h"
#include "report/engine/live.h"
#include "report/engine/moments.h"
#include "report/engine/record.h"

struct diag;
struct event;
struct input;
struct merge_times;
struct run;
struct stacks;

/**
 * struct engine_observer - who wants to see what
 * @record: a finished allocation; may be NULL.  Freed ones come in the order of
 *          their frees, leaked ones after the last event.  Many are shown at
 *          once, some time after they finished, unless somebody has @begun
 * @begun:  an allocation when it is made; may be NULL.  Together with @record
 *          everything in the order of time.  Nothing is known of its end
 * @records: instead of @record, for who is quicker with many at once
 * @culled: allocations that the trace has only in sums; may be NULL
 * @event:  MMAP, MUNMAP, MREMAP, MALLOPT, RSS and MARKER events in order; may be NULL
 *
 * All return 0 or a negative errno, which ends the pass.
 */
struct engine_observer {
	void *context;
	int (*record)(void *context, const struct record *record);
	int (*records)(void *context, const struct record *records,
		       size_t count);
	int (*begun)(void *context, const struct live_block *block);
	int (*culled)(void *context, const struct culled *culled);
	int (*event)(void *context, const struct event *event, uint32_t thread);
};

/**
 * struct engine_totals - of the whole run; sizes are requested bytes
 * @events:          of all kinds, a realloc being one
 * @order:           number of the next event; a realloc takes two
 * @unmatched_frees: frees of unknown blocks
 * @overwritten:     allocations at an address that was still in use
 * @overwritten_in_gap: of these, those where the process ran unrecorded between
 *                   the two allocations: the block was freed then
 * @peak_usable:     usable bytes of the blocks alive at the peak
 * @culled_count, @culled_bytes: of allocations that the trace has only in sums;
 *                   they count as allocated and freed, also among @events and
 *                   temporary ones, but never as live
 * @culled_most:     bytes that may have been alive of them at once; live and
 *                   peak bytes are too low by no more
 * @culled_astride:  those of which it is not known between which marks
 *
 * allocated_count - freed_count - overwritten == live_count
 */
struct engine_totals {
	uint64_t events;
	uint64_t order;
	uint64_t allocated_count;
	uint64_t allocated_bytes;
	uint64_t freed_count;
	uint64_t realloc_count;
	uint64_t temporary_count;
	uint64_t unmatched_frees;
	uint64_t overwritten;
	uint64_t overwritten_in_gap;
	uint64_t live_count;
	uint64_t live_bytes;
	uint64_t live_usable;
	uint64_t peak_bytes;
	uint64_t peak_count; /* blocks at the moment of the peak */
	uint64_t peak_usable;
	uint64_t peak_tick;
	uint64_t peak_order;
	uint64_t peak_epoch; /* how often a new maximum was reached */
	uint64_t culled_count;
	uint64_t culled_bytes;
	uint64_t culled_most;
	uint64_t culled_astride;
	uint64_t peak_rss;   /* largest sample, 0 if there was none */
	uint64_t map_events;
	uint64_t mallopt_events;
	uint64_t markers; /* MARKER events, and the run's marks and numbers */
};

struct engine;

/* @events of the pass so far, @bytes of the trace that have been read. */
typedef void (*engine_progress_fn)(void *context, uint64_t events,
				   uint64_t bytes);

/**
 * engine_new() - nothing is read yet
 * @input, @run, @stacks: borrowed
 *
 * Return: owned by the caller, NULL when out of memory.
 */
struct engine *engine_new(struct input *input, const struct run *run,
			  struct stacks *stacks);
void engine_free(struct engine *engine);

/* From the next pass on it is kept how chains end, so that records of the passes
   after that one know it (struct record).  The ends lie in a temporary file in
   @directory.  Return: 0 or -errno. */
int engine_keep_chains(struct engine *engine, const char *directory);

/* @progress is called every few thousand events of a pass; NULL for never. */
void engine_set_progress(struct engine *engine, engine_progress_fn progress,
			 void *context);

/* From the next pass on the trace is decoded in a thread of its own if
   @threads is 2 or more.  Nothing else depends on it. */
void engine_set_threads(struct engine *engine, unsigned threads);

/* Return: the stacks of the events so far, for observers and what they use:
   while a pass lasts, those given to engine_new() may change at any time. */
const struct stacks *engine_stacks(const struct engine *engine);

/**
 * engine_pass() - read the trace from start to end
 * @observers: @observer_count of them; borrowed
 *
 * May be called again: each pass computes the same totals, groups and levels
 * anew and gives every record the same numbers.
 *
 * Return: 0, negative errno of reading (with @diag) or of an observer.
 */
int engine_pass(struct engine *engine, const struct engine_observer *observers,
		size_t observer_count, struct diag *diag);

/**
 * struct engine_memory - what the engine's tables hold and take
 * @tick: of the last event of the pass, 0 before the first
 */
struct engine_memory {
	uint64_t live_count;
	uint64_t live_bytes;
	uint64_t group_count;
	uint64_t group_bytes;
	uint64_t tick;
};

/* For messages: may be called at any time, also after a pass that failed. */
struct engine_memory engine_memory(const struct engine *engine);

/* From the next pass on, what engine_show_peak() needs is kept. */
void engine_keep_peak(struct engine *engine);

/* Return: whether it is there; not if there were too many records. */
bool engine_has_peak(const struct engine *engine);

/**
 * engine_show_peak() - after a pass, the allocations alive at its peak
 * @observers: @observer_count of them
 *
 * If engine_has_peak(): their members record are shown what a pass would show
 * them, of these allocations only and in the same order.
 *
 * Return: 0 or negative errno of an observer.
 */
int engine_show_peak(struct engine *engine,
		     const struct engine_observer *observers,
		     size_t observer_count);

/* Of the last pass. */
const struct merge_times *engine_times(const struct engine *engine);

/* Return: nanoseconds that the observers of records took in the last pass. */
uint64_t engine_observe_ns(const struct engine *engine);

const struct engine_totals *engine_totals(const struct engine *engine);
const struct groups *engine_groups(const struct engine *engine);
const struct levels *engine_levels(const struct engine *engine);
const struct moments *engine_moments(const struct engine *engine);

#endif /* REPORT_ENGINE_ENGINE_H */
