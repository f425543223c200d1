/* SPDX-License-Identifier: MIT */
/*
 * Linear probing with backward-shift deletion: no tombstones, so a table that
 * lives through a billion frees stays as fast as a new one.  Slots carry the
 * address, so that probing does not touch the blocks.
 */
#include "report/engine/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LIVE_INITIAL = 1 << 12 };

struct live_slot {
	uint64_t addr;
	uint32_t block; /* index + 1, 0: free */
};

static uint32_t live_hash(uint64_t addr)
{
	uint64_t h = (addr >> 4 ^ addr << 60) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(h >> 32);
}

int live_init(struct live_table *live)
{
	memset(live, 0, sizeof(*live));
	live->blocks = calloc(LIVE_INITIAL, sizeof(*live->blocks));
	live->slots = calloc(2 * LIVE_INITIAL, sizeof(*live->slots));
	if (!live->blocks || !live->slots) {
		live_done(live);
		return -ENOMEM;
	}
	live->capacity = LIVE_INITIAL;
	live->slot_mask = 2 * LIVE_INITIAL - 1;
	return 0;
}

void live_done(struct live_table *live)
{
	free(live->blocks);
	free(live->slots);
	memset(live, 0, sizeof(*live));
}

size_t live_bytes(const struct live_table *live)
{
	if (!live->slots)
		return 0;
	return live->capacity * sizeof(*live->blocks) +
	       ((size_t)live->slot_mask + 1) * sizeof(*live->slots);
}

struct live_block *live_find(const struct live_table *live, uint64_t addr)
{
	uint32_t at = live_hash(addr) & live->slot_mask;

	while (live->slots[at].block) {
		if (live->slots[at].addr == addr)
			return &live->blocks[live->slots[at].block - 1];
		at = (at + 1) & live->slot_mask;
	}
	return NULL;
}

static void slot_put(struct live_slot *slots, uint32_t mask, uint64_t addr,
		     uint32_t block)
{
	uint32_t at = live_hash(addr) & mask;

	while (slots[at].block)
		at = (at + 1) & mask;
	slots[at].addr = addr;
	slots[at].block = block;
}

static int live_grow(struct live_table *live)
{
	uint32_t capacity = live->capacity * 2;
	uint32_t mask = capacity * 2 - 1;
	struct live_block *blocks;
	struct live_slot *slots;

	if (live->capacity > UINT32_MAX / 8)
		return -EOVERFLOW;
	slots = calloc((size_t)mask + 1, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	blocks = realloc(live->blocks, (size_t)capacity * sizeof(*blocks));
	if (!blocks) {
		free(slots);
		return -ENOMEM;
	}
	live->blocks = blocks;
	live->capacity = capacity;
	for (uint32_t i = 0; i <= live->slot_mask; i++)
		if (live->slots[i].block)
			slot_put(slots, mask, live->slots[i].addr,
				 live->slots[i].block);
	free(live->slots);
	live->slots = slots;
	live->slot_mask = mask;
	return 0;
}

/* Unused blocks are chained through their id and marked by group UINT32_MAX. */
struct live_block *live_add(struct live_table *live, uint64_t addr)
{
	struct live_block *block;
	uint32_t index;

	if (live->count == live->capacity && live_grow(live))
		return NULL;
	if (live->free_head) {
		index = live->free_head - 1;
		live->free_head = (uint32_t)live->blocks[index].id;
	} else {
		index = live->used++;
	}
	live->count++;
	block = &live->blocks[index];
	block->addr = addr;
	block->group = 0;
	slot_put(live->slots, live->slot_mask, addr, index + 1);
	return block;
}

static void slot_remove(struct live_table *live, uint32_t at)
{
	struct live_slot *slots = live->slots;
	uint32_t mask = live->slot_mask;
	uint32_t hole = at;

	for (uint32_t i = (at + 1) & mask; slots[i].block; i = (i + 1) & mask) {
		uint32_t home = live_hash(slots[i].addr) & mask;

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			slots[hole] = slots[i];
			hole = i;
		}
	}
	slots[hole].block = 0;
}

void live_remove(struct live_table *live, struct live_block *block)
{
	uint32_t index = (uint32_t)(block - live->blocks);
	uint32_t at = live_hash(block->addr) & live->slot_mask;

	while (live->slots[at].block != index + 1)
		at = (at + 1) & live->slot_mask;
	slot_remove(live, at);
	block->id = live->free_head;
	block->group = UINT32_MAX;
	live->free_head = index + 1;
	live->count--;
}

struct live_block *live_next(const struct live_table *live,
			     const struct live_block *previous)
{
	uint32_t index = previous ? (uint32_t)(previous - live->blocks) + 1 : 0;

	while (index < live->used && live->blocks[index].group == UINT32_MAX)
		index++;
	return index < live->used ? &live->blocks[index] : NULL;
}
