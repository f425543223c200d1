/* SPDX-License-Identifier: MIT */
/* Filters: each key at its boundaries, regular expressions over stacks. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/arena.h"
#include "report/core/diag.h"
#include "report/core/vec.h"
#include "report/event/event.h"
#include "report/event/run.h"
#include "report/event/stacks.h"
#include "report/filter/filter.h"
#include "report/filter/stack_regex.h"
#include "report/symbol/symbol.h"

/* A run of ten seconds, a tick is a millisecond. */
static const struct run ten_seconds = {
	.first_tick = 1000,
	.last_tick = 11000,
	.tick_ns = 1e6,
};

static struct arena arena;

static void spec_set(struct filter_spec *spec, const char *key,
		     const char *value)
{
	struct diag diag = { .text = "" };
	bool negated;
	const struct filter_key *row = filter_key_find(key, &negated);

	assert_non_null(row);
	if (filter_spec_set(spec, row, negated, value, 0, &arena, &diag))
		fail_msg("%s", diag.text);
}

static struct filter *filter_of(const struct filter_spec *spec,
				const struct run *run, uint64_t peak_order)
{
	const struct filter_context context = {
		.run = run,
		.peak_order = peak_order,
	};
	struct diag diag = { .text = "" };
	struct filter *filter = filter_new(spec, &context, &diag);

	if (!filter)
		fail_msg("%s", diag.text);
	return filter;
}

static bool matches_in(const struct run *run, const char *key,
		       const char *value, const struct record *record)
{
	struct filter_spec spec = { 0 };
	struct filter *filter;
	bool result;

	spec_set(&spec, key, value);
	filter = filter_of(&spec, run, 5);
	result = filter_match(filter, record);
	filter_free(filter);
	return result;
}

static bool matches(const char *key, const char *value,
		    const struct record *record)
{
	return matches_in(&ten_seconds, key, value, record);
}

static struct record record_at(uint64_t alloc_tick, uint64_t free_tick)
{
	return (struct record){
		.alloc_tick = alloc_tick,
		.free_tick = free_tick,
		.alloc_order = 3,
		.free_order = free_tick == RECORD_NEVER ? RECORD_NEVER : 9,
		.size = 100,
	};
}

static void everything_passes_without_keys(void **state)
{
	const struct filter_spec spec = { 0 };
	struct record early = record_at(0, 1);
	struct record late = record_at(UINT64_MAX - 1, RECORD_NEVER);
	struct filter *filter = filter_of(&spec, &ten_seconds, 0);

	(void)state;
	assert_true(filter_match(filter, &early));
	assert_true(filter_match(filter, &late));
	assert_int_equal(filter_regex_failures(filter), 0);
	filter_free(filter);
	filter_free(NULL);
}

static void from_and_to_include_their_moment(void **state)
{
	struct record before = record_at(2499, 2500);
	struct record at = record_at(2500, RECORD_NEVER);
	struct record after = record_at(2501, RECORD_NEVER);

	(void)state;
	assert_false(matches("from", "1.5", &before));
	assert_true(matches("from", "1.5", &at));
	assert_true(matches("from", "1.5", &after));
	assert_true(matches("to", "1500ms", &before));
	assert_true(matches("to", "1500ms", &at));
	assert_false(matches("to", "1500ms", &after));
	assert_true(matches("from", "15%", &at));
	assert_false(matches("from", "15%", &before));
	assert_true(matches("to", "15%", &at));
	assert_false(matches("to", "15%", &after));
	/* Between two ticks: neither bound takes in what is outside of it. */
	assert_false(matches("from", "1.5001", &at));
	assert_true(matches("to", "1.5001", &at));
	assert_false(matches("to", "1.5001", &after));
}

static void the_whole_run_is_everything(void **state)
{
	static const uint64_t ticks[] = { 0, 999, 1000, 1001, 11000, 11001 };

	(void)state;
	for (size_t i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++) {
		struct record record = record_at(ticks[i], RECORD_NEVER);

		assert_true(matches("from", "0", &record));
		assert_true(matches("from", "0%", &record));
		assert_true(matches("to", "100%", &record));
		assert_true(matches("to", "250%", &record));
		assert_true(matches("to", "10", &record));
		assert_true(matches("to", "3d", &record));
		assert_int_equal(matches("from", "100%", &record),
				 ticks[i] >= 11000);
		assert_int_equal(matches("to", "0", &record), ticks[i] <= 1000);
		assert_false(matches("from", "101%", &record));
	}
}

static void alive_at_ends_with_the_free(void **state)
{
	struct record freed = record_at(2000, 3000);
	struct record leaked = record_at(2000, RECORD_NEVER);
	struct record moment = record_at(2000, 2000);

	(void)state;
	assert_false(matches("alive_at", "0.999", &freed));
	assert_true(matches("alive_at", "1", &freed));
	assert_true(matches("alive_at", "1.9999", &freed));
	assert_false(matches("alive_at", "2", &freed));
	assert_true(matches("alive_at_2", "1", &freed));
	assert_false(matches("alive_at_2", "2", &freed));
	assert_true(matches("not_alive_at", "2", &freed));
	assert_false(matches("not_alive_at_2", "1", &freed));
	assert_true(matches("alive_at", "2", &leaked));
	assert_true(matches("alive_at", "100%", &leaked));
	assert_true(matches("alive_at", "1000%", &leaked));
	assert_false(matches("alive_at", "0", &leaked));
	assert_false(matches("alive_at", "1", &moment));
}

/* All at one tick: only the numbers of the events tell them apart. */
static void peak_is_exact_between_equal_times(void **state)
{
	static const struct {
		uint64_t alloc_order, free_order;
		bool alive, from, to;
	} rows[] = {
		{ 4, 5, false, false, true },
		{ 4, 6, true, false, true },
		{ 5, 6, true, true, true },
		{ 5, RECORD_NEVER, true, true, true },
		{ 6, 7, false, true, false },
		{ 6, RECORD_NEVER, false, true, false },
		{ 0, 1, false, false, true },
		{ 0, RECORD_NEVER, true, false, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct record record = record_at(2000, 2000);

		record.alloc_order = rows[i].alloc_order;
		record.free_order = rows[i].free_order;
		if (record.free_order == RECORD_NEVER)
			record.free_tick = RECORD_NEVER;
		assert_int_equal(matches("alive_at", "peak", &record),
				 rows[i].alive);
		assert_int_equal(matches("from", "peak", &record),
				 rows[i].from);
		assert_int_equal(matches("to", "peak", &record), rows[i].to);
	}
}

static void needs_peak_tells(void **state)
{
	static const char *const keys[] = { "from", "to", "alive_at" };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct filter_spec spec = { 0 };

		assert_int_equal(filter_needs(&spec), 0);
		spec_set(&spec, keys[i], "50%");
		assert_int_equal(filter_needs(&spec), 0);
		spec_set(&spec, keys[i], "peak");
		assert_int_equal(filter_needs(&spec), NEED_PEAK);
	}
}

static void lifetimes_are_opposites(void **state)
{
	struct record freed = record_at(2000, 3000);
	struct record leaked = record_at(2000, RECORD_NEVER);

	(void)state;
	assert_true(matches("lifetime", "all", &freed));
	assert_true(matches("lifetime", "all", &leaked));
	assert_false(matches("lifetime", "only_leaked", &freed));
	assert_true(matches("lifetime", "only_leaked", &leaked));
	assert_true(matches("lifetime", "only_temporary", &freed));
	assert_false(matches("lifetime", "only_temporary", &leaked));
}

static void sizes_are_inclusive(void **state)
{
	struct record record = record_at(2000, 3000);

	(void)state;
	record.size = 1024;
	assert_true(matches("size_min", "1KiB", &record));
	assert_true(matches("size_max", "0x400", &record));
	assert_false(matches("size_min", "1025", &record));
	assert_false(matches("size_max", "1023", &record));
	record.size = 0;
	assert_true(matches("size_min", "0", &record));
	assert_true(matches("size_max", "0", &record));
	record.size = UINT64_MAX;
	assert_true(matches("size_min", "0xffffffffffffffff", &record));
}

/* @key_min and @key_max include @at, and exclude @below and @above. */
static void bounds_include(const char *key, const char *below, const char *at,
			   const char *above, const struct record *record)
{
	char min[64], max[64];

	snprintf(min, sizeof(min), "%s_min", key);
	snprintf(max, sizeof(max), "%s_max", key);
	assert_true(matches(min, below, record));
	assert_true(matches(min, at, record));
	assert_false(matches(min, above, record));
	assert_false(matches(max, below, record));
	assert_true(matches(max, at, record));
	assert_true(matches(max, above, record));
}

static void bounds_are_inclusive(void **state)
{
	struct record record = record_at(2000, 3500);

	(void)state;
	record.size = 4096;
	record.addr = 0x7f0000001000;
	record.chain_position = 2;
	record.chain_length = 4;
	record.chain_first_size = 100;
	record.chain_last_size = 50;
	record.chain_first_tick = 1500;
	record.chain_end_tick = 9000;
	bounds_include("size", "4095", "4KiB", "0x1001", &record);
	bounds_include("address", "0x7f0000000fff", "0x7f0000001000",
		       "139637976731649", &record);
	bounds_include("lifetime", "1.499", "1.5", "1501ms", &record);
	bounds_include("position_in_chain", "1", "2", "3", &record);
	bounds_include("chain_length", "3", "4", "5", &record);
	bounds_include("first_size", "99", "100", "101", &record);
	bounds_include("last_size", "49", "50", "51", &record);
	bounds_include("chain_lifetime", "7499ms", "7.5", "7.501", &record);
}

/* What was never freed lives to the end of the run. */
static void leaked_blocks_have_an_age(void **state)
{
	struct record leaked = record_at(2000, RECORD_NEVER);
	struct record at_once = record_at(2000, 2000);
	struct record late = record_at(11000, RECORD_NEVER);
	struct record beyond = record_at(11500, RECORD_NEVER);

	(void)state;
	leaked.chain_first_tick = 1000;
	leaked.chain_end_tick = RECORD_NEVER;
	bounds_include("lifetime", "8.999", "9", "9.001", &leaked);
	bounds_include("chain_lifetime", "9.999", "10", "10.001", &leaked);
	assert_true(matches("lifetime_min", "0", &at_once));
	assert_true(matches("lifetime_max", "0", &at_once));
	assert_false(matches("lifetime_min", "1ms", &late));
	assert_true(matches("lifetime_max", "0", &late));
	assert_true(matches("lifetime_max", "0", &beyond));
}

static void usable_sizes_must_be_known(void **state)
{
	struct run run = ten_seconds;
	struct record record = record_at(2000, RECORD_NEVER);
	struct filter_spec spec = { 0 };
	const struct filter_context context = { .run = &ten_seconds };
	struct diag diag = { .text = "" };
	bool negated;

	(void)state;
	run.has_usable = true;
	record.usable = 104;
	assert_true(matches_in(&run, "usable_size_min", "104", &record));
	assert_false(matches_in(&run, "usable_size_min", "105", &record));
	assert_true(matches_in(&run, "usable_size_max", "104", &record));
	assert_false(matches_in(&run, "usable_size_max", "103", &record));
	assert_int_equal(
		filter_spec_set(&spec,
				filter_key_find("usable_size_min", &negated),
				negated, "1", 7, &arena, &diag),
		0);
	assert_null(filter_new(&spec, &context, &diag));
	assert_string_equal(diag.text, "usable_size_min: the trace does not "
				       "hold usable sizes");
	assert_int_equal(diag.line, 7);
}

static bool matches_two(const char *key, const char *value, const char *range,
			const struct record *record)
{
	struct filter_spec spec = { 0 };
	struct filter *filter;
	char copy[64];
	char *to;
	bool result;

	snprintf(copy, sizeof(copy), "%s", range);
	to = strchr(copy, ' ');
	*to++ = '\0';
	if (*copy)
		spec_set(&spec, "from", copy);
	if (*to)
		spec_set(&spec, "to", to);
	spec_set(&spec, key, value);
	filter = filter_of(&spec, &ten_seconds, 5);
	result = filter_match(filter, record);
	filter_free(filter);
	return result;
}

/* Address, usable size and call of a block, as glibc makes them or another
   allocator; the truth suite has real ones. */
static void chunks_are_told_by_their_form(void **state)
{
	enum { FOREIGN, ARENA, MAPPED };
	static const struct {
		uint64_t addr, usable;
		enum event_call call;
		int is;
	} blocks[] = {
		{ 0x5010, 24, CALL_MALLOC, ARENA },
		{ 0x5010, 104, CALL_MALLOC, ARENA },
		{ 0x5ff0, 24, CALL_MEMALIGN, ARENA },
		{ 0x5010, 8, CALL_MALLOC, FOREIGN },
		{ 0x5010, 96, CALL_MALLOC, FOREIGN },
		{ 0x5010, 0, CALL_MALLOC, FOREIGN },
		{ 0x5018, 24, CALL_MALLOC, FOREIGN },
		{ 0x5010, 0x21ff0, CALL_MALLOC, MAPPED },
		{ 0x5010, 0x21ff0, CALL_REALLOC, MAPPED },
		{ 0x5000, 0x22000, CALL_MALLOC, FOREIGN },
		{ 0x5000, 0x22000, CALL_MEMALIGN, MAPPED },
		{ 0x5400, 0x21c00, CALL_MEMALIGN, MAPPED },
		{ 0x5400, 0x21c00, CALL_REALLOC, MAPPED },
		{ 0x5400, 0x21c00, CALL_MALLOC, FOREIGN },
		{ 0x5800, 0x1800, CALL_REALLOC, FOREIGN },
	};
	struct module modules[2] = {
		{ .start = 0x5000, .is_program = true },
		{ .start = UINT64_C(1) << 46, .is_tracer = true },
	};
	struct run run = ten_seconds;
	struct record record = record_at(2000, RECORD_NEVER);

	(void)state;
	run.has_usable = true;
	run.modules.items = modules;
	run.modules.count = 2;
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		int is = blocks[i].is;

		record.addr = blocks[i].addr;
		record.usable = blocks[i].usable;
		record.call = (uint8_t)blocks[i].call;
		assert_int_equal(matches_in(&run, "mmaped", "yes", &record),
				 is == MAPPED);
		assert_int_equal(matches_in(&run, "not_mmaped", "no", &record),
				 is != ARENA);
		assert_int_equal(matches_in(&run, "arena", "main", &record),
				 is != FOREIGN);
		assert_int_equal(matches_in(&run, "arena", "other", &record),
				 is == FOREIGN);
		record.addr += UINT64_C(1) << 45;
		assert_int_equal(matches_in(&run, "arena", "non_main", &record),
				 is == ARENA);
		assert_int_equal(matches_in(&run, "arena", "main", &record),
				 is == MAPPED);
	}
}

/* Both edges of the range belong to it; allocated in it is asked as well. */
static void freed_in_range(void **state)
{
	static const char within[] = "only_deallocated_in_current_range";
	static const char beyond[] = "only_not_deallocated_in_current_range";
	struct record freed = record_at(2000, 3000);
	struct record leaked = record_at(2000, RECORD_NEVER);
	static const struct {
		const char *range;
		bool within, beyond; /* what a block freed at 2 s passes */
	} rows[] = {
		{ "1 2", true, false },	   { "1 1.999", false, true },
		{ "1 3", true, false },	   { "1.001 2", false, false },
		{ " 2", true, false },	   { " 1.999", false, true },
		{ "1 ", true, false },	   { " ", true, false },
		{ "0 100%", true, false }, { "1 peak", false, true },
		{ "peak ", false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *range = rows[i].range;

		assert_int_equal(matches_two("lifetime", within, range, &freed),
				 rows[i].within);
		assert_int_equal(matches_two("lifetime", beyond, range, &freed),
				 rows[i].beyond);
		assert_int_equal(
			matches_two("not_lifetime", within, range, &freed),
			rows[i].beyond);
		assert_false(matches_two("lifetime", within, range, &leaked));
		assert_int_equal(
			matches_two("lifetime", beyond, range, &leaked),
			rows[i].within || rows[i].beyond);
	}
}

static void temporary_has_two_meanings(void **state)
{
	struct record leaked = record_at(2000, RECORD_NEVER);
	struct record freed = record_at(2000, 3000);
	struct record at_once = record_at(2000, 3000);

	(void)state;
	at_once.is_temporary = true;
	assert_true(matches("temporary", "heaptrack", &at_once));
	assert_false(matches("temporary", "heaptrack", &freed));
	assert_false(matches("temporary", "heaptrack", &leaked));
	assert_true(matches("temporary", "freed", &at_once));
	assert_true(matches("temporary", "freed", &freed));
	assert_false(matches("temporary", "freed", &leaked));
	assert_true(matches("not_temporary", "heaptrack", &freed));
	assert_true(matches("not_temporary", "freed", &leaked));
}

static void lists_pass_any_of_their_numbers(void **state)
{
	struct run run = ten_seconds;
	struct record record = record_at(2000, 3000);

	(void)state;
	record.thread = 7;
	record.marker = 2;
	record.stack = 17;
	record.free_stack = 4;
	assert_true(matches("thread", "7", &record));
	assert_true(matches("thread", "9, 7 ,1", &record));
	assert_false(matches("thread", "6, 8", &record));
	assert_false(matches("not_thread", "9,7,1", &record));
	assert_true(matches("not_thread", "6", &record));
	assert_true(matches("marker", "2", &record));
	assert_false(matches("marker", "1", &record));
	assert_true(matches("backtraces", "0x11,3", &record));
	assert_false(matches("backtraces", "4", &record));
	run.has_free_stacks = true;
	assert_true(matches_in(&run, "deallocation_backtraces", "4", &record));
	assert_false(matches_in(&run, "deallocation_backtraces", "17",
				&record));
	record.free_stack = 0;
	assert_false(matches_in(&run, "deallocation_backtraces", "0",
				&record));
	assert_true(matches_in(&run, "not_deallocation_backtraces", "0",
			       &record));
}

static void thread_names_are_searched(void **state)
{
	struct run_thread threads[] = {
		{ .number = 1, .name = "main" },
		{ .number = 2, .name = "worker-1" },
		{ .number = 5, .name = "" },
	};
	struct run run = ten_seconds;
	struct filter_spec spec = { 0 };
	struct record record = record_at(2000, 3000);
	struct filter *filter;
	struct filter_count count;

	(void)state;
	run.threads = threads;
	run.thread_count = 3;
	for (uint32_t number = 1; number <= 5; number++) {
		record.thread = number;
		assert_int_equal(matches_in(&run, "thread_name", "^worker",
					    &record),
				 number == 2);
		assert_int_equal(matches_in(&run, "thread_name", "", &record),
				 number <= 2);
		assert_int_equal(matches_in(&run, "not_thread_name", "main",
					    &record),
				 number != 1);
	}
	spec_set(&spec, "thread_name", "^main$");
	spec_set(&spec, "thread_name", "-1$");
	filter = filter_of(&spec, &run, 0);
	for (uint32_t number = 1; number <= 5; number++) {
		record.thread = number;
		assert_int_equal(filter_match(filter, &record), number <= 2);
	}
	assert_true(filter_count_get(filter, 0, &count));
	assert_string_equal(count.text,
			    "thread_name = ^main$, thread_name = -1$");
	assert_int_equal(count.removed, 3);
	assert_false(filter_count_get(filter, 1, &count));
	filter_free(filter);
}

/* The first condition that rejects counts; cheap ones come first, whatever the
   order they were written in. */
static void counts_say_what_removed_how_much(void **state)
{
	struct filter_spec spec = { 0 };
	struct filter *filter;
	struct filter_count count;

	(void)state;
	spec_set(&spec, "size_max", "150");
	spec_set(&spec, "thread", "1");
	spec_set(&spec, "thread", "2");
	spec_set(&spec, "size_min", "100");
	spec_set(&spec, "lifetime", "all");
	spec_set(&spec, "not_lifetime", "only_leaked");
	filter = filter_of(&spec, &ten_seconds, 0);
	for (uint64_t size = 0; size < 200; size++) {
		struct record record = record_at(2000, 3000);

		record.size = size;
		record.thread = size % 4;
		if (size >= 190)
			record.free_order = RECORD_NEVER;
		filter_match(filter, &record);
	}
	assert_true(filter_count_get(filter, 0, &count));
	assert_string_equal(count.text, "not_lifetime = only_leaked");
	assert_int_equal(count.removed, 10);
	assert_true(filter_count_get(filter, 1, &count));
	assert_string_equal(count.text, "size_max = 150");
	assert_int_equal(count.removed, 39);
	assert_true(filter_count_get(filter, 2, &count));
	assert_string_equal(count.text, "size_min = 100");
	assert_int_equal(count.removed, 100);
	assert_true(filter_count_get(filter, 3, &count));
	assert_string_equal(count.text, "thread = 1, thread = 2");
	assert_int_equal(count.removed, 25);
	assert_false(filter_count_get(filter, 4, &count));
	filter_free(filter);
}

static void what_removed_all_is_explained(void **state)
{
	struct filter_spec spec = { 0 };
	struct filter *filter;
	struct record record = record_at(2000, 3000);

	(void)state;
	spec_set(&spec, "size_min", "1GiB");
	spec_set(&spec, "thread", "9");
	spec_set(&spec, "lifetime", "only_temporary");
	filter = filter_of(&spec, &ten_seconds, 0);
	assert_string_equal(filter_explain(filter, &arena),
			    "Nothing passed: the trace holds no allocation");
	record.size = 1 << 30;
	filter_match(filter, &record);
	assert_string_equal(filter_explain(filter, &arena),
			    "Nothing passed: of 1 allocation, thread = 9 "
			    "removed 1");
	record.free_order = RECORD_NEVER;
	filter_match(filter, &record);
	filter_match(filter, &record);
	record = record_at(2000, 3000);
	for (int i = 0; i < 1000; i++)
		filter_match(filter, &record);
	assert_string_equal(filter_explain(filter, &arena),
			    "Nothing passed: of 1,003 allocations, size_min = "
			    "1GiB removed 1,000, lifetime = only_temporary "
			    "removed 2, thread = 9 removed 1");
	filter_free(filter);
}

static void finds_tick(const struct run *run, const char *text,
		       uint64_t tick, uint64_t step)
{
	struct record at = record_at(tick, RECORD_NEVER);
	struct record before = record_at(tick - step, RECORD_NEVER);
	struct record after = record_at(tick + step, RECORD_NEVER);

	assert_true(matches_in(run, "from", text, &at));
	assert_true(matches_in(run, "to", text, &at));
	assert_true(matches_in(run, "alive_at", text, &at));
	assert_false(matches_in(run, "from", text, &before));
	assert_true(matches_in(run, "to", text, &before));
	assert_true(matches_in(run, "from", text, &after));
	assert_false(matches_in(run, "to", text, &after));
	assert_false(matches_in(run, "alive_at", text, &after));
	assert_true(matches_in(run, "to", "100%", &after));
}

/*
 * The time that a report prints finds its tick again at any clock rate, and
 * no other that is two nanoseconds away.
 */
static void printed_times_find_their_tick(void **state)
{
	static const double rates[] = { 1, 0.357142857142857, 0.333, 41.6667,
					1e6 };

	(void)state;
	srand48(1);
	for (int i = 0; i < 20000; i++) {
		struct run run = {
			.first_tick = (uint64_t)lrand48() << 20,
			.tick_ns = rates[i % 5],
		};
		uint64_t step = run.tick_ns < 1 ? 6 : 1;
		uint64_t ticks = (uint64_t)lrand48() >> (i % 31);
		char text[64];

		ticks = ticks * (1 + (uint64_t)(i % 4096)) + 8;
		run.last_tick = run.first_tick + 2 * ticks;
		snprintf(text, sizeof(text), "%.9f",
			 run_seconds(&run, run.first_tick + ticks));
		finds_tick(&run, text, run.first_tick + ticks, step);
	}
}

static bool matches_all(const struct filter_spec *spec,
			const struct record *record)
{
	struct filter *filter = filter_of(spec, &ten_seconds, 5);
	bool result = filter_match(filter, record);

	filter_free(filter);
	return result;
}

/* Any set of keys passes exactly what each of its keys passes. */
static void keys_are_anded(void **state)
{
	static const char *const pairs[][2] = {
		{ "from", "2" },	 { "to", "80%" },
		{ "alive_at", "4.5" },	 { "lifetime", "only_temporary" },
		{ "size_min", "50" },	 { "size_max", "150" },
		{ "alive_at", "peak" },
	};
	enum { PAIRS = sizeof(pairs) / sizeof(pairs[0]) };

	(void)state;
	srand48(2);
	for (int i = 0; i < 5000; i++) {
		uint64_t start = 1000 + (uint64_t)lrand48() % 10000;
		uint64_t end = start + (uint64_t)lrand48() % 5000;
		struct record record =
			record_at(start, lrand48() % 3 ? end : RECORD_NEVER);
		unsigned chosen = (unsigned)lrand48() % (1U << PAIRS);
		struct filter_spec spec = { 0 };
		bool expected = true;

		record.size = (uint64_t)lrand48() % 200;
		if (chosen & 1U << (PAIRS - 1))
			chosen &= ~4U; /* the same key twice */
		for (int k = 0; k < PAIRS; k++) {
			if (!(chosen & 1U << k))
				continue;
			spec_set(&spec, pairs[k][0], pairs[k][1]);
			expected &= matches(pairs[k][0], pairs[k][1], &record);
		}
		assert_int_equal(matches_all(&spec, &record), expected);
	}
}

/* --- functions --- */

struct tree {
	struct module_map modules;
	struct stacks stacks;
	struct symbols *symbols;
	uint32_t outer, middle, inner, other;
};

static void tree_init(struct tree *tree)
{
	memset(tree, 0, sizeof(*tree));
	assert_int_equal(stacks_init(&tree->stacks), 0);
	tree->symbols = symbols_new(&tree->modules, NULL, 0);
	assert_non_null(tree->symbols);
	tree->outer = stacks_child(&tree->stacks, STACKS_ROOT, 0x1111);
	tree->middle = stacks_child(&tree->stacks, tree->outer, 0x2222);
	tree->inner = stacks_child(&tree->stacks, tree->middle, 0x3333);
	tree->other = stacks_child(&tree->stacks, tree->outer, 0x4444);
}

static void tree_done(struct tree *tree)
{
	symbols_free(tree->symbols);
	stacks_done(&tree->stacks);
}

static const char *name_of(struct tree *tree, uint64_t pc)
{
	size_t count;

	return symbols_resolve(tree->symbols, pc, &count)->function;
}

static struct filter *regex_filter(struct tree *tree, const char *key,
				   const char *pattern)
{
	const struct filter_context context = {
		.run = &ten_seconds,
		.stacks = &tree->stacks,
		.symbols = tree->symbols,
	};
	struct filter_spec spec = { 0 };
	struct diag diag = { .text = "" };
	struct filter *filter;

	spec_set(&spec, key, pattern);
	filter = filter_new(&spec, &context, &diag);
	if (!filter)
		fail_msg("%s", diag.text);
	return filter;
}

static bool passes(struct filter *filter, uint32_t stack)
{
	struct record record = record_at(2000, RECORD_NEVER);

	record.stack = stack;
	return filter_match(filter, &record);
}

static void some_frame_must_match(void **state)
{
	struct tree tree;
	struct filter *filter;

	(void)state;
	tree_init(&tree);
	filter = regex_filter(&tree, "function_regex", name_of(&tree, 0x2222));
	for (int again = 0; again < 2; again++) {
		assert_true(passes(filter, tree.inner));
		assert_true(passes(filter, tree.middle));
		assert_false(passes(filter, tree.outer));
		assert_false(passes(filter, tree.other));
		assert_false(passes(filter, STACKS_ROOT));
	}
	filter_free(filter);
	filter = regex_filter(&tree, "function_regex", name_of(&tree, 0x1111));
	assert_true(passes(filter, tree.inner));
	assert_true(passes(filter, tree.other));
	filter_free(filter);
	tree_done(&tree);
}

static void no_frame_may_match(void **state)
{
	struct tree tree;
	struct filter *filter;

	(void)state;
	tree_init(&tree);
	filter = regex_filter(&tree, "negative_function_regex",
			      name_of(&tree, 0x2222));
	assert_false(passes(filter, tree.inner));
	assert_true(passes(filter, tree.outer));
	assert_true(passes(filter, tree.other));
	assert_true(passes(filter, STACKS_ROOT));
	filter_free(filter);
	tree_done(&tree);
}

/* Depths, also of stacks asked for after deeper ones. */
static void depth_counts_frames(void **state)
{
	static const char *const keys[] = { "backtrace_depth_min",
					    "backtrace_depth_max" };
	struct tree tree;

	(void)state;
	tree_init(&tree);
	for (int i = 0; i < 2; i++) {
		struct filter *filter = regex_filter(&tree, keys[i], "2");

		for (int again = 0; again < 2; again++) {
			assert_int_equal(passes(filter, tree.inner), i == 0);
			assert_true(passes(filter, tree.middle));
			assert_true(passes(filter, tree.other));
			assert_int_equal(passes(filter, tree.outer), i == 1);
			assert_int_equal(passes(filter, STACKS_ROOT), i == 1);
		}
		filter_free(filter);
	}
	tree_done(&tree);
}

/* app+0x… below lib+0x…: names and libraries of one frame, or of two. */
static void texts_must_be_of_one_frame(void **state)
{
	static struct module modules[] = {
		{ .start = 0x1000, .end = 0x2000, .path = "/app",
		  .name = "/bin/app", .unload_tick = MODULE_NEVER_UNLOADED },
		{ .start = 0x5000, .end = 0x6000, .path = "/lib",
		  .name = "/lib/libparse.so", .number = 1,
		  .unload_tick = MODULE_NEVER_UNLOADED },
	};
	static const struct {
		const char *keys[3][2];
		bool passes;
	} rows[] = {
		{ { { "library_regex", "^app$" } }, true },
		{ { { "library_regex", "^/" } }, false },
		{ { { "library_regex", "^app$" },
		    { "library_regex", "none" } }, true },
		{ { { "library_regex", "^app$" },
		    { "function_regex", "^app\\+" } }, true },
		{ { { "library_regex", "^app$" },
		    { "function_regex", "^libparse" } }, false },
		{ { { "library_regex", "^app$" },
		    { "function_regex", "^libparse" },
		    { "library_regex", "libparse" } }, true },
		{ { { "library_regex", "^app$" },
		    { "source_regex", "." } }, false },
		{ { { "negative_library_regex", "libparse" } }, false },
		{ { { "negative_library_regex", "libother" } }, true },
		{ { { "negative_source_regex", "." } }, true },
		{ { { "negative_library_regex", "^app$" },
		    { "negative_function_regex", "none" } }, false },
		{ { { "negative_function_regex", "none" },
		    { "negative_function_regex", "^libparse" } }, false },
	};
	struct tree tree;
	uint32_t node;

	(void)state;
	tree_init(&tree);
	symbols_free(tree.symbols);
	module_map_build(&tree.modules, modules, 2);
	tree.symbols = symbols_new(&tree.modules, NULL, 0);
	assert_non_null(tree.symbols);
	node = stacks_child(&tree.stacks, STACKS_ROOT, 0x1234);
	node = stacks_child(&tree.stacks, node, 0x5678);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct filter_context context = {
			.run = &ten_seconds,
			.stacks = &tree.stacks,
			.symbols = tree.symbols,
		};
		struct filter_spec spec = { 0 };
		struct filter *filter;

		for (int k = 0; k < 3 && rows[i].keys[k][0]; k++)
			spec_set(&spec, rows[i].keys[k][0],
				 rows[i].keys[k][1]);
		filter = filter_new(&spec, &context, NULL);
		assert_non_null(filter);
		assert_int_equal(passes(filter, node), rows[i].passes);
		filter_free(filter);
	}
	tree_done(&tree);
}

static void the_tree_may_grow(void **state)
{
	struct tree tree;
	struct filter *filter;
	uint32_t node;

	(void)state;
	tree_init(&tree);
	filter = regex_filter(&tree, "function_regex", name_of(&tree, 0x4444));
	assert_false(passes(filter, tree.inner));
	node = tree.other;
	for (uint64_t pc = 0x10000; pc < 0x13000; pc++)
		node = stacks_child(&tree.stacks, node, pc);
	assert_true(passes(filter, node));
	assert_true(passes(filter, tree.stacks.nodes[node].parent));
	assert_false(passes(filter, tree.inner));
	filter_free(filter);
	tree_done(&tree);
}

/* Patterns are searched anywhere, case counts unless the pattern says so. */
static void patterns_are_unanchored_and_sensitive(void **state)
{
	struct tree tree;
	struct filter *filter;

	(void)state;
	tree_init(&tree);
	assert_non_null(strstr(name_of(&tree, 0x1111), "x111"));
	filter = regex_filter(&tree, "function_regex", "x111");
	assert_true(passes(filter, tree.outer));
	filter_free(filter);
	filter = regex_filter(&tree, "function_regex", "X111");
	assert_false(passes(filter, tree.outer));
	filter_free(filter);
	filter = regex_filter(&tree, "function_regex", "(?i)X111");
	assert_true(passes(filter, tree.outer));
	filter_free(filter);
	tree_done(&tree);
}

/* What "7.?7" finds. */
static bool has_near_sevens(const char *name)
{
	const char *seven = strchr(name, '7');

	for (; seven; seven = strchr(seven + 1, '7'))
		if (seven[1] == '7' || (seven[1] && seven[2] == '7'))
			return true;
	return false;
}

/* A random tree, against a search of each stack frame by frame. */
static void answers_equal_a_plain_search(void **state)
{
	enum { NODES = 3000 };
	struct tree tree;
	struct filter *filter;
	struct stacks_node *nodes;

	(void)state;
	srand48(3);
	tree_init(&tree);
	while (tree.stacks.count < NODES)
		stacks_child(&tree.stacks,
			     (uint32_t)lrand48() % tree.stacks.count,
			     0x100000 + (uint64_t)lrand48() % 0x400);
	filter = regex_filter(&tree, "function_regex", "7.?7");
	nodes = tree.stacks.nodes;
	for (int i = 0; i < 2 * NODES; i++) {
		uint32_t stack = (uint32_t)lrand48() % NODES;
		uint32_t n = stack;
		bool expected = false;

		for (; n != STACKS_ROOT; n = nodes[n].parent)
			expected |= has_near_sevens(
				name_of(&tree, nodes[n].pc_key));
		assert_int_equal(passes(filter, stack), expected);
	}
	filter_free(filter);
	tree_done(&tree);
}

/* --- values --- */

static void refused(const char *key, const char *value, const char *message)
{
	struct filter_spec spec = { 0 };
	struct diag diag = { .text = "" };

	assert_int_equal(filter_spec_set(&spec, filter_key_find(key, NULL),
					 false, value, 0, &arena, &diag),
			 -EINVAL);
	assert_int_equal(spec.count, 0);
	assert_string_equal(diag.text, message);
}

#define ALL_LIFETIMES                                                          \
	"all, only_leaked, only_temporary, "                                   \
	"only_not_deallocated_in_current_range, "                              \
	"only_deallocated_in_current_range, only_whole_group_leaked, "         \
	"only_chain_leaked"

static void bad_values_are_refused(void **state)
{
	static const char time_hint[] =
		" is not a time; allowed: seconds from the start (1.5, 250ms, "
		"1h30m), a share of the run (12.5%), peak, "
		"mark:NAME, phase:NAME";
	static const char *const times[] = { "",     "x",	 "-1", "1 2",
					     "1.5.", "peaks", "-5%", "5%%" };
	char message[256];

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		snprintf(message, sizeof(message), "\"%s\"%s", times[i],
			 time_hint);
		refused("from", times[i], message);
		refused("to", times[i], message);
		refused("alive_at", times[i], message);
	}
	refused("lifetime", "only_leak",
		"\"only_leak\" is not a lifetime; did you mean "
		"\"only_leaked\"? Allowed: " ALL_LIFETIMES);
	refused("lifetime", "leaked",
		"\"leaked\" is not a lifetime; did you mean "
		"\"only_leaked\"? Allowed: " ALL_LIFETIMES);
	refused("lifetime", "zzz",
		"\"zzz\" is not a lifetime; allowed: " ALL_LIFETIMES);
	refused("size_min", "12q",
		"\"12q\" is not a number of bytes; allowed: 4096, 64KiB, "
		"10MB, 0x1000");
	refused("size_max", "-1",
		"\"-1\" is not a number of bytes; allowed: 4096, 64KiB, "
		"10MB, 0x1000");
	refused("function_regex", "a(b",
		"\"a(b\" is not a regular expression: missing closing "
		"parenthesis, at byte 3 of it; allowed: what PCRE2 reads");
	refused("negative_function_regex", "[z-a]",
		"\"[z-a]\" is not a regular expression: range out of order in "
		"character class, at byte 3 of it; allowed: what PCRE2 reads");
	assert_null(filter_key_find("form", NULL));
}

static void exclusive_conditions_are_refused(void **state)
{
	struct diag diag = { .text = "" };
	struct filter_spec spec = { 0 };
	size_t at = 0;

	(void)state;
	spec_set(&spec, "size_min", "10");
	spec_set(&spec, "size_max", "10");
	spec_set(&spec, "from", "50%");
	spec_set(&spec, "to", "1");
	assert_int_equal(filter_spec_check(&spec, &at, &diag), 0);
	memset(&spec, 0, sizeof(spec));
	at = 0;
	spec_set(&spec, "from", "1s500004403ns");
	spec_set(&spec, "to", "1.500004403s");
	spec_set(&spec, "lifetime_min", "1m500004403ns");
	spec_set(&spec, "lifetime_max", "60.500004403");
	spec_set(&spec, "group_interval_min", "1s500004403ns");
	spec_set(&spec, "group_interval_max", "1500004.403us");
	assert_int_equal(filter_spec_check(&spec, &at, &diag), 0);
	memset(&spec, 0, sizeof(spec));
	at = 0;
	spec_set(&spec, "from", "50%");
	spec_set(&spec, "to", "49%");
	spec_set(&spec, "size_min", "11");
	spec_set(&spec, "size_max", "10");
	assert_int_equal(filter_spec_check(&spec, &at, &diag), -EINVAL);
	assert_string_equal(diag.text, "from = 50% is later than to = 49%: nothing "
				       "could pass; allowed: from "
				       "up to 49%");
	assert_int_equal(filter_spec_check(&spec, &at, &diag), -EINVAL);
	assert_string_equal(diag.text, "size_min = 11 is greater than size_max "
				       "= 10: nothing could pass; "
				       "allowed: size_min up to 10");
	assert_int_equal(filter_spec_check(&spec, &at, &diag), 0);
}

/* --- runaway patterns --- */

static void runaway_patterns_are_cut_short(void **state)
{
	struct module module = {
		.start = 0x10000,
		.end = 0x20000,
		.path = "/nonexistent/"
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!",
		.name = "/nonexistent/"
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!",
		.unload_tick = MODULE_NEVER_UNLOADED,
	};
	struct tree tree;
	struct filter *filter;
	uint32_t node;

	(void)state;
	tree_init(&tree);
	module_map_build(&tree.modules, &module, 1);
	node = stacks_child(&tree.stacks, STACKS_ROOT, 0x12345);
	assert_non_null(strstr(name_of(&tree, 0x12345), "aaaa!"));
	filter = regex_filter(&tree, "function_regex", "(a+)+$");
	assert_false(passes(filter, node));
	assert_int_equal(filter_regex_failures(filter), 1);
	assert_false(passes(filter, node));
	assert_int_equal(filter_regex_failures(filter), 1);
	filter_free(filter);
	tree_done(&tree);
}

static int arena_clear(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_passes_without_keys),
		cmocka_unit_test(from_and_to_include_their_moment),
		cmocka_unit_test(the_whole_run_is_everything),
		cmocka_unit_test(alive_at_ends_with_the_free),
		cmocka_unit_test(peak_is_exact_between_equal_times),
		cmocka_unit_test(needs_peak_tells),
		cmocka_unit_test(lifetimes_are_opposites),
		cmocka_unit_test(sizes_are_inclusive),
		cmocka_unit_test(bounds_are_inclusive),
		cmocka_unit_test(leaked_blocks_have_an_age),
		cmocka_unit_test(usable_sizes_must_be_known),
		cmocka_unit_test(chunks_are_told_by_their_form),
		cmocka_unit_test(freed_in_range),
		cmocka_unit_test(temporary_has_two_meanings),
		cmocka_unit_test(lists_pass_any_of_their_numbers),
		cmocka_unit_test(thread_names_are_searched),
		cmocka_unit_test(counts_say_what_removed_how_much),
		cmocka_unit_test(what_removed_all_is_explained),
		cmocka_unit_test(printed_times_find_their_tick),
		cmocka_unit_test(keys_are_anded),
		cmocka_unit_test(some_frame_must_match),
		cmocka_unit_test(no_frame_may_match),
		cmocka_unit_test(depth_counts_frames),
		cmocka_unit_test(texts_must_be_of_one_frame),
		cmocka_unit_test(the_tree_may_grow),
		cmocka_unit_test(patterns_are_unanchored_and_sensitive),
		cmocka_unit_test(answers_equal_a_plain_search),
		cmocka_unit_test(bad_values_are_refused),
		cmocka_unit_test(exclusive_conditions_are_refused),
		cmocka_unit_test(runaway_patterns_are_cut_short),
	};

	return cmocka_run_group_tests(tests, NULL, arena_clear);
}
