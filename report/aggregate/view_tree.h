/* SPDX-License-Identifier: MIT */
/*
 * The tree of a view, made in the two steps of tree.h.
 *
 * Layer: aggregate.
 */
#ifndef REPORT_AGGREGATE_VIEW_TREE_H
#define REPORT_AGGREGATE_VIEW_TREE_H

#include <stdbool.h>

#include "report/aggregate/tree.h"
#include "report/core/arena.h"

struct figure;
struct scope;
struct view;

/**
 * struct view_tree - zero-initialised
 * @figure: a TREE, owned by the scope's arena; its nodes, by @tree, and its
 *          caption, by @arena, are there after view_tree_finish()
 * @purpose: what memory for it is for
 */
struct view_tree {
	const struct view *view;
	struct figure *figure;
	const char *purpose;
	struct tree tree;
	struct arena arena;
};

/* Return: 0 or -ENOMEM. */
int view_tree_begin(struct view_tree *tree, const struct view *view,
		    const struct scope *scope, bool by_line);

/* By any thread, once no more trees are begun.  Return: 0 or -ENOMEM. */
int view_tree_finish(struct view_tree *tree);

void view_tree_done(struct view_tree *tree);

#endif /* REPORT_AGGREGATE_VIEW_TREE_H */
