/* SPDX-License-Identifier: MIT */
/*
 * The nodes of a tree's figure while they are made: added in any order in which
 * parents come first, then linked and sorted.
 *
 * Layer: aggregate.
 */
#ifndef REPORT_AGGREGATE_TREE_GROWING_H
#define REPORT_AGGREGATE_TREE_GROWING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/core/vec.h"
#include "report/figure/figure.h"

/* Of a node, with all below it.  Backtraces go through it if @count is not 0. */
struct growing_sum {
	uint64_t bytes;
	uint64_t count;
};

struct growing_numbers {
	uint32_t *items;
	size_t count, capacity;
};

/**
 * struct growing - zero-initialised but for the first; to be ended by
 * growing_done()
 * @by_count: the cost is the count, else bytes
 * @least:    nodes of a lower cost get no children
 * @numbers:  number + 1 of the figure's node, by node of the merged tree; 0
 *            where there is none; owned
 * @nodes:    callers first; until growing_finish() next_sibling is the parent
 * @branching: nodes that have several children, which are few
 * @siblings: of one of them
 */
struct growing {
	bool by_count;
	uint64_t least;
	uint32_t *numbers;
	struct {
		struct figure_node *items;
		size_t count, capacity;
	} nodes;
	struct growing_numbers branching, siblings;
};

/* A tree without nodes.  @numbers: how many nodes the merged tree has.  Return:
   whether there was memory, which every bool here tells. */
bool growing_begin(struct growing *growing, size_t numbers);

/* Adds a node, of @frame, which may come later, and @sum, below that with the
   number + 1 @parent, which for the root is its own.  Return: its number + 1, 0
   when out of memory. */
uint32_t growing_add(struct growing *growing, uint32_t parent,
		     const struct figure_frame *frame,
		     const struct growing_sum *sum);

/* Links and sorts siblings.  *@ret: the nodes and their order only.  Return: the
   nodes, owned by the caller; NULL when out of memory. */
struct figure_node *growing_finish(struct growing *growing,
				   struct figure_tree *ret);

void growing_done(struct growing *growing);

static inline bool growing_push(struct growing_numbers *numbers,
				uint32_t number)
{
	uint32_t *slot = vec_push(numbers);

	if (slot)
		*slot = number;
	return slot != NULL;
}

static inline uint64_t growing_cost(const struct growing *growing,
				    const struct growing_sum *sum)
{
	return growing->by_count ? sum->count : sum->bytes;
}

#endif /* REPORT_AGGREGATE_TREE_GROWING_H */
