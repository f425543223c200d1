/* SPDX-License-Identifier: MIT */
#include "report/engine/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/stopwatch.h"
#include "report/engine/ahead.h"
#include "report/engine/engine_data.h"
#include "report/engine/pair.h"
#include "report/event/event.h"
#include "report/event/run.h"
#include "report/input/input.h"

enum { PROGRESS_EVENTS = 100000 };

void engine_look(struct engine *engine)
{
	engine->seen.nodes = engine->stacks->nodes;
	engine->seen.count = engine->stacks->count;
}

struct engine *engine_new(struct input *input, const struct run *run,
			  struct stacks *stacks)
{
	struct engine *engine = calloc(1, sizeof(*engine));

	if (!engine)
		return NULL;
	engine->input = input;
	engine->run = run;
	engine->stacks = stacks;
	engine_look(engine);
	if (lanes_init(&engine->lanes, input) == 0)
		return engine;
	lanes_done(&engine->lanes);
	free(engine);
	return NULL;
}

void engine_free(struct engine *engine)
{
	if (!engine)
		return;
	live_done(&engine->live);
	groups_done(&engine->groups);
	chains_done(&engine->chains);
	moments_done(&engine->moments);
	peak_done(&engine->peak);
	lanes_done(&engine->lanes);
	free(engine);
}

int engine_keep_chains(struct engine *engine, const char *directory)
{
	return chains_keep(&engine->chains, directory);
}

void engine_set_progress(struct engine *engine, engine_progress_fn progress,
			 void *context)
{
	engine->progress = progress;
	engine->progress_context = context;
}

void engine_set_threads(struct engine *engine, unsigned threads)
{
	engine->threads = threads;
}

void engine_report_progress(struct engine *engine)
{
	engine->progress_due = engine->totals.order + PROGRESS_EVENTS;
	if (engine->progress)
		engine->progress(engine->progress_context,
				 engine->totals.events,
				 __atomic_load_n(&engine->input->bytes_read,
						 __ATOMIC_RELAXED));
}

static int observer_show(const struct engine_observer *observer,
			 const struct record *records, size_t count)
{
	int status = 0;

	if (observer->records)
		return observer->records(observer->context, records, count);
	for (size_t i = 0; status == 0 && observer->record && i < count; i++)
		status = observer->record(observer->context, &records[i]);
	return status;
}

int engine_show_records(struct engine *engine)
{
	uint64_t start = stopwatch_ns();
	size_t count = engine->record_count;
	int status = 0;

	engine->record_count = 0;
	for (size_t i = 0; i < engine->observer_count; i++) {
		const struct engine_observer *observer = &engine->observers[i];

		if (status == 0)
			status = observer_show(observer, engine->records,
					       count);
	}
	engine->observe_ns += stopwatch_ns() - start;
	return status;
}

int engine_handle_other(struct engine *engine, struct engine_lane *lane,
			const struct event *event)
{
	struct engine_totals *totals = &engine->totals;
	int status = 0;

	if (event->kind == EVENT_LOST)
		return 0;
	if (event->kind == EVENT_RSS) {
		levels_set_rss(&engine->levels, event->tick, event->size);
		if (event->size > totals->peak_rss)
			totals->peak_rss = event->size;
	} else if (event->kind == EVENT_MARKER) {
		totals->markers++;
	} else if (event->kind == EVENT_MALLOPT) {
		totals->mallopt_events++;
	} else {
		totals->map_events++;
	}
	for (size_t i = 0; status == 0 && i < engine->observer_count; i++)
		if (engine->observers[i].event)
			status = engine->observers[i].event(
				engine->observers[i].context, event,
				lane->thread);
	return status;
}

static int pass_begin(struct engine *engine)
{
	live_done(&engine->live);
	groups_done(&engine->groups);
	chains_begin(&engine->chains);
	memset(&engine->totals, 0, sizeof(engine->totals));
	memset(&engine->times, 0, sizeof(engine->times));
	engine->observe_ns = 0;
	engine->record_count = 0;
	peak_rise(&engine->peak);
	engine->progress_due = 0;
	engine->tick = 0;
	engine_look(engine);
	lanes_begin(&engine->lanes, engine->input);
	levels_init(&engine->levels, engine->run->first_tick,
		    engine->run->last_tick);
	engine->input->format->rewind(engine->input);
	if (moments_begin(&engine->moments, engine->run) < 0)
		return -ENOMEM;
	pair_begin(engine);
	return live_init(&engine->live);
}

static int pass_run(struct engine *engine, struct diag *diag)
{
	const struct merge_taker taker = {
		.context = engine,
		.span = pair_span,
	};
	int status = AHEAD_NO_THREAD;

	if (engine->threads > 1)
		status = ahead_run(engine->input, engine->stacks, &engine->seen,
				   &taker, &engine->times, diag);
	if (status != AHEAD_NO_THREAD)
		return status;
	engine->threads = 1;
	return merge_run(engine->input, &taker, &engine->times, diag);
}

int engine_pass(struct engine *engine, const struct engine_observer *observers,
		size_t observer_count, struct diag *diag)
{
	int status = pass_begin(engine);

	engine->observers = observers;
	engine->observer_count = observer_count;
	engine->keeps_records = engine->peak.is_kept;
	engine->shows_begun = false;
	for (size_t i = 0; i < observer_count; i++) {
		engine->keeps_records |= observers[i].record != NULL ||
					 observers[i].records != NULL;
		engine->shows_begun |= observers[i].begun != NULL;
	}
	if (status == 0)
		status = pass_run(engine, diag);
	if (status == 0)
		status = pair_end(engine);
	return status;
}

struct engine_memory engine_memory(const struct engine *engine)
{
	const struct groups *groups = &engine->groups;

	return (struct engine_memory){
		.live_count = engine->live.count,
		.live_bytes = live_bytes(&engine->live),
		.group_count = groups->count,
		.group_bytes = groups->capacity * sizeof(*groups->items) +
			       groups->of_stack_count *
				       sizeof(*groups->of_stack),
		.tick = engine->tick,
	};
}

void engine_keep_peak(struct engine *engine)
{
	engine->peak.is_kept = true;
}

bool engine_has_peak(const struct engine *engine)
{
	return engine->peak.is_kept && !engine->peak.is_lost;
}

int engine_show_peak(struct engine *engine,
		     const struct engine_observer *observers,
		     size_t observer_count)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < observer_count; i++)
		status = observer_show(&observers[i], engine->peak.items,
				       engine->peak.count);
	return status;
}

const struct stacks *engine_stacks(const struct engine *engine)
{
	return &engine->seen;
}

uint64_t engine_observe_ns(const struct engine *engine)
{
	return engine->observe_ns;
}

const struct merge_times *engine_times(const struct engine *engine)
{
	return &engine->times;
}

const struct engine_totals *engine_totals(const struct engine *engine)
{
	return &engine->totals;
}

const struct groups *engine_groups(const struct engine *engine)
{
	return &engine->groups;
}

const struct moments *engine_moments(const struct engine *engine)
{
	return &engine->moments;
}

const struct levels *engine_levels(const struct engine *engine)
{
	return &engine->levels;
}
