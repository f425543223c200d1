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

/**
 * struct live_table - open addressing over an array of blocks
 * @blocks:     @capacity of them, those in use scattered; a block's index
 *              does not change while it lives
 * @slots:      address and index + 1 of a block, 0 where free
 * @free_head:  index + 1 of the first unused block
 *
 * count <= (slot_mask + 1) / 2.
 */
struct live_table {
	struct live_block *blocks;
	uint32_t count;
	uint32_t capacity;
	uint32_t used;
	uint32_t free_head;
	struct live_slot *slots;
	uint32_t slot_mask;
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

#endif /* REPORT_ENGINE_LIVE_H */
