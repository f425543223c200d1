/* SPDX-License-Identifier: MIT */
/* The decoder of EVENTS on payloads written by hand. */
#include "tests/lib/unit.h"

#include "report/core/module.h"
#include "report/event/event.h"
#include "report/event/stacks.h"
#include "report/input/cursor.h"
#include "report/input/decoder.h"
#include "tests/lib/trace_text.h"
#include "tests/lib/trace_write.h"

enum { ITEMS = 64 };

struct fixture {
	struct stacks stacks;
	struct module_map modules;
	struct interner *interner;
	struct event_decoder *decoder;
	struct bytes payload;
	struct event items[ITEMS];
	size_t count;
	uint64_t *keys;
	size_t capacity;
	size_t depth;
};

static void set_up(struct fixture *f, struct module *modules, size_t count)
{
	memset(f, 0, sizeof(*f));
	f->interner = malloc(sizeof(*f->interner));
	assert_non_null(f->interner);
	assert_int_equal(stacks_init(&f->stacks), 0);
	module_map_build(&f->modules, modules, count);
	assert_int_equal(interner_init(f->interner, &f->stacks, &f->modules),
			 0);
	f->decoder = event_decoder_new(&events_coding, f->interner);
	assert_non_null(f->decoder);
	f->decoder->limit = UINT64_MAX;
}

static void tear_down(struct fixture *f)
{
	event_decoder_free(f->decoder);
	interner_done(f->interner);
	free(f->interner);
	stacks_done(&f->stacks);
	bytes_done(&f->payload);
	free(f->keys);
}

static void put(struct fixture *f, unsigned tag, uint64_t ticks)
{
	bytes_u8(&f->payload, (uint8_t)tag);
	bytes_varint(&f->payload, ticks);
}

static void put_stack(struct fixture *f, uint64_t pop, uint64_t push)
{
	bytes_varint(&f->payload, pop);
	bytes_varint(&f->payload, push);
}

/* A malloc of one byte without frames. */
static void put_malloc(struct fixture *f)
{
	put(f, TRACE_EVENT_MALLOC, 1);
	put_stack(f, 0, 0);
	bytes_svarint(&f->payload, 0x1000);
	bytes_varint(&f->payload, 1);
	bytes_varint(&f->payload, 23);
}

static int decode(struct fixture *f)
{
	size_t len = f->payload.len;

	bytes_zero(&f->payload, CURSOR_SLACK);
	f->payload.len = len;
	assert_int_equal(
	    event_decoder_start(f->decoder, f->payload.data, len, 100), 0);
	return event_decode(f->decoder, f->items, ITEMS, &f->count);
}

static void keys_of(struct fixture *f, size_t i)
{
	f->depth = trace_text_keys(&f->stacks, f->items[i].stack, &f->keys,
				   &f->capacity);
}

static void check_problem(struct fixture *f, size_t count, size_t at,
			  const char *problem)
{
	assert_int_equal(decode(f), EVENT_DECODE_END);
	assert_int_equal(f->count, count);
	assert_non_null(f->decoder->problem);
	assert_non_null(strstr(f->decoder->problem, problem));
	assert_int_equal(f->decoder->problem_at, at);
}

static void realloc_is_two(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f, NULL, 0);
	put(&f, TRACE_EVENT_REALLOC, 5);
	put_stack(&f, 0, 1);
	bytes_svarint(&f.payload, 0x401000);
	bytes_varint(&f.payload, 7);
	bytes_svarint(&f.payload, 0x5000);
	bytes_svarint(&f.payload, 0x100);
	bytes_varint(&f.payload, 64);
	bytes_varint(&f.payload, 8);
	put_malloc(&f);
	assert_int_equal(decode(&f), EVENT_DECODE_END);
	assert_null(f.decoder->problem);
	assert_int_equal(f.count, 3);
	assert_int_equal(f.decoder->decoded, 2);
	assert_int_equal(f.items[0].kind, EVENT_FREE);
	assert_int_equal(f.items[0].call, CALL_REALLOC);
	assert_int_equal(f.items[0].tick, 105);
	assert_int_equal(f.items[0].addr, 0x5000);
	assert_int_equal(f.items[0].size, 0);
	assert_int_equal(f.items[1].kind, EVENT_ALLOC);
	assert_int_equal(f.items[1].tick, 112);
	assert_int_equal(f.items[1].addr, 0x5100);
	assert_int_equal(f.items[1].size, 64);
	assert_int_equal(f.items[1].a, 8);
	assert_int_equal(f.items[1].stack, f.items[0].stack);
	assert_int_equal(f.items[2].tick, 113);
	assert_int_equal(f.items[2].addr, 0x6100);
	tear_down(&f);
}

/* The tracer's frames are not in the tree, but pop counts them. */
static void tracer_frames(void **state)
{
	struct module modules[] = {
	    { .number = 1,
	      .is_tracer = true,
	      .start = 0x1000,
	      .end = 0x2000,
	      .unload_tick = MODULE_NEVER_UNLOADED },
	};
	static const uint64_t pcs[] = {0x1001,   0x401000, 0x1100,
				       0x402000, 0x2000,   0x2001};
	struct fixture f;
	uint64_t last = 0;

	(void)state;
	set_up(&f, modules, 1);
	put(&f, TRACE_EVENT_FREE, 0);
	put_stack(&f, 0, 6);
	for (size_t i = 0; i < 6; last = pcs[i++])
		bytes_svarint(&f.payload, pcs[i] - last);
	bytes_svarint(&f.payload, 1);
	put(&f, TRACE_EVENT_FREE, 0);
	put_stack(&f, 3, 1); /* back to 0x1100 */
	bytes_svarint(&f.payload, 0x403000 - 0x1100);
	bytes_svarint(&f.payload, 1);
	put(&f, TRACE_EVENT_FREE, 0);
	put_stack(&f, 4, 0);
	bytes_svarint(&f.payload, 1);
	assert_int_equal(decode(&f), EVENT_DECODE_END);
	assert_null(f.decoder->problem);
	assert_int_equal(f.count, 3);
	keys_of(&f, 0);
	assert_int_equal(f.depth, 3);
	assert_int_equal(f.keys[0], 0x401000);
	assert_int_equal(f.keys[1], 0x402000);
	/* The last byte of the module returns to 0x2000: still inside. */
	assert_int_equal(f.keys[2], 0x2001);
	keys_of(&f, 1);
	assert_int_equal(f.depth, 2);
	assert_int_equal(f.keys[1], 0x403000);
	assert_int_equal(f.items[2].stack, STACKS_ROOT);
	tear_down(&f);
}

/* One address, two libraries one after the other: two nodes. */
static void reused_addresses(void **state)
{
	struct module modules[] = {
	    { .number = 1,
	      .start = 0x1000,
	      .end = 0x2000,
	      .load_tick = 1,
	      .unload_tick = 150 },
	    { .number = 2,
	      .start = 0x1000,
	      .end = 0x2000,
	      .load_tick = 150,
	      .unload_tick = MODULE_NEVER_UNLOADED },
	};
	struct fixture f;

	(void)state;
	set_up(&f, modules, 2);
	for (int i = 0; i < 4; i++) {
		put(&f, TRACE_EVENT_FREE, i == 2 ? 50 : 0);
		put_stack(&f, i != 0, 1);
		bytes_svarint(&f.payload, 0x1800);
		bytes_svarint(&f.payload, 1);
	}
	assert_int_equal(decode(&f), EVENT_DECODE_END);
	assert_int_equal(f.count, 4);
	assert_int_equal(f.items[0].stack, f.items[1].stack);
	assert_int_equal(f.items[2].stack, f.items[3].stack);
	assert_int_not_equal(f.items[0].stack, f.items[2].stack);
	keys_of(&f, 2);
	assert_int_equal(PC_KEY_GENERATION(f.keys[0]), 1);
	assert_ptr_equal(module_map_find(&f.modules, f.keys[0]), &modules[1]);
	tear_down(&f);
}

/* A free without a stack leaves the one before as it is. */
static void no_stack(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f, NULL, 0);
	for (int i = 0; i < 3; i++) {
		bool none = i == 1;

		put(&f, TRACE_EVENT_FREE | (none ? TRACE_EVENT_NO_STACK : 0),
		    1);
		if (!none) {
			put_stack(&f, 0, 1);
			bytes_svarint(&f.payload, 0x1000);
		}
		bytes_svarint(&f.payload, 16);
	}
	assert_int_equal(decode(&f), EVENT_DECODE_END);
	assert_null(f.decoder->problem);
	assert_int_equal(f.count, 3);
	assert_int_equal(f.items[1].stack, STACKS_ROOT);
	assert_int_equal(f.items[1].addr, 32);
	keys_of(&f, 2);
	assert_int_equal(f.depth, 2);
	assert_int_equal(f.keys[1], 0x2000);
	tear_down(&f);
}

/* Under frames that are missing the same ones are another stack. */
static void truncated(void **state)
{
	static const struct {
		bool missing;
		uint64_t pop, push;
	} steps[] = {
	    {false, 0, 4}, {true, 1, 0},  {true, 0, 2}, {false, 0, 0},
	    {true, 3, 1},  {false, 0, 1}, {true, 0, 0}, {true, 4, 0},
	};
	static const size_t depths[] = {4, 4, 6, 5, 4, 4, 5, 1};
	enum { STEPS = sizeof(steps) / sizeof(steps[0]) };
	struct fixture f;

	(void)state;
	set_up(&f, NULL, 0);
	for (size_t i = 0; i < STEPS; i++) {
		put(&f,
		    TRACE_EVENT_FREE |
			(steps[i].missing ? TRACE_EVENT_TRUNCATED : 0),
		    1);
		put_stack(&f, steps[i].pop, steps[i].push);
		for (uint64_t j = 0; j < steps[i].push; j++)
			bytes_svarint(&f.payload, 0x1000);
		bytes_svarint(&f.payload, 16);
	}
	assert_int_equal(decode(&f), EVENT_DECODE_END);
	assert_int_equal(f.count, STEPS);
	for (size_t i = 0; i < STEPS; i++) {
		keys_of(&f, i);
		assert_int_equal(f.depth, depths[i]);
		for (size_t j = 0; j < f.depth; j++)
			assert_int_equal(f.keys[j],
					 !steps[i].missing ? 0x1000 * (j + 1)
					 : j		   ? 0x1000 * j
							   : PC_KEY_TRUNCATED);
	}
	tear_down(&f);
}

/* To tell them apart must not take a small file long. */
static void truncated_in_turns(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f, NULL, 0);
	put(&f, TRACE_EVENT_FREE, 1);
	put_stack(&f, 0, 60000);
	for (int i = 0; i < 60001; i++)
		bytes_svarint(&f.payload, 1);
	for (int i = 0; i < 200000; i++) {
		put(&f, TRACE_EVENT_FREE | (i % 2 ? 0 : TRACE_EVENT_TRUNCATED),
		    0);
		put_stack(&f, 0, 0);
		bytes_svarint(&f.payload, 0);
	}
	assert_int_equal(decode(&f), EVENT_DECODE_MORE);
	while (event_decode(f.decoder, f.items, ITEMS, &f.count) ==
	       EVENT_DECODE_MORE)
		;
	assert_null(f.decoder->problem);
	assert_int_equal(f.decoder->decoded, 200001);
	assert_true(f.stacks.count < 3 * 60000);
	tear_down(&f);
}

static void bad_tag(void **state)
{
	static const unsigned tags[] = {0, 15, 31, 32, 0x40, 0x4f, 0x81, 0xff};
	struct fixture f;

	(void)state;
	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		set_up(&f, NULL, 0);
		put_malloc(&f);
		put(&f, tags[i], 1);
		put_malloc(&f);
		check_problem(&f, 1, 8, "tag");
		assert_int_equal(f.decoder->decoded, 1);
		tear_down(&f);
	}
}

static void bad_stacks(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f, NULL, 0);
	put(&f, TRACE_EVENT_FREE, 1);
	put_stack(&f, 1, 0);
	bytes_svarint(&f.payload, 1);
	check_problem(&f, 0, 0, "removes more frames");
	tear_down(&f);

	set_up(&f, NULL, 0);
	put(&f, TRACE_EVENT_FREE, 1);
	put_stack(&f, 0, TRACE_STACK_DEPTH_MAX + 1);
	bytes_zero(&f.payload, TRACE_STACK_DEPTH_MAX + 100);
	check_problem(&f, 0, 0, "deeper");
	tear_down(&f);

	set_up(&f, NULL, 0);
	put(&f, TRACE_EVENT_FREE, 1);
	put_stack(&f, UINT64_MAX, UINT64_MAX);
	check_problem(&f, 0, 0, "removes more frames");
	tear_down(&f);

	/* More frames than bytes: nothing is allocated for them. */
	set_up(&f, NULL, 0);
	put_malloc(&f);
	put(&f, TRACE_EVENT_FREE, 1);
	put_stack(&f, 0, 60000);
	bytes_svarint(&f.payload, 1);
	check_problem(&f, 1, 8, "beyond the end");
	assert_true(f.decoder->frames.capacity < 1000);
	tear_down(&f);
}

static void deepest_stack(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f, NULL, 0);
	put(&f, TRACE_EVENT_FREE, 1);
	put_stack(&f, 0, TRACE_STACK_DEPTH_MAX);
	for (unsigned i = 0; i < TRACE_STACK_DEPTH_MAX; i++)
		bytes_svarint(&f.payload, 16);
	bytes_svarint(&f.payload, 1);
	put(&f, TRACE_EVENT_FREE, 1);
	put_stack(&f, 1, 2);
	bytes_zero(&f.payload, 3);
	check_problem(&f, 1, f.payload.len - 7, "deeper");
	keys_of(&f, 0);
	assert_int_equal(f.depth, TRACE_STACK_DEPTH_MAX);
	tear_down(&f);
}

/* Cut anywhere, each event is there as a whole or not at all. */
static void cut_short(void **state)
{
	struct fixture f;
	size_t whole;

	(void)state;
	set_up(&f, NULL, 0);
	for (int i = 0; i < 5; i++)
		put_malloc(&f);
	whole = f.payload.len;
	for (size_t len = 0; len < whole; len++) {
		uint8_t *data = malloc(len + CURSOR_SLACK);

		assert_non_null(data);
		memcpy(data, f.payload.data, len);
		memset(data + len, 0, CURSOR_SLACK);
		event_decoder_start(f.decoder, data, len, 0);
		assert_int_equal(
		    event_decode(f.decoder, f.items, ITEMS, &f.count),
		    EVENT_DECODE_END);
		assert_int_equal(f.count, len / 8);
		assert_true(!f.decoder->problem == !(len % 8));
		free(data);
	}
	tear_down(&f);
}

static void times(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f, NULL, 0);
	put_malloc(&f);
	put(&f, TRACE_EVENT_RSS, 1000);
	bytes_varint(&f.payload, 4096);
	put(&f, TRACE_EVENT_RSS, UINT64_MAX);
	bytes_varint(&f.payload, 4096);
	f.decoder->floor = 500;
	f.decoder->limit = 1050;
	check_problem(&f, 2, 8 + 5, "64 bits");
	assert_int_equal(f.items[0].tick, 500);
	assert_int_equal(f.items[1].tick, 1050);
	assert_int_equal(f.items[1].size, 4096);
	tear_down(&f);
}

static void lost_and_markers(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f, NULL, 0);
	put(&f, TRACE_EVENT_LOST, 1);
	bytes_varint(&f.payload, 5);
	bytes_varint(&f.payload, TRACE_LOST_MEMORY);
	put(&f, TRACE_EVENT_LOST, 1);
	bytes_varint(&f.payload, 1);
	bytes_varint(&f.payload, TRACE_LOST_UNWIND);
	put(&f, TRACE_EVENT_MARKER, 1);
	bytes_varint(&f.payload, 3);
	bytes_put(&f.payload, "abc", 3);
	put(&f, TRACE_EVENT_MARKER, 1);
	bytes_varint(&f.payload, UINT64_MAX);
	check_problem(&f, 3, 4 + 4 + 6, "beyond the end");
	assert_int_equal(f.decoder->lost, 5);
	assert_int_equal(f.items[0].kind, EVENT_LOST);
	assert_int_equal(f.items[0].size, 5);
	assert_int_equal(f.items[2].kind, EVENT_MARKER);
	tear_down(&f);
}

/* Batches smaller than the payload give the same events. */
static void small_batches(void **state)
{
	struct fixture f;
	size_t total = 0;
	int result;

	(void)state;
	set_up(&f, NULL, 0);
	for (int i = 0; i < 20; i++)
		put_malloc(&f);
	decode(&f);
	event_decoder_start(f.decoder, f.payload.data, f.payload.len, 100);
	do {
		result = event_decode(f.decoder, f.items, 3, &f.count);
		for (size_t i = 0; i < f.count; i++)
			assert_int_equal(f.items[i].addr,
					 0x1000 * (total + i + 1));
		total += f.count;
	} while (result == EVENT_DECODE_MORE);
	assert_int_equal(total, 20);
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(realloc_is_two),   cmocka_unit_test(tracer_frames),
	    cmocka_unit_test(reused_addresses), cmocka_unit_test(bad_tag),
	    cmocka_unit_test(bad_stacks),       cmocka_unit_test(deepest_stack),
	    cmocka_unit_test(cut_short),        cmocka_unit_test(times),
	    cmocka_unit_test(lost_and_markers), cmocka_unit_test(small_batches),
	    cmocka_unit_test(no_stack),         cmocka_unit_test(truncated),
	    cmocka_unit_test(truncated_in_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
