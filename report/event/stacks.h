/* SPDX-License-Identifier: MIT */
/*
 * All stacks of a trace as one tree with parent pointers: a stack is the
 * number of its innermost frame's node, so equal stacks are equal numbers.
 *
 * Layer: event.
 */
#ifndef REPORT_EVENT_STACKS_H
#define REPORT_EVENT_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STACKS_ROOT 0u           /* the empty stack */
#define STACKS_NONE UINT32_MAX   /* out of memory or of numbers */

/**
 * struct stacks_node - one frame under its callers
 * @pc_key: see report/core/module.h; 0 for the root
 * @parent: node of the caller; a parent's number is less than its child's
 * @depth:  frames from the root, 0 for the root
 */
struct stacks_node {
	uint64_t pc_key;
	uint32_t parent;
	uint32_t depth;
};

enum { STACKS_OLD_MAX = 32 };

/**
 * struct stacks - the tree
 * @nodes: @count of them, nodes[0] is the root; read-only for others.  The
 *         pointer changes when the tree grows
 * @hashes: of each node's path, see stacks_path_hash()
 * @table: open addressing, @slots of them: hash << 32 | node, 0 is free
 * @old:   arrays of nodes that the tree grew out of while @is_shared
 * @limit: nodes there may be, see stacks_set_limit()
 * @left_out: the node for all that are more, STACKS_NONE while there are none
 */
struct stacks {
	struct stacks_node *nodes;
	uint32_t *hashes;
	uint32_t count;
	uint32_t capacity;
	uint64_t *table;
	uint32_t slots;
	struct stacks_node *old[STACKS_OLD_MAX];
	unsigned old_count;
	bool is_shared;
	uint32_t limit;
	uint32_t left_out;
};

/* Return: 0 or -ENOMEM. */
int stacks_init(struct stacks *stacks);
void stacks_done(struct stacks *stacks);

/**
 * stacks_set_limit() - for a trace of @bytes
 *
 * A compressed chunk of two kilobytes can hold sixteen million different frames,
 * a trace of a megabyte more than any memory.  What a program does takes at least
 * some bytes: past the limit, all stacks that are new become one node, of one
 * frame without an address.  No limit at first.
 */
void stacks_set_limit(struct stacks *stacks, uint64_t bytes);

/* Return: bytes that the tree takes. */
size_t stacks_bytes(const struct stacks *stacks);

/* While it is shared, another thread may read nodes that it heard of from the
   one that adds, by a copy of @nodes made then: arrays of nodes stay until the
   sharing ends. */
void stacks_share(struct stacks *stacks, bool is_shared);

/* Return: the node for @pc_key called from @parent, made when there is none;
   @left_out at the limit; STACKS_NONE when out of memory.  Cost: one hash lookup. */
uint32_t stacks_child(struct stacks *stacks, uint32_t parent, uint64_t pc_key);

/*
 * Looking up many frames one under the other, the memory of the table can be
 * asked for before the nodes are known: a path's hash comes from the keys
 * alone.
 */

/* Return: hash of the path with @pc_key under the path with @hash; that of the
   root is 0. */
static inline uint32_t stacks_path_hash(uint32_t hash, uint64_t pc_key)
{
	return (uint32_t)((hash + pc_key) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static inline uint32_t stacks_slot(const struct stacks *stacks, uint32_t hash)
{
	return (uint32_t)((uint64_t)hash * stacks->slots >> 32);
}

/* Something with @hash is going to be looked up. */
static inline void stacks_prefetch(const struct stacks *stacks, uint32_t hash)
{
	__builtin_prefetch(&stacks->table[stacks_slot(stacks, hash)]);
}

/* As stacks_child(); @hash is the path hash of the child. */
uint32_t stacks_child_hashed(struct stacks *stacks, uint32_t parent,
			     uint64_t pc_key, uint32_t hash);

#endif /* REPORT_EVENT_STACKS_H */
