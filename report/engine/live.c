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

_Static_assert(sizeof(struct live_block) == LINE_BYTES, "a cache line");

enum { LIVE_INITIAL_BITS = 12, LIVE_INITIAL = 1 << LIVE_INITIAL_BITS };

/* Makes room for @capacity blocks.  Return: whether memory sufficed; what has
   grown stays. */
static int blocks_grow(struct live_table *live, size_t capacity)
{
	size_t size = sizeof(*live->blocks);
	uint32_t *unused;

	unused = realloc(live->unused, capacity * sizeof(*unused));
	if (!unused)
		return 0;
	live->unused = unused;
	if (lines_grow(&live->lines, live->used * size, capacity * size))
		return 0;
	live->blocks = live->lines.items;
	return 1;
}

int live_init(struct live_table *live)
{
	memset(live, 0, sizeof(*live));
	live->slots = calloc(2 * LIVE_INITIAL, sizeof(*live->slots));
	if (!live->slots || !blocks_grow(live, LIVE_INITIAL)) {
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
	lines_done(&live->lines);
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

static void slot_put(struct live_table *live, uint32_t hash, uint32_t block)
{
	struct live_slot *slots = live->slots;
	uint32_t at = hash >> live->slot_shift;

	while (slots[at].block)
		at = (at + 1) & live->slot_mask;
	slots[at] = (struct live_slot){ hash, block };
}

int live_grow(struct live_table *live)
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

struct live_block *live_next(const struct live_table *live,
			     const struct live_block *previous)
{
	uint32_t index = previous ? (uint32_t)(previous - live->blocks) + 1 : 0;

	while (index < live->used && live->blocks[index].group == UINT32_MAX)
		index++;
	return index < live->used ? &live->blocks[index] : NULL;
}
