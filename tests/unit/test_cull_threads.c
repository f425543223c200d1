/* SPDX-License-Identifier: MIT */
/*
 * Threads that free each other's blocks: whatever of their buffers is at hand,
 * what is culled is what a reader of all events would have paired.
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
	THREADS = 4,
	BUFFERS = 12, /* of each; more than one chunk has */
	RECORDS = 60, /* of a buffer */
	WORDS = 8 * RECORDS,
	BLOCKS = 20, /* addresses in use */
	SIZES = 4,
	ROUNDS = 120,
	FIRST_TICK = 1000000,
	EVENTS = THREADS * BUFFERS * RECORDS * 3,
	SOME = 16, /* buffers that are culled together, at most */
};

/* --- records ------------------------------------------------------------- */

struct buffer {
	uint64_t words[WORDS];
	size_t len;
	uint64_t first_tick;
	bool is_culled;
};

/**
 * struct program - what threads do, in the order of time
 * @maker: of the block at each address, 0: there is none
 */
struct program {
	struct random random;
	struct buffer buffers[THREADS][BUFFERS];
	uint64_t last_tick[THREADS];
	uint64_t tick;
	uint32_t maker[BLOCKS];
};

static uint64_t below(struct program *p, uint64_t limit)
{
	return random_below(&p->random, limit);
}

static uint64_t addr_of(uint64_t block)
{
	return 0x10000 + block * 0x40;
}

/* The stack is a frame, the thread's own. */
static uint64_t *put_head(struct program *p, uint64_t *at, uint64_t tag,
			  uint32_t thread, uint64_t pop)
{
	uint64_t ticks = p->tick - p->last_tick[thread];

	p->last_tick[thread] = p->tick;
	*at++ = tag | pop << TRACE_RECORD_POP_SHIFT |
		UINT64_C(1) << TRACE_RECORD_PUSH_SHIFT |
		ticks << TRACE_RECORD_TICKS_SHIFT;
	return at;
}

/* A free says whose block it is, or does not know. */
static uint64_t *put_free(struct program *p, uint64_t *at, uint32_t thread,
			  uint64_t block, uint64_t pop)
{
	uint64_t tag = below(p, 2) ? TRACE_EVENT_FREE : TRACE_EVENT_DELETE;
	uint64_t addr = addr_of(block), maker = p->maker[block];

	if (below(p, 20))
		tag |= TRACE_RECORD_MAKER;
	if (tag & TRACE_RECORD_MAKER && maker != thread + 1)
		addr |= maker << TRACE_RECORD_MAKER_SHIFT;
	at = put_head(p, at, tag, thread, pop);
	*at++ = addr;
	p->maker[block] = 0;
	return at;
}

static uint64_t *put_record(struct program *p, uint64_t *at, uint32_t thread,
			    uint64_t pop)
{
	uint64_t block = below(p, BLOCKS);

	p->tick += 1 + below(p, 5);
	if (!p->maker[block]) {
		at = put_head(p, at, TRACE_EVENT_MALLOC, thread, pop);
		*at++ = addr_of(block);
		*at++ = 1 + below(p, SIZES);
		p->maker[block] = thread + 1;
	} else if (below(p, 15) == 0) {
		at = put_head(p, at, TRACE_EVENT_REALLOC, thread, pop);
		*at++ = addr_of(block);
		*at++ = addr_of(block);
		*at++ = 1 + below(p, SIZES);
		*at++ = 1;
		p->tick++;
		p->last_tick[thread] = p->tick;
		p->maker[block] = thread + 1;
	} else {
		at = put_free(p, at, thread, block, pop);
	}
	*at++ = 0x400000 + 0x100 * thread + below(p, 3);
	return at;
}

/* The buffers of a thread that does much are full long before those of one that
   does little. */
static void write_program(struct program *p, uint64_t seed)
{
	uint32_t buffer[THREADS] = { 0 }, records[THREADS] = { 0 };
	uint64_t left = THREADS * BUFFERS * RECORDS;

	memset(p, 0, sizeof(*p));
	p->random.state = seed;
	p->tick = FIRST_TICK;
	while (left) {
		uint32_t thread = (uint32_t)below(p, 1 + below(p, THREADS));
		struct buffer *at = &p->buffers[thread][buffer[thread]];
		uint64_t *end;

		while (buffer[thread] == BUFFERS)
			thread = (thread + 1) % THREADS;
		at = &p->buffers[thread][buffer[thread]];
		if (!records[thread]) {
			at->first_tick = p->last_tick[thread] = p->tick;
			at->is_culled = below(p, 8) > 0;
		}
		end = put_record(p, at->words + at->len, thread,
				 records[thread] > 0);
		at->len = (size_t)(end - at->words);
		left--;
		if (++records[thread] == RECORDS) {
			records[thread] = 0;
			buffer[thread]++;
		}
	}
}

/* --- coding and decoding ------------------------------------------------- */

/**
 * struct item - an event, or a row
 * @order: where it was decoded, for those of one time
 */
struct item {
	struct event event;
	uint32_t thread;
	size_t order;
};

struct story {
	struct item items[EVENTS];
	size_t count;
	uint64_t events;
	uint64_t culled;
};

struct fixture {
	struct stacks stacks;
	struct module_map modules;
	struct interner interner;
	struct event_decoder *decoder;
	struct columns *columns;
	struct cull *cull;
	bool is_linked;
};

static void read_chunk(struct fixture *f, const struct columns_output *out,
		       uint32_t culled, uint32_t thread, struct story *story)
{
	static struct event items[EVENTS];
	uint8_t *bytes;
	size_t len = 0, count = 0;

	for (size_t i = 0; i < out->part_count; i++)
		len += out->lens[i];
	bytes = calloc(1, len + CURSOR_SLACK);
	assert_non_null(bytes);
	for (size_t i = 0, at = 0; i < out->part_count; at += out->lens[i++])
		memcpy(bytes + at, out->parts[i], out->lens[i]);
	f->decoder->floor = 0;
	assert_int_equal(event_decoder_start(f->decoder, bytes, len,
					     out->first_tick),
			 0);
	assert_int_equal(event_decode(f->decoder, items, EVENTS, &count),
			 EVENT_DECODE_END);
	if (f->decoder->problem)
		fail_msg("%s", f->decoder->problem);
	assert_int_equal(f->decoder->decoded, out->event_count);
	assert_int_equal(f->decoder->culled, culled);
	free(bytes);
	for (size_t i = 0; i < count; i++) {
		assert_true(story->count < EVENTS);
		story->items[story->count] = (struct item){
			.event = items[i],
			.thread = thread,
			.order = story->count,
		};
		story->count++;
	}
	story->events += out->event_count + culled;
	story->culled += culled;
}

static struct columns_input input_of(const struct buffer *buffer)
{
	return (struct columns_input){
		.words = buffer->words,
		.len = buffer->len,
		.first_tick = buffer->first_tick,
	};
}

static void read_plain(struct fixture *f, const struct buffer *buffer,
		       uint32_t thread, struct story *story)
{
	static struct buffer copy;
	struct columns_output out;
	struct columns_input input;

	copy = *buffer;
	cull_clear(copy.words, copy.len);
	input = input_of(&copy);
	columns_begin(f->columns, 0);
	columns_add(f->columns, &input);
	columns_end(f->columns, &out);
	read_chunk(f, &out, 0, thread, story);
}

static void read_batch(struct fixture *f, struct story *story)
{
	bool is_linked;
	size_t parts = cull_decide(f->cull, &is_linked);

	f->is_linked |= is_linked;
	for (size_t i = 0; i < parts; i++) {
		struct cull_part part = cull_get_part(f->cull, i);
		struct columns_output out;
		uint32_t culled = cull_code(f->cull, i, f->columns, &out);

		assert_in_range(part.count, 1, COLUMNS_BUFFERS_MAX);
		for (uint32_t k = 1; k < part.count; k++)
			assert_int_equal(part.buffers[k].sequence,
					 part.buffers->sequence + k);
		read_chunk(f, &out, culled, part.buffers->thread - 1, story);
	}
}

/* In the order of their ends, as buffers become full, some at a time. */
static void read_culled(struct fixture *f, struct program *p,
			const struct cull_limits *limits, struct story *story)
{
	uint32_t next[THREADS] = { 0 }, count = 0;

	cull_begin(f->cull, 0, limits);
	for (;;) {
		struct buffer *buffer;
		uint32_t first = THREADS;

		for (uint32_t t = 0; t < THREADS; t++)
			if (next[t] < BUFFERS &&
			    (first == THREADS ||
			     p->buffers[t][next[t]].first_tick <
				     p->buffers[first][next[first]].first_tick))
				first = t;
		if (first == THREADS)
			break;
		buffer = &p->buffers[first][next[first]];
		if (buffer->is_culled)
			cull_add(f->cull, &(struct cull_buffer){
						  first + 1, next[first],
						  input_of(buffer) });
		else
			read_plain(f, buffer, first, story);
		next[first]++;
		count += buffer->is_culled;
		if (count == SOME || (buffer->is_culled && !below(p, 30))) {
			read_batch(f, story);
			cull_begin(f->cull, 0, limits);
			count = 0;
		}
	}
	read_batch(f, story);
}

/* --- what a reader makes of it ------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->event.tick != y->event.tick)
		return x->event.tick < y->event.tick ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/**
 * struct sums - by stack and size
 */
struct sums {
	uint64_t made[256][SIZES + 1];
	uint64_t freed[256][SIZES + 1];
	uint64_t temporary[256][SIZES + 1];
	uint64_t strange; /* frees of nothing, allocations where there is one */
};

static void tell(struct story *story, struct sums *sums)
{
	const struct event *live[BLOCKS] = { NULL };
	const struct event *before[THREADS] = { NULL };

	memset(sums, 0, sizeof(*sums));
	qsort(story->items, story->count, sizeof(*story->items), by_time);
	for (size_t i = 0; i < story->count; i++) {
		const struct event *event = &story->items[i].event;
		const struct event **last = &before[story->items[i].thread];
		const struct event **block;

		assert_true(event->stack < 256);
		if (event->kind == EVENT_CULLED) {
			sums->made[event->stack][event->size] += event->b;
			sums->freed[event->stack][event->size] += event->b;
			sums->temporary[event->stack][event->size] +=
				event->addr;
		}
		if (event->kind != EVENT_ALLOC && event->kind != EVENT_FREE)
			continue;
		block = &live[(event->addr - addr_of(0)) / 0x40];
		if (event->kind == EVENT_ALLOC) {
			sums->strange += *block != NULL;
			sums->made[event->stack][event->size]++;
			*block = event;
		} else {
			sums->strange += *block == NULL;
			if (*block)
				sums->freed[(*block)->stack][(*block)->size]++;
			if (*block && *last == *block && !event->b)
				sums->temporary[(*block)->stack]
					       [(*block)->size]++;
			*block = NULL;
		}
		*last = event;
	}
}

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
	f->columns = calloc(1, columns_bytes());
	f->cull = cull_init(calloc(1, cull_bytes(SOME)), SOME);
	assert_non_null(f->columns);
	assert_int_equal(cull_capacity(f->cull), SOME);
}

static void tear_down(struct fixture *f)
{
	event_decoder_free(f->decoder);
	interner_done(&f->interner);
	stacks_done(&f->stacks);
	free(f->columns);
	free(f->cull);
}

static void test_same(void **state)
{
	static const struct cull_limits limits[] = {
		{ UINT64_MAX, 0 }, { 200, 0 }, { UINT64_MAX, 6 }, { 0, 0 }
	};
	static struct program p;
	static struct story plain, culled;
	static struct sums want, got;
	uint64_t all = 0, left_out[4] = { 0 };
	struct fixture f;

	(void)state;
	set_up(&f);
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		unsigned how = seed % 4;

		write_program(&p, seed);
		memset(&plain, 0, sizeof(plain));
		memset(&culled, 0, sizeof(culled));
		for (uint32_t t = 0; t < THREADS; t++)
			for (uint32_t i = 0; i < BUFFERS; i++)
				read_plain(&f, &p.buffers[t][i], t, &plain);
		tell(&plain, &want);
		assert_int_equal(want.strange, 0);
		read_culled(&f, &p, &limits[how], &culled);
		tell(&culled, &got);
		assert_memory_equal(&got, &want, sizeof(want));
		assert_int_equal(culled.events, plain.events);
		left_out[how] += culled.culled;
		all += plain.events;
	}
	assert_true(f.is_linked);
	assert_true(left_out[0] > all / 4 / 3);
	assert_true(left_out[1] > 0 && left_out[1] < left_out[0]);
	assert_true(left_out[2] > 0 && left_out[2] < left_out[0]);
	assert_int_equal(left_out[3], 0);
	tear_down(&f);
}

/* A free whose maker's later events are not there may be that of a later block at
   its address. */
static void test_maker_not_there(void **state)
{
	static struct program p;
	const struct cull_limits limits = { UINT64_MAX, 0 };
	struct buffer *maker = &p.buffers[0][0], *other = &p.buffers[1][0];
	uint64_t ticks = 10;
	struct fixture f;

	(void)state;
	set_up(&f);
	for (int is_there = 0; is_there < 2; is_there++) {
		static struct story story;
		uint64_t *at = maker->words;

		memset(&story, 0, sizeof(story));
		maker->first_tick = other->first_tick = FIRST_TICK;
		*at++ = TRACE_EVENT_MALLOC;
		*at++ = addr_of(0);
		*at++ = 1;
		*at++ = TRACE_EVENT_RSS | UINT64_C(30) << TRACE_RECORD_TICKS_SHIFT;
		*at++ = 4096;
		if (is_there) {
			*at++ = TRACE_EVENT_MALLOC;
			*at++ = addr_of(1);
			*at++ = 2;
		}
		maker->len = (size_t)(at - maker->words);
		at = other->words;
		*at++ = TRACE_EVENT_FREE | TRACE_RECORD_MAKER |
			ticks << TRACE_RECORD_TICKS_SHIFT;
		*at++ = addr_of(0) | UINT64_C(1) << TRACE_RECORD_MAKER_SHIFT;
		*at++ = TRACE_EVENT_MALLOC;
		*at++ = addr_of(2);
		*at++ = 3;
		other->len = (size_t)(at - other->words);
		cull_begin(f.cull, 0, &limits);
		cull_add(f.cull, &(struct cull_buffer){ 1, 0, input_of(maker) });
		cull_add(f.cull, &(struct cull_buffer){ 2, 0, input_of(other) });
		read_batch(&f, &story);
		assert_int_equal(story.culled, is_there ? 2 : 0);
		assert_int_equal(f.is_linked, is_there);
	}
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_maker_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
