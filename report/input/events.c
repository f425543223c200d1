/* SPDX-License-Identifier: MIT */
/*
 * The plain coding, EVENTS: one pass over the payload.  Reads are not checked
 * one by one: the slack behind the payload holds zeros, every varint ends
 * there, and each event is compared with the end once it is read (cursor.h).
 * Only the frames of a stack, whose number the file chooses, are checked one
 * at a time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/event/event.h"
#include "report/event/stacks.h"
#include "report/input/cursor.h"
#include "report/input/decoder.h"
#include "tracer/trace_format.h"

/* One frame of the stack that the next event builds on.  @hash: of all pcs up
   to this one. */
struct plain_frame {
	uint64_t pc;
	uint32_t hash;
};

/**
 * struct plain_decoder
 * @position: in the payload, of the next event
 * @end:      of the payload
 * @frames:   beside base.frames.nodes; frames[0] is zero; owned
 * @addr:     the last one
 */
struct plain_decoder {
	struct event_decoder base;
	size_t position;
	const uint8_t *end;
	struct plain_frame *frames;
	uint32_t capacity;
	uint64_t addr;
};

static struct plain_decoder *plain_of(struct event_decoder *decoder)
{
	return (struct plain_decoder *)decoder;
}

static void plain_done(struct event_decoder *decoder)
{
	free(plain_of(decoder)->frames);
}

/* Makes room for @depth frames. */
static int plain_reserve(struct plain_decoder *plain, uint32_t depth)
{
	struct plain_frame *frames;

	if (frames_reserve(&plain->base.frames, depth))
		return -ENOMEM;
	if (plain->capacity >= plain->base.frames.capacity)
		return 0;
	frames = realloc(plain->frames,
			 plain->base.frames.capacity * sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	frames[0] = (struct plain_frame){0};
	plain->frames = frames;
	plain->capacity = plain->base.frames.capacity;
	return 0;
}

static int plain_start(struct event_decoder *decoder)
{
	struct plain_decoder *plain = plain_of(decoder);

	plain->position = 0;
	plain->addr = 0;
	return plain_reserve(plain, 0);
}

static const char frames_beyond[] = "its frames go beyond the end of the chunk";

/* Reads a stack: pop, push, frames.  Return: 0, -EPROTO or
   -ENOMEM. */
static inline int decode_stack(struct plain_decoder *plain, const uint8_t **at,
			       bool truncated)
{
	struct event_decoder *decoder = &plain->base;
	const uint8_t *end = plain->end;
	uint64_t pop = varint_read(at, end);
	uint64_t push = varint_read(at, end);
	int error = decoder_pop(decoder, pop, truncated);
	uint32_t depth = decoder->frames.depth;
	struct plain_frame *frame;
	uint32_t *nodes;
	uint32_t node, hash;
	uint64_t pc;

	if (__builtin_expect(error, 0))
		return error;
	if (!push)
		return 0;
	if (__builtin_expect(push > TRACE_STACK_DEPTH_MAX - depth, 0))
		return decoder_fail(decoder, event_problem_depth);
	if (__builtin_expect(depth + push >= plain->capacity, 0)) {
		/* A frame takes a byte at least: no room for lies. */
		if (*at > end || push > (uint64_t)(end - *at))
			return decoder_fail(decoder, frames_beyond);
		if (plain_reserve(plain, depth + (uint32_t)push))
			return -ENOMEM;
	}
	nodes = &decoder->frames.nodes[depth];
	frame = &plain->frames[depth];
	pc = frame->pc;
	hash = frame->hash;
	node = *nodes;
	for (uint64_t i = 0; i < push; i++) {
		if (__builtin_expect(*at >= end, 0))
			return decoder_fail(decoder, frames_beyond);
		pc += svarint_read(at, end);
		hash = frame_hash(hash, pc);
		node = interner_node(decoder->interner, hash, node, pc,
				     decoder->epoch, decoder->tick);
		if (__builtin_expect(node == STACKS_NONE, 0))
			return -ENOMEM;
		*++nodes = node;
		frame++;
		frame->pc = pc;
		frame->hash = hash;
	}
	decoder->frames.depth = depth + (uint32_t)push;
	return 0;
}

static inline int decode_advance(struct plain_decoder *plain, uint64_t ticks)
{
	uint64_t tick;

	if (__builtin_expect(
		__builtin_add_overflow(plain->base.tick, ticks, &tick), 0))
		return decoder_fail(&plain->base, event_problem_time);
	decoder_set_tick(&plain->base, tick);
	return 0;
}

static inline uint64_t decode_addr(struct plain_decoder *plain,
				   const uint8_t **at)
{
	plain->addr += svarint_read(at, plain->end);
	return plain->addr;
}

/* Reads size and slack.  Return: whether a block can have them. */
static inline bool decode_extent(struct plain_decoder *plain,
				 const uint8_t **at, struct event *event)
{
	event->size = varint_read(at, plain->end);
	event->a = varint_read(at, plain->end);
	if (__builtin_expect((event->size | event->a) < TRACE_SIZE_LIMIT, 1))
		return true;
	plain->base.problem = event_problem_size;
	return false;
}

static inline int decode_alloc(struct plain_decoder *plain, const uint8_t **at,
			       unsigned kind, struct event *event)
{
	event->kind = EVENT_ALLOC;
	event->call = event_alloc_call(kind);
	event->addr = decode_addr(plain, at);
	if (!decode_extent(plain, at, event))
		return -EPROTO;
	if (kind == TRACE_EVENT_MEMALIGN)
		event->b = varint_read(at, plain->end);
	return 1;
}

/* event[0] becomes the free and event[1] the allocation. */
static int decode_realloc(struct plain_decoder *plain, const uint8_t **at,
			  struct event *event)
{
	event[1] = event[0];
	event[0].kind = EVENT_FREE;
	event[0].call = CALL_REALLOC;
	if (decode_advance(plain, varint_read(at, plain->end)))
		return -EPROTO;
	event[0].addr = decode_addr(plain, at);
	event[1].kind = EVENT_ALLOC;
	event[1].call = CALL_REALLOC;
	event[1].tick = decoder_tick(&plain->base);
	event[1].addr = decode_addr(plain, at);
	return decode_extent(plain, at, &event[1]) ? 2 : -EPROTO;
}

/* Reads what follows the stack.  Return: as decode_event(). */
static inline int decode_body(struct plain_decoder *plain, const uint8_t **at,
			      unsigned kind, struct event *event)
{
	switch (kind) {
	case TRACE_EVENT_MALLOC:
	case TRACE_EVENT_CALLOC:
	case TRACE_EVENT_MEMALIGN:
	case TRACE_EVENT_NEW:
		return decode_alloc(plain, at, kind, event);
	case TRACE_EVENT_FREE:
	case TRACE_EVENT_DELETE:
		event->kind = EVENT_FREE;
		event->call =
		    kind == TRACE_EVENT_FREE ? CALL_FREE : CALL_DELETE;
		event->addr = decode_addr(plain, at);
		return 1;
	case TRACE_EVENT_REALLOC:
		return decode_realloc(plain, at, event);
	default:
		return event_decode_rare(&plain->base, kind, at, plain->end,
					 &plain->addr, event);
	}
}

/* Reads one event at *@at.  Return: number of struct event written, -EPROTO
   with problem set, or -ENOMEM. */
static inline int decode_event(struct plain_decoder *plain, const uint8_t **at,
			       struct event *event)
{
	struct event_decoder *decoder = &plain->base;
	unsigned tag = *(*at)++;
	unsigned kind = tag & TRACE_EVENT_KIND_MASK;

	if (__builtin_expect(!event_tag_is_known(tag), 0))
		return decoder_fail(decoder, event_problem_tag);
	if (decode_advance(plain, varint_read(at, plain->end)))
		return -EPROTO;
	memset(event, 0, sizeof(*event));
	event->tick = decoder_tick(decoder);
	if (event_tag_has_stack(tag)) {
		int error =
		    decode_stack(plain, at, tag & TRACE_EVENT_TRUNCATED);

		if (__builtin_expect(error, 0))
			return error;
		event->stack = decoder->frames.nodes[decoder->frames.depth];
	}
	return decode_body(plain, at, kind, event);
}

static int plain_decode(struct event_decoder *decoder, struct event *items,
			size_t max, size_t *ret_count)
{
	struct plain_decoder *plain = plain_of(decoder);
	const uint8_t *at = decoder->data + plain->position;
	const uint8_t *end = decoder->data + decoder->len;
	size_t count = 0;
	int written = 0;

	plain->end = end;
	while (at < end && count + 2 <= max) {
		const uint8_t *start = at;
		uint64_t floor = decoder->floor;

		written = decode_event(plain, &at, &items[count]);
		if (__builtin_expect(written < 0 || at > end, 0)) {
			/* None of it counts. */
			decoder->floor = floor;
			decoder->problem_at = (size_t)(start - decoder->data);
			break;
		}
		decoder->decoded++;
		count += (size_t)written;
	}
	plain->position = (size_t)(at - decoder->data);
	*ret_count = count;
	if (written == -ENOMEM)
		return -ENOMEM;
	if (written < 0 || at > end) {
		if (!decoder->problem)
			decoder->problem = "it goes beyond the end of the "
					   "chunk";
		return EVENT_DECODE_END;
	}
	return at < end ? EVENT_DECODE_MORE : EVENT_DECODE_END;
}

const struct event_coding events_coding = {
    .type = TRACE_CHUNK_EVENTS,
    .name = "EVENTS",
    .place = "the event at",
    .state_size = sizeof(struct plain_decoder),
    .start = plain_start,
    .decode = plain_decode,
    .done = plain_done,
};
