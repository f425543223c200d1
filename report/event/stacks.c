/* SPDX-License-Identifier: MIT */
#include "report/event/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { STACKS_INITIAL = 1 << 12 };

static uint32_t stacks_hash(uint32_t parent, uint64_t pc_key)
{
	uint64_t h = (pc_key ^ (uint64_t)parent << 40 ^ parent) *
		     UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(h >> 32 ^ h >> 7);
}

int stacks_init(struct stacks *stacks)
{
	memset(stacks, 0, sizeof(*stacks));
	stacks->nodes = calloc(STACKS_INITIAL, sizeof(*stacks->nodes));
	stacks->table = calloc(2 * STACKS_INITIAL, sizeof(*stacks->table));
	if (!stacks->nodes || !stacks->table) {
		stacks_done(stacks);
		return -ENOMEM;
	}
	stacks->capacity = STACKS_INITIAL;
	stacks->table_mask = 2 * STACKS_INITIAL - 1;
	stacks->count = 1;
	return 0;
}

void stacks_done(struct stacks *stacks)
{
	free(stacks->nodes);
	free(stacks->table);
	memset(stacks, 0, sizeof(*stacks));
}

/* Doubles both arrays: the table is never more than half full. */
static int stacks_grow(struct stacks *stacks)
{
	uint32_t capacity = stacks->capacity * 2;
	uint32_t mask = capacity * 2 - 1;
	struct stacks_node *nodes;
	uint32_t *table;

	if (stacks->capacity > UINT32_MAX / 8)
		return -EOVERFLOW;
	table = calloc((size_t)mask + 1, sizeof(*table));
	if (!table)
		return -ENOMEM;
	nodes = realloc(stacks->nodes, capacity * sizeof(*nodes));
	if (!nodes) {
		free(table);
		return -ENOMEM;
	}
	stacks->nodes = nodes;
	stacks->capacity = capacity;
	for (uint32_t i = 1; i < stacks->count; i++) {
		uint32_t at = stacks_hash(nodes[i].parent, nodes[i].pc_key) &
			      mask;

		while (table[at])
			at = (at + 1) & mask;
		table[at] = i;
	}
	free(stacks->table);
	stacks->table = table;
	stacks->table_mask = mask;
	return 0;
}

uint32_t stacks_child(struct stacks *stacks, uint32_t parent, uint64_t pc_key)
{
	uint32_t at = stacks_hash(parent, pc_key) & stacks->table_mask;
	struct stacks_node *node;

	for (uint32_t found; (found = stacks->table[at]) != 0;
	     at = (at + 1) & stacks->table_mask) {
		node = &stacks->nodes[found];
		if (node->pc_key == pc_key && node->parent == parent)
			return found;
	}
	if (stacks->count == stacks->capacity) {
		if (stacks_grow(stacks))
			return STACKS_NONE;
		at = stacks_hash(parent, pc_key) & stacks->table_mask;
		while (stacks->table[at])
			at = (at + 1) & stacks->table_mask;
	}
	stacks->table[at] = stacks->count;
	node = &stacks->nodes[stacks->count];
	node->pc_key = pc_key;
	node->parent = parent;
	node->depth = stacks->nodes[parent].depth + 1;
	return stacks->count++;
}
