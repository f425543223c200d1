/* SPDX-License-Identifier: MIT */
/*
 * The records of PATH.live: what is right of them is found, whatever the
 * program has written over them, and coding them never leaves its bounds.
 */
#include "tests/lib/unit.h"

#include "report/core/module.h"
#include "report/event/stacks.h"
#include "report/input/cursor.h"
#include "report/input/decoder.h"
#include "tests/lib/random.h"
#include "tracer/columns_record.h"
#include "tracer/columns.h"
#include "tracer/plain.h"
#include "tracer/record/walk.h"
#include "tracer/trace_format.h"

enum {
	RECORDS = 300,
	WORDS = 16 * RECORDS,
	ROUNDS = 4000,
	FIRST_TICK = 1000000,
	TIME_SHIFT = 0,
	ITEMS = 2 * RECORDS + 2, /* a realloc is two events */
	PAYLOAD_MAX = 1 << 20,
};

/**
 * struct buffer - records, and where they begin
 * @starts: of @count records, then their end
 * @depth:  of the stack
 */
struct buffer {
	uint64_t words[WORDS];
	size_t starts[RECORDS + 1];
	size_t count;
	uint32_t depth;
	uint64_t tick;
};

static uint64_t head(unsigned tag, uint64_t pop, uint64_t push, uint64_t ticks)
{
	return tag | pop << TRACE_RECORD_POP_SHIFT |
	       push << TRACE_RECORD_PUSH_SHIFT |
	       ticks << TRACE_RECORD_TICKS_SHIFT;
}

/* Adds a record of @kind that is as it should be. */
static void add(struct buffer *b, unsigned kind, struct random *random)
{
	uint64_t *p = &b->words[b->starts[b->count]];
	uint64_t ticks = random_below(random, 5000);
	uint64_t pop = random_below(random, b->depth + 1);
	uint64_t push = random_below(random, 5);
	unsigned at = record_extent_at[kind];
	uint64_t *body;

	if (kind == TRACE_EVENT_RSS || kind == TRACE_EVENT_LOST)
		pop = push = 0;
	*p++ = head(kind, pop, push,
		    ticks % 7 ? ticks : TRACE_RECORD_TICKS_LONG);
	if (ticks % 7 == 0)
		*p++ = ticks;
	body = p;
	for (int i = 0; i < record_body_words[kind]; i++)
		*p++ = random_below(random, 4000);
	if (at && random_below(random, 9) == 0) {
		body[at] |= TRACE_RECORD_SLACK_LONG << TRACE_RECORD_SLACK_SHIFT;
		memmove(&body[at + 2], &body[at + 1],
			(size_t)(p - &body[at + 1]) * sizeof(*p));
		body[at + 1] = 70000;
		p++;
	}
	if (kind == TRACE_EVENT_REALLOC)
		b->tick += p[-1];
	for (uint64_t i = 0; i < push; i++)
		*p++ = 0x400000 + random_below(random, 100);
	b->tick += ticks;
	b->depth += (uint32_t)(push - pop);
	b->starts[++b->count] = (size_t)(p - b->words);
}

static void fill(struct buffer *b, uint64_t seed)
{
	struct random random = { seed };

	memset(b, 0, sizeof(*b));
	b->tick = FIRST_TICK;
	while (b->count < RECORDS)
		add(b, 1 + (unsigned)random_below(&random, TRACE_EVENT_LOST),
		    &random);
}

static struct columns_input input_of(const struct buffer *b, size_t from)
{
	return (struct columns_input){
		.words = b->words,
		.len = b->starts[b->count],
		.from = from,
		.first_tick = FIRST_TICK,
	};
}

static struct columns_output code(const struct columns_input *input)
{
	static struct columns *columns;
	struct columns_output out;

	if (!columns)
		columns = calloc(1, columns_bytes());
	assert_non_null(columns);
	columns_begin(columns, TIME_SHIFT);
	columns_add(columns, input);
	columns_end(columns, &out);
	return out;
}

static void test_whole(void **state)
{
	static struct buffer b;

	(void)state;
	fill(&b, 1);
	for (size_t i = 0; i <= b.count; i++) {
		struct columns_input input = input_of(&b, b.starts[i]);
		struct walk_result walk = walk_records(&input, b.tick);
		struct columns_output out;

		assert_int_equal(walk.words, b.starts[b.count]);
		assert_int_equal(walk.last_tick, b.tick);
		assert_true(walk.has_from);
		assert_int_equal(columns_count(&input), b.count - i);
		out = code(&input);
		assert_int_equal(out.event_count, b.count - i);
		assert_int_equal(out.last_tick, b.tick);
		if (i == 0)
			assert_int_equal(out.first_tick, FIRST_TICK);
	}
}

/* A length in the middle of a record ends before it. */
static void test_cut(void **state)
{
	static struct buffer b;
	size_t whole = 0;

	(void)state;
	fill(&b, 2);
	for (size_t len = 0; len <= b.starts[b.count]; len++) {
		/* Of that length exactly, so that nothing else is read. */
		uint64_t *words = malloc(len ? len * sizeof(*words) : 1);
		struct columns_input input = {
			.words = words,
			.len = len,
			.first_tick = FIRST_TICK,
		};

		memcpy(words, b.words, len * sizeof(*words));
		while (whole < b.count && b.starts[whole + 1] <= len)
			whole++;
		assert_int_equal(walk_records(&input, b.tick).words,
				 b.starts[whole]);
		free(words);
	}
}

static void test_wrong(void **state)
{
	static const struct {
		uint64_t words[4];
		size_t len;
	} rows[] = {
		{ { 0, 0 }, 2 },                          /* no kind */
		{ { TRACE_EVENT_MARKER, 0 }, 2 },         /* not written */
		{ { 31, 0 }, 2 },
		{ { TRACE_EVENT_MALLOC | 0x80, 0, 0 }, 3 }, /* no free */
		{ { TRACE_EVENT_FREE | 1 << 8, 0 }, 2 },  /* pop, no stack */
		{ { TRACE_EVENT_FREE | 1 << 24, 0 }, 2 }, /* no frame */
		{ { TRACE_EVENT_RSS | 1 << 24, 1, 1 }, 3 },
		{ { TRACE_EVENT_FREE | TRACE_EVENT_NO_STACK | 1 << 24, 1, 1 },
		  3 },
		{ { TRACE_EVENT_RSS, TRACE_SIZE_LIMIT }, 2 },
		{ { TRACE_EVENT_MUNMAP, 0, TRACE_SIZE_LIMIT }, 3 },
		{ { TRACE_EVENT_MALLOC, 0, UINT64_MAX, TRACE_SIZE_LIMIT }, 4 },
		{ { TRACE_EVENT_FREE | UINT64_C(1001) << 40, 0 }, 2 }, /* late */
		{ { TRACE_EVENT_FREE | TRACE_RECORD_TICKS_LONG << 40,
		    UINT64_MAX, 0 },
		  3 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct columns_input input = {
			.words = rows[i].words,
			.len = rows[i].len,
			.first_tick = FIRST_TICK,
		};
		struct walk_result walk =
		    walk_records(&input, FIRST_TICK + 1000);

		if (walk.words)
			fail_msg("row %zu", i);
		assert_int_equal(walk.last_tick, FIRST_TICK);
	}
}

/* Damages some words.  Return: index of the first. */
static size_t damage(struct buffer *b, struct random *random)
{
	size_t len = b->starts[b->count], first = len;
	uint64_t times = 1 + random_below(random, 8);

	while (times--) {
		size_t i = (size_t)random_below(random, len);

		b->words[i] = random_wide(random, 64);
		first = i < first ? i : first;
	}
	return first;
}

/* Whatever is written over records: those before are found, and what is
   found can be coded; what is not checked does no harm. */
static void test_damaged(void **state)
{
	static struct buffer b;
	struct random random = { 3 };

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct columns_input input;
		struct walk_result walk;
		size_t first, whole = 0;
		struct columns_output out;

		fill(&b, (uint64_t)round);
		first = damage(&b, &random);
		while (b.starts[whole + 1] <= first)
			whole++;
		input = input_of(&b, b.starts[random_below(&random, 40)]);
		out = code(&input);
		walk = walk_records(&input, b.tick);
		assert_true(walk.words >= b.starts[whole]);
		if (!walk.has_from)
			continue;
		input.len = walk.words;
		out = code(&input);
		assert_int_equal(out.event_count, columns_count(&input));
		assert_true(out.last_tick == walk.last_tick || !walk.words);
	}
}

/**
 * struct reader - reads what was coded
 */
struct reader {
	struct stacks stacks;
	struct module_map modules;
	struct interner interner;
	uint8_t payload[PAYLOAD_MAX + CURSOR_SLACK];
	size_t len;
	struct event items[ITEMS];
};

static struct reader *reader_new(void)
{
	struct reader *reader = calloc(1, sizeof(*reader));

	assert_non_null(reader);
	assert_int_equal(stacks_init(&reader->stacks), 0);
	module_map_build(&reader->modules, NULL, 0);
	assert_int_equal(interner_init(&reader->interner, &reader->stacks,
				       &reader->modules),
			 0);
	return reader;
}

static void reader_free(struct reader *reader)
{
	interner_done(&reader->interner);
	stacks_done(&reader->stacks);
	free(reader);
}

static void reader_add(struct reader *reader, const uint8_t *part, size_t len)
{
	assert_true(len <= PAYLOAD_MAX - reader->len);
	memcpy(reader->payload + reader->len, part, len);
	reader->len += len;
}

/* Return: events of the payload, which is forgotten. */
static size_t reader_decode(struct reader *reader,
			    const struct event_coding *coding,
			    uint64_t first_tick)
{
	struct event_decoder *decoder =
	    event_decoder_new(coding, &reader->interner);
	size_t count;

	assert_non_null(decoder);
	decoder->limit = UINT64_MAX;
	memset(reader->items, 0, sizeof(reader->items));
	memset(reader->payload + reader->len, 0, CURSOR_SLACK);
	assert_int_equal(event_decoder_start(decoder, reader->payload,
					     reader->len, first_tick),
			 0);
	assert_int_equal(event_decode(decoder, reader->items, ITEMS, &count),
			 EVENT_DECODE_END);
	if (decoder->problem)
		fail_msg("%s: %s", coding->name, decoder->problem);
	event_decoder_free(decoder);
	reader->len = 0;
	return count;
}

/* Both codings of a buffer, from any record on, say the same. */
static void test_plain(void **state)
{
	static struct event items[ITEMS];
	static struct plain plain;
	static struct buffer b;
	struct reader *reader = reader_new();

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		fill(&b, seed);
		for (size_t i = 0; i < b.count; i += seed) {
			struct columns_input input = input_of(&b, b.starts[i]);
			struct columns_output columns = code(&input);
			struct plain_output out;
			size_t count;

			for (size_t n = 0; n < columns.part_count; n++)
				reader_add(reader, columns.parts[n],
					   columns.lens[n]);
			count = reader_decode(reader, &columns_coding,
					      columns.first_tick);
			memcpy(items, reader->items, sizeof(items));
			plain_code(&plain, &input, &out);
			assert_int_equal(out.event_count, columns.event_count);
			assert_int_equal(out.first_tick, columns.first_tick);
			assert_int_equal(out.last_tick, columns.last_tick);
			reader_add(reader, plain.bytes, out.len);
			assert_int_equal(reader_decode(reader, &events_coding,
						       out.first_tick),
					 count);
			assert_memory_equal(items, reader->items,
					    sizeof(items));
		}
	}
	reader_free(reader);
}

/* The sanitizer watches the bounds. */
static void test_plain_damaged(void **state)
{
	static struct buffer b;
	struct plain *plain = malloc(sizeof(*plain));
	struct random random = { 3 };

	(void)state;
	assert_non_null(plain);
	for (int round = 0; round < ROUNDS; round++) {
		struct columns_input input;
		struct plain_output out;

		fill(&b, (uint64_t)round);
		damage(&b, &random);
		input = input_of(&b, b.starts[random_below(&random, 40)]);
		plain_code(plain, &input, &out);
		assert_true(out.len <= sizeof(plain->bytes));
		assert_true(out.event_count <= columns_count(&input));
	}
	free(plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_plain_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
