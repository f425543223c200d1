/* SPDX-License-Identifier: MIT */
/*
 * What culling remembers of the buffers it has.  For cull*.c only.
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
	CULL_BUFFER_WORDS = LIVE_BUFFER / (int)sizeof(uint64_t),
	CULL_BUFFER_EVENTS = CULL_BUFFER_WORDS / 2, /* two words at least */
	CULL_BUFFER_ADDRS = 1 << 14, /* of which half may be in use */
	CULL_NODE_BITS_MAX = 18,
	CULL_ROWS_MAX = COLUMNS_WORDS_MAX / 3, /* an allocation has three */
	CULL_ROW_BITS_MAX = 17,
	CULL_INDEX_BITS_MIN = 10,
	CULL_ROW_BYTES = 12 * ENCODE_VARINT_MAX,
	CULL_FRAME_BYTES = 1 + ENCODE_VARINT_MAX,
};

_Static_assert(2 * CULL_BUFFER_EVENTS < CULL_BUFFER_ADDRS &&
		   2 * COLUMNS_WORDS_MAX < 1 << CULL_NODE_BITS_MAX &&
		   2 * CULL_ROWS_MAX < 1 << CULL_ROW_BITS_MAX,
	       "an index is never full");
_Static_assert(CULL_BUFFERS_MAX <= UINT8_MAX, "numbers of parts are a byte");

enum cull_kind {
	CULL_ALLOC,
	CULL_FREE,
	CULL_REALLOC_OLD, /* a realloc is two */
	CULL_REALLOC_NEW,
};

/**
 * struct cull_event - one that allocates or frees
 * @size:    of an allocation; of a free: the thread that allocated, 0 where that
 *           is not known
 * @partner: number of the event that is left out with it; CULL_NONE: it stays
 * @made:    allocations of its stream up to it
 * @rank:    its place in the order of times, once pairs are known
 * @kind:    enum cull_kind
 * @part, @stream: that it is in
 */
struct cull_event {
	uint64_t addr;
	uint64_t tick;
	uint64_t size;
	uint32_t partner;
	union {
		uint32_t made;
		uint32_t rank;
	};
	uint8_t kind;
	uint8_t part;
	uint8_t stream;
};

#define CULL_NONE UINT32_MAX

/**
 * struct cull_stream - consecutive buffers of a thread
 * @first:     its first event
 * @next:      event to be looked at next
 * @end:       number after its last event
 * @made:      allocations among those looked at
 * @held:      allocations that are held to be left out, and some that were
 * @live, @blocks: requested bytes and number of what is left out and alive
 * @most, @most_blocks: the most of each
 */
struct cull_stream {
	uint32_t thread;
	uint32_t first;
	uint32_t next;
	uint32_t end;
	uint32_t made;
	uint32_t held;
	uint64_t live;
	uint64_t blocks;
	uint64_t most;
	uint64_t most_blocks;
};

/**
 * struct cull_piece - a part and what it holds
 * @event: its first
 * @end:   number after its last event
 */
struct cull_piece {
	struct cull_part part;
	uint32_t event;
	uint32_t end;
	uint8_t stream;
};

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
 * struct cull - all buffers, and the part that is being coded
 * @capacity:    buffers that there is room for in @events, @words, @order and
 *               @addrs, which follow this
 * @word_count:  of @words
 * @buffer_count, @stream_count, @part_count: of @buffers, in the order of
 *               threads and sequences, @streams, @parts
 * @event_count: of @events: those of a stream one after another
 * @order:       their numbers, in the order of their times
 * @addr_bits, @node_bits, @row_bits: log2 of the part of the index that is in
 *               use
 * @is_sound:    no buffer is damaged
 * @is_linked:   a pair lies in two parts
 * @culled:      allocations in sums, of the part
 * @apart_count: of @apart: numbers, among the events coded, of frees that do
 *               not follow their allocation directly, though it looks so
 * @known:       frames of the stack whose nodes are in @nodes_of
 * @addrs, @node_index, @row_index: number + 1 by content, open addressing
 * @words:       copies of the buffers' records
 * @pcs:         the stack
 * @bytes:       the column
 */
struct cull {
	uint32_t capacity;
	unsigned time_shift;
	unsigned addr_bits;
	unsigned node_bits;
	unsigned row_bits;
	struct cull_limits limits;
	size_t word_count;
	uint32_t buffer_count;
	uint32_t stream_count;
	uint32_t part_count;
	uint32_t event_count;
	bool is_sound;
	bool is_linked;
	uint32_t culled;
	uint32_t apart_count;
	uint32_t node_count;
	uint32_t row_count;
	uint32_t known;
	struct cull_event *events;
	uint64_t *words;
	uint32_t *order;
	uint32_t *addrs;
	struct cull_buffer buffers[CULL_BUFFERS_MAX];
	struct cull_stream streams[CULL_BUFFERS_MAX];
	struct cull_piece parts[CULL_BUFFERS_MAX];
	uint32_t node_index[1 << CULL_NODE_BITS_MAX];
	uint32_t row_index[1 << CULL_ROW_BITS_MAX];
	uint64_t pcs[TRACE_STACK_DEPTH_MAX];
	uint32_t nodes_of[TRACE_STACK_DEPTH_MAX];
	struct cull_node nodes[1 + COLUMNS_WORDS_MAX];
	struct cull_row rows[CULL_ROWS_MAX];
	uint32_t apart[COLUMNS_EVENTS_MAX];
	uint32_t path[TRACE_STACK_DEPTH_MAX];
	uint8_t bytes[3 * ENCODE_VARINT_MAX + CULL_ROWS_MAX * CULL_ROW_BYTES +
		      COLUMNS_WORDS_MAX * CULL_FRAME_BYTES];
};

/* Return: the place after @i in a table of 2^@bits. */
static inline uint32_t cull_after(uint32_t i, unsigned bits)
{
	return (i + 1) & ((UINT32_C(1) << bits) - 1);
}

/* Return: the place of @key in a table of 2^@bits. */
static inline uint32_t cull_hash(uint64_t key, unsigned bits)
{
	return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits));
}

/* Finds what is left out of all streams, whose events are there. */
void cull_pairs_find(struct cull *c);

/* Return: the event of its stream before @part's, CULL_NONE: there is none. */
static inline uint32_t cull_event_before(const struct cull *c,
					 const struct cull_piece *part)
{
	return part->event == c->streams[part->stream].first ? CULL_NONE
							     : part->event - 1;
}

/* Return: events that the record is. */
unsigned cull_count_events(const struct record *r);

/* Empties an index.  Return: log2 of the part of it that @count numbers need. */
unsigned cull_clear_index(uint32_t *index, size_t count);

/* All sums are empty, those of a part with @words words. */
void cull_rows_begin(struct cull *c, size_t words);

/*
 * Adds allocation number @event to the sums.
 *
 * @r:     its record
 * @depth: of the stack @c->pcs, which its frames are part of
 */
void cull_rows_add(struct cull *c, uint32_t event, const struct record *r,
		   uint32_t depth);

/* The column; @first_tick is the chunk's, @stream that of its part.  Return:
   bytes of it. */
size_t cull_rows_end(struct cull *c, struct columns *columns,
		     const struct cull_stream *stream, uint64_t first_tick);

#endif /* TRACER_CULL_STATE_H */
