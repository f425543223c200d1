/* SPDX-License-Identifier: MIT */
/*
 * Leaving temporary allocations out of a chunk of events.
 *
 * An allocation and its free are both left out when the same thread made both,
 * within the buffers of one chunk, and neither realloc nor another thread had
 * the block in between.  What was left out is summed up by stack, function,
 * size and slack in a column of the same chunk, so that a chunk that is in the
 * trace has its events once, whole or in sums, and one that is not has none.
 *
 * The threads' buffers stay as they are: copies are changed.
 *
 * Safety (all functions): as columns.h.
 */
#ifndef TRACER_CULL_H
#define TRACER_CULL_H

#include <stddef.h>
#include <stdint.h>

#include "tracer/columns.h"

struct cull;

enum {
	CULL_LIVE_MAX = 256 << 10, /* bytes alive at once of what is left out */
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

/* Return: bytes of zeroed memory that struct cull needs; most of it is never
   touched. */
size_t cull_bytes(void);

/**
 * cull_begin() - take the buffers of a chunk
 * @cull:       cull_bytes() bytes, at first zero
 * @inputs:     @count buffers, at most COLUMNS_BUFFERS_MAX; they become what is
 *              left of them, in @cull, to be given to columns_add() in order
 * @time_shift: as columns_begin()
 *
 * Nothing is left out where records are damaged.
 */
void cull_begin(struct cull *cull, struct columns_input *inputs, size_t count,
		unsigned time_shift, const struct cull_limits *limits);

/* Ends the chunk as columns_end() does; what was left out is added to it.
   Return: events left out. */
uint32_t cull_end(struct cull *cull, struct columns *columns,
		  struct columns_output *ret);

/* Makes @len words of records what they are without culling.  Safety: nobody
   else changes them. */
void cull_clear(uint64_t *words, size_t len);

#endif /* TRACER_CULL_H */
