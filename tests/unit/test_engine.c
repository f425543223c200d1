/* SPDX-License-Identifier: MIT */
/*
 * The engine against a slow and obvious one: random events on several lanes,
 * merged by sorting, paired by searching.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/engine/engine.h"
#include "report/engine/merge.h"
#include "report/engine/lane.h"
#include "report/engine/moments.h"
#include "report/event/event.h"
#include "report/event/run.h"
#include "report/event/stacks.h"
#include "report/input/input.h"

enum { LANES = 4, EVENTS_MAX = 3000, STACKS = 12, ADDRESSES = 60 };

/* A trace in memory, given out in batches of seven. */
struct fake {
	struct input input;
	struct event events[LANES][EVENTS_MAX];
	size_t counts[LANES];
	size_t at[LANES];
	size_t lane_count;
};

static size_t fake_lane_count(const struct input *input)
{
	return ((const struct fake *)input)->lane_count;
}

static uint32_t fake_lane_thread(const struct input *input, size_t lane)
{
	(void)input;
	return (uint32_t)lane + 1;
}

static uint64_t fake_lane_start(const struct input *input, size_t lane)
{
	const struct fake *fake = (const struct fake *)input;

	return fake->counts[lane] ? fake->events[lane][0].tick : UINT64_MAX;
}

static int fake_lane_next(struct input *input, size_t lane,
			  struct event_batch *ret, struct diag *diag)
{
	struct fake *fake = (struct fake *)input;
	size_t left = fake->counts[lane] - fake->at[lane];

	(void)diag;
	if (!left)
		return 0;
	assert_int_equal(event_batch_reserve(ret, 7), 0);
	ret->count = left < 7 ? left : 7;
	memcpy(ret->items, &fake->events[lane][fake->at[lane]],
	       ret->count * sizeof(*ret->items));
	fake->at[lane] += ret->count;
	return 1;
}

static void fake_rewind(struct input *input)
{
	struct fake *fake = (struct fake *)input;

	memset(fake->at, 0, sizeof(fake->at));
}

static const struct input_format fake_format = {
	.name = "fake",
	.lane_count = fake_lane_count,
	.lane_thread = fake_lane_thread,
	.lane_start = fake_lane_start,
	.lane_next = fake_lane_next,
	.rewind = fake_rewind,
};

static uint32_t random_state;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (random_state >> 8) % limit;
}

/* Times rise by 0 to 2, so equal times between lanes are common.  Frees of
   unknown blocks and allocations over live ones occur. */
static void fake_fill(struct fake *fake, uint32_t seed, size_t lanes,
		      size_t events)
{
	memset(fake, 0, sizeof(*fake));
	fake->input.format = &fake_format;
	fake->lane_count = lanes;
	random_state = seed;
	for (size_t lane = 0; lane < lanes; lane++) {
		uint64_t tick = 100 + random_below(50);

		for (size_t i = 0; i < events; i++) {
			struct event *event = &fake->events[lane][i];

			tick += random_below(3);
			event->tick = tick;
			event->kind = random_below(2) ? EVENT_ALLOC : EVENT_FREE;
			event->call = event->kind == EVENT_ALLOC ? CALL_MALLOC
								 : CALL_FREE;
			event->addr = 16 + 16 * random_below(ADDRESSES);
			event->size = event->kind == EVENT_ALLOC
					      ? random_below(1000)
					      : 0;
			event->a = random_below(16);
			event->stack = 1 + random_below(STACKS);
		}
		fake->counts[lane] = events;
	}
}

struct merged {
	struct event event;
	size_t lane;
	size_t index;
};

static int by_time(const void *a, const void *b)
{
	const struct merged *x = a, *y = b;

	if (x->event.tick != y->event.tick)
		return x->event.tick < y->event.tick ? -1 : 1;
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* What the slow engine finds. */
struct slow {
	uint64_t allocated, freed, unmatched, overwritten, temporary;
	uint64_t peak, peak_count, peak_order;
	uint64_t group_peak[STACKS + 1];
	uint64_t group_live[STACKS + 1];
};

struct slow_block {
	bool live;
	uint64_t size;
	uint32_t stack;
};

static void slow_free(struct slow *slow, struct slow_block *block)
{
	slow->group_live[block->stack] -= block->size;
	block->live = false;
}

static void slow_step(struct slow *slow, struct slow_block *blocks,
		      const struct merged *merged, uint64_t *last,
		      uint64_t order)
{
	const struct event *event = &merged->event;
	struct slow_block *block = &blocks[event->addr / 16];
	uint64_t live = 0, count = 0;

	if (event->kind == EVENT_FREE) {
		bool is_last = *last == event->addr;

		*last = 0;
		if (!block->live) {
			slow->unmatched++;
			return;
		}
		slow->freed++;
		slow->temporary += is_last;
		slow_free(slow, block);
		return;
	}
	if (block->live) {
		slow->overwritten++;
		slow_free(slow, block);
	}
	*block = (struct slow_block){ true, event->size, event->stack };
	*last = event->addr;
	slow->allocated++;
	slow->group_live[event->stack] += event->size;
	for (size_t i = 0; i <= ADDRESSES; i++) {
		live += blocks[i].live ? blocks[i].size : 0;
		count += blocks[i].live;
	}
	if (live > slow->peak) {
		slow->peak = live;
		slow->peak_count = count;
		slow->peak_order = order;
		memcpy(slow->group_peak, slow->group_live,
		       sizeof(slow->group_peak));
	}
}

static void slow_run(const struct fake *fake, struct slow *slow)
{
	static struct merged merged[LANES * EVENTS_MAX];
	struct slow_block blocks[ADDRESSES + 1] = { 0 };
	uint64_t last[LANES] = { 0 };
	size_t count = 0;

	memset(slow, 0, sizeof(*slow));
	for (size_t lane = 0; lane < fake->lane_count; lane++)
		for (size_t i = 0; i < fake->counts[lane]; i++)
			merged[count++] = (struct merged){
				fake->events[lane][i], lane, i
			};
	qsort(merged, count, sizeof(*merged), by_time);
	for (size_t i = 0; i < count; i++)
		slow_step(slow, blocks, &merged[i], &last[merged[i].lane], i);
}

struct seen {
	uint64_t records, leaked, temporary;
	uint64_t at_peak, at_peak_bytes, at_peak_hash;
	uint64_t peak_order; /* 0 in the first pass */
	uint64_t begun;
};

/* Allocations begin in the order of their numbers. */
static int see_begun(void *context, const struct live_block *block)
{
	struct seen *seen = context;

	assert_int_equal(block->id, seen->begun);
	seen->begun++;
	return 0;
}

static int see_record(void *context, const struct record *record)
{
	struct seen *seen = context;

	assert_true(record->free_order == RECORD_NEVER ||
		    record->free_order > record->alloc_order);
	assert_true(record->free_tick >= record->alloc_tick);
	seen->records++;
	seen->leaked += record_is_leaked(record);
	seen->temporary += record->is_temporary;
	if (record->alloc_order <= seen->peak_order &&
	    record->free_order > seen->peak_order) {
		seen->at_peak_bytes += record->size;
		seen->at_peak++;
		seen->at_peak_hash = seen->at_peak_hash * 31 + record->id;
	}
	return 0;
}

static void make_stacks(struct stacks *stacks)
{
	assert_int_equal(stacks_init(stacks), 0);
	for (uint32_t i = 1; i <= STACKS; i++)
		assert_int_equal(stacks_child(stacks, STACKS_ROOT, i), i);
}

/* What is shown of the peak afterwards is what the pass showed of it. */
static void check_peak(struct engine *engine, const struct slow *slow,
		       const struct seen *pass)
{
	struct seen seen = { .peak_order = slow->peak_order };
	const struct engine_observer observer = { .context = &seen,
						  .record = see_record };

	assert_true(engine_has_peak(engine));
	assert_int_equal(engine_show_peak(engine, &observer, 1), 0);
	assert_int_equal(seen.at_peak, seen.records);
	assert_int_equal(seen.at_peak, pass->at_peak);
	assert_int_equal(seen.at_peak_bytes, slow->peak);
	assert_int_equal(seen.at_peak_hash, pass->at_peak_hash);
}

static void check_seed(uint32_t seed, size_t lanes, size_t events)
{
	static struct fake fake;
	struct slow slow;
	struct stacks stacks;
	struct run run = { .first_tick = 100, .last_tick = 9000, .tick_ns = 1 };
	struct seen seen = { 0 };
	const struct engine_observer observer = { .context = &seen,
						  .record = see_record,
						  .begun = see_begun };
	const struct engine_totals *totals;
	const struct groups *groups;
	const struct levels *levels;
	struct engine *engine;
	uint64_t highest = 0, begun = 0, ended = 0;

	fake_fill(&fake, seed, lanes, events);
	slow_run(&fake, &slow);
	make_stacks(&stacks);
	engine = engine_new(&fake.input, &run, &stacks);
	assert_non_null(engine);
	engine_keep_peak(engine);
	for (unsigned pass = 0; pass < 4; pass++) {
		memset(&seen, 0, sizeof(seen));
		seen.peak_order = slow.peak_order;
		engine_set_threads(engine, 1 + pass % 2);
		assert_int_equal(engine_pass(engine, &observer, 1, NULL), 0);
		totals = engine_totals(engine);
		assert_int_equal(totals->allocated_count, slow.allocated);
		assert_int_equal(totals->freed_count, slow.freed);
		assert_int_equal(totals->unmatched_frees, slow.unmatched);
		assert_int_equal(totals->overwritten, slow.overwritten);
		assert_int_equal(totals->temporary_count, slow.temporary);
		assert_int_equal(totals->peak_bytes, slow.peak);
		assert_int_equal(totals->peak_count, slow.peak_count);
		assert_int_equal(totals->peak_order, slow.peak_order);
		assert_int_equal(seen.records, slow.allocated);
		assert_int_equal(seen.leaked, totals->live_count);
		assert_int_equal(seen.begun, slow.allocated);
		assert_int_equal(seen.at_peak_bytes, slow.peak);
		check_peak(engine, &slow, &seen);
	}
	groups = engine_groups(engine);
	for (size_t i = 0; i < groups->count; i++)
		assert_int_equal(groups->items[i].peak_bytes,
				 slow.group_peak[groups->items[i].stack]);
	levels = engine_levels(engine);
	for (size_t i = 0; i < levels->bin_count; i++) {
		begun += levels->allocations[i];
		ended += levels->deallocations[i];
	}
	assert_int_equal(begun, totals->allocated_count);
	assert_int_equal(begun - ended, totals->live_count);
	for (size_t i = 0; i < levels->bin_count; i++)
		highest = levels->bytes[i] > highest ? levels->bytes[i]
						     : highest;
	assert_int_equal(highest, slow.peak);
	assert_int_equal(levels->bytes[levels->bin_count - 1],
			 totals->live_bytes);
	engine_free(engine);
	stacks_done(&stacks);
}

static void engine_equals_slow_engine(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 200; seed++)
		check_seed(seed, 1 + seed % LANES, 10 + seed * 2);
	check_seed(4711, LANES, EVENTS_MAX);
}

static void empty_trace_has_no_peak(void **state)
{
	static struct fake fake;
	struct run run = { .first_tick = 5, .last_tick = 5, .tick_ns = 1 };
	struct stacks stacks;
	struct engine *engine;

	(void)state;
	fake_fill(&fake, 1, 2, 0);
	make_stacks(&stacks);
	engine = engine_new(&fake.input, &run, &stacks);
	assert_int_equal(engine_pass(engine, NULL, 0, NULL), 0);
	assert_int_equal(engine_totals(engine)->events, 0);
	assert_int_equal(engine_totals(engine)->peak_bytes, 0);
	assert_int_equal(engine_groups(engine)->count, 0);
	assert_int_equal(engine_levels(engine)->bin_count, 1);
	engine_free(engine);
	stacks_done(&stacks);
}

static void realloc_extends_the_chain(void **state)
{
	static struct fake fake;
	static const struct event events[] = {
		{ .tick = 1, .kind = EVENT_ALLOC, .call = CALL_MALLOC,
		  .addr = 16, .size = 100, .stack = 1 },
		{ .tick = 2, .kind = EVENT_FREE, .call = CALL_REALLOC,
		  .addr = 16, .stack = 2 },
		{ .tick = 3, .kind = EVENT_ALLOC, .call = CALL_REALLOC,
		  .addr = 32, .size = 200, .stack = 2 },
		{ .tick = 4, .kind = EVENT_FREE, .call = CALL_REALLOC,
		  .addr = 32, .stack = 2 },
		{ .tick = 5, .kind = EVENT_ALLOC, .call = CALL_REALLOC,
		  .addr = 32, .size = 50, .stack = 2 },
	};
	struct run run = { .first_tick = 0, .last_tick = 9, .tick_ns = 1 };
	struct stacks stacks;
	struct engine *engine;
	const struct engine_totals *totals;

	(void)state;
	fake_fill(&fake, 1, 1, 0);
	memcpy(fake.events[0], events, sizeof(events));
	fake.counts[0] = 5;
	make_stacks(&stacks);
	engine = engine_new(&fake.input, &run, &stacks);
	assert_int_equal(engine_pass(engine, NULL, 0, NULL), 0);
	totals = engine_totals(engine);
	assert_int_equal(totals->allocated_count, 3);
	assert_int_equal(totals->realloc_count, 2);
	assert_int_equal(totals->freed_count, 2);
	assert_int_equal(totals->temporary_count, 2);
	assert_int_equal(totals->live_bytes, 50);
	assert_int_equal(totals->peak_bytes, 200);
	assert_int_equal(totals->allocated_count - totals->freed_count -
				 totals->overwritten,
			 totals->live_count);
	engine_free(engine);
	stacks_done(&stacks);
}

static void many_blocks_are_found_again(void **state)
{
	struct live_table live;
	struct live_place place;
	struct live_block *block;
	size_t left = 0;

	(void)state;
	assert_int_equal(live_init(&live), 0);
	for (uint64_t i = 0; i < 100000; i++) {
		assert_null(live_seek(&live, i * 48 + 16, &place));
		block = live_put(&live, i * 48 + 16, place);
		assert_non_null(block);
		live_block_set_size(block, i, 0);
	}
	for (uint64_t i = 0; i < 100000; i += 3) {
		assert_non_null(live_seek(&live, i * 48 + 16, &place));
		live_take(&live, place);
	}
	for (uint64_t i = 0; i < 100000; i++) {
		block = live_seek(&live, i * 48 + 16, &place);
		assert_true((block == NULL) == (i % 3 == 0));
		assert_true(!block || live_block_size(block) == i);
	}
	for (block = live_next(&live, NULL); block;
	     block = live_next(&live, block))
		left++;
	assert_int_equal(left, live.count);
	live_done(&live);
}

/* Makes reallocs of frees that an allocation follows, and of some that none
   follows, as in a damaged trace. */
static void make_reallocs(struct fake *fake)
{
	for (size_t lane = 0; lane < fake->lane_count; lane++) {
		struct event *events = fake->events[lane];

		for (size_t i = 0; i + 1 < fake->counts[lane]; i++) {
			if (events[i].kind != EVENT_FREE || random_below(3) == 0)
				continue;
			events[i].call = CALL_REALLOC;
			if (events[i + 1].kind == EVENT_ALLOC)
				events[i + 1].call = CALL_REALLOC;
		}
	}
}

/* All records of a pass, by id. */
struct record_list {
	struct record *items;
	size_t count;
};

static int list_record(void *context, const struct record *record)
{
	struct record_list *list = context;

	list->items[record->id] = *record;
	list->count++;
	return 0;
}

/* What @list says about the chain of record @id, worked out from all records:
   each must be freed by the realloc that made the next. */
static void check_chain(const struct record_list *list, size_t id,
			bool ends_known)
{
	const struct record *record = &list->items[id];
	const struct record *first = record, *last = record;
	uint32_t length = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct record *other = &list->items[i];

		if (record->chain == 0 ? i != id : other->chain != record->chain)
			continue;
		if (length) {
			assert_int_equal(last->free_call, CALL_REALLOC);
			assert_int_equal(other->call, CALL_REALLOC);
			assert_int_equal(last->free_thread, other->thread);
			assert_true(last->free_order < other->alloc_order);
		} else {
			first = other;
		}
		assert_int_equal(other->chain_position, length);
		last = other;
		length++;
	}
	assert_int_equal(record->chain_first_size, first->size);
	assert_int_equal(record->chain_first_tick, first->alloc_tick);
	if (record->chain == 0)
		assert_int_not_equal(record->free_call, CALL_REALLOC);
	if (!ends_known && record->chain) {
		assert_int_equal(record->chain_length, 0);
		return;
	}
	assert_int_equal(record->chain_length, length);
	assert_int_equal(record->chain_last_size, last->size);
	assert_int_equal(record->chain_end_tick, last->free_tick);
}

static void chains_are_known_in_the_second_pass(void **state)
{
	static struct fake fake;
	static struct record records[LANES * EVENTS_MAX];
	struct record_list list = { .items = records };
	const struct engine_observer observer = { .context = &list,
						  .record = list_record };
	struct run run = { .first_tick = 100, .last_tick = 9000, .tick_ns = 1 };
	size_t linked = 0;

	(void)state;
	for (uint32_t seed = 1; seed <= 40; seed++) {
		struct stacks stacks;
		struct engine *engine;
		fake_fill(&fake, seed, 1 + seed % LANES, 20 + seed * 5);
		make_reallocs(&fake);
		make_stacks(&stacks);
		engine = engine_new(&fake.input, &run, &stacks);
		assert_int_equal(engine_keep_chains(engine, "/tmp"), 0);
		for (int pass = 0; pass < 3; pass++) {
			list.count = 0;
			assert_int_equal(engine_pass(engine, &observer, 1,
						     NULL),
					 0);
			for (size_t i = 0; i < list.count; i++) {
				check_chain(&list, i, pass > 0);
				linked += records[i].chain_position > 1;
			}
		}
		engine_free(engine);
		stacks_done(&stacks);
	}
	assert_true(linked > 20);
}

static void chains_need_a_place_for_their_ends(void **state)
{
	static struct fake fake;
	struct run run = { .tick_ns = 1 };
	struct stacks stacks;
	struct engine *engine;

	(void)state;
	fake_fill(&fake, 1, 1, 1);
	make_stacks(&stacks);
	engine = engine_new(&fake.input, &run, &stacks);
	assert_int_equal(engine_keep_chains(engine, "/nonexistent"), -ENOENT);
	engine_free(engine);
	stacks_done(&stacks);
}

/* Two stacks; the second holds its most twice, the first never any bytes. */
static void groups_know_when_they_held_most(void **state)
{
	static struct fake fake;
	struct run run = { .first_tick = 0, .last_tick = 10, .tick_ns = 1 };
	const struct event events[] = {
		{ .kind = EVENT_ALLOC, .tick = 1, .addr = 16, .stack = 1 },
		{ .kind = EVENT_ALLOC, .tick = 2, .addr = 32, .size = 7,
		  .stack = 2 },
		{ .kind = EVENT_ALLOC, .tick = 3, .addr = 48, .size = 3,
		  .stack = 2 },
		{ .kind = EVENT_FREE, .tick = 4, .addr = 48 },
		{ .kind = EVENT_MARKER, .tick = 4 },
		{ .kind = EVENT_ALLOC, .tick = 5, .addr = 48, .size = 3,
		  .stack = 2 },
	};
	static struct record records[4];
	struct record_list list = { .items = records };
	const struct engine_observer observer = { .context = &list,
						  .record = list_record };
	const struct group *groups;
	struct stacks stacks;
	struct engine *engine;

	(void)state;
	fake_fill(&fake, 1, 1, 0);
	memcpy(fake.events[0], events, sizeof(events));
	fake.counts[0] = sizeof(events) / sizeof(events[0]);
	make_stacks(&stacks);
	engine = engine_new(&fake.input, &run, &stacks);
	assert_int_equal(engine_pass(engine, &observer, 1, NULL), 0);
	groups = engine_groups(engine)->items;
	assert_int_equal(groups[0].max_live_bytes, 0);
	assert_int_equal(groups[0].max_live_tick, 0);
	assert_int_equal(groups[1].max_live_bytes, 10);
	assert_int_equal(groups[1].max_live_tick, 3);
	assert_int_equal(groups[1].max_live_order, 2);
	assert_int_equal(engine_totals(engine)->markers, 1);
	assert_int_equal(records[2].marker, 0);
	assert_int_equal(records[3].marker, 1);
	engine_free(engine);
	stacks_done(&stacks);
}

static long long written_ns(double seconds)
{
	return llround(seconds * 1e9);
}

/* A span is the difference of the two times beside it, to the last digit. */
static void spans_are_differences_of_times(void **state)
{
	struct run run = { .first_tick = 12345, .tick_ns = 0.333333333 };
	bool differs = false;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		uint64_t from = run.first_tick + random_below(1u << 30);
		uint64_t to = from + random_below(1u << 20);
		long long first = written_ns(run_seconds(&run, from));
		long long last = written_ns(run_seconds(&run, to));

		assert_int_equal(written_ns(run_span(&run, from, to)),
				 last - first);
		differs |= written_ns((double)(to - from) * run.tick_ns / 1e9) !=
			   last - first;
	}
	assert_true(differs);
	assert_true(run_span(&run, 20000, 20000) == 0);
	assert_true(run_span(&run, 20000, 15000) == 0);
}

/* --- moments ------------------------------------------------------------ */

/* Level @bytes from @tick on; before it @allocations were made. */
struct step {
	uint64_t tick;
	uint64_t bytes;
	uint64_t allocations;
	uint32_t thread; /* that makes one here */
};

/* What moments_find() must say of @mark, from all @steps. */
static struct moments_between look_at(const struct run_mark *mark,
				      const struct step *steps, size_t count)
{
	struct moments_between found = { 0 };
	uint64_t first = 0;

	for (size_t i = 0; i < count; i++) {
		if (steps[i].tick < mark->tick) {
			found.bytes = steps[i].bytes;
			found.highest_bytes = steps[i].bytes;
			first = steps[i].allocations + 1;
		} else if (steps[i].tick < mark->end_tick) {
			if (steps[i].bytes > found.highest_bytes)
				found.highest_bytes = steps[i].bytes;
		}
		if (steps[i].tick < mark->end_tick)
			found.allocations = steps[i].allocations + 1 - first;
	}
	return found;
}

/* The same of moments_own(). */
static uint64_t count_own(const struct run_mark *mark, const struct step *steps,
			  size_t count)
{
	uint64_t own = 0;

	for (size_t i = 0; i < count; i++)
		own += steps[i].thread == mark->thread &&
		       steps[i].tick >= mark->tick &&
		       steps[i].tick < mark->end_tick;
	return own;
}

static int by_tick(const void *a, const void *b)
{
	const struct run_mark *x = a, *y = b;

	return (x->tick > y->tick) - (x->tick < y->tick);
}

static void moments_are_exact(void **state)
{
	enum { MARKS = 37, STEPS = 200, ROUNDS = 50 };
	/* Thread 2 has two lanes. */
	struct engine_lane items[LANES] = {
		{ .thread = 2 }, { .thread = 1 }, { .thread = 2 }, { .thread = 3 },
	};
	uint32_t order[LANES] = { 1, 0, 2, 3 };
	const struct engine_lanes lanes = { items, LANES, order };
	struct moments_now now = { .lanes = &lanes };
	struct moments moments = { 0 };
	struct run_mark marks[MARKS];
	struct step steps[STEPS];
	struct run run = { .marks = marks };

	(void)state;
	for (size_t round = 0; round < ROUNDS; round++) {
		uint64_t tick = 20, came = 0, no_phases = 0;

		now.bytes = 0;
		run.mark_count = 1 + random_below(MARKS);
		for (size_t i = 0; i < run.mark_count; i++) {
			marks[i].kind = random_below(4) ? RUN_MARK_PHASE
							: RUN_MARK_TEXT;
			marks[i].thread = (uint32_t)(1 + random_below(4));
			marks[i].tick = random_below(300);
			marks[i].end_tick =
				random_below(5)
					? marks[i].tick + random_below(99)
					: UINT64_MAX;
			no_phases += marks[i].kind != RUN_MARK_PHASE;
		}
		qsort(marks, run.mark_count, sizeof(*marks), by_tick);
		assert_int_equal(moments_begin(&moments, &run), 0);
		for (size_t i = 0; i < STEPS; i++) {
			size_t lane = random_below(LANES);

			tick += random_below(3);
			now.allocations = i;
			if (tick >= moments.next_tick)
				came += moments_pass(&moments, tick, &now);
			now.bytes = random_below(1000);
			moments_set(&moments, now.bytes);
			steps[i] = (struct step){ tick, now.bytes, i,
						  items[lane].thread };
			items[lane].made++;
		}
		now.allocations = STEPS;
		came += moments_finish(&moments, &now);
		assert_int_equal(came, no_phases);
		for (size_t i = 0; i < run.mark_count; i++) {
			struct moments_between is = moments_find(
				&moments, marks[i].tick, marks[i].end_tick);
			struct moments_between must =
				look_at(&marks[i], steps, STEPS);

			if (marks[i].kind != RUN_MARK_PHASE)
				continue;
			assert_int_equal(moments_own(&moments, i),
					 count_own(&marks[i], steps, STEPS));
			assert_int_equal(is.bytes, must.bytes);
			assert_int_equal(is.highest_bytes, must.highest_bytes);
			assert_int_equal(is.allocations, must.allocations);
		}
	}
	run.mark_count = 0;
	assert_int_equal(moments_begin(&moments, &run), 0);
	moments_pass(&moments, UINT64_MAX, &now);
	moments_set(&moments, 1);
	moments_finish(&moments, &now);
	assert_int_equal(moments_find(&moments, 0, UINT64_MAX).allocations, 0);
	moments_done(&moments);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_are_differences_of_times),
		cmocka_unit_test(engine_equals_slow_engine),
		cmocka_unit_test(empty_trace_has_no_peak),
		cmocka_unit_test(realloc_extends_the_chain),
		cmocka_unit_test(chains_are_known_in_the_second_pass),
		cmocka_unit_test(chains_need_a_place_for_their_ends),
		cmocka_unit_test(groups_know_when_they_held_most),
		cmocka_unit_test(many_blocks_are_found_again),
		cmocka_unit_test(moments_are_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
