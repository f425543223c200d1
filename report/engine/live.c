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

enum { LIVE_INITIAL_BITS = 12, LIVE_INITIAL = 1 << LIVE_INITIAL_BITS };

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
	live->slot_shift = 64 - LIVE_INITIAL_BITS - 1;
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
	uint32_t at = live_home(addr, live->slot_shift);

	while (live->slots[at].block) {
		if (live->slots[at].addr == addr)
			return &live->blocks[live->slots[at].block - 1];
		at = (at + 1) & live->slot_mask;
	}
	return NULL;
}

static void slot_put(struct live_table *live, uint64_t addr, uint32_t block)
{
	struct live_slot *slots = live->slots;
	uint32_t at = live_home(addr, live->slot_shift);

	while (slots[at].block)
		at = (at + 1) & live->slot_mask;
	slots[at].addr = addr;
	slots[at].block = block;
}

static int live_grow(struct live_table *live)
{
	uint32_t capacity = live->capacity * 2;
	uint32_t mask = capacity * 2 - 1;
	struct live_block *blocks;
	struct live_slot *slots;
	struct live_table before;

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
	before = *live;
	live->slots = slots;
	live->slot_mask = mask;
	live->slot_shift--;
	for (uint32_t i = 0; i <= before.slot_mask; i++)
		if (before.slots[i].block)
			slot_put(live, before.slots[i].addr,
				 before.slots[i].block);
	free(before.slots);
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
		if (live->free_head)
			__builtin_prefetch(&live->blocks[live->free_head - 1]);
	} else {
		index = live->used++;
	}
	live->count++;
	block = &live->blocks[index];
	block->addr = addr;
	block->group = 0;
	slot_put(live, addr, index + 1);
	return block;
}

static void slot_remove(struct live_table *live, uint32_t at)
{
	struct live_slot *slots = live->slots;
	uint32_t mask = live->slot_mask;
	uint32_t hole = at;

	for (uint32_t i = (at + 1) & mask; slots[i].block; i = (i + 1) & mask) {
		uint32_t home = live_home(slots[i].addr, live->slot_shift);

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
	uint32_t at = live_home(block->addr, live->slot_shift);

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
