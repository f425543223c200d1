/* SPDX-License-Identifier: MIT */
/*
 * What an engine keeps during a pass, for the files that take its events.
 *
 * Layer: engine, private to engine.c, pair.c and culled.c.
 */
#ifndef REPORT_ENGINE_ENGINE_DATA_H
#define REPORT_ENGINE_ENGINE_DATA_H

#include "report/engine/chains.h"
#include "report/engine/engine.h"
#include "report/engine/groups.h"
#include "report/engine/lane.h"
#include "report/engine/levels.h"
#include "report/engine/live.h"
#include "report/engine/merge.h"
#include "report/engine/moments.h"
#include "report/engine/peak.h"
#include "report/event/stacks.h"

enum { RECORD_BATCH = 128 };

/**
 * struct engine
 * @seen:    the nodes of @stacks that are known of the events so far
 * @tick:    of the last span of events
 * @keeps_records: an observer wants them, or what was alive at the peak is kept
 * @shows_begun: an observer has @begun
 * @records: @record_count of them that nobody has seen yet
 * @time_due: tick of the event before which time must be told to pass, see
 *           pair_span()
 * @bin_made, @bin_ended: blocks that had come and gone when the current bin of
 *           @levels began
 * @progress_due: totals.order at which to call @progress again
 */
struct engine {
	struct input *input;
	const struct run *run;
	struct stacks *stacks;
	struct stacks seen;
	struct engine_lanes lanes;
	struct live_table live;
	struct groups groups;
	struct levels levels;
	struct moments moments;
	struct chains chains;
	struct peak peak;
	struct engine_totals totals;
	uint64_t tick;
	const struct engine_observer *observers;
	size_t observer_count;
	bool keeps_records;
	bool shows_begun;
	struct record records[RECORD_BATCH];
	size_t record_count;
	uint64_t observe_ns;
	uint64_t time_due;
	uint64_t bin_made;
	uint64_t bin_ended;
	engine_progress_fn progress;
	void *progress_context;
	struct merge_times times;
	unsigned threads;
	uint64_t progress_due;
};

/* Blocks that came to be so far, but for what the trace has only in sums. */
static inline uint64_t engine_made(const struct engine *engine)
{
	return engine->totals.allocated_count - engine->totals.culled_count;
}

/* What was learnt up to the events that come now may be looked at. */
void engine_look(struct engine *engine);

/* Shows the records that wait to be seen.  Return: 0 or what an observer
   returned. */
int engine_show_records(struct engine *engine);

/* Takes events that are neither allocations nor frees.  Return: 0 or negative
   errno. */
int engine_handle_other(struct engine *engine, struct engine_lane *lane,
			const struct event *event);

/* Calls the progress function. */
void engine_report_progress(struct engine *engine);

#endif /* REPORT_ENGINE_ENGINE_DATA_H */
