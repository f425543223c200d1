/* SPDX-License-Identifier: MIT */
/*
 * The blocks alive at one moment, by address.
 *
 * Layer: engine.
 */
#ifndef REPORT_ENGINE_LIVE_H
#define REPORT_ENGINE_LIVE_H

#include <stddef.h>
#include <stdint.h>

#include "report/core/lines.h"

/**
 * struct live_block - a cache line; members as in struct record
 * @addr:      its key
 * @size_call: requested bytes << 8 | call
 * @chain:     number + 1 in struct chains, 0 for none
 *
 * Its stack is that of its group.
 */
struct live_block {
	uint64_t addr;
	uint64_t id;
	uint64_t alloc_tick;
	uint64_t alloc_order;
	uint64_t size_call;
	uint64_t usable;
	uint32_t group;
	uint32_t thread;
	uint32_t chain;
	uint32_t marker;
};

static inline uint64_t live_block_size(const struct live_block *block)
{
	return block->size_call >> 8;
}

static inline uint8_t live_block_call(const struct live_block *block)
{
	return (uint8_t)block->size_call;
}

static inline void live_block_set_size(struct live_block *block, uint64_t size,
				       uint8_t call)
{
	block->size_call = size << 8 | call;
}

/* Where a block is found. */
struct live_slot {
	uint32_t hash;  /* live_hash() of its address */
	uint32_t block; /* index + 1, 0: free */
};

/**
 * struct live_table - open addressing over an array of blocks
 * @blocks:     @capacity of them, those in use scattered; a block's index
 *              does not change while it lives.  In @lines
 * @used:       blocks that were ever in use
 * @unused:     indices of those that are not any more, @unused_count of them, the
 *              newest last; room for @capacity
 * @slots:      in the order of hashes
 *
 * count <= (slot_mask + 1) / 2; count + unused_count == used.
 */
struct live_table {
	struct live_block *blocks;
	struct lines lines;
	uint32_t count;
	uint32_t capacity;
	uint32_t used;
	uint32_t *unused;
	uint32_t unused_count;
	struct live_slot *slots;
	uint32_t slot_mask;
	unsigned slot_shift; /* slot_mask == 2^(32 - slot_shift) - 1 */
};

/* Return: 0 or -ENOMEM. */
int live_init(struct live_table *live);
void live_done(struct live_table *live);

/* Return: bytes that the table takes. */
size_t live_bytes(const struct live_table *live);

/* Return: the block after @previous in a fixed order, NULL at the end; begin
   with NULL. */
struct live_block *live_next(const struct live_table *live,
			     const struct live_block *previous);

/* The upper bits of the product: blocks at equal distances, as most are, are
   spread evenly by those. */
static inline uint32_t live_hash(uint64_t addr)
{
	uint64_t h = (addr >> 4 ^ addr << 60) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(h >> 32);
}

/* Where the block at an address is, or would be: its hash and slot. */
struct live_place {
	uint32_t hash;
	uint32_t at;
};

/* Return: the block at @addr, NULL if there is none; valid until the next
   live_put().  *@ret is its place in both cases. */
static inline struct live_block *live_seek(const struct live_table *live,
					   uint64_t addr,
					   struct live_place *ret)
{
	const struct live_slot *slots = live->slots;
	uint32_t hash = live_hash(addr);
	uint32_t at = hash >> live->slot_shift;
	struct live_block *found = NULL;

	for (; slots[at].block; at = (at + 1) & live->slot_mask) {
		struct live_block *block = &live->blocks[slots[at].block - 1];

		if (slots[at].hash == hash && block->addr == addr) {
			found = block;
			break;
		}
	}
	*ret = (struct live_place){ hash, at };
	return found;
}

/* Twice as many blocks.  Return: 0 or negative errno. */
int live_grow(struct live_table *live);

/* Return: a new block at @addr, all else undefined; NULL when out of memory.
   @place: where live_seek() has found none, with nothing put or taken since. */
static inline struct live_block *
live_put(struct live_table *live, uint64_t addr, struct live_place place)
{
	struct live_block *block;
	uint32_t index;

	if (__builtin_expect(live->count == live->capacity, 0)) {
		if (live_grow(live))
			return NULL;
		live_seek(live, addr, &place);
	}
	if (live->unused_count) {
		index = live->unused[--live->unused_count];
		/* The one after that comes soon. */
		if (live->unused_count)
			__builtin_prefetch(
				&live->blocks[live->unused[live->unused_count -
							   1]],
				1);
	} else {
		index = live->used++;
	}
	live->count++;
	live->slots[place.at] = (struct live_slot){ place.hash, index + 1 };
	block = &live->blocks[index];
	block->addr = addr;
	block->group = 0;
	return block;
}

/* Removes the block at @place, as live_seek() has found it. */
static inline void live_take(struct live_table *live, struct live_place place)
{
	struct live_slot *slots = live->slots;
	uint32_t index = slots[place.at].block - 1;
	uint32_t mask = live->slot_mask, hole = place.at;

	for (uint32_t i = (hole + 1) & mask; slots[i].block;
	     i = (i + 1) & mask) {
		uint32_t home = slots[i].hash >> live->slot_shift;

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			slots[hole] = slots[i];
			hole = i;
		}
	}
	slots[hole].block = 0;
	/* Unused blocks are marked so. */
	live->blocks[index].group = UINT32_MAX;
	live->unused[live->unused_count++] = index;
	live->count--;
}

/*
 * Of a program with many blocks, the table is not in the processor's cache.  Who
 * knows which address comes soon can ask for its slot first, and for its block
 * when the slot is there.
 */
static inline void live_prefetch(const struct live_table *live, uint64_t addr)
{
	__builtin_prefetch(&live->slots[live_hash(addr) >> live->slot_shift]);
}

/* Return: what most likely is the block at @addr, NULL if there is none near
   where it was looked for first. */
static inline struct live_block *live_glance(const struct live_table *live,
					     uint64_t addr)
{
	enum { NEAR = 4 };
	uint32_t hash = live_hash(addr);
	uint32_t at = hash >> live->slot_shift;

	for (uint32_t i = 0; i < NEAR; i++) {
		const struct live_slot *slot =
			&live->slots[(at + i) & live->slot_mask];

		if (!slot->block)
			return NULL;
		if (slot->hash == hash)
			return &live->blocks[slot->block - 1];
	}
	return NULL;
}

#endif /* REPORT_ENGINE_LIVE_H */
