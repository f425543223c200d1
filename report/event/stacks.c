/* SPDX-License-Identifier: MIT */
/*
 * The table is in the order of the hashes, so that growing it reads and writes
 * memory in order.  A slot holds the whole hash: the node, somewhere else in
 * memory, is looked at only to confirm.
 */
#include "report/event/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	STACKS_INITIAL = 1 << 12,
	STACKS_ALWAYS = 1 << 21, /* whatever the trace's size */
	STACKS_PER_BYTE = 64,	 /* real traces have one for several bytes */
};

/* At most two thirds are used. */
static uint32_t slots_for(uint32_t capacity)
{
	return capacity + capacity / 2;
}

int stacks_init(struct stacks *stacks)
{
	memset(stacks, 0, sizeof(*stacks));
	stacks->slots = slots_for(STACKS_INITIAL);
	stacks->nodes = calloc(STACKS_INITIAL, sizeof(*stacks->nodes));
	stacks->hashes = calloc(STACKS_INITIAL, sizeof(*stacks->hashes));
	stacks->table = calloc(stacks->slots, sizeof(*stacks->table));
	if (!stacks->nodes || !stacks->hashes || !stacks->table) {
		stacks_done(stacks);
		return -ENOMEM;
	}
	stacks->capacity = STACKS_INITIAL;
	stacks->count = 1;
	stacks->limit = UINT32_MAX;
	stacks->left_out = STACKS_NONE;
	return 0;
}

void stacks_set_limit(struct stacks *stacks, uint64_t bytes)
{
	stacks->limit = bytes < (UINT32_MAX - STACKS_ALWAYS) / STACKS_PER_BYTE
				? STACKS_ALWAYS +
					  (uint32_t)bytes * STACKS_PER_BYTE
				: UINT32_MAX;
}

void stacks_share(struct stacks *stacks, bool is_shared)
{
	stacks->is_shared = is_shared;
	while (!is_shared && stacks->old_count)
		free(stacks->old[--stacks->old_count]);
}

void stacks_done(struct stacks *stacks)
{
	stacks_share(stacks, false);
	free(stacks->nodes);
	free(stacks->hashes);
	free(stacks->table);
	memset(stacks, 0, sizeof(*stacks));
}

/* Return: where @hash, which is not there, goes. */
static uint64_t *free_slot(const struct stacks *stacks, uint32_t hash)
{
	uint32_t at = stacks_slot(stacks, hash);

	while (stacks->table[at])
		at = at + 1 == stacks->slots ? 0 : at + 1;
	return &stacks->table[at];
}

/* Return: the nodes in an array of @capacity, NULL when out of memory. */
static struct stacks_node *nodes_grow(struct stacks *stacks, uint32_t capacity)
{
	size_t bytes = capacity * sizeof(*stacks->nodes);
	struct stacks_node *nodes;

	if (!stacks->is_shared)
		return realloc(stacks->nodes, bytes);
	nodes = malloc(bytes);
	if (!nodes)
		return NULL;
	memcpy(nodes, stacks->nodes, stacks->count * sizeof(*nodes));
	stacks->old[stacks->old_count++] = stacks->nodes;
	return nodes;
}

/* Doubles the arrays.  Return: 0 or negative errno. */
static int stacks_grow(struct stacks *stacks)
{
	struct stacks grown = *stacks;
	uint32_t *hashes;

	if (stacks->capacity > UINT32_MAX / 8)
		return -EOVERFLOW;
	grown.capacity = stacks->capacity * 2;
	grown.slots = slots_for(grown.capacity);
	hashes = realloc(stacks->hashes, grown.capacity * sizeof(*hashes));
	if (!hashes)
		return -ENOMEM;
	stacks->hashes = grown.hashes = hashes;
	grown.table = calloc(grown.slots, sizeof(*grown.table));
	if (!grown.table)
		return -ENOMEM;
	grown.nodes = nodes_grow(&grown, grown.capacity);
	if (!grown.nodes) {
		free(grown.table);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < stacks->slots; i++) {
		uint64_t entry = stacks->table[i];

		if (entry)
			*free_slot(&grown, (uint32_t)(entry >> 32)) = entry;
	}
	free(stacks->table);
	*stacks = grown;
	return 0;
}

size_t stacks_bytes(const struct stacks *stacks)
{
	return stacks->capacity *
		       (sizeof(*stacks->nodes) + sizeof(*stacks->hashes)) +
	       stacks->slots * sizeof(*stacks->table);
}

uint32_t stacks_child(struct stacks *stacks, uint32_t parent, uint64_t pc_key)
{
	return stacks_child_hashed(
	    stacks, parent, pc_key,
	    stacks_path_hash(stacks->hashes[parent], pc_key));
}

/* Return: STACKS_NONE when out of memory. */
static uint32_t stacks_put(struct stacks *stacks, uint32_t parent,
			   uint64_t pc_key, uint32_t hash)
{
	struct stacks_node *node;

	if (stacks->count == stacks->capacity && stacks_grow(stacks))
		return STACKS_NONE;
	stacks->hashes[stacks->count] = hash;
	node = &stacks->nodes[stacks->count];
	node->pc_key = pc_key;
	node->parent = parent;
	node->depth = stacks->nodes[parent].depth + 1;
	return stacks->count++;
}

/* Return: the node; STACKS_NONE when out of memory. */
static uint32_t stacks_add(struct stacks *stacks, uint32_t parent,
			   uint64_t pc_key, uint32_t hash)
{
	uint32_t added;

	if (stacks->count >= stacks->limit) {
		/* Not in the table: nobody asks for it. */
		if (stacks->left_out == STACKS_NONE)
			stacks->left_out =
				stacks_put(stacks, STACKS_ROOT, 0, 0);
		return stacks->left_out;
	}
	added = stacks_put(stacks, parent, pc_key, hash);
	if (added != STACKS_NONE)
		*free_slot(stacks, hash) = (uint64_t)hash << 32 | added;
	return added;
}

uint32_t stacks_child_hashed(struct stacks *stacks, uint32_t parent,
			     uint64_t pc_key, uint32_t hash)
{
	uint32_t at = stacks_slot(stacks, hash);
	uint64_t entry;

	if (__builtin_expect(parent == stacks->left_out, 0))
		return parent;
	for (; (entry = stacks->table[at]) != 0;
	     at = at + 1 == stacks->slots ? 0 : at + 1) {
		uint32_t found = (uint32_t)entry;

		if (entry >> 32 == hash &&
		    stacks->nodes[found].pc_key == pc_key &&
		    stacks->nodes[found].parent == parent)
			return found;
	}
	return stacks_add(stacks, parent, pc_key, hash);
}
