/* SPDX-License-Identifier: MIT */
#include "report/figure/tree_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/vec.h"
#include "report/figure/figure.h"

static bool walk_enter(struct tree_walk *walk, size_t depth, uint32_t node)
{
	if (depth == walk->capacity) {
		uint32_t *grown = vec_grow(walk->path, &walk->capacity,
					   depth + 1, sizeof(*grown));

		if (!grown) {
			walk->error = -ENOMEM;
			return false;
		}
		walk->path = grown;
	}
	walk->path[depth] = node;
	walk->depth = depth;
	walk->node = node;
	return true;
}

bool tree_walk_next(struct tree_walk *walk)
{
	const struct figure_node *nodes = walk->tree->nodes;
	bool skip_siblings = walk->skip_siblings;
	bool skip = walk->skip || skip_siblings;

	walk->skip = false;
	walk->skip_siblings = false;
	if (walk->error || !walk->tree->node_count)
		return false;
	if (!walk->is_started) {
		walk->is_started = true;
		return walk_enter(walk, 0, 0);
	}
	if (!skip && nodes[walk->node].first_child != FIGURE_NO_NODE)
		return walk_enter(walk, walk->depth + 1,
				  nodes[walk->node].first_child);
	if (skip_siblings && walk->depth)
		walk->depth--;
	while (walk->depth) {
		uint32_t next = nodes[walk->path[walk->depth]].next_sibling;

		if (next != FIGURE_NO_NODE)
			return walk_enter(walk, walk->depth, next);
		walk->depth--;
	}
	return false;
}

int tree_walk_done(struct tree_walk *walk)
{
	int error = walk->error;

	free(walk->path);
	memset(walk, 0, sizeof(*walk));
	return error;
}
