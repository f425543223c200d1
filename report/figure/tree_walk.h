/* SPDX-License-Identifier: MIT */
/*
 * The nodes of a tree in preorder, with the way from the root; without
 * recursion, because stacks may be 65,536 deep.
 *
 *	struct tree_walk walk = { .tree = tree };
 *	while (tree_walk_next(&walk))
 *		… walk.node, walk.path[0 … walk.depth] …
 *	error = tree_walk_done(&walk);
 *
 * Layer: figure.
 */
#ifndef REPORT_FIGURE_TREE_WALK_H
#define REPORT_FIGURE_TREE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct figure_tree;

/**
 * struct tree_walk - a place in a tree
 * @tree:     set by the caller, borrowed
 * @node:     where we are; path[depth]
 * @depth:    0 at the root
 * @path:     nodes from the root to @node; owned
 * @error:    0 or -ENOMEM
 * @skip:     set by the caller after a node to leave out what is below it
 * @skip_siblings: the same, and the node's later siblings too
 */
struct tree_walk {
	const struct figure_tree *tree;
	uint32_t node;
	size_t depth;
	uint32_t *path;
	size_t capacity;
	bool is_started;
	bool skip;
	bool skip_siblings;
	int error;
};

/* Return: whether there is another node. */
bool tree_walk_next(struct tree_walk *walk);
/* Return: 0, or -ENOMEM if the walk ended early. */
int tree_walk_done(struct tree_walk *walk);

#endif /* REPORT_FIGURE_TREE_WALK_H */
