/* SPDX-License-Identifier: MIT */
/*
 * All stacks of a trace as one tree with parent pointers: a stack is the
 * number of its innermost frame's node, so equal stacks are equal numbers.
 *
 * Layer: event.
 */
#ifndef REPORT_EVENT_STACKS_H
#define REPORT_EVENT_STACKS_H

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

/**
 * struct stacks - the tree
 * @nodes: @count of them, nodes[0] is the root; read-only for others.  The
 *         pointer changes when the tree grows
 */
struct stacks {
	struct stacks_node *nodes;
	uint32_t count;
	uint32_t capacity;
	uint32_t *table; /* open addressing: node numbers, 0 is free */
	uint32_t table_mask;
};

/* Return: 0 or -ENOMEM. */
int stacks_init(struct stacks *stacks);
void stacks_done(struct stacks *stacks);

/* Return: the node for @pc_key called from @parent, made when there is none;
   STACKS_NONE when out of memory.  Cost: one hash lookup. */
uint32_t stacks_child(struct stacks *stacks, uint32_t parent, uint64_t pc_key);

#endif /* REPORT_EVENT_STACKS_H */
