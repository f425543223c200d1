/* SPDX-License-Identifier: MIT */
/*
 * Chunks coded with and without culling say the same, whatever the records:
 * how often each stack made blocks of each size, how often these were freed at
 * once, and what is left of the events in its order.
 */
#include "tests/lib/unit.h"

#include "report/core/module.h"
#include "report/event/event.h"
#include "report/event/stacks.h"
#include "report/input/cursor.h"
#include "report/input/decoder.h"
#include "tests/lib/random.h"
#include "tracer/columns_record.h"
#include "tracer/columns.h"
#include "tracer/cull.h"
#include "tracer/trace_format.h"

enum {
	BUFFERS = 3,
	RECORDS = 400, /* of a buffer */
	WORDS = 24 * RECORDS,
	BLOCKS = 24, /* addresses in use */
	ROUNDS = 150,
	SHIFT = 3,
	FIRST_TICK = 1000000,
	EVENTS = BUFFERS * RECORDS * 2 + 8,
	SITES = 4096,
};

/* --- records ------------------------------------------------------------- */

/**
 * struct program - a thread and its blocks
 * @is_live, @is_own: of the block at each address
 */
struct program {
	struct random random;
	uint64_t words[BUFFERS][WORDS];
	size_t len[BUFFERS];
	size_t starts[RECORDS + 1]; /* of the first buffer's records */
	uint64_t first_tick[BUFFERS];
	uint64_t tick;
	uint32_t depth;
	bool is_live[BLOCKS];
	bool is_own[BLOCKS];
};

static uint64_t below(struct program *p, uint64_t limit)
{
	return random_below(&p->random, limit);
}

static uint64_t *put_head(struct program *p, uint64_t *at, unsigned tag,
			  uint64_t *ret_push)
{
	uint64_t ticks = below(p, 40);
	uint64_t pop = below(p, p->depth + 1), push = below(p, 4);

	if (below(p, 200) == 0)
		ticks = UINT64_C(1) << 25;
	if (tag == TRACE_EVENT_RSS)
		pop = push = 0;
	if (p->depth > 12)
		pop = p->depth;
	p->depth += (uint32_t)(push - pop);
	p->tick += ticks;
	*at++ = tag | pop << TRACE_RECORD_POP_SHIFT |
		push << TRACE_RECORD_PUSH_SHIFT |
		(ticks < TRACE_RECORD_TICKS_LONG ? ticks
						 : TRACE_RECORD_TICKS_LONG)
		    << TRACE_RECORD_TICKS_SHIFT;
	if (ticks >= TRACE_RECORD_TICKS_LONG)
		*at++ = ticks;
	*ret_push = push;
	return at;
}

static uint64_t addr_of(uint64_t block)
{
	return 0x10000 + block * 0x40;
}

/* Return: one of two, sometimes with a slack that takes a word more. */
static uint64_t *put_extent(struct program *p, uint64_t *at)
{
	uint64_t size = 1 + below(p, 2);

	if (below(p, 30)) {
		*at++ = size | UINT64_C(7) << TRACE_RECORD_SLACK_SHIFT;
		return at;
	}
	*at++ = size | TRACE_RECORD_SLACK_LONG << TRACE_RECORD_SLACK_SHIFT;
	*at++ = 70000;
	return at;
}

/* Another thread may free a block, and may hand one over. */
static void meddle(struct program *p)
{
	uint64_t block = below(p, BLOCKS);

	if (below(p, 12))
		return;
	p->is_live[block] = !p->is_live[block];
	p->is_own[block] = false;
}

static uint64_t *put_record(struct program *p, uint64_t *at)
{
	static const unsigned makes[] = { TRACE_EVENT_MALLOC,
					  TRACE_EVENT_CALLOC,
					  TRACE_EVENT_MEMALIGN,
					  TRACE_EVENT_NEW };
	uint64_t block = below(p, BLOCKS), push;
	unsigned tag;

	meddle(p);
	if (below(p, 40) == 0) {
		at = put_head(p, at, TRACE_EVENT_RSS, &push);
		*at++ = 4096;
		return at;
	}
	if (!p->is_live[block]) {
		tag = makes[below(p, 4)];
		at = put_head(p, at, tag, &push);
		*at++ = addr_of(block);
		at = put_extent(p, at);
		if (tag == TRACE_EVENT_MEMALIGN)
			*at++ = 64;
		p->is_live[block] = p->is_own[block] = true;
	} else if (below(p, 12) == 0) {
		at = put_head(p, at, TRACE_EVENT_REALLOC, &push);
		*at++ = addr_of(block);
		*at++ = addr_of(block);
		at = put_extent(p, at);
		*at++ = 5;
		p->tick += 5;
		p->is_own[block] = true;
	} else {
		tag = below(p, 2) ? TRACE_EVENT_FREE : TRACE_EVENT_DELETE;
		if (p->is_own[block])
			tag |= TRACE_RECORD_MAKER;
		at = put_head(p, at, tag, &push);
		*at++ = addr_of(block);
		p->is_live[block] = false;
	}
	for (uint64_t i = 0; i < push; i++)
		*at++ = 0x400000 + below(p, 6);
	return at;
}

static void write_program(struct program *p, uint64_t seed)
{
	memset(p, 0, sizeof(*p));
	p->random.state = seed;
	p->tick = FIRST_TICK;
	for (size_t i = 0; i < BUFFERS; i++) {
		uint64_t *at = p->words[i];

		p->first_tick[i] = p->tick;
		p->depth = 0;
		for (size_t k = 0; k < RECORDS; k++) {
			if (i == 0)
				p->starts[k] = (size_t)(at - p->words[i]);
			at = put_record(p, at);
		}
		p->len[i] = (size_t)(at - p->words[i]);
	}
}

/* --- coding -------------------------------------------------------------- */

struct payload {
	uint8_t *bytes;
	size_t len;
	struct columns_output out;
	uint32_t culled;
};

static void set_inputs(const struct program *p, size_t from,
		       struct columns_input inputs[BUFFERS])
{
	for (size_t i = 0; i < BUFFERS; i++)
		inputs[i] = (struct columns_input){
			.words = p->words[i],
			.len = p->len[i],
			.from = i ? 0 : from,
			.first_tick = p->first_tick[i],
		};
}

static void code_plain(struct columns *columns,
		       struct columns_input inputs[BUFFERS],
		       struct payload *ret)
{
	columns_begin(columns, SHIFT);
	for (size_t i = 0; i < BUFFERS; i++)
		columns_add(columns, &inputs[i]);
	columns_end(columns, &ret->out);
}

static void code_culled(struct columns *columns,
			struct columns_input inputs[BUFFERS],
			const struct cull_limits *limits, struct payload *ret)
{
	static struct cull *cull;
	bool is_linked;

	if (!cull)
		cull = cull_init(calloc(1, cull_bytes(COLUMNS_BUFFERS_MAX)),
				 COLUMNS_BUFFERS_MAX);
	cull_begin(cull, SHIFT, limits);
	for (uint32_t i = 0; i < BUFFERS; i++)
		cull_add(cull, &(struct cull_buffer){ 1, i, inputs[i] });
	assert_int_equal(cull_decide(cull, &is_linked), 1);
	assert_false(is_linked);
	assert_int_equal(cull_get_part(cull, 0).count, BUFFERS);
	ret->culled = cull_code(cull, 0, columns, &ret->out);
}

static void code(struct columns_input inputs[BUFFERS],
		 const struct cull_limits *limits, struct payload *ret)
{
	static struct columns *columns;

	if (!columns)
		columns = calloc(1, columns_bytes());
	assert_non_null(columns);
	memset(ret, 0, sizeof(*ret));
	if (limits)
		code_culled(columns, inputs, limits, ret);
	else
		code_plain(columns, inputs, ret);
	for (size_t i = 0; i < ret->out.part_count; i++)
		ret->len += ret->out.lens[i];
	ret->bytes = calloc(1, ret->len + CURSOR_SLACK);
	assert_non_null(ret->bytes);
	for (size_t i = 0, at = 0; i < ret->out.part_count; i++) {
		memcpy(ret->bytes + at, ret->out.parts[i], ret->out.lens[i]);
		at += ret->out.lens[i];
	}
}

/* --- decoding ------------------------------------------------------------ */

/* What is the same with culling and without, of a stack, call and size. */
struct site {
	uint32_t stack;
	uint8_t call;
	uint64_t size;
	uint64_t slack;
	uint64_t count;
	uint64_t temporary;
	uint64_t first;
	uint64_t last;
};

struct story {
	struct site sites[SITES];
	size_t site_count;
	uint64_t allocations;
	uint64_t frees;
	uint64_t events;
	struct event items[EVENTS];
	size_t item_count;
};

struct fixture {
	struct stacks stacks;
	struct module_map modules;
	struct interner interner;
	struct event_decoder *decoder;
};

static void set_up(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	assert_int_equal(stacks_init(&f->stacks), 0);
	module_map_build(&f->modules, NULL, 0);
	assert_int_equal(interner_init(&f->interner, &f->stacks, &f->modules),
			 0);
	f->decoder = event_decoder_new(&columns_coding, &f->interner);
	assert_non_null(f->decoder);
	f->decoder->limit = UINT64_MAX;
}

static void tear_down(struct fixture *f)
{
	event_decoder_free(f->decoder);
	interner_done(&f->interner);
	stacks_done(&f->stacks);
}

static struct site *site_of(struct story *story, const struct event *event)
{
	struct site *site = story->sites;

	for (; site < story->sites + story->site_count; site++)
		if (site->stack == event->stack && site->call == event->call &&
		    site->size == event->size && site->slack == event->a)
			return site;
	assert_true(story->site_count < SITES);
	story->site_count++;
	*site = (struct site){ .stack = event->stack, .call = event->call,
			       .size = event->size, .slack = event->a,
			       .first = UINT64_MAX };
	return site;
}

static void note_times(struct site *site, uint64_t first, uint64_t last)
{
	site->first = first < site->first ? first : site->first;
	site->last = last > site->last ? last : site->last;
}

/* As the engine has it: blocks that came to be and were freed at once. */
static void tell(struct story *story)
{
	const struct event *before = NULL, *times = NULL;

	for (size_t i = 0; i < story->item_count; i++) {
		const struct event *event = &story->items[i];
		struct site *site;

		if (event->kind == EVENT_CULLED_TIMES)
			times = event;
		if (event->kind == EVENT_CULLED) {
			site = site_of(story, event);
			site->count += event->b;
			site->temporary += event->addr;
			note_times(site, times->addr, times->size);
			story->allocations += event->b;
			story->frees += event->b;
		}
		if (event->kind == EVENT_FREE) {
			story->frees++;
			if (before && before->kind == EVENT_ALLOC &&
			    before->addr == event->addr && !event->b)
				site_of(story, before)->temporary++;
		}
		if (event->kind == EVENT_ALLOC) {
			site = site_of(story, event);
			site->count++;
			note_times(site, event->tick, event->tick);
			story->allocations++;
		}
		if (event->kind == EVENT_ALLOC || event->kind == EVENT_FREE)
			before = event;
	}
}

/* Whether the payload was right, and says as much as it should. */
static void read_payload(struct fixture *f, const struct payload *payload,
			 struct story *story)
{
	int result = EVENT_DECODE_MORE;

	memset(story, 0, sizeof(*story));
	f->decoder->floor = 0;
	assert_int_equal(event_decoder_start(f->decoder, payload->bytes,
					     payload->len,
					     payload->out.first_tick),
			 0);
	while (result == EVENT_DECODE_MORE) {
		size_t count;

		result = event_decode(f->decoder,
				      story->items + story->item_count,
				      EVENTS - story->item_count, &count);
		assert_true(result >= 0);
		story->item_count += count;
	}
	if (f->decoder->problem)
		fail_msg("%s", f->decoder->problem);
	assert_int_equal(f->decoder->decoded, payload->out.event_count);
	assert_int_equal(f->decoder->culled, payload->culled);
	story->events = f->decoder->decoded + f->decoder->culled;
	tell(story);
}

static int by_content(const void *a, const void *b)
{
	return memcmp(a, b, offsetof(struct site, count));
}

static void check_same(struct story *plain, struct story *culled)
{
	qsort(plain->sites, plain->site_count, sizeof(*plain->sites),
	      by_content);
	qsort(culled->sites, culled->site_count, sizeof(*culled->sites),
	      by_content);
	assert_int_equal(plain->events, culled->events);
	assert_int_equal(plain->allocations, culled->allocations);
	assert_int_equal(plain->frees, culled->frees);
	assert_int_equal(plain->site_count, culled->site_count);
	for (size_t i = 0; i < plain->site_count; i++) {
		const struct site *a = &plain->sites[i], *b = &culled->sites[i];

		assert_int_equal(by_content(a, b), 0);
		assert_int_equal(a->count, b->count);
		assert_int_equal(a->temporary, b->temporary);
		assert_int_equal(a->first, b->first);
		assert_int_equal(a->last, b->last);
	}
}

static bool is_row(const struct event *event)
{
	return event->kind >= EVENT_CULLED_MOST;
}

/* What is left are events of the whole, in their order. */
static void check_order(const struct story *plain, const struct story *culled)
{
	size_t at = 0;

	for (size_t i = 0; i < culled->item_count; i++) {
		struct event want = culled->items[i];

		if (is_row(&want))
			continue;
		want.b = want.kind == EVENT_FREE ? 0 : want.b;
		while (at < plain->item_count &&
		       memcmp(&plain->items[at], &want, sizeof(want)) != 0)
			at++;
		assert_true(at++ < plain->item_count);
	}
}

/* Limits that leave out all, some, none. */
static const struct cull_limits all_limits[] = {
	{ UINT64_MAX, 0 },
	{ 300, 0 },
	{ UINT64_MAX, 3 },
	{ 0, 0 },
};

static void compare(struct fixture *f, const struct program *p, size_t from)
{
	static struct story plain, culled;
	struct columns_input inputs[BUFFERS];
	struct payload payload;
	static struct program without;

	without = *p;
	for (size_t i = 0; i < BUFFERS; i++)
		cull_clear(without.words[i], without.len[i]);
	set_inputs(&without, from, inputs);
	code(inputs, NULL, &payload);
	read_payload(f, &payload, &plain);
	free(payload.bytes);
	for (size_t i = 0; i < sizeof(all_limits) / sizeof(all_limits[0]);
	     i++) {
		set_inputs(p, from, inputs);
		code(inputs, &all_limits[i], &payload);
		read_payload(f, &payload, &culled);
		free(payload.bytes);
		check_same(&plain, &culled);
		check_order(&plain, &culled);
		if (!all_limits[i].lifetime_ticks)
			assert_int_equal(payload.culled, 0);
		else if (i == 0 && from == 0)
			assert_true(payload.culled > RECORDS / 4);
	}
}

static void test_same(void **state)
{
	static struct program p;
	struct fixture f;

	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		set_up(&f);
		write_program(&p, seed);
		compare(&f, &p, 0);
		compare(&f, &p, p.starts[seed % RECORDS]);
		tear_down(&f);
	}
}

/* A program may write over its records at any time: nothing is left out then,
   or what is left can be decoded; no bound is passed. */
static void test_damaged(void **state)
{
	static struct program p;
	struct columns_input inputs[BUFFERS];

	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		struct payload payload;

		write_program(&p, seed);
		for (uint64_t k = below(&p, 6); k < 6; k++) {
			size_t i = (size_t)below(&p, BUFFERS);

			p.words[i][below(&p, p.len[i])] =
			    random_wide(&p.random, 64);
		}
		set_inputs(&p, p.starts[below(&p, 40)], inputs);
		code(inputs, &all_limits[0], &payload);
		free(payload.bytes);
	}
}

/* What is alive at once of what is left out is little, so peaks are right but
   for that. */
static void test_most(void **state)
{
	static struct program p;
	static struct story story;
	const uint64_t size = CULL_LIVE_MAX / 4;
	struct columns_input inputs[BUFFERS];
	struct payload payload;
	struct fixture f;
	uint64_t *at = p.words[0];
	uint64_t kept = 0;

	(void)state;
	set_up(&f);
	memset(&p, 0, sizeof(p));
	for (uint64_t i = 0; i < 20; i++) {
		*at++ = TRACE_EVENT_MALLOC;
		*at++ = addr_of(i);
		*at++ = size;
	}
	for (uint64_t i = 0; i < 20; i++) {
		*at++ = TRACE_EVENT_FREE | TRACE_RECORD_MAKER;
		*at++ = addr_of(i);
	}
	p.len[0] = (size_t)(at - p.words[0]);
	for (size_t i = 0; i < BUFFERS; i++)
		p.first_tick[i] = FIRST_TICK;
	set_inputs(&p, 0, inputs);
	code(inputs, &all_limits[0], &payload);
	read_payload(&f, &payload, &story);
	free(payload.bytes);
	assert_int_equal(payload.culled, 8);
	for (size_t i = 0; i < story.item_count; i++) {
		kept += story.items[i].kind == EVENT_ALLOC;
		if (story.items[i].kind == EVENT_CULLED_MOST)
			assert_int_equal(story.items[i].size, 4 * size);
	}
	assert_int_equal(kept, 16);
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
