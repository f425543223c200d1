/* SPDX-License-Identifier: MIT */
/*
 * Filters over whole runs: chains of reallocs, groups, filters that use others.
 * A spec's one view is put to a few events; the numbers of the allocations that
 * pass are compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/engine/engine.h"
#include "report/event/event.h"
#include "report/event/run.h"
#include "report/event/stacks.h"
#include "report/input/input.h"
#include "report/spec.h"

enum { EVENTS_MAX = 64, STACKS = 8, SECOND = 1000 };

/* A trace of one thread in memory. */
struct fake {
	struct input input;
	struct event events[EVENTS_MAX];
	size_t count;
	bool is_read;
};

static size_t fake_lane_count(const struct input *input)
{
	(void)input;
	return 1;
}

static uint32_t fake_lane_thread(const struct input *input, size_t lane)
{
	(void)input;
	return (uint32_t)lane + 1;
}

static uint64_t fake_lane_start(const struct input *input, size_t lane)
{
	(void)input;
	(void)lane;
	return 0;
}

static int fake_lane_next(struct input *input, size_t lane,
			  struct event_batch *ret, struct diag *diag)
{
	struct fake *fake = (struct fake *)input;

	(void)lane;
	(void)diag;
	if (fake->is_read)
		return 0;
	fake->is_read = true;
	assert_int_equal(event_batch_reserve(ret, fake->count), 0);
	ret->count = fake->count;
	if (ret->count)
		memcpy(ret->items, fake->events,
		       ret->count * sizeof(*ret->items));
	return fake->count > 0;
}

static void fake_rewind(struct input *input)
{
	((struct fake *)input)->is_read = false;
}

static const struct input_format fake_format = {
	.name = "fake",
	.lane_count = fake_lane_count,
	.lane_thread = fake_lane_thread,
	.lane_start = fake_lane_start,
	.lane_next = fake_lane_next,
	.rewind = fake_rewind,
};

static void put(struct fake *fake, double seconds, enum event_kind kind,
		enum event_call call, uint64_t addr, uint64_t size,
		uint32_t stack)
{
	assert_true(fake->count < EVENTS_MAX);
	fake->events[fake->count++] = (struct event){
		.tick = (uint64_t)(seconds * SECOND),
		.kind = kind,
		.call = call,
		.addr = addr,
		.size = size,
		.stack = stack,
	};
}

static void put_malloc(struct fake *fake, double seconds, uint64_t addr,
		       uint64_t size, uint32_t stack)
{
	put(fake, seconds, EVENT_ALLOC, CALL_MALLOC, addr, size, stack);
}

static void put_free(struct fake *fake, double seconds, uint64_t addr)
{
	put(fake, seconds, EVENT_FREE, CALL_FREE, addr, 0, STACKS);
}

static void put_realloc(struct fake *fake, double seconds, uint64_t from,
			uint64_t to, uint64_t size, uint32_t stack)
{
	put(fake, seconds, EVENT_FREE, CALL_REALLOC, from, 0, stack);
	put(fake, seconds, EVENT_ALLOC, CALL_REALLOC, to, size, stack);
}

/* Ids that passed, "0 2 5", in the order of time. */
struct passed {
	struct filter *filter;
	bool ids[EVENTS_MAX];
	uint64_t tested;
};

static int note_record(void *context, const struct record *record)
{
	struct passed *passed = context;

	passed->tested++;
	passed->ids[record->id] = filter_match(passed->filter, record);
	return 0;
}

static void passed_text(const struct passed *passed, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (int i = 0; i < EVENTS_MAX; i++)
		if (passed->ids[i])
			used += (size_t)snprintf(buf + used, size - used,
						 used ? " %d" : "%d", i);
}

static void run_passes(struct fake *fake, const struct filter_spec *spec,
		       const char *text, const char *expected)
{
	static const struct run run = { .last_tick = 10 * SECOND,
					.tick_ns = 1e6,
					.has_free_stacks = true };
	struct passed passed = { 0 };
	const struct engine_observer observer = { .context = &passed,
						  .record = note_record };
	struct filter_context context = { .run = &run };
	struct filter_count count;
	struct stacks stacks;
	struct engine *engine;
	struct diag diag;
	char actual[256];
	uint64_t sum = 0;

	assert_int_equal(stacks_init(&stacks), 0);
	for (uint32_t i = 1; i <= STACKS; i++)
		stacks_child(&stacks, STACKS_ROOT, i);
	fake->input.format = &fake_format;
	engine = engine_new(&fake->input, &run, &stacks);
	assert_int_equal(engine_keep_chains(engine, "/tmp"), 0);
	if (filter_needs(spec))
		assert_int_equal(engine_pass(engine, NULL, 0, NULL), 0);
	context.stacks = &stacks;
	context.groups = engine_groups(engine);
	context.peak_order = engine_totals(engine)->peak_order;
	passed.filter = filter_new(spec, &context, &diag);
	if (!passed.filter)
		fail_msg("%s: %s", text, diag.text);
	assert_int_equal(engine_pass(engine, &observer, 1, NULL), 0);
	passed_text(&passed, actual, sizeof(actual));
	if (strcmp(actual, expected) != 0)
		fail_msg("%s: passes [%s], not [%s]", text, actual, expected);
	for (size_t i = 0; i < EVENTS_MAX; i++)
		sum += passed.ids[i];
	for (size_t i = 0; filter_count_get(passed.filter, i, &count); i++)
		sum += count.removed;
	assert_int_equal(sum, passed.tested);
	filter_free(passed.filter);
	engine_free(engine);
	stacks_done(&stacks);
}

/* @keys: lines of [view v], joined by blanks; more sections may follow. */
static void passes(struct fake *fake, const char *keys, const char *expected)
{
	struct diag diag = { .text = "" };
	struct spec spec;
	char text[1024];

	snprintf(text, sizeof(text), "[view v]\n%s\n", keys);
	if (spec_read(&spec, "a.ini", text, strlen(text), &diag))
		fail_msg("%s: %s", keys, diag.text);
	run_passes(fake, &spec.views[0].filter, keys, expected);
	spec_done(&spec);
}

/* A block allocated at 0 s, moved at 1 s and 4 s, never freed: the example of
   bytehound's documentation, all calls from different backtraces. */
static void one_chain(void **state)
{
	struct fake fake = { .count = 0 };
	struct fake *f = &fake;

	(void)state;
	put_malloc(f, 0, 16, 100, 1);
	put_realloc(f, 1, 16, 32, 200, 2);
	put_realloc(f, 4, 32, 32, 50, 3);
	passes(f, "lifetime = only_leaked", "2");
	passes(f, "lifetime = only_temporary", "0 1");
	passes(f, "lifetime = only_chain_leaked", "0 1 2");
	passes(f, "not_lifetime = only_chain_leaked", "");
	passes(f, "lifetime = only_whole_group_leaked", "2");
	passes(f, "lifetime_min = 1s\nlifetime_max = 1s", "0");
	passes(f, "lifetime_min = 3s\nlifetime_max = 3s", "1");
	passes(f, "lifetime_min = 6s\nlifetime_max = 6s", "2");
	passes(f, "chain_lifetime_min = 10s", "0 1 2");
	passes(f, "chain_lifetime_min = 10.001", "");
	passes(f, "chain_lifetime_max = 10", "0 1 2");
	passes(f, "chain_lifetime_max = 9.999", "");
	passes(f, "first_size_min = 100", "0 1 2");
	passes(f, "first_size_min = 101", "");
	passes(f, "first_size_max = 99", "");
	passes(f, "last_size_max = 50", "0 1 2");
	passes(f, "last_size_max = 49", "");
	passes(f, "last_size_min = 51", "");
	passes(f, "chain_length_min = 3", "0 1 2");
	passes(f, "chain_length_min = 4", "");
	passes(f, "chain_length_max = 2", "");
	passes(f, "position_in_chain_min = 1", "1 2");
	passes(f, "position_in_chain_max = 1", "0 1");
	passes(f, "alive_at = 1", "1");
	passes(f, "alive_at = 0.999\nalive_at_2 = 1", "");
	passes(f, "deallocation_backtraces = 2", "0");
	passes(f, "deallocation_backtraces = 2\ndeallocation_backtraces = 3",
	       "0 1");
	passes(f, "not_deallocation_backtraces = 2, 3", "2");
	passes(f, "backtraces = 1, 3", "0 2");
}

/* Chains side by side, freed at the end or not, blocks without any. */
static void several_chains(void **state)
{
	struct fake fake = { .count = 0 };
	struct fake *f = &fake;

	(void)state;
	put_malloc(f, 0, 16, 10, 1);	  /* 0 */
	put_malloc(f, 0, 32, 20, 1);	  /* 1 */
	put_malloc(f, 0, 48, 30, 1);	  /* 2 */
	put_realloc(f, 1, 32, 64, 25, 2); /* 3 */
	put_realloc(f, 2, 16, 32, 15, 2); /* 4 */
	put_realloc(f, 3, 64, 64, 5, 2);  /* 5 */
	put_free(f, 4, 32);
	put_malloc(f, 5, 32, 40, 1);	  /* 6 */
	put_realloc(f, 5, 99, 80, 7, 2);  /* 7, of an unknown block */
	put_free(f, 6, 48);
	passes(f, "lifetime = only_chain_leaked", "1 3 5 6 7");
	passes(f, "chain_length_min = 2", "0 1 3 4 5");
	passes(f, "chain_length_max = 2", "0 2 4 6 7");
	passes(f, "chain_length_max = 1", "2 6 7");
	passes(f, "last_size_max = 7", "1 3 5 7");
	passes(f, "last_size_min = 15\nlast_size_max = 15", "0 4");
	passes(f, "first_size_max = 10", "0 4 7");
	passes(f, "chain_lifetime_max = 4", "0 4");
	passes(f, "chain_lifetime_min = 10", "1 3 5");
	passes(f, "position_in_chain_min = 2", "5");
}

/* Stack 1: 3 allocations, 1 leaked; 2: one, leaked; 3: two, freed, of no
   bytes. */
static void groups_by_the_whole_trace(void **state)
{
	struct fake fake = { .count = 0 };
	struct fake *f = &fake;

	(void)state;
	put_malloc(f, 1, 16, 10, 1);
	put_malloc(f, 2, 32, 10, 1);
	put_free(f, 3, 16);
	put_malloc(f, 4, 16, 20, 2);
	put_malloc(f, 5, 48, 0, 3);
	put_free(f, 5, 48);
	put_malloc(f, 6, 48, 5, 1);
	put_free(f, 7, 48);
	put_malloc(f, 8, 48, 0, 3);
	put_free(f, 9, 48);
	passes(f, "group_allocations_min = 2", "0 1 3 4 5");
	passes(f, "group_allocations_min = 3", "0 1 4");
	passes(f, "group_allocations_max = 1", "2");
	passes(f, "group_leaked_allocations_min = 1", "0 1 2 4");
	passes(f, "group_leaked_allocations_max = 0", "3 5");
	/* Exactly a third: floor() would let 50 % through. */
	passes(f, "group_leaked_allocations_min = 33.3%", "0 1 2 4");
	passes(f, "group_leaked_allocations_min = 33.333333333%", "0 1 2 4");
	passes(f, "group_leaked_allocations_min = 33.34%", "2");
	passes(f, "group_leaked_allocations_min = 50%", "2");
	passes(f, "group_leaked_allocations_min = 100%", "2");
	passes(f, "group_leaked_allocations_max = 33.33%", "3 5");
	passes(f, "group_leaked_allocations_max = 33.34%", "0 1 3 4 5");
	passes(f, "group_leaked_allocations_max = 0%", "3 5");
	passes(f, "lifetime = only_whole_group_leaked", "2");
	passes(f, "not_lifetime = only_whole_group_leaked", "0 1 3 4 5");
	/* Whatever else is asked: the group is not made smaller by it. */
	passes(f, "group_allocations_min = 3\nfrom = 6", "4");
	passes(f, "group_leaked_allocations_min = 1\n"
		  "lifetime = only_temporary", "0 4");
	passes(f, "group_interval_min = 5", "0 1 4");
	passes(f, "group_interval_min = 50%", "0 1 4");
	passes(f, "group_interval_min = 50.01%", "");
	passes(f, "group_interval_max = 3", "2 3 5");
	passes(f, "group_interval_max = 30%\ngroup_interval_min = 3s", "3 5");
	passes(f, "group_interval_max = 0", "2");
	passes(f, "group_max_total_usage_first_seen_min = 2", "0 1 2 4");
	passes(f, "group_max_total_usage_first_seen_min = 2.001", "2");
	passes(f, "group_max_total_usage_first_seen_max = 2", "0 1 3 4 5");
	passes(f, "group_max_total_usage_first_seen_max = 0", "3 5");
	passes(f, "group_max_total_usage_first_seen_min = 4", "2");
	passes(f, "group_max_total_usage_first_seen_min = peak", "");
	passes(f, "group_max_total_usage_first_seen_max = peak",
	       "0 1 2 3 4 5");
}

static void filters_are_combined(void **state)
{
	static const char filters[] =
		"\n[filter small]\nsize_max = 20"
		"\n[filter late]\nfrom = 5"
		"\n[filter leaked]\nlifetime = only_leaked"
		"\n[filter small-and-late]\nuse = small, late"
		"\n[filter busy]\ngroup_allocations_min = 4";
	static const struct {
		const char *keys;
		const char *expected;
	} rows[] = {
		{ "use = small", "0 1 4 5" },
		{ "use = small, late", "4 5" },
		{ "use = small-and-late", "4 5" },
		{ "use_any = small, late", "0 1 4 5 6 7" },
		{ "not_use = small, late", "2 3" },
		{ "not_use = small-and-late", "0 1 2 3 6 7" },
		{ "use = leaked\nnot_use = small", "3 6 7" },
		{ "use_any = small, late\nuse = leaked", "1 5 6 7" },
		{ "use = busy\nsize_min = 30", "2 3" },
		{ "not_use = busy", "5 6 7" },
	};
	struct fake fake = { .count = 0 };
	struct fake *f = &fake;

	(void)state;
	for (uint64_t i = 0; i < 8; i++) {
		put_malloc(f, (double)i + (i >= 4), 16 * i + 16,
			   10 * (i % 4 + 1), i < 5 ? 1 : 2);
		if (i % 2 == 0 && i < 6)
			put_free(f, (double)i + 1, 16 * i + 16);
	}
	/* ids 0 … 7: 10, 20, 30, 40 bytes twice, at 0 … 3 and 5 … 8 s. */
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char keys[512];

		snprintf(keys, sizeof(keys), "%s%s", rows[i].keys, filters);
		passes(f, keys, rows[i].expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_chain),
		cmocka_unit_test(several_chains),
		cmocka_unit_test(groups_by_the_whole_trace),
		cmocka_unit_test(filters_are_combined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
