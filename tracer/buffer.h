/* SPDX-License-Identifier: MIT */
/*
 * The buffers that threads fill with records: slots of PATH.live and what
 * this process knows about each.
 *
 * A buffer is free; or a thread's, which fills it; or waiting in a chain, full,
 * until it is written.  Chains hold consecutive buffers of one thread.
 */
#ifndef TRACER_BUFFER_H
#define TRACER_BUFFER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/live.h"

/**
 * struct buffer - one slot
 * @slot:  its control page
 * @words: behind it, BUFFER_WORDS of them
 * @next:  in the chain or the free list
 * @from:  words at the front that the trace has already
 * @index: of the slot
 */
struct buffer {
	struct trace_live_slot *slot;
	uint64_t *words;
	struct buffer *next;
	size_t from;
	uint32_t index;
};

enum { BUFFER_WORDS = LIVE_BUFFER / (int)sizeof(uint64_t) };

/**
 * struct chain - consecutive buffers of one thread, zero-initialised
 * @first, @last: NULL when @count is 0
 */
struct chain {
	struct buffer *first;
	struct buffer *last;
	uint32_t count;
};

/* Safety: the owner of both. */
void chain_append(struct chain *chain, struct buffer *buffer);

/**
 * buffer_take() - a free buffer, which nobody else has then
 *
 * Safety: signals blocked.  Allocates: mmap, file space.  Locks: its own.
 *         errno: untouched.
 *
 * Return: NULL when there is no memory.
 */
struct buffer *buffer_take(void);

/* Gives one back; its events are in the trace.  Safety: signals blocked. */
void buffer_give(struct buffer *buffer);

/* Gives all back.  Safety: signals blocked.  The chain is empty then. */
void chain_give(struct chain *chain);

/* Return: bytes of whole records.  Safety: anywhere. */
static inline size_t buffer_len(const struct buffer *buffer)
{
	return __atomic_load_n(&buffer->slot->committed_len, __ATOMIC_ACQUIRE);
}

#endif /* TRACER_BUFFER_H */
