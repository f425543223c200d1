/* SPDX-License-Identifier: MIT */
/*
 * The inner loop of a pass.  What does not change with every event is not looked
 * at for every event: marks, phases and the bins of levels wait until time_due,
 * highest levels are only reached by allocations, and what can be had from other
 * sums is worked out from those when it is asked for.
 */
#include "report/engine/pair.h"

#include <errno.h>

#include "report/engine/culled.h"
#include "report/engine/engine_data.h"
#include "report/event/event.h"
#include "report/event/run.h"

/* How many events ahead memory is asked for, see look_ahead(). */
enum { AHEAD_SLOTS = 24, AHEAD_BLOCKS = 16, AHEAD_GROUPS = 8 };

/* As much is in the processor's cache without being asked for. */
enum { CACHED_BYTES = 256 << 10 };

/* How a block came to its end; members as in struct record without `free_`. */
struct block_end {
	uint64_t tick;
	uint64_t order;
	uint32_t stack;
	uint32_t thread;
	uint8_t call;
	bool is_temporary;
};

/* --- records -------------------------------------------------------------- */

static inline void fill_chain(const struct engine *engine,
			      struct record *record, uint32_t slot)
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

static inline int observe_record(struct engine *engine,
				 const struct live_block *block,
				 uint32_t stack, const struct block_end *end)
{
	struct record *record;
	int status = 0;

	if (engine->record_count == RECORD_BATCH)
		status = engine_show_records(engine);
	record = &engine->records[engine->record_count++];
	/* One by one: a literal would be zeroed first. */
	record->id = block->id;
	record->alloc_tick = block->alloc_tick;
	record->free_tick = end->tick;
	record->alloc_order = block->alloc_order;
	record->free_order = end->order;
	record->addr = block->addr;
	record->size = live_block_size(block);
	record->usable = block->usable;
	record->stack = stack;
	record->free_stack = end->stack;
	record->group = block->group;
	record->thread = block->thread;
	record->free_thread = end->thread;
	record->marker = block->marker;
	record->call = live_block_call(block);
	record->free_call = end->call;
	record->is_temporary = end->is_temporary;
	fill_chain(engine, record, block->chain);
	if (engine->peak.is_kept &&
	    record->alloc_order <= engine->totals.peak_order)
		peak_add(&engine->peak, record);
	return status;
}

/* --- chains --------------------------------------------------------------- */

/* A realloc that gave no block: a damaged trace.  Its chain ended then. */
static __attribute__((noinline)) int
chain_drop(struct engine *engine, struct engine_lane *lane)
{
	uint32_t slot = lane->chain;
	const struct chain *chain = chains_get(&engine->chains, slot);

	lane->chain = 0;
	return chains_end(&engine->chains, slot, chain->last_size,
			  chain->last_tick);
}

static inline int drop_chain(struct engine *engine, struct engine_lane *lane)
{
	return __builtin_expect(lane->chain != 0, 0) ? chain_drop(engine, lane)
						     : 0;
}

/* A realloc ends @block; the lane's next event continues the chain. */
static int continue_chain(struct engine *engine, struct engine_lane *lane,
			  struct live_block *block, uint64_t tick)
{
	uint64_t size = live_block_size(block);
	struct chain *chain;

	if (!block->chain)
		block->chain = chains_add(&engine->chains, size,
					  block->alloc_tick);
	if (!block->chain)
		return -ENOMEM;
	chain = chains_get(&engine->chains, block->chain);
	chain->last_size = size;
	chain->last_tick = tick;
	lane->chain = block->chain;
	return 0;
}

/* --- blocks --------------------------------------------------------------- */

/* Takes the block at @place out of all sums and the table, and shows its
   record. */
static inline __attribute__((always_inline)) int
end_block(struct engine *engine, struct live_place place,
	  const struct live_block *block, const struct block_end *end)
{
	struct engine_totals *totals = &engine->totals;
	struct group *group = &engine->groups.items[block->group];
	uint64_t size = live_block_size(block);
	uint64_t temporary = end->is_temporary;
	int status = 0;

	if (engine->keeps_records)
		status = observe_record(engine, block, group->stack, end);
	group_note_peak(group, totals->peak_epoch);
	group->freed_count++;
	group->freed_bytes += size;
	group_extend(&group->freed, block->alloc_tick, size, block->usable);
	group->temporary_count += temporary;
	group->temporary_bytes += temporary * size;
	totals->temporary_count += temporary;
	totals->live_count--;
	totals->live_bytes -= size;
	totals->live_usable -= block->usable;
	if (__builtin_expect(status == 0 && block->chain, 0) &&
	    end->call != CALL_REALLOC)
		status = chains_end(&engine->chains, block->chain, size,
				    end->tick);
	live_take(&engine->live, place);
	return status;
}

static inline int handle_free(struct engine *engine, struct engine_lane *lane,
			      const struct event *event)
{
	struct engine_totals *totals = &engine->totals;
	struct live_place place;
	struct live_block *block =
		live_seek(&engine->live, event->addr, &place);
	const struct block_end end = {
		.tick = event->tick,
		.order = totals->order,
		.stack = event->stack,
		.thread = lane->thread,
		.call = event->call,
		.is_temporary = lane->last_alloc == event->addr && !event->b,
	};
	int status = drop_chain(engine, lane);

	lane->last_alloc = 0;
	if (__builtin_expect(!block, 0)) {
		totals->unmatched_frees++;
		return status;
	}
	totals->freed_count++;
	if (status == 0 && event->call == CALL_REALLOC)
		status = continue_chain(engine, lane, block, event->tick);
	return status ? status : end_block(engine, place, block, &end);
}

/* A higher level than any before was reached. */
static inline void note_peak(struct engine *engine, uint64_t tick)
{
	struct engine_totals *totals = &engine->totals;

	totals->peak_bytes = totals->live_bytes;
	totals->peak_count = totals->live_count;
	totals->peak_usable = totals->live_usable;
	totals->peak_tick = tick;
	totals->peak_order = totals->order;
	totals->peak_epoch++;
	peak_rise(&engine->peak);
}

static inline void note_allocation(struct engine *engine, struct group *group,
				   const struct event *event)
{
	struct engine_totals *totals = &engine->totals;
	uint64_t tick = event->tick, size = event->size, live;

	group_note_peak(group, totals->peak_epoch);
	group->allocated_count++;
	group->allocated_bytes += size;
	group_extend(&group->all, tick, size, size + event->a);
	live = group->allocated_bytes - group->freed_bytes;
	if (live > group->max_live_bytes) {
		group->max_live_bytes = live;
		group->max_live_tick = tick;
		group->max_live_order = totals->order;
	}
	totals->allocated_count++;
	totals->allocated_bytes += size;
	totals->realloc_count += event->call == CALL_REALLOC;
	totals->live_count++;
	totals->live_bytes += size;
	totals->live_usable += size + event->a;
	moments_set(&engine->moments, totals->live_bytes);
	/* The peak is higher than the highest level of any bin. */
	if (levels_rise(&engine->levels, totals->live_bytes,
			totals->live_count) &&
	    totals->live_bytes > totals->peak_bytes)
		note_peak(engine, tick);
}

/* An allocation at the address of @block, which is at @place: it must have been
   freed unseen. */
static __attribute__((noinline)) int
overwrite_block(struct engine *engine, const struct engine_lane *lane,
		struct live_place place, const struct live_block *block,
		uint64_t tick)
{
	const struct block_end end = {
		.tick = tick,
		.order = engine->totals.order,
		.thread = lane->thread,
	};

	engine->totals.overwritten++;
	if (run_has_gap(engine->run, block->alloc_tick, tick))
		engine->totals.overwritten_in_gap++;
	return end_block(engine, place, block, &end);
}

static int observe_begun(struct engine *engine, const struct live_block *block)
{
	int status = engine_show_records(engine);

	for (size_t i = 0; status == 0 && i < engine->observer_count; i++)
		if (engine->observers[i].begun)
			status = engine->observers[i].begun(
				engine->observers[i].context, block);
	return status;
}

static inline int handle_alloc(struct engine *engine, struct engine_lane *lane,
			       const struct event *event)
{
	struct engine_totals *totals = &engine->totals;
	struct live_place place;
	struct live_block *block =
		live_seek(&engine->live, event->addr, &place);
	uint32_t group;
	int status = 0;

	if (__builtin_expect(block != NULL, 0)) {
		status = overwrite_block(engine, lane, place, block,
					 event->tick);
		live_seek(&engine->live, event->addr, &place);
	}
	if (event->call == CALL_REALLOC && lane->chain)
		chains_get(&engine->chains, lane->chain)->position++;
	else if (status == 0)
		status = drop_chain(engine, lane);
	group = groups_get(&engine->groups, event->stack, engine->seen.count);
	block = live_put(&engine->live, event->addr, place);
	if (__builtin_expect(group == GROUPS_NONE || !block, 0))
		return -ENOMEM;
	block->id = engine_made(engine);
	block->alloc_tick = event->tick;
	block->alloc_order = totals->order;
	live_block_set_size(block, event->size, event->call);
	block->usable = event->size + event->a;
	block->group = group;
	block->thread = lane->thread;
	block->marker = (uint32_t)totals->markers;
	block->chain = lane->chain;
	lane->made++;
	lane->last_alloc = event->addr;
	lane->chain = 0;
	note_allocation(engine, &engine->groups.items[group], event);
	if (__builtin_expect(engine->shows_begun, 0) && status == 0)
		status = observe_begun(engine, block);
	return status;
}

/* --- ahead ---------------------------------------------------------------- */

/* Asks for the memory that events to come will need: first where a table says
   where it is, then what the table said.  Inlined before the compiler finds that
   it changes nothing, and a call of it can go. */
static inline __attribute__((always_inline)) void
look_ahead(const struct engine *engine, const struct event *events)
{
	const struct groups *groups = &engine->groups;
	const struct event *event = &events[AHEAD_SLOTS];
	const struct live_block *block;

	live_prefetch(&engine->live, event->addr);
	if (event->kind == EVENT_ALLOC &&
	    event->stack < groups->of_stack_count)
		__builtin_prefetch(&groups->of_stack[event->stack]);
	event = &events[AHEAD_BLOCKS];
	if (event->kind == EVENT_FREE) {
		block = live_glance(&engine->live, event->addr);
		if (block)
			__builtin_prefetch(block);
	}
	event = &events[AHEAD_GROUPS];
	if (event->kind == EVENT_FREE) {
		block = live_glance(&engine->live, event->addr);
		if (block && block->group < groups->count)
			group_prefetch_freed(&groups->items[block->group]);
	} else if (event->kind == EVENT_ALLOC &&
		   event->stack < groups->of_stack_count &&
		   groups->of_stack[event->stack]) {
		group_prefetch(
			&groups->items[groups->of_stack[event->stack] - 1]);
	}
}

/* Return: of @known events, how many are far enough from the end for
   look_ahead(); 0 where it would not pay. */
static size_t ahead_count(const struct engine *engine, size_t known)
{
	size_t bytes = engine->live.count * sizeof(struct live_block) +
		       engine->groups.count * sizeof(struct group);

	return known > AHEAD_SLOTS && bytes > CACHED_BYTES
		       ? known - AHEAD_SLOTS
		       : 0;
}

/* --- time ----------------------------------------------------------------- */

static struct moments_now moments_now(const struct engine *engine)
{
	return (struct moments_now){
		.bytes = engine->totals.live_bytes,
		.allocations = engine->totals.allocated_count,
		.lanes = &engine->lanes,
	};
}

/* Blocks that came and went in the current bin of the levels. */
static void settle_bin(struct engine *engine)
{
	struct levels *levels = &engine->levels;
	uint64_t made = engine_made(engine);
	uint64_t ended = made - engine->totals.live_count;

	levels->last_bytes = engine->totals.live_bytes;
	levels->last_blocks = engine->totals.live_count;
	levels_count(levels, made - engine->bin_made,
		     ended - engine->bin_ended);
	engine->bin_made = made;
	engine->bin_ended = ended;
}

/* Called where a mark or phase begins or ends, or a bin ends, up to @tick, so
   seldom. */
static __attribute__((noinline)) void pass_time(struct engine *engine,
						uint64_t tick)
{
	const struct moments_now now = moments_now(engine);
	struct moments *moments = &engine->moments;
	struct levels *levels = &engine->levels;

	if (tick >= moments->next_tick)
		engine->totals.markers += moments_pass(moments, tick, &now);
	if (tick >= levels->bin_end) {
		settle_bin(engine);
		levels_advance(levels, tick);
	}
	engine->time_due = moments->next_tick < levels->bin_end
				   ? moments->next_tick
				   : levels->bin_end;
}

/* --- events --------------------------------------------------------------- */

void pair_begin(struct engine *engine)
{
	engine->time_due = 0;
	engine->bin_made = 0;
	engine->bin_ended = 0;
}

int pair_span(void *context, const struct event *events, size_t count,
	      size_t known, size_t lane_number)
{
	struct engine *engine = context;
	struct engine_lane *lane = &engine->lanes.items[lane_number];
	struct engine_totals *totals = &engine->totals;
	uint64_t order = totals->order, reallocs = totals->realloc_count;
	size_t ahead = ahead_count(engine, known);
	int status = 0;

	engine->tick = events[0].tick;
	if (engine->threads < 2)
		engine_look(engine);
	if (totals->order >= engine->progress_due)
		engine_report_progress(engine);
	for (size_t i = 0; status == 0 && i < count; i++) {
		const struct event *event = &events[i];

		if (i < ahead)
			look_ahead(engine, event);
		if (__builtin_expect(event->kind >= EVENT_CULLED_MOST, 0)) {
			status = culled_take(engine, lane, event);
			continue;
		}
		if (__builtin_expect(event->tick >= engine->time_due, 0))
			pass_time(engine, event->tick);
		if (event->kind == EVENT_ALLOC)
			status = handle_alloc(engine, lane, event);
		else if (event->kind == EVENT_FREE)
			status = handle_free(engine, lane, event);
		else
			status = engine_handle_other(engine, lane, event);
		totals->order++;
	}
	/* A realloc is two events here, and counts as one. */
	totals->events += totals->order - order -
			  (totals->realloc_count - reallocs);
	return status;
}

static int end_leaked(struct engine *engine, const struct live_block *block)
{
	static const struct block_end never = {
		.tick = RECORD_NEVER,
		.order = RECORD_NEVER,
	};
	int status = 0;

	if (engine->keeps_records)
		status = observe_record(
			engine, block,
			engine->groups.items[block->group].stack, &never);
	if (status == 0 && block->chain)
		status = chains_end(&engine->chains, block->chain,
				    live_block_size(block), RECORD_NEVER);
	return status;
}

/* The sums keep what is still alive. */
int pair_end(struct engine *engine)
{
	const struct moments_now now = moments_now(engine);
	struct live_block *block = NULL;
	int status = 0;

	for (size_t i = 0; status == 0 && i < engine->lanes.count; i++)
		status = drop_chain(engine, &engine->lanes.items[i]);
	while (status == 0 && (block = live_next(&engine->live, block)) != NULL)
		status = end_leaked(engine, block);
	if (status == 0)
		status = engine_show_records(engine);
	chains_finish(&engine->chains);
	settle_bin(engine);
	levels_finish(&engine->levels);
	engine->totals.markers += moments_finish(&engine->moments, &now);
	groups_settle_peak(&engine->groups, engine->totals.peak_epoch);
	return status;
}
