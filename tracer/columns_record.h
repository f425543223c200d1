/* SPDX-License-Identifier: MIT */
/* The records of PATH.live, as docs/trace-format.md has them. */
#ifndef TRACER_COLUMNS_RECORD_H
#define TRACER_COLUMNS_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/compiler.h"
#include "tracer/trace_format.h"

/* Words without the frames: head, long ticks, the longest body, long slack. */
enum { RECORD_FIXED_MAX = 2 + 6 + 1 };

/**
 * struct record - a record's parts
 * @head:   its first word; the tag is its low byte
 * @body:   words by kind
 * @frames: @push return addresses, outermost first
 * @ticks:  since the record before
 */
struct record {
	uint64_t head;
	const uint64_t *body;
	const uint64_t *frames;
	uint64_t ticks;
	uint32_t pop;
	uint32_t push;
};

/* Words of the body, but for a long slack's. */
static const uint8_t record_body_words[TRACE_EVENT_KIND_MASK + 1] = {
    [TRACE_EVENT_MALLOC] = 2,  [TRACE_EVENT_CALLOC] = 2,
    [TRACE_EVENT_MEMALIGN] = 3, [TRACE_EVENT_NEW] = 2,
    [TRACE_EVENT_FREE] = 1,    [TRACE_EVENT_DELETE] = 1,
    [TRACE_EVENT_REALLOC] = 4, [TRACE_EVENT_MMAP] = 6,
    [TRACE_EVENT_MUNMAP] = 2,  [TRACE_EVENT_MREMAP] = 5,
    [TRACE_EVENT_MALLOPT] = 3, [TRACE_EVENT_RSS] = 1,
    [TRACE_EVENT_LOST] = 2,
};

/* Where the extent of an allocation lies in its body; 0: it has none. */
static const uint8_t record_extent_at[TRACE_EVENT_KIND_MASK + 1] = {
    [TRACE_EVENT_MALLOC] = 1,   [TRACE_EVENT_CALLOC] = 1,
    [TRACE_EVENT_MEMALIGN] = 1, [TRACE_EVENT_NEW] = 1,
    [TRACE_EVENT_REALLOC] = 2,
};

/* Safety: pure. */
static inline bool record_has_long_slack(uint64_t extent)
{
	return extent >> TRACE_RECORD_SLACK_SHIFT == TRACE_RECORD_SLACK_LONG;
}

/* Safety: at least RECORD_FIXED_MAX words can be read.  Return: the head of the
   next one, if this one is sound. */
static inline const uint64_t *record_read(const uint64_t *word,
					  struct record *ret)
{
	uint64_t head = *word++;
	unsigned kind = head & TRACE_EVENT_KIND_MASK;
	unsigned at = record_extent_at[kind];

	ret->head = head;
	ret->pop = (uint16_t)(head >> TRACE_RECORD_POP_SHIFT);
	ret->push = (uint16_t)(head >> TRACE_RECORD_PUSH_SHIFT);
	ret->ticks = head >> TRACE_RECORD_TICKS_SHIFT;
	if (UNLIKELY(ret->ticks == TRACE_RECORD_TICKS_LONG))
		ret->ticks = *word++;
	ret->body = word;
	word += record_body_words[kind];
	if (at && UNLIKELY(record_has_long_slack(ret->body[at])))
		word++;
	ret->frames = word;
	return word + ret->push;
}

/*
 * The program may have written over its records: what happens then must be
 * bounded.  @next is what record_read() said, @end that of the buffer.
 *
 * Safety: pure.
 */
static inline bool record_is_whole(const struct record *r, const uint64_t *next,
				   const uint64_t *end)
{
	return next <= end &&
	       record_body_words[r->head & TRACE_EVENT_KIND_MASK] != 0;
}

/*
 * Makes a record what it is without culling.
 *
 * @word: its head; the record is whole
 * @self: the thread that it is of
 *
 * Safety: pure.  Return: the thread that was last to allocate what the record
 * frees; 0: not known.
 */
static inline uint32_t record_take_maker(uint64_t *word, const struct record *r,
					 uint32_t self)
{
	uint64_t *addr = word + (r->body - word);
	uint32_t maker;

	if (!(*word & TRACE_RECORD_MAKER))
		return 0;
	*word &= ~(uint64_t)TRACE_RECORD_MAKER;
	maker = (uint32_t)(*addr >> TRACE_RECORD_MAKER_SHIFT);
	*addr &= (UINT64_C(1) << TRACE_RECORD_MAKER_SHIFT) - 1;
	return maker ? maker : self;
}

#endif /* TRACER_COLUMNS_RECORD_H */
