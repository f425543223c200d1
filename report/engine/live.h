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

/* A block; members as in struct record.  @addr is its key. @chain: number + 1
   in struct chains, 0 for none. */
struct live_block {
	uint64_t addr;
	uint64_t id;
	uint64_t alloc_tick;
	uint64_t alloc_order;
	uint64_t size;
	uint64_t usable;
	uint32_t stack;
	uint32_t group;
	uint32_t thread;
	uint32_t chain;
	uint32_t marker;
	uint8_t call;
};

/* Where a block is found. */
struct live_slot {
	uint32_t hash;  /* live_hash() of its address */
	uint32_t block; /* index + 1, 0: free */
};

/**
 * struct live_table - open addressing over an array of blocks
 * @blocks:     @capacity of them, those in use scattered; a block's index
 *              does not change while it lives
 * @used:       blocks that were ever in use
 * @unused:     indices of those that are not any more, @unused_count of them, the
 *              newest last; room for @capacity
 * @slots:      in the order of hashes
 *
 * count <= (slot_mask + 1) / 2; count + unused_count == used.
 */
struct live_table {
	struct live_block *blocks;
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

/* Return: the block at @addr, or NULL; valid until the next live_add(). */
struct live_block *live_find(const struct live_table *live, uint64_t addr);

/* Return: a new block at @addr, all else undefined; NULL when out of memory.
   @addr must not be in the table. */
struct live_block *live_add(struct live_table *live, uint64_t addr);

/* Removes @block, a result of live_find() or live_add(). */
void live_remove(struct live_table *live, struct live_block *block);

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

/*
 * Of a program with many blocks, the table is not in the processor's cache.  Who
 * knows which address comes soon can ask for its slot first, and for its block
 * when the slot is there.
 */
static inline void live_prefetch(const struct live_table *live, uint64_t addr)
{
	__builtin_prefetch(&live->slots[live_hash(addr) >> live->slot_shift]);
}

/* Return: what most likely is the block at @addr if that is where it was looked
   for first, else NULL. */
static inline struct live_block *live_glance(const struct live_table *live,
					     uint64_t addr)
{
	uint32_t hash = live_hash(addr);
	const struct live_slot *slot = &live->slots[hash >> live->slot_shift];

	return slot->block && slot->hash == hash
		       ? &live->blocks[slot->block - 1]
		       : NULL;
}

#endif /* REPORT_ENGINE_LIVE_H */
