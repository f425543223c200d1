/* SPDX-License-Identifier: MIT */
/*
 * What culling remembers of a chunk.  For cull.c and cull_rows.c only.
 *
 * Safety (all of them): as columns.h.
 */
#ifndef TRACER_CULL_STATE_H
#define TRACER_CULL_STATE_H

#include <stdbool.h>

#include "tracer/columns_record.h"
#include "tracer/cull.h"
#include "tracer/encode.h"

enum {
	CULL_ADDRS = 1 << 17, /* twice as many as there may be */
	CULL_NODES = 1 << 18,
	CULL_ROWS_MAX = COLUMNS_EVENTS_MAX / 2,
	CULL_ROWS = 1 << 16,
	CULL_ROW_BYTES = 12 * ENCODE_VARINT_MAX,
	CULL_FRAME_BYTES = 1 + ENCODE_VARINT_MAX,
};

_Static_assert(2 * COLUMNS_EVENTS_MAX < CULL_ADDRS &&
		   2 * COLUMNS_WORDS_MAX < CULL_NODES &&
		   2 * CULL_ROWS_MAX < CULL_ROWS,
	       "an index is never full");

enum cull_kind {
	CULL_ALLOC,
	CULL_FREE,
	CULL_REALLOC_OLD, /* a realloc is two */
	CULL_REALLOC_NEW,
};

/**
 * struct cull_event - one that allocates or frees
 * @partner: number of the event that is left out with it; CULL_NONE: it stays
 * @size:    of an allocation
 * @made:    allocations up to it
 */
struct cull_event {
	uint64_t addr;
	uint64_t tick;
	uint64_t size;
	uint32_t partner;
	uint32_t made;
	enum cull_kind kind;
};

#define CULL_NONE UINT32_MAX

/* A frame of a stack under its caller; numbers from 1, 0 is the empty stack. */
struct cull_node {
	uint64_t pc;
	uint32_t parent;
	uint32_t depth;
};

/**
 * struct cull_row - allocations that are left out
 * @node:  their stack
 * @tag:   of their events
 * @temporary: those of @count whose free was the thread's next such event
 * @shortest, @longest, @first, @last: lifetimes, and times of the allocations,
 *         in units of time
 */
struct cull_row {
	uint32_t node;
	uint32_t tag;
	uint64_t size;
	uint64_t slack;
	uint64_t count;
	uint64_t temporary;
	uint64_t shortest;
	uint64_t longest;
	uint64_t first;
	uint64_t last;
};

/**
 * struct cull - a chunk
 * @event_count: of @events
 * @made:        allocations among them
 * @culled:      events that are left out
 * @live, @blocks: requested bytes and number of what is left out and alive
 * @most, @most_blocks: the most of each
 * @apart_count: of @apart: numbers, among the events coded, of frees that do
 *               not follow their allocation directly, though it looks so
 * @known:       frames of the stack whose nodes are in @nodes_of
 * @addrs, @node_index, @row_index: number + 1 by content, open addressing
 * @words:       copies of the buffers' records
 * @pcs:         the stack
 * @bytes:       the column
 */
struct cull {
	unsigned time_shift;
	struct cull_limits limits;
	uint32_t event_count;
	uint32_t made;
	uint32_t culled;
	uint64_t live;
	uint64_t blocks;
	uint64_t most;
	uint64_t most_blocks;
	uint32_t apart_count;
	uint32_t node_count;
	uint32_t row_count;
	uint32_t known;
	uint32_t addrs[CULL_ADDRS];
	uint32_t node_index[CULL_NODES];
	uint32_t row_index[CULL_ROWS];
	struct cull_event events[COLUMNS_EVENTS_MAX + 1];
	uint64_t words[COLUMNS_WORDS_MAX + RECORD_FIXED_MAX];
	uint64_t pcs[TRACE_STACK_DEPTH_MAX];
	uint32_t nodes_of[TRACE_STACK_DEPTH_MAX];
	struct cull_node nodes[1 + COLUMNS_WORDS_MAX];
	struct cull_row rows[CULL_ROWS_MAX];
	uint32_t apart[COLUMNS_EVENTS_MAX];
	uint32_t path[TRACE_STACK_DEPTH_MAX];
	uint8_t bytes[3 * ENCODE_VARINT_MAX + CULL_ROWS_MAX * CULL_ROW_BYTES +
		      COLUMNS_WORDS_MAX * CULL_FRAME_BYTES];
};

/* Return: the place of @key in a table of 2^@bits. */
static inline uint32_t cull_hash(uint64_t key, unsigned bits)
{
	return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits));
}

/* All sums are empty. */
void cull_rows_begin(struct cull *c);

/*
 * Adds allocation number @event to the sums.
 *
 * @r:     its record
 * @depth: of the stack @c->pcs, which its frames are part of
 */
void cull_rows_add(struct cull *c, uint32_t event, const struct record *r,
		   uint32_t depth);

/* The column; @first_tick is the chunk's.  Return: bytes of it. */
size_t cull_rows_end(struct cull *c, struct columns *columns,
		     uint64_t first_tick);

#endif /* TRACER_CULL_STATE_H */
