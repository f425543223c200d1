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
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/columns_record.h"
#include "tracer/live.h"

/**
 * struct buffer - one slot
 * @slot:  its control page
 * @words: behind it; BUFFER_WORDS of them are filled at most
 * @next:  in the chain or the free list
 * @from:  words at the front that the trace has already
 * @len:   words to be written with @from of them left out; in a chain
 */
struct buffer {
	struct trace_live_slot *slot;
	uint64_t *words;
	struct buffer *next;
	size_t from;
	size_t len;
};

enum {
	/* What follows may be read, as part of a record that is damaged. */
	BUFFER_WORDS = LIVE_BUFFER / (int)sizeof(uint64_t) - RECORD_FIXED_MAX,
};

/**
 * struct chain - consecutive buffers of one thread, zero-initialised
 * @first, @last: NULL when @count is 0
 */
struct chain {
	struct buffer *first;
	struct buffer *last;
	uint32_t count;
};

enum { BATCH_CHAINS_MAX = 64 };

/**
 * struct batch - chains that are written together, all of one piece
 */
struct batch {
	struct chain chains[BATCH_CHAINS_MAX];
	uint32_t count;
};

/* Which piece the chain's events are of.  Safety: it is not empty. */
static inline uint16_t chain_piece(const struct chain *chain)
{
	return chain->first->slot->piece;
}

/* What the buffer holds now is going to be written.  Safety: the owner of
   both. */
void chain_append(struct chain *chain, struct buffer *buffer);

/**
 * buffer_take() - a free buffer, which nobody else has then
 * @fills: the thread has filled one before; then all of this one is brought
 *         into memory at once.  So is the process's first one: others may be
 *         of threads that do little
 *
 * Safety: signals blocked.  Allocates: mmap, file space.  Locks: its own.
 *         errno: untouched.
 *
 * Return: NULL when there is no memory.
 */
struct buffer *buffer_take(bool fills);

/**
 * struct buffer_id - which of a thread's buffers in the trace it is
 */
struct buffer_id {
	uint32_t sequence;
	uint16_t piece;
};

/**
 * struct buffer_place - whose events are in a buffer, and since when
 */
struct buffer_place {
	uint32_t thread;
	struct buffer_id id;
	uint64_t first_tick;
};

/* It is empty and a thread's from now on.  Safety: its owner. */
void buffer_begin(struct buffer *buffer, const struct buffer_place *place);

/*
 * What is in it now is going to be written, and the rest is @next.
 * buffer_split() must follow.
 *
 * Safety: the thread does not give it away meanwhile, but may go on filling
 * it.  Return: a chain of it alone, empty when there is nothing to write.
 */
struct chain buffer_begin_split(struct buffer *buffer,
				const struct buffer_id *next);

/* The trace has the part before.  Safety: the same. */
void buffer_split(struct buffer *buffer);

/* Gives one back; its events are in the trace.  Safety: signals blocked. */
void buffer_give(struct buffer *buffer);

/* Gives all back.  Safety: signals blocked.  The chain is empty then. */
void chain_give(struct chain *chain);

/* Records end before @end, in the buffer behind @slot.  Safety: owner. */
static inline void buffer_commit(struct trace_live_slot *slot,
				 const uint64_t *end)
{
	__atomic_store_n(&slot->committed_len,
			 (uint64_t)((const char *)end - (const char *)slot -
				    TRACE_LIVE_PAGE),
			 __ATOMIC_RELEASE);
}

/* All are free, and unused.  Safety: a forked child's only thread. */
void buffer_forget_all(void);

/* Return: words of whole records.  Safety: anywhere. */
static inline size_t buffer_len(const struct buffer *buffer)
{
	uint64_t bytes =
	    __atomic_load_n(&buffer->slot->committed_len, __ATOMIC_ACQUIRE);

	return bytes / sizeof(uint64_t);
}

/*
 * Makes @count buffers that nobody has yet: later the program might not be
 * allowed to.
 *
 * Safety: signals blocked.  Allocates: mmap.
 */
void buffer_stock(uint32_t count);

#endif /* TRACER_BUFFER_H */
