/* SPDX-License-Identifier: MIT */
#include "tests/lib/trace_gen.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/module.h"
#include "report/core/vec.h"
#include "report/event/event.h"
#include "tests/lib/random.h"
#include "tests/lib/trace_code.h"

enum { DEPTH_CAP = 4096, BLOCKS_CAP = 4096, CLASSES = 64, BUFFERS_CAP = 64 };

struct range {
	uint64_t start, end;
};

static const struct range program = {0x555555554000, 0x555555754000};
static const struct range libc = {0x7ffff7c00000, 0x7ffff7e00000};
static const struct range tracer = {0x7ffff7f00000, 0x7ffff7f40000};
/* Two libraries, one after the other. */
static const struct range plugin = {0x7ffff6000000, 0x7ffff6100000};

struct gen_block {
	uint64_t addr;
	uint64_t size;
};

struct gen_thread {
	uint32_t number;
	uint32_t sequence;
	uint32_t count;
	uint32_t depth;
	bool truncated;
	bool stack_coded; /* the buffer holds the stack that pcs are */
	bool columns;	  /* so the chunk will be coded */
	uint64_t tick;
	uint64_t chunk_tick;
	uint64_t next_addr;
	size_t block_count;
	size_t bytes; /* that the chunk will have, about */
	struct coded_events events;
	/* Where the chunk's buffers start and when. */
	size_t buffer_at[BUFFERS_CAP];
	uint64_t buffer_tick[BUFFERS_CAP];
	uint32_t buffer_count;
	uint64_t pcs[DEPTH_CAP];
	uint64_t keys[DEPTH_CAP]; /* what a reader makes of the pcs */
	uint64_t freed[CLASSES];
	struct gen_block blocks[BLOCKS_CAP];
};

struct gen_state {
	struct trace_gen *gen;
	const struct trace_gen_options *options;
	struct random random;
	uint64_t trace_id;
	uint64_t plugin_tick; /* when the second one is loaded */
	struct gen_thread **threads;
	size_t keys_count;
	uint64_t
	    keys[DEPTH_CAP + 1]; /* of the event's stack, without the tracer's */
};

/* --- stacks -------------------------------------------------------------- */

static bool range_has(const struct range *range, uint64_t pc)
{
	return pc - 1 >= range->start && pc - 1 < range->end;
}

static uint64_t wild_pc(struct random *random)
{
	static const struct range *const ranges[] = {&program, &libc, &tracer,
						     &plugin};
	const struct range *range = ranges[random_below(random, 4)];

	if (random_below(random, 8) == 0)
		return random_u64(random) >> 17;
	return range->start + 1 +
	       random_below(random, range->end - range->start);
}

/* A call tree that a program could have: a few callees at the top, mostly one
   further down. */
static uint64_t real_pc(struct random *random, uint64_t caller, uint32_t depth)
{
	uint64_t hash = caller * UINT64_C(0x9e3779b97f4a7c15);
	uint64_t choices = depth < 3 ? 4 : (hash >> 60) < 4 ? 2 : 1;

	hash += random_below(random, choices) + depth;
	hash *= UINT64_C(0xbf58476d1ce4e5b9);
	return program.start + 1 + (hash >> 20) % (program.end - program.start);
}

/* The time that a reader finds. */
static uint64_t coded_tick(const struct gen_state *state,
			   const struct gen_thread *thread, uint64_t tick)
{
	unsigned shift = thread->columns ? state->options->time_shift : 0;

	tick = tick >> shift << shift;
	return tick > thread->chunk_tick ? tick : thread->chunk_tick;
}

static struct coded_event *last_event(struct gen_thread *thread)
{
	return &thread->events.items[thread->events.count - 1];
}

/* Codes the change of stack as @pop and @push frames.  The tick decides which
   of the two plugins a pushed frame lies in. */
static void put_stack(struct gen_state *state, struct gen_thread *thread,
		      uint32_t pop, uint32_t push)
{
	struct coded_event *event = last_event(thread);
	uint64_t tick = coded_tick(state, thread, thread->tick);

	event->pop = pop;
	event->push = push;
	event->first = thread->events.pcs.count;
	for (uint32_t i = thread->depth - push; i < thread->depth; i++) {
		uint64_t pc = thread->pcs[i];

		if (!vec_reserve(&thread->events.pcs,
				 thread->events.pcs.count + 1))
			abort();
		thread->events.pcs.items[thread->events.pcs.count++] = pc;
		thread->keys[i] = pc;
		if (range_has(&plugin, pc) && tick >= state->plugin_tick)
			thread->keys[i] |= UINT64_C(1) << PC_KEY_ADDR_BITS;
	}
	thread->bytes += 3 * (size_t)push;
	state->keys_count = 0;
	if (thread->truncated)
		state->keys[state->keys_count++] = PC_KEY_TRUNCATED;
	for (uint32_t i = 0; i < thread->depth; i++)
		if (!range_has(&tracer, thread->pcs[i]))
			state->keys[state->keys_count++] = thread->keys[i];
}

static void change_stack(struct gen_state *state, struct gen_thread *thread)
{
	const struct trace_gen_options *options = state->options;
	struct random *random = &state->random;
	uint32_t before = thread->depth;
	uint32_t keep = thread->depth;
	uint32_t push = 0;

	if (options->wild) {
		keep -= (uint32_t)random_below(random, keep + 1);
		push = (uint32_t)random_wide(random, 4);
		if (random_below(random, 64) == 0)
			push =
			    (uint32_t)random_below(random, options->depth_max);
	} else {
		while (keep && random_below(random, 2))
			keep--;
		while (random_below(random, 8) > 2)
			push++;
	}
	if (keep + push > options->depth_max)
		push =
		    keep < options->depth_max ? options->depth_max - keep : 0;
	for (uint32_t i = keep; i < keep + push; i++)
		thread->pcs[i] =
		    options->wild
			? wild_pc(random)
			: real_pc(random, i ? thread->pcs[i - 1] : 0, i);
	thread->depth = keep + push;
	/* The stack starts afresh in each buffer. */
	last_event(thread)->fresh = !thread->stack_coded;
	if (thread->stack_coded)
		put_stack(state, thread, before - keep, push);
	else
		put_stack(state, thread, 0, thread->depth);
	thread->stack_coded = true;
}

/* --- events -------------------------------------------------------------- */

static void expect(struct gen_state *state, struct gen_thread *thread,
		   const struct event *event)
{
	const struct trace_gen_options *options = state->options;
	bool has_stack = event->kind != EVENT_RSS && event->kind != EVENT_LOST &&
			 event->kind != EVENT_MARKER &&
			 !(last_event(thread)->tag & TRACE_EVENT_NO_STACK);
	struct event coded = *event;

	coded.tick = coded_tick(state, thread, event->tick);
	if (options->expect)
		options->expect(options->context, thread->number, &coded,
				state->keys, has_stack ? state->keys_count : 0);
}

static const uint8_t calls[] = {
    [TRACE_EVENT_MALLOC] = CALL_MALLOC,     [TRACE_EVENT_CALLOC] = CALL_CALLOC,
    [TRACE_EVENT_MEMALIGN] = CALL_MEMALIGN, [TRACE_EVENT_NEW] = CALL_NEW,
    [TRACE_EVENT_FREE] = CALL_FREE,	    [TRACE_EVENT_DELETE] = CALL_DELETE,
    [TRACE_EVENT_REALLOC] = CALL_REALLOC,
};

static const uint8_t kinds[] = {
    [TRACE_EVENT_MALLOC] = EVENT_ALLOC,     [TRACE_EVENT_CALLOC] = EVENT_ALLOC,
    [TRACE_EVENT_MEMALIGN] = EVENT_ALLOC,   [TRACE_EVENT_NEW] = EVENT_ALLOC,
    [TRACE_EVENT_FREE] = EVENT_FREE,	    [TRACE_EVENT_DELETE] = EVENT_FREE,
    [TRACE_EVENT_REALLOC] = EVENT_ALLOC,    [TRACE_EVENT_MMAP] = EVENT_MMAP,
    [TRACE_EVENT_MUNMAP] = EVENT_MUNMAP,    [TRACE_EVENT_MREMAP] = EVENT_MREMAP,
    [TRACE_EVENT_MALLOPT] = EVENT_MALLOPT,  [TRACE_EVENT_RSS] = EVENT_RSS,
    [TRACE_EVENT_LOST] = EVENT_LOST,
};

/* Starts an event: its tag and time. */
static struct coded_event *put_tag(struct gen_state *state,
				   struct gen_thread *thread, unsigned kind,
				   unsigned flags, uint64_t ticks)
{
	const struct trace_gen_options *options = state->options;
	struct coded_event *event = vec_push(&thread->events);

	if (!event)
		abort();
	if (!thread->count) {
		thread->chunk_tick =
		    thread->tick + random_below(&state->random, 2);
		thread->tick = thread->chunk_tick;
		thread->columns =
		    options->columns &&
		    !(options->wild && random_below(&state->random, 8) == 0);
		thread->buffer_count = 0;
	}
	if (!thread->count ||
	    (options->buffers && thread->buffer_count < BUFFERS_CAP &&
	     random_below(&state->random, 16) == 0)) {
		thread->buffer_at[thread->buffer_count] =
		    thread->events.count - 1;
		thread->buffer_tick[thread->buffer_count++] = thread->tick;
		thread->stack_coded = false;
	}
	/* An event without a stack leaves everything about it as it is. */
	if (kind < TRACE_EVENT_RSS && !(flags & TRACE_EVENT_NO_STACK))
		thread->truncated = flags & TRACE_EVENT_TRUNCATED;
	event->tag = (uint8_t)(kind | flags);
	event->ticks = ticks;
	thread->bytes += 8;
	thread->tick += ticks;
	state->gen->coded++;
	return event;
}

/* The free that a realloc begins with. */
static void expect_realloc(struct gen_state *state, struct gen_thread *thread,
			   const struct coded_event *coded, uint64_t tick)
{
	struct event old = { .tick = tick,
			     .addr = coded->old_addr,
			     .kind = EVENT_FREE,
			     .call = CALL_REALLOC };

	expect(state, thread, &old);
}

/* Takes what the event's kind has from @event and expects it. */
static void put_body(struct gen_state *state, struct gen_thread *thread,
		     const struct event *event)
{
	struct coded_event *coded = last_event(thread);
	unsigned kind = coded->tag & TRACE_EVENT_KIND_MASK;
	struct event made = { .kind = kinds[kind],
			      .call = kind <= TRACE_EVENT_REALLOC ? calls[kind]
								  : 0,
			      .tick = thread->tick };
	bool has_size = made.kind != EVENT_FREE;

	if (kind != TRACE_EVENT_RSS && kind != TRACE_EVENT_LOST)
		made.addr = event->addr;
	if (has_size)
		made.size = event->size;
	if (has_size && kind != TRACE_EVENT_MUNMAP && kind != TRACE_EVENT_RSS)
		made.a = event->a;
	if (kind == TRACE_EVENT_MEMALIGN || kind == TRACE_EVENT_MMAP ||
	    kind == TRACE_EVENT_MREMAP)
		made.b = event->b;
	if (kind == TRACE_EVENT_MMAP || kind == TRACE_EVENT_MREMAP)
		made.fd = event->fd;
	if (kind == TRACE_EVENT_LOST && made.a != TRACE_LOST_UNWIND)
		state->gen->lost += made.size;
	coded->addr = made.addr;
	coded->size = made.size;
	coded->a = made.a;
	coded->b = made.b;
	coded->fd = made.fd;
	if (kind == TRACE_EVENT_REALLOC) {
		expect_realloc(state, thread, coded, thread->tick);
		thread->tick += coded->call_ticks;
		made.tick = thread->tick;
	}
	expect(state, thread, &made);
}

/* An address that may have been there before. */
static uint64_t wild_addr(struct gen_thread *thread, struct random *random)
{
	uint64_t *addr = &thread->freed[random_below(random, CLASSES)];

	if (random_below(random, 3) == 0)
		*addr = random_wide(random, 64);
	return *addr;
}

static void put_wild(struct gen_state *state, struct gen_thread *thread)
{
	struct random *random = &state->random;
	unsigned kind = 1 + (unsigned)random_below(random, 14);
	unsigned flags = random_below(random, 8) ? 0 : TRACE_EVENT_TRUNCATED;
	uint64_t ticks =
	    random_wide(random, random_below(random, 50) ? 16 : 32);
	unsigned bits = random_below(random, 4) ? 7 : 48;
	struct coded_event *coded;
	struct event event = {
	    .addr = wild_addr(thread, random),
	    .size = random_wide(random, bits),
	    .a = random_wide(random, bits < 48 ? 4 : 48),
	    .b = random_wide(random, 48),
	    .fd = (int32_t)random_u64(random),
	};

	/* More of what happens most. */
	if (random_below(random, 2))
		kind = random_below(random, 2) ? TRACE_EVENT_MALLOC
					       : TRACE_EVENT_FREE;
	/* Buffers hold no markers. */
	if (kind == TRACE_EVENT_MARKER && state->options->live)
		kind = TRACE_EVENT_REALLOC;
	if (random_below(random, 16) == 0)
		flags |= TRACE_EVENT_NO_STACK;
	if (kind == TRACE_EVENT_LOST) {
		event.size = random_below(random, 100);
		event.a = 1 + random_below(random, 4);
	}
	coded = put_tag(state, thread, kind, flags, ticks);
	if (kind == TRACE_EVENT_REALLOC) {
		coded->old_addr = random_below(random, 2)
				      ? event.addr
				      : wild_addr(thread, random);
		coded->call_ticks = random_wide(random, 12);
	}
	if (kind < TRACE_EVENT_RSS && !(flags & TRACE_EVENT_NO_STACK))
		change_stack(state, thread);
	if (kind == TRACE_EVENT_MARKER) {
		const struct event made = { .kind = EVENT_MARKER,
					    .tick = thread->tick };

		last_event(thread)->size = random_wide(random, 6);
		expect(state, thread, &made);
	} else {
		put_body(state, thread, &event);
	}
}

/* --- blocks that live and die -------------------------------------------- */

static struct gen_block take_block(struct gen_state *state,
				   struct gen_thread *thread)
{
	struct random *random = &state->random;
	uint64_t size =
	    1 + random_wide(random, random_below(random, 20) ? 8 : 16);
	size_t class = (size_t)(size + 15) / 16;
	struct gen_block block = { .size = size };

	if (class < CLASSES && thread->freed[class]) {
		block.addr = thread->freed[class];
		thread->freed[class] = 0;
	} else {
		block.addr = thread->next_addr;
		thread->next_addr += (size + 31) & ~UINT64_C(15);
	}
	thread->blocks[thread->block_count++] = block;
	return block;
}

static struct gen_block give_block(struct gen_state *state,
				   struct gen_thread *thread)
{
	size_t count = thread->block_count;
	size_t near = count < 8 ? count : 8;
	size_t at = random_below(&state->random, 4)
			? count - 1 - random_below(&state->random, near)
			: random_below(&state->random, count);
	struct gen_block block = thread->blocks[at];
	size_t class = (size_t)(block.size + 15) / 16;

	thread->blocks[at] = thread->blocks[--thread->block_count];
	if (class < CLASSES)
		thread->freed[class] = block.addr;
	return block;
}

static void put_real(struct gen_state *state, struct gen_thread *thread)
{
	struct random *random = &state->random;
	uint64_t ticks = 100 + random_wide(random, 11);
	bool alloc =
	    !thread->block_count || (thread->block_count < BLOCKS_CAP &&
				     random_below(random, 100) < 51);
	unsigned kind = alloc ? TRACE_EVENT_MALLOC : TRACE_EVENT_FREE;
	struct event event = {0};
	struct coded_event *coded;

	if (alloc && thread->block_count && random_below(random, 40) == 0)
		kind = TRACE_EVENT_REALLOC;
	coded = put_tag(state, thread, kind, 0, ticks);
	if (kind == TRACE_EVENT_REALLOC) {
		coded->old_addr = give_block(state, thread).addr;
		coded->call_ticks = 150;
	}
	change_stack(state, thread);
	if (kind == TRACE_EVENT_FREE) {
		event.addr = give_block(state, thread).addr;
	} else {
		struct gen_block block = take_block(state, thread);

		event.addr = block.addr;
		event.size = block.size;
		event.a = (0 - block.size - 8) & 15;
	}
	put_body(state, thread, &event);
}

/* --- the file ------------------------------------------------------------ */

static void drain(struct gen_state *state)
{
	struct bytes *trace = &state->gen->trace;

	if (!state->options->out)
		return;
	if (fwrite(trace->data, 1, trace->len, state->options->out) !=
	    trace->len)
		abort();
	trace->len = 0;
}

static void note_tick(struct gen_state *state, uint64_t tick)
{
	if (tick > state->gen->last_tick)
		state->gen->last_tick = tick;
}

static void code_chunk(struct gen_state *state, struct gen_thread *thread,
		       struct bytes *payload)
{
	const struct trace_gen_options *options = state->options;

	if (thread->columns)
		code_columns(payload, &thread->events, 0, thread->events.count,
			     thread->chunk_tick, options->time_shift,
			     options->wild ? &state->random : NULL);
	else
		code_plain(payload, &thread->events, 0, thread->events.count);
}

static void flush(struct gen_state *state, struct gen_thread *thread)
{
	const struct trace_gen_options *options = state->options;
	struct trace_chunk_header header = {
	    .type = thread->columns ? TRACE_CHUNK_COLUMNS : TRACE_CHUNK_EVENTS,
	    .thread = thread->number,
	    .first_tick = thread->chunk_tick,
	    .last_tick = thread->tick,
	    .event_count = thread->count,
	    .sequence = thread->sequence,
	    .buffer_count = options->buffers ? thread->buffer_count : 0,
	};
	struct bytes payload = {0};

	if (!thread->count)
		return;
	code_chunk(state, thread, &payload);
	trace_put_chunk(&state->gen->trace, &header, &payload,
			options->plain ? TRACE_PACK_PLAIN : TRACE_PACK_ZSTD);
	bytes_done(&payload);
	thread->sequence += thread->buffer_count;
	thread->count = 0;
	thread->stack_coded = false;
	thread->bytes = 0;
	coded_events_clear(&thread->events);
	state->gen->chunk_count++;
	note_tick(state, thread->tick);
	drain(state);
}

static uint64_t tick_to_ns(const struct gen_state *state, uint64_t tick)
{
	if (state->options->clock == TRACE_CLOCK_MONOTONIC)
		return tick;
	return UINT64_C(5000000000) + (tick - state->gen->first_tick) / 2;
}

/* The slots of PATH.live, before the size of the largest is known. */
struct gen_slot {
	struct trace_live_slot slot;
	struct bytes records;
};

struct gen_slots {
	struct gen_slot *items;
	size_t count, capacity;
};

static void add_slots(struct gen_slots *slots, const struct gen_thread *thread)
{
	for (uint32_t i = 0; thread->count && i < thread->buffer_count; i++) {
		struct gen_slot *item = vec_push(slots);
		size_t to = i + 1 < thread->buffer_count
				? thread->buffer_at[i + 1]
				: thread->events.count;

		if (!item)
			abort();
		code_records(&item->records, &thread->events,
			     thread->buffer_at[i], to);
		item->slot = (struct trace_live_slot){
		    .in_use = 1,
		    .thread = thread->number,
		    .sequence = thread->sequence + i,
		    .first_tick = thread->buffer_tick[i],
		    .committed_len = item->records.len,
		};
	}
}

static void write_slots(struct gen_state *state, struct gen_slots *slots)
{
	struct bytes *out = &state->gen->live;
	size_t room = TRACE_LIVE_PAGE;
	struct trace_live_header header = {
	    .version_major = TRACE_VERSION_MAJOR,
	    .version_minor = TRACE_VERSION_MINOR,
	    .run_id = state->trace_id,
	    .pid = 4711,
	    .slot_count = (uint32_t)slots->count,
	};

	for (size_t i = 0; i < slots->count; i++)
		while (room < slots->items[i].records.len)
			room += TRACE_LIVE_PAGE;
	header.slot_stride = (uint32_t)room + TRACE_LIVE_PAGE;
	memcpy(header.magic, TRACE_LIVE_MAGIC, TRACE_MAGIC_LEN);
	bytes_put(out, &header, sizeof(header));
	bytes_zero(out, TRACE_LIVE_PAGE - sizeof(header));
	for (size_t i = 0; i < slots->count; i++) {
		struct gen_slot *item = &slots->items[i];

		bytes_put(out, &item->slot, sizeof(item->slot));
		bytes_zero(out, TRACE_LIVE_PAGE - sizeof(item->slot));
		bytes_put(out, item->records.data, item->records.len);
		bytes_zero(out, room - item->records.len);
		bytes_done(&item->records);
	}
}

/* What is in the buffers when the process is killed. */
static void put_live(struct gen_state *state)
{
	const struct trace_gen_options *options = state->options;
	struct gen_slots slots = {0};
	struct gen_slot *unused;

	for (uint32_t i = 0; i < options->threads; i++) {
		struct gen_thread *thread = state->threads[i];
		uint32_t count = thread->count;

		add_slots(&slots, thread);
		if (count && random_below(&state->random, 3) == 0) {
			/* The chunk was written, the slots not given back. */
			flush(state, thread);
			continue;
		}
		state->gen->live_coded += count;
		if (count)
			note_tick(state, thread->tick);
	}
	unused = vec_push(&slots);
	if (!unused)
		abort();
	unused->slot.sequence = 7;
	/* In any order. */
	for (size_t i = 1; i < slots.count; i++) {
		size_t j = random_below(&state->random, i + 1);
		struct gen_slot item = slots.items[i];

		slots.items[i] = slots.items[j];
		slots.items[j] = item;
	}
	write_slots(state, &slots);
	vec_done(&slots);
}

static void put_definitions(struct gen_state *state)
{
	struct trace_gen *gen = state->gen;
	const struct trace_gen_options *options = state->options;
	uint64_t tick = gen->first_tick;
	struct trace_process process = {
	    .clock = options->clock,
	    .flags = 1 | (options->live ? 2 : 0),
	    .tick = tick,
	    .monotonic_ns = tick_to_ns(state, tick),
	    .realtime_ns = UINT64_C(1700000000000000000),
	};
	struct bytes *out = &gen->trace;

	trace_put_preamble(out, state->trace_id);
	trace_put_process(out, &process);
	trace_put_module(out, 1, TRACE_MODULE_EXECUTABLE, tick, program.start,
			 program.end, "/usr/bin/generated");
	trace_put_module(out, 2, 0, tick, libc.start, libc.end,
			 "/lib/libc.so.6");
	trace_put_module(out, 3, TRACE_MODULE_TRACER, tick, tracer.start,
			 tracer.end, "/lib/libmemprof.so");
	trace_put_module(out, 4, 0, tick, plugin.start, plugin.end,
			 "/lib/first.so");
	if (options->wild) {
		trace_put_unload(out, 4, state->plugin_tick);
		trace_put_module(out, 5, 0, state->plugin_tick, plugin.start,
				 plugin.end, "/lib/second.so");
		note_tick(state, state->plugin_tick);
	}
	if (options->killed)
		trace_put_clock(out, tick + 1000,
				tick_to_ns(state, tick + 1000));
	note_tick(state, tick + 1000);
	for (uint32_t i = 1; i <= options->threads; i++)
		trace_put_thread(out, i, TRACE_THREAD_START, tick,
				 i & 1 ? "worker" : "");
}

/* Now and then, between the chunks of events. */
static void put_extra(struct gen_state *state, uint64_t tick)
{
	struct bytes *out = &state->gen->trace;
	struct bytes some = {0};

	switch (random_below(&state->random, 4)) {
	case 0:
		trace_put_clock(out, tick, tick_to_ns(state, tick));
		break;
	case 1:
		trace_put_lost(out, 3, TRACE_LOST_NESTED, tick);
		state->gen->lost += 3;
		break;
	case 2:
		trace_put_thread(out, 1, TRACE_THREAD_NAME, tick, "renamed");
		break;
	default:
		bytes_put(&some, "anything", 8);
		trace_put_record(out, (enum trace_chunk_type)99, tick, &some);
		bytes_done(&some);
		break;
	}
}

static void put_event(struct gen_state *state)
{
	const struct trace_gen_options *options = state->options;
	struct gen_thread *thread =
	    state->threads[random_below(&state->random, options->threads)];

	if (options->wild)
		put_wild(state, thread);
	else
		put_real(state, thread);
	thread->count++;
	if (thread->bytes > options->chunk_bytes) {
		flush(state, thread);
		if (random_below(&state->random, 8) == 0)
			put_extra(state, thread->tick);
	}
}

void trace_gen_run(struct trace_gen *gen,
		   const struct trace_gen_options *options)
{
	struct gen_state *state = calloc(1, sizeof(*state));

	memset(gen, 0, sizeof(*gen));
	if (!state || !options->threads || options->depth_max > DEPTH_CAP)
		abort();
	state->gen = gen;
	state->options = options;
	state->random.state = options->seed;
	state->trace_id = random_u64(&state->random);
	gen->first_tick = random_u64(&state->random) >> 20;
	gen->last_tick = gen->first_tick;
	state->plugin_tick =
	    options->wild ? gen->first_tick + random_wide(&state->random, 28)
			  : UINT64_MAX >> 1;
	state->threads = calloc(options->threads, sizeof(*state->threads));
	for (uint32_t i = 0; i < options->threads; i++) {
		struct gen_thread *thread = calloc(1, sizeof(*thread));

		if (!thread)
			abort();
		thread->number = i + 1;
		thread->tick = gen->first_tick;
		thread->next_addr =
		    UINT64_C(0x7f0000000010) + ((uint64_t)i << 34);
		state->threads[i] = thread;
	}
	put_definitions(state);
	for (uint64_t i = 0; i < options->events; i++)
		put_event(state);
	if (options->live)
		put_live(state);
	else
		for (uint32_t i = 0; i < options->threads; i++)
			flush(state, state->threads[i]);
	if (!options->killed)
		trace_put_end(&gen->trace, TRACE_END_EXIT, gen->last_tick,
			      tick_to_ns(state, gen->last_tick), gen->coded,
			      gen->lost);
	drain(state);
	for (uint32_t i = 0; i < options->threads; i++) {
		coded_events_done(&state->threads[i]->events);
		free(state->threads[i]);
	}
	free(state->threads);
	free(state);
}

void trace_gen_done(struct trace_gen *gen)
{
	bytes_done(&gen->trace);
	bytes_done(&gen->live);
}

struct trace_gen_options trace_gen_random_options(uint64_t seed)
{
	struct random random = {seed ^ 0x5eed};
	struct trace_gen_options options = {
	    .seed = seed,
	    .threads = 1 + (uint32_t)random_wide(&random, 3),
	    .events = random_wide(&random, 9),
	    .chunk_bytes = 16 + (uint32_t)random_wide(&random, 13),
	    .depth_max = 1 + (uint32_t)random_wide(&random, 7),
	    .wild = random_below(&random, 4) != 0,
	    .killed = random_below(&random, 3) == 0,
	    .plain = random_below(&random, 2),
	    .clock = random_below(&random, 2) ? TRACE_CLOCK_TSC
					      : TRACE_CLOCK_MONOTONIC,
	};

	options.live = options.killed && random_below(&random, 2);
	options.columns = random_below(&random, 4) != 0;
	options.buffers = random_below(&random, 2);
	if (!options.live && random_below(&random, 2))
		options.time_shift = (uint8_t)random_below(&random, 33);
	return options;
}
