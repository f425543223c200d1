/* SPDX-License-Identifier: MIT */
#include "report/engine/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/stopwatch.h"
#include "report/engine/ahead.h"
#include "report/engine/chains.h"
#include "report/engine/culled.h"
#include "report/engine/lane.h"
#include "report/engine/merge.h"
#include "report/engine/moments.h"
#include "report/engine/peak.h"
#include "report/event/event.h"
#include "report/event/run.h"
#include "report/event/stacks.h"
#include "report/input/input.h"

enum { PROGRESS_EVENTS = 100000, RECORD_BATCH = 128 };

/* How many events ahead memory is asked for, see look_ahead(). */
enum { AHEAD_SLOTS = 24, AHEAD_BLOCKS = 16, AHEAD_GROUPS = 8 };

/* How a block came to its end; members as in struct record without `free_`. */
struct block_end {
	uint64_t tick;
	uint64_t order;
	uint32_t stack;
	uint32_t thread;
	uint8_t call;
	bool is_temporary;
};

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
	uint64_t tick; /* of the last span of events */
	const struct engine_observer *observers;
	size_t observer_count;
	bool has_record_observer;
	bool shows_begun; /* an observer has @begun */
	struct record records[RECORD_BATCH]; /* not seen yet */
	size_t record_count;
	uint64_t observe_ns;
	engine_progress_fn progress;
	void *progress_context;
	struct merge_times times;
	unsigned threads;
	uint64_t progress_due; /* totals.order at which to call it again */
};

static void engine_look(struct engine *engine)
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

static void report_progress(struct engine *engine)
{
	engine->progress_due = engine->totals.order + PROGRESS_EVENTS;
	if (engine->progress)
		engine->progress(engine->progress_context,
				 engine->totals.events,
				 __atomic_load_n(&engine->input->bytes_read,
						 __ATOMIC_RELAXED));
}

static void fill_chain(const struct engine *engine, struct record *record,
		       uint32_t slot)
{
	const struct chain *chain;

	if (!slot) {
		record->chain = 0;
		record->chain_position = 0;
		record->chain_length = 1;
		record->chain_first_size = record->size;
		record->chain_first_tick = record->alloc_tick;
		record->chain_last_size = record->size;
		record->chain_end_tick = record->free_tick;
		return;
	}
	chain = chains_get(&engine->chains, slot);
	record->chain = chain->number;
	record->chain_position = chain->position;
	record->chain_first_size = chain->first_size;
	record->chain_first_tick = chain->first_tick;
	record->chain_length = chain->end.length;
	record->chain_last_size = chain->end.last_size;
	record->chain_end_tick = chain->end.end_tick;
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

/* Shows the records that wait to be seen. */
static int show_records(struct engine *engine)
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

static inline int observe_record(struct engine *engine,
				 const struct live_block *block,
				 const struct block_end *end)
{
	struct record *record;
	int status = 0;

	if (!engine->has_record_observer && !engine->peak.is_kept)
		return 0;
	if (engine->record_count == RECORD_BATCH)
		status = show_records(engine);
	record = &engine->records[engine->record_count++];
	/* One by one: a literal would be zeroed first. */
	record->id = block->id;
	record->alloc_tick = block->alloc_tick;
	record->free_tick = end->tick;
	record->alloc_order = block->alloc_order;
	record->free_order = end->order;
	record->addr = block->addr;
	record->size = block->size;
	record->usable = block->usable;
	record->stack = block->stack;
	record->free_stack = end->stack;
	record->group = block->group;
	record->thread = block->thread;
	record->free_thread = end->thread;
	record->marker = block->marker;
	record->call = block->call;
	record->free_call = end->call;
	record->is_temporary = end->is_temporary;
	fill_chain(engine, record, block->chain);
	if (engine->peak.is_kept &&
	    record->alloc_order <= engine->totals.peak_order)
		peak_add(&engine->peak, record);
	return status;
}

/* Takes @block out of all sums and the table, and shows its record. */
static int end_block(struct engine *engine, struct live_block *block,
		     const struct block_end *end)
{
	struct engine_totals *totals = &engine->totals;
	struct group *group = &engine->groups.items[block->group];
	int status = observe_record(engine, block, end);

	group_note_peak(group, totals->peak_epoch);
	group->freed_count++;
	group->freed_bytes += block->size;
	group->temporary_count += end->is_temporary;
	group->temporary_bytes += end->is_temporary ? block->size : 0;
	totals->temporary_count += end->is_temporary;
	totals->live_count--;
	totals->live_bytes -= block->size;
	totals->live_usable -= block->usable;
	if (status == 0 && block->chain && end->call != CALL_REALLOC)
		status = chains_end(&engine->chains, block->chain, block->size,
				    end->tick);
	live_remove(&engine->live, block);
	return status;
}

/* A realloc that gave no block: a damaged trace.  Its chain ended then. */
static int drop_chain(struct engine *engine, struct engine_lane *lane)
{
	uint32_t slot = lane->chain;
	const struct chain *chain;

	lane->chain = 0;
	if (!slot)
		return 0;
	chain = chains_get(&engine->chains, slot);
	return chains_end(&engine->chains, slot, chain->last_size,
			  chain->last_tick);
}

/* A realloc ends @block; the lane's next event continues the chain. */
static int continue_chain(struct engine *engine, struct engine_lane *lane,
			  struct live_block *block, uint64_t tick)
{
	struct chain *chain;

	if (!block->chain)
		block->chain = chains_add(&engine->chains, block->size,
					  block->alloc_tick);
	if (!block->chain)
		return -ENOMEM;
	chain = chains_get(&engine->chains, block->chain);
	chain->last_size = block->size;
	chain->last_tick = tick;
	lane->chain = block->chain;
	return 0;
}

static int handle_free(struct engine *engine, struct engine_lane *lane,
		       const struct event *event)
{
	struct engine_totals *totals = &engine->totals;
	struct live_block *block = live_find(&engine->live, event->addr);
	struct block_end end = {
		.tick = event->tick,
		.order = totals->order,
		.stack = event->stack,
		.thread = lane->thread,
		.call = event->call,
		.is_temporary = lane->last_alloc == event->addr && !event->b,
	};
	int status = drop_chain(engine, lane);

	lane->last_alloc = 0;
	if (!block) {
		totals->unmatched_frees++;
		return status;
	}
	totals->freed_count++;
	if (status == 0 && event->call == CALL_REALLOC)
		status = continue_chain(engine, lane, block, event->tick);
	return status ? status : end_block(engine, block, &end);
}

static void note_allocation(struct engine *engine, struct group *group,
			    const struct event *event)
{
	struct engine_totals *totals = &engine->totals;

	group_note_peak(group, totals->peak_epoch);
	group->allocated_count++;
	group->allocated_bytes += event->size;
	group->usable_bytes += event->size + event->a;
	if (event->tick < group->first_tick)
		group->first_tick = event->tick;
	if (event->tick > group->last_tick)
		group->last_tick = event->tick;
	if (event->size < group->min_size)
		group->min_size = event->size;
	if (event->size > group->max_size)
		group->max_size = event->size;
	totals->allocated_count++;
	totals->allocated_bytes += event->size;
	totals->realloc_count += event->call == CALL_REALLOC;
	totals->live_count++;
	totals->live_bytes += event->size;
	totals->live_usable += event->size + event->a;
	if (group->allocated_bytes - group->freed_bytes >
	    group->max_live_bytes) {
		group->max_live_bytes =
			group->allocated_bytes - group->freed_bytes;
		group->max_live_tick = event->tick;
		group->max_live_order = totals->order;
	}
	if (totals->live_bytes > totals->peak_bytes) {
		totals->peak_bytes = totals->live_bytes;
		totals->peak_count = totals->live_count;
		totals->peak_usable = totals->live_usable;
		totals->peak_tick = event->tick;
		totals->peak_order = totals->order;
		totals->peak_epoch++;
		peak_rise(&engine->peak);
	}
}

static int observe_begun(struct engine *engine, const struct live_block *block)
{
	int status = show_records(engine);

	for (size_t i = 0; status == 0 && i < engine->observer_count; i++)
		if (engine->observers[i].begun)
			status = engine->observers[i].begun(
				engine->observers[i].context, block);
	return status;
}

static int handle_alloc(struct engine *engine, struct engine_lane *lane,
			const struct event *event)
{
	struct engine_totals *totals = &engine->totals;
	struct live_block *block = live_find(&engine->live, event->addr);
	uint32_t group;
	int status = 0;

	if (block) {
		struct block_end end = {
			.tick = event->tick,
			.order = totals->order,
			.thread = lane->thread,
		};

		totals->overwritten++;
		if (run_has_gap(engine->run, block->alloc_tick, event->tick))
			totals->overwritten_in_gap++;
		status = end_block(engine, block, &end);
	}
	if (event->call == CALL_REALLOC && lane->chain)
		chains_get(&engine->chains, lane->chain)->position++;
	else if (status == 0)
		status = drop_chain(engine, lane);
	group = groups_get(&engine->groups, event->stack,
			   engine->seen.count);
	block = live_add(&engine->live, event->addr);
	if (group == GROUPS_NONE || !block)
		return -ENOMEM;
	block->id = totals->allocated_count - totals->culled_count;
	block->alloc_tick = event->tick;
	block->alloc_order = totals->order;
	block->size = event->size;
	block->usable = event->size + event->a;
	block->stack = event->stack;
	block->group = group;
	block->thread = lane->thread;
	block->call = event->call;
	block->marker = (uint32_t)totals->markers;
	block->chain = lane->chain;
	lane->made++;
	lane->last_alloc = event->addr;
	lane->chain = 0;
	note_allocation(engine, &engine->groups.items[group], event);
	if (status == 0 && engine->shows_begun)
		status = observe_begun(engine, block);
	return status;
}

/* Return: markers up to @tick, which may be over. */
static uint32_t markers_at(const struct engine *engine, uint64_t tick)
{
	const struct run_mark *marks = engine->run->marks;
	uint64_t count = engine->totals.markers;
	size_t i = engine->moments.mark;

	for (; i > 0 && marks[i - 1].tick > tick; i--)
		count -= marks[i - 1].kind != RUN_MARK_PHASE;
	for (; i < engine->run->mark_count && marks[i].tick <= tick; i++)
		count += marks[i].kind != RUN_MARK_PHASE;
	return (uint32_t)count;
}

static int observe_culled(struct engine *engine, struct culled *culled,
			  uint64_t count, bool is_temporary)
{
	int status = 0;

	culled->count = count;
	culled->record.is_temporary = is_temporary;
	for (size_t i = 0; status == 0 && count && i < engine->observer_count;
	     i++)
		if (engine->observers[i].culled)
			status = engine->observers[i].culled(
				engine->observers[i].context, culled);
	return status;
}

/* Some that are alike. */
static int handle_culled_row(struct engine *engine, struct engine_lane *lane,
			     const struct event *event)
{
	struct culled *culled = &lane->culled;
	uint32_t group = groups_get(&engine->groups, event->stack,
				    engine->seen.count);
	int status;

	if (group == GROUPS_NONE)
		return -ENOMEM;
	culled->record = (struct record){
		.size = event->size,
		.usable = event->size + event->a,
		.stack = event->stack,
		.group = group,
		.thread = lane->thread,
		.free_thread = lane->thread,
		.marker = markers_at(engine, culled->first_tick),
		.call = event->call,
		.chain_length = 1,
		.chain_first_size = event->size,
		.chain_last_size = event->size,
	};
	culled->last_marker = markers_at(engine, culled->last_tick);
	culled->count = event->b;
	lane->made += event->b;
	culled_add(&(struct culled_sums){ .totals = &engine->totals,
					  .group = &engine->groups.items[group],
					  .levels = &engine->levels,
					  .moments = &engine->moments },
		   culled, event->addr);
	status = observe_culled(engine, culled, event->addr, true);
	return status ? status
		      : observe_culled(engine, culled, event->b - event->addr,
				       false);
}

/* What the trace has only in sums is no event at its time. */
static int handle_culled(struct engine *engine, struct engine_lane *lane,
			 const struct event *event)
{
	struct engine_totals *totals = &engine->totals;

	if (event->kind == EVENT_CULLED)
		return handle_culled_row(engine, lane, event);
	if (event->kind == EVENT_CULLED_TIMES) {
		lane->culled.first_tick = event->addr;
		lane->culled.last_tick = event->size;
		lane->culled.shortest = event->a;
		lane->culled.longest = event->b;
	} else if (event->size > lane->culled_most) {
		totals->culled_most += event->size - lane->culled_most;
		lane->culled_most = event->size;
	}
	return 0;
}

static int handle_other(struct engine *engine, struct engine_lane *lane,
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

/* Asks for the memory that events to come will need: first where a table says
   where it is, then what the table said.  Inlined before the compiler finds that
   it changes nothing, and a call of it can go. */
static inline __attribute__((always_inline)) void
look_ahead(const struct engine *engine, const struct event *events, size_t left)
{
	const struct groups *groups = &engine->groups;
	const struct event *event = &events[AHEAD_SLOTS];
	const struct live_block *block;

	if (left <= AHEAD_SLOTS)
		return;
	live_prefetch(&engine->live, event->addr);
	if (event->kind == EVENT_ALLOC &&
	    event->stack < groups->of_stack_count)
		__builtin_prefetch(&groups->of_stack[event->stack]);
	event = &events[AHEAD_BLOCKS];
	if (event->kind == EVENT_FREE) {
		block = live_glance(&engine->live, event->addr);
		if (block) {
			__builtin_prefetch(block);
			__builtin_prefetch((const char *)(block + 1) - 1);
		}
	}
	event = &events[AHEAD_GROUPS];
	if (event->kind == EVENT_FREE) {
		block = live_glance(&engine->live, event->addr);
		if (block && block->group < groups->count)
			group_prefetch(&groups->items[block->group]);
	} else if (event->kind == EVENT_ALLOC &&
		   event->stack < groups->of_stack_count &&
		   groups->of_stack[event->stack]) {
		group_prefetch(
			&groups->items[groups->of_stack[event->stack] - 1]);
	}
}

static struct moments_now moments_now(const struct engine *engine)
{
	return (struct moments_now){
		.bytes = engine->totals.live_bytes,
		.allocations = engine->totals.allocated_count,
		.lanes = &engine->lanes,
	};
}

/* Called where a mark or phase begins or ends up to @tick, so seldom. */
static __attribute__((noinline)) void pass_moments(struct engine *engine,
						   uint64_t tick)
{
	const struct moments_now now = moments_now(engine);

	engine->totals.markers += moments_pass(&engine->moments, tick, &now);
}

static int handle_span(void *context, const struct event *events, size_t count,
		       size_t known, size_t lane_number)
{
	struct engine *engine = context;
	struct engine_lane *lane = &engine->lanes.items[lane_number];
	struct engine_totals *totals = &engine->totals;
	int status = 0;

	engine->tick = events[0].tick;
	if (engine->threads < 2)
		engine_look(engine);
	if (totals->order >= engine->progress_due)
		report_progress(engine);
	for (size_t i = 0; status == 0 && i < count; i++) {
		const struct event *event = &events[i];
		uint64_t begun = totals->allocated_count;
		uint64_t ended = totals->freed_count + totals->overwritten;

		look_ahead(engine, event, known - i);
		if (__builtin_expect(event->kind >= EVENT_CULLED_MOST, 0)) {
			status = handle_culled(engine, lane, event);
			continue;
		}
		if (event->tick >= engine->moments.next_tick)
			pass_moments(engine, event->tick);
		if (event->kind == EVENT_ALLOC)
			status = handle_alloc(engine, lane, event);
		else if (event->kind == EVENT_FREE)
			status = handle_free(engine, lane, event);
		else
			status = handle_other(engine, lane, event);
		totals->order++;
		totals->events += event->kind != EVENT_ALLOC ||
				  event->call != CALL_REALLOC;
		levels_set(&engine->levels, event->tick, totals->live_bytes,
			   totals->live_count);
		moments_set(&engine->moments, totals->live_bytes);
		levels_count(&engine->levels, totals->allocated_count - begun,
			     totals->freed_count + totals->overwritten - ended);
	}
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
	return live_init(&engine->live);
}

static int end_leaked(struct engine *engine, const struct live_block *block)
{
	static const struct block_end never = {
		.tick = RECORD_NEVER,
		.order = RECORD_NEVER,
	};
	int status = observe_record(engine, block, &never);

	if (status == 0 && block->chain)
		status = chains_end(&engine->chains, block->chain, block->size,
				    RECORD_NEVER);
	return status;
}

/* What is still alive was leaked; the sums keep it. */
static int pass_end(struct engine *engine)
{
	const struct moments_now now = moments_now(engine);
	struct live_block *block = NULL;
	int status = 0;

	for (size_t i = 0; status == 0 && i < engine->lanes.count; i++)
		status = drop_chain(engine, &engine->lanes.items[i]);
	while (status == 0 && (block = live_next(&engine->live, block)) != NULL)
		status = end_leaked(engine, block);
	if (status == 0)
		status = show_records(engine);
	chains_finish(&engine->chains);
	levels_finish(&engine->levels);
	engine->totals.markers += moments_finish(&engine->moments, &now);
	groups_settle_peak(&engine->groups, engine->totals.peak_epoch);
	return status;
}

static int pass_run(struct engine *engine, struct diag *diag)
{
	int status = AHEAD_NO_THREAD;

	if (engine->threads > 1)
		status = ahead_run(engine->input, engine->stacks, &engine->seen,
				   handle_span, engine, &engine->times, diag);
	if (status != AHEAD_NO_THREAD)
		return status;
	engine->threads = 1;
	return merge_run(engine->input, handle_span, engine, &engine->times,
			 diag);
}

int engine_pass(struct engine *engine, const struct engine_observer *observers,
		size_t observer_count, struct diag *diag)
{
	int status = pass_begin(engine);

	engine->observers = observers;
	engine->observer_count = observer_count;
	engine->has_record_observer = false;
	engine->shows_begun = false;
	for (size_t i = 0; i < observer_count; i++) {
		engine->has_record_observer |= observers[i].record != NULL ||
					       observers[i].records != NULL;
		engine->shows_begun |= observers[i].begun != NULL;
	}
	if (status == 0)
		status = pass_run(engine, diag);
	if (status == 0)
		status = pass_end(engine);
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
