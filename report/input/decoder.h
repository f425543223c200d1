/* SPDX-License-Identifier: MIT */
/*
 * Decoding the events of one payload after the other, whatever their coding,
 * and what all codings have in common.
 *
 * Layer: input.
 */
#ifndef REPORT_INPUT_DECODER_H
#define REPORT_INPUT_DECODER_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/event/event.h"
#include "report/input/frames.h"
#include "tracer/trace_format.h"

struct event_decoder;

enum event_decode {
	EVENT_DECODE_MORE, /* @max reached */
	EVENT_DECODE_END,  /* the payload is used up, or decoder->problem set */
};

/**
 * struct event_coding - how a payload holds events
 * @type:       enum trace_chunk_type
 * @name:       of such a chunk
 * @place:      what comes before decoder->problem_at in a message
 * @state_size: of the decoder, which begins with a struct event_decoder
 * @start:      called with everything in struct event_decoder set; 0 or
 *              -ENOMEM; may set decoder->problem
 * @move:       decoder->data has changed, what it points at has not; may be
 *              NULL
 * @decode:     as event_decode(), but for decoder->problem at the start
 * @done:       frees what the coding's part of the decoder owns
 */
struct event_coding {
	uint16_t type;
	const char *name;
	const char *place;
	size_t state_size;
	int (*start)(struct event_decoder *decoder);
	void (*move)(struct event_decoder *decoder, const uint8_t *before);
	int (*decode)(struct event_decoder *decoder, struct event *items,
		      size_t max, size_t *ret_count);
	void (*done)(struct event_decoder *decoder);
};

extern const struct event_coding events_coding, columns_coding;

/* Return: the coding of chunks of @type, NULL if those are not of events. */
const struct event_coding *event_coding_find(uint16_t type);

#define DECODER_NO_PLACE UINT64_MAX

/**
 * struct event_decoder - one lane's decoder
 * @interner:  borrowed
 * @data, @len: payload, borrowed; CURSOR_SLACK zero bytes follow
 * @first_tick: of the chunk
 * @tick:      of the last event, as coded
 * @floor:     no event is earlier (the last one of the lane)
 * @limit:     no event is later (the end of the run)
 * @epoch:     load ticks of modules up to @tick
 * @decoded:   events of the chunk so far, as coded: a realloc is one
 * @culled:    events of the chunk that it has only in sums, so far
 * @lost:      sum of its LOST events
 * @problem:   why decoding stopped early; static storage
 * @problem_at: which event, as coding->place says; DECODER_NO_PLACE
 */
struct event_decoder {
	const struct event_coding *coding;
	struct interner *interner;
	const uint8_t *data;
	size_t len;
	struct frames frames;
	uint64_t first_tick;
	uint64_t tick;
	uint64_t floor;
	uint64_t limit;
	size_t epoch;
	uint64_t decoded;
	uint64_t culled;
	uint64_t lost;
	const char *problem;
	uint64_t problem_at;
};

/* Return: a decoder for many payloads, @limit unset; NULL out of memory. */
struct event_decoder *event_decoder_new(const struct event_coding *coding,
					struct interner *interner);
void event_decoder_free(struct event_decoder *decoder);

/**
 * event_decoder_start() - starts a payload
 * @data: @len bytes, then CURSOR_SLACK zero bytes; borrowed
 *
 * Return: 0; -ENOMEM.  With decoder->problem set, decoding ends at once.
 */
int event_decoder_start(struct event_decoder *decoder, const uint8_t *data,
			size_t len, uint64_t first_tick);

/* The same payload was loaded again, at another address.  Return: whether it
   can be the same, by its length. */
bool event_decoder_move(struct event_decoder *decoder, const uint8_t *data,
			size_t len);

/**
 * event_decode() - the next events
 * @items: room for @max events, at least 2
 * @ret_count: events written, also on failure
 *
 * Return: enum event_decode; -ENOMEM.
 */
int event_decode(struct event_decoder *decoder, struct event *items, size_t max,
		 size_t *ret_count);

/* --- for the codings ----------------------------------------------------- */

/* What may be wrong with an event in any coding. */
extern const char event_problem_tag[], event_problem_time[],
    event_problem_pop[], event_problem_depth[], event_problem_size[],
    event_problem_no_stack[];

/* Return: -EPROTO. */
static inline int decoder_fail(struct event_decoder *decoder,
			       const char *problem)
{
	decoder->problem = problem;
	return -EPROTO;
}

/* The time of the next event as coded is @tick. */
static inline void decoder_set_tick(struct event_decoder *decoder,
				    uint64_t tick)
{
	const struct interner *interner = decoder->interner;

	decoder->tick = tick;
	while (__builtin_expect(
	    decoder->epoch < interner->epoch_count &&
		interner->epochs[decoder->epoch] <= tick,
	    0))
		decoder->epoch++;
}

/* The tick as others see it: never falling, never beyond the run. */
static inline uint64_t decoder_tick(struct event_decoder *decoder)
{
	uint64_t tick = decoder->tick;

	tick = tick > decoder->limit ? decoder->limit : tick;
	tick = tick < decoder->floor ? decoder->floor : tick;
	decoder->floor = tick;
	return tick;
}

/* The innermost frames are gone.  Return: 0; -EPROTO with problem set;
   -ENOMEM. */
static inline int decoder_pop(struct event_decoder *decoder, uint64_t pop,
			      bool truncated)
{
	struct frames *frames = &decoder->frames;

	if (__builtin_expect(pop > frames->depth, 0))
		return decoder_fail(decoder, event_problem_pop);
	frames_cut(frames, frames->depth - (uint32_t)pop);
	if (__builtin_expect(truncated != frames->truncated, 0))
		return frames_reroot(frames, decoder->interner->stacks,
				     truncated);
	return 0;
}

/* Return: whether @tag is of an event that this program knows. */
static inline bool event_tag_is_known(unsigned tag)
{
	unsigned flags = TRACE_EVENT_TRUNCATED | TRACE_EVENT_NO_STACK;
	unsigned kind = tag & TRACE_EVENT_KIND_MASK;

	return tag <= (flags | TRACE_EVENT_KIND_MASK) &&
	       kind >= TRACE_EVENT_MALLOC && kind <= TRACE_EVENT_MARKER;
}

static inline bool event_tag_has_stack(unsigned tag)
{
	return (tag & (TRACE_EVENT_KIND_MASK | TRACE_EVENT_NO_STACK)) <
	       TRACE_EVENT_RSS;
}

/* Return: enum event_call of an enum trace_event_kind that allocates. */
static inline uint8_t event_alloc_call(unsigned kind)
{
	static const uint8_t calls[] = {
	    [TRACE_EVENT_MALLOC] = CALL_MALLOC,
	    [TRACE_EVENT_CALLOC] = CALL_CALLOC,
	    [TRACE_EVENT_MEMALIGN] = CALL_MEMALIGN,
	    [TRACE_EVENT_NEW] = CALL_NEW,
	    [TRACE_EVENT_REALLOC] = CALL_REALLOC,
	};

	return calls[kind];
}

/**
 * event_decode_rare() - the body of an event that neither makes nor ends a block
 * @at:     the body, which *@at moves behind, or beyond @end
 * @addr:   the address that differences count from
 * @event:  everything but tick and stack is filled in
 *
 * At most six varints are read before *@at is compared with @end.
 *
 * Return: number of struct event written, 0 or 1; -EPROTO with decoder->problem
 * set.
 */
int event_decode_rare(struct event_decoder *decoder, unsigned kind,
		      const uint8_t **at, const uint8_t *end, uint64_t *addr,
		      struct event *event);

#endif /* REPORT_INPUT_DECODER_H */
