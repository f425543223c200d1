/* SPDX-License-Identifier: MIT */
/*
 * The trees of a view, of functions and of lines, made in the steps of
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
 *          their nodes, by @tree, and captions, by @arena, are there once they
 *          are finished
 * @purpose: what memory for them is for
 * @is_whole: as struct tree_options says
 */
struct view_tree {
	const struct view *view;
	struct figure *functions;
	struct figure *lines;
	const char *purpose;
	bool is_whole;
	struct tree tree;
	struct arena arena;
};

/* Which are wanted; @is_whole: as struct tree_options says. */
struct view_tree_wish {
	bool functions;
	bool lines;
	bool is_whole;
};

/* Makes the figures, which are without nodes.  Return: 0 or -ENOMEM, as below. */
int view_tree_init(struct view_tree *tree, const struct view *view,
		   const struct scope *scope, struct view_tree_wish wish);

/* Finds the nodes of the backtraces. */
int view_tree_begin(struct view_tree *tree, const struct scope *scope);

/* By any thread, once no more trees are begun; the second after the first and
   merged_functions(). */
int view_tree_finish_lines(struct view_tree *tree);
int view_tree_finish_functions(struct view_tree *tree);

void view_tree_done(struct view_tree *tree);

#endif /* REPORT_AGGREGATE_VIEW_TREE_H */
