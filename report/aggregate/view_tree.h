/* SPDX-License-Identifier: MIT */
/*
 * The trees of a view, of functions and of lines, made in the two steps of
 * tree.h.
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
 * @functions, @lines: TREEs, owned by the scope's arena, NULL where not wanted;
 *          their nodes, by @tree, and captions, by @arena, are there after
 *          view_tree_finish()
 * @purpose: what memory for them is for
 */
struct view_tree {
	const struct view *view;
	struct figure *functions;
	struct figure *lines;
	const char *purpose;
	struct tree tree;
	struct arena arena;
};

/* Which are wanted; @is_whole: as struct tree_options says. */
struct view_tree_wish {
	bool functions;
	bool lines;
	bool is_whole;
};

/* Return: 0 or -ENOMEM. */
int view_tree_begin(struct view_tree *tree, const struct view *view,
		    const struct scope *scope, struct view_tree_wish wish);

/* By any thread, once no more trees are begun.  Return: 0 or -ENOMEM. */
int view_tree_finish(struct view_tree *tree);

void view_tree_done(struct view_tree *tree);

#endif /* REPORT_AGGREGATE_VIEW_TREE_H */
