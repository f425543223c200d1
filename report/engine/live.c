/* SPDX-License-Identifier: MIT */
/*
 * Linear probing with backward-shift deletion: no tombstones, so a table that
 * lives through a billion frees stays as fast as a new one.  Slots carry the
 * address's hash, so that probing does not touch the blocks, and eight of them
 * share a cache line.
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
	live->unused = calloc(LIVE_INITIAL, sizeof(*live->unused));
	live->slots = calloc(2 * LIVE_INITIAL, sizeof(*live->slots));
	if (!live->blocks || !live->unused || !live->slots) {
		live_done(live);
		return -ENOMEM;
	}
	live->capacity = LIVE_INITIAL;
	live->slot_mask = 2 * LIVE_INITIAL - 1;
	live->slot_shift = 32 - LIVE_INITIAL_BITS - 1;
	return 0;
}

void live_done(struct live_table *live)
{
	free(live->blocks);
	free(live->unused);
	free(live->slots);
	memset(live, 0, sizeof(*live));
}

size_t live_bytes(const struct live_table *live)
{
	if (!live->slots)
		return 0;
	return live->capacity *
		       (sizeof(*live->blocks) + sizeof(*live->unused)) +
	       ((size_t)live->slot_mask + 1) * sizeof(*live->slots);
}

struct live_block *live_find(const struct live_table *live, uint64_t addr)
{
	uint32_t hash = live_hash(addr);
	uint32_t at = hash >> live->slot_shift;

	for (; live->slots[at].block; at = (at + 1) & live->slot_mask) {
		struct live_block *block =
			&live->blocks[live->slots[at].block - 1];

		if (live->slots[at].hash == hash && block->addr == addr)
			return block;
	}
	return NULL;
}

static void slot_put(struct live_table *live, uint32_t hash, uint32_t block)
{
	struct live_slot *slots = live->slots;
	uint32_t at = hash >> live->slot_shift;

	while (slots[at].block)
		at = (at + 1) & live->slot_mask;
	slots[at] = (struct live_slot){ hash, block };
}

/* Makes room for twice as many blocks.  Return: whether memory sufficed; what
   has grown stays. */
static int blocks_grow(struct live_table *live, size_t capacity)
{
	struct live_block *blocks;
	uint32_t *unused;

	unused = realloc(live->unused, capacity * sizeof(*unused));
	if (!unused)
		return 0;
	live->unused = unused;
	blocks = realloc(live->blocks, capacity * sizeof(*blocks));
	if (!blocks)
		return 0;
	live->blocks = blocks;
	return 1;
}

static int live_grow(struct live_table *live)
{
	uint32_t capacity = live->capacity * 2;
	uint32_t mask = capacity * 2 - 1;
	struct live_slot *slots;
	struct live_table before;

	if (live->capacity > UINT32_MAX / 8)
		return -EOVERFLOW;
	slots = calloc((size_t)mask + 1, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	if (!blocks_grow(live, capacity)) {
		free(slots);
		return -ENOMEM;
	}
	live->capacity = capacity;
	before = *live;
	live->slots = slots;
	live->slot_mask = mask;
	live->slot_shift--;
	for (uint32_t i = 0; i <= before.slot_mask; i++)
		if (before.slots[i].block)
			slot_put(live, before.slots[i].hash,
				 before.slots[i].block);
	free(before.slots);
	return 0;
}

/* Unused blocks are marked by group UINT32_MAX. */
struct live_block *live_add(struct live_table *live, uint64_t addr)
{
	struct live_block *block;
	uint32_t index;

	if (live->count == live->capacity && live_grow(live))
		return NULL;
	if (live->unused_count)
		index = live->unused[--live->unused_count];
	else
		index = live->used++;
	/* The one after that comes soon. */
	if (live->unused_count)
		__builtin_prefetch(
			&live->blocks[live->unused[live->unused_count - 1]], 1);
	live->count++;
	block = &live->blocks[index];
	block->addr = addr;
	block->group = 0;
	slot_put(live, live_hash(addr), index + 1);
	return block;
}

static void slot_remove(struct live_table *live, uint32_t at)
{
	struct live_slot *slots = live->slots;
	uint32_t mask = live->slot_mask;
	uint32_t hole = at;

	for (uint32_t i = (at + 1) & mask; slots[i].block; i = (i + 1) & mask) {
		uint32_t home = slots[i].hash >> live->slot_shift;

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
	uint32_t at = live_hash(block->addr) >> live->slot_shift;

	while (live->slots[at].block != index + 1)
		at = (at + 1) & live->slot_mask;
	slot_remove(live, at);
	block->group = UINT32_MAX;
	live->unused[live->unused_count++] = index;
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
