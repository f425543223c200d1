/* SPDX-License-Identifier: MIT */
/*
 * Leaving temporary allocations out of chunks of events.
 *
 * Buffers are taken together, those of one thread or of several.  An allocation
 * and the free of its block are both left out when both are in these buffers
 * and neither realloc nor anybody else had the block in between.  What was left
 * out is summed up by stack, function, size and slack in a column of the chunk
 * that the allocation would be in.  Where a pair lies in two chunks, either both
 * chunks count or neither does: see BATCH in docs/trace-format.md.  So an event
 * is in the trace once, by itself or in a sum, or it is in PATH.live.
 *
 * The threads' buffers stay as they are: copies are changed.
 *
 * Safety (all functions): as columns.h.
 */
#ifndef TRACER_CULL_H
#define TRACER_CULL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/columns.h"

struct cull;

enum {
	CULL_LIVE_MAX = 256 << 10, /* bytes of a thread that are alive at once
				      of what is left out */
	CULL_BUFFERS_MAX = 64,
};

/**
 * struct cull_limits - which allocations are temporary
 * @lifetime_ticks: those that lived for less
 * @pending:        and during whose life the thread made no more allocations
 *                  than this; 0: any number
 */
struct cull_limits {
	uint64_t lifetime_ticks;
	uint64_t pending;
};

/**
 * struct cull_buffer - number @sequence of those of @thread
 */
struct cull_buffer {
	uint32_t thread;
	uint32_t sequence;
	struct columns_input input;
};

/**
 * struct cull_part - what is to be one chunk
 * @buffers: consecutive ones of a thread, @count of them
 */
struct cull_part {
	const struct cull_buffer *buffers;
	uint32_t count;
};

/* Return: bytes of zeroed memory that struct cull needs for @buffers buffers, a
   power of two; most of it is never touched. */
size_t cull_bytes(uint32_t buffers);

/* Makes @memory, cull_bytes(@buffers) bytes, ready.  Return: it. */
struct cull *cull_init(void *memory, uint32_t buffers);

/* Return: buffers that there is room for. */
uint32_t cull_capacity(const struct cull *cull);

/**
 * cull_begin() - start with no buffers
 * @time_shift: as columns_begin()
 */
void cull_begin(struct cull *cull, unsigned time_shift,
		const struct cull_limits *limits);

/* Adds a buffer, up to cull_capacity() of them; those of a thread in their
   order.  Its words are copied. */
void cull_add(struct cull *cull, const struct cull_buffer *buffer);

/**
 * cull_decide() - find what is left out
 * @ret_is_linked: a pair lies in two parts
 *
 * Nothing is left out where records are damaged.
 *
 * Return: number of parts.
 */
size_t cull_decide(struct cull *cull, bool *ret_is_linked);

/* Return: part number @part; valid until the next cull_begin(). */
struct cull_part cull_get_part(const struct cull *cull, size_t part);

/* Codes parts, which must come in order from 0 on, each once.  @ret: as of
   columns_end().  Return: events that are in sums. */
uint32_t cull_code(struct cull *cull, size_t part, struct columns *columns,
		   struct columns_output *ret);

/* Makes @len words of records what they are without culling.  Safety: nobody
   else changes them. */
void cull_clear(uint64_t *words, size_t len);

#endif /* TRACER_CULL_H */
