/* SPDX-License-Identifier: MIT */
/*
 * What the coding of columns remembers, and how it is looked up.
 *
 * Safety (all of them): pure.
 */
#ifndef TRACER_COLUMNS_STATE_H
#define TRACER_COLUMNS_STATE_H

#include <string.h>

#include "tracer/columns.h"
#include "tracer/compiler.h"
#include "tracer/encode.h"

enum {
	INDEX_BITS_MIN = 13,
	INDEX_BITS = 17, /* twice what it may have to hold */
	INDEX_COUNT = 1 << INDEX_BITS,
	INDEX_NONE = 0,
};

_Static_assert(COLUMNS_EVENTS_MAX < TRACE_SHAPES_MAX,
	       "every shape and block of a chunk has a 16-bit number");

/**
 * struct shape - what a call site does again and again
 * @frames:   addresses pushed, outermost first; in a buffer
 * @size:     of its last allocation
 * @key:      frames taken off, frames put on, tag
 * @distance: of its last free
 * @hash:     of the key and the frames
 */
struct shape {
	const uint64_t *frames;
	uint64_t size;
	uint64_t key;
	uint32_t distance;
	uint32_t hash;
};

/**
 * struct block - an allocation of the chunk
 * @class: by size and slack
 * @gone:  it was freed, or another one is there now
 */
struct block {
	uint64_t addr;
	uint32_t class;
	bool gone;
};

/* The newest free blocks of a class, a ring that struct free_ring tells of. */
struct free_blocks {
	uint64_t addrs[TRACE_CLASS_BLOCKS];
};

/**
 * struct free_ring - where they are; apart, to be emptied quickly
 * @top:   place behind the newest, counts on
 * @count: of them
 */
struct free_ring {
	uint8_t top;
	uint8_t count;
};

/**
 * struct columns - a chunk in the making
 * @t:           units of time so far
 * @tick:        of the last event, exactly
 * @depth:       frames of the stack
 * @last, @before: shapes of the last two events
 * @block_end:   of the last allocation
 * @last_freed:  as coded in FREED
 * @last_address: as coded in ADDRESSES
 * @last_body:   last address in BODIES
 * @shapes, @blocks, @addresses: by number; 0 is none for the latter two
 * @*_index:     their numbers (plus 1 for shapes) by content, open addressing
 * @*_bits:      log2 of the part of these that is in use; it grows, so that
 *               little memory is touched
 * @place_count: places in use in @block_index
 * @stack:       the one that a buffer's later half builds upon
 * @cursors:     where each column ends
 */
struct columns {
	unsigned time_shift;
	unsigned shape_bits;
	unsigned block_bits;
	unsigned address_bits;
	uint32_t event_count;
	uint64_t t;
	uint64_t first_tick;
	uint64_t tick;
	uint32_t depth;
	uint32_t last;
	uint32_t before;
	uint32_t shape_count;
	uint32_t block_count;
	uint32_t place_count;
	uint32_t address_count;
	uint64_t block_end;
	uint64_t last_freed;
	uint64_t last_address;
	uint64_t last_body;
	uint8_t *cursors[TRACE_COLUMN_COUNT];
	uint8_t head[COLUMNS_HEAD_BYTES + sizeof(uint32_t)];
	uint16_t successors[TRACE_SUCCESSORS];
	uint64_t slacks[TRACE_SLACKS];
	struct free_ring rings[TRACE_CLASSES];
	uint16_t shape_index[INDEX_COUNT];
	uint16_t block_index[INDEX_COUNT];
	uint16_t address_index[INDEX_COUNT];
	struct free_blocks free_blocks[TRACE_CLASSES];
	struct shape shapes[COLUMNS_EVENTS_MAX];
	struct block blocks[1 + COLUMNS_EVENTS_MAX];
	uint64_t addresses[1 + TRACE_ADDRESSES_MAX];
	uint64_t stack[TRACE_STACK_DEPTH_MAX];
	uint8_t bytes[];
};

_Static_assert(2 * COLUMNS_EVENTS_MAX < INDEX_COUNT &&
		   2 * TRACE_ADDRESSES_MAX < INDEX_COUNT,
	       "an index is never full");

/* Return: bytes of an index of 2^@bits. */
static inline size_t index_bytes(unsigned bits)
{
	return sizeof(uint16_t) << bits;
}

/* Return: whether an index of 2^@bits has to grow to hold @count. */
static inline bool is_crowded(uint32_t count, unsigned bits)
{
	return count > 1u << (bits - 3) && bits < INDEX_BITS;
}

/* Return: the place of @key in a table of 2^@bits. */
static inline uint32_t columns_hash(uint64_t key, unsigned bits)
{
	return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits));
}

/* Return: where the event's shape is predicted. */
static inline uint16_t *columns_successor(struct columns *c)
{
	uint32_t h = c->last * 0x9e3779b1u + c->before * 0x85ebca6bu;

	return &c->successors[h >> 18];
}

/* Return: where the slack of a block of @size is predicted. */
static inline uint64_t *columns_slack(struct columns *c, uint64_t size)
{
	return &c->slacks[columns_hash(size, 12)];
}

/* Return: class of a block of @usable bytes. */
static inline uint32_t columns_class(uint64_t usable)
{
	return usable >> 4 & (TRACE_CLASSES - 1);
}

/* The block becomes the newest free one of its class. */
static inline void columns_push_free(struct columns *c,
				     const struct block *block)
{
	struct free_ring *ring = &c->rings[block->class];

	c->free_blocks[block->class]
	    .addrs[ring->top++ % TRACE_CLASS_BLOCKS] = block->addr;
	if (ring->count < TRACE_CLASS_BLOCKS)
		ring->count++;
}

/* Return: how many newer ones precede @addr, -1 when it is not remembered. */
static inline int columns_find_free(const struct columns *c, uint32_t class,
				    uint64_t addr)
{
	const struct free_ring *ring = &c->rings[class];
	const uint64_t *addrs = c->free_blocks[class].addrs;

	for (unsigned i = 0; i < ring->count; i++)
		if (addrs[(uint8_t)(ring->top - 1 - i) % TRACE_CLASS_BLOCKS] ==
		    addr)
			return (int)i;
	return -1;
}

/* Takes the block out that @rank newer ones precede. */
static inline void columns_pop_free(struct columns *c, uint32_t class,
				    unsigned rank)
{
	struct free_ring *ring = &c->rings[class];
	uint64_t *addrs = c->free_blocks[class].addrs;

	for (unsigned i = rank; i > 0; i--)
		addrs[(uint8_t)(ring->top - 1 - i) % TRACE_CLASS_BLOCKS] =
		    addrs[(uint8_t)(ring->top - i) % TRACE_CLASS_BLOCKS];
	ring->top--;
	ring->count--;
}

static inline void columns_varint(struct columns *c, enum trace_column column,
				  uint64_t v)
{
	c->cursors[column] = put_varint(c->cursors[column], v);
}

static inline void columns_svarint(struct columns *c, enum trace_column column,
				   uint64_t v)
{
	c->cursors[column] = put_svarint(c->cursors[column], (int64_t)v);
}

static inline void columns_u16(struct columns *c, enum trace_column column,
			       uint32_t v)
{
	uint16_t bytes = (uint16_t)v;

	memcpy(c->cursors[column], &bytes, sizeof(bytes));
	c->cursors[column] += sizeof(bytes);
}

static inline void columns_u8(struct columns *c, enum trace_column column,
			      uint32_t v)
{
	*c->cursors[column]++ = (uint8_t)v;
}

#endif /* TRACER_COLUMNS_STATE_H */
