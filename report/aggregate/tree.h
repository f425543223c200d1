/* SPDX-License-Identifier: MIT */
/*
 * Costs by backtrace, as a tree of functions: flamegraphs, folded stacks, ASCII
 * trees.
 *
 * It is made in steps.  The first finds the nodes of the backtraces; it needs
 * names of functions, and so all trees are begun by one thread.  The others add
 * up and sort; any thread may do them, those of many trees at once.
 *
 * Two trees can be made of the same costs: of functions, where function and
 * module decide, and a node whose frames differ in line has none; and of lines,
 * where file and line decide as well.
 *
 * Layer: aggregate.
 */
#ifndef REPORT_AGGREGATE_TREE_H
#define REPORT_AGGREGATE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/aggregate/merged.h"

struct arena;
struct figure_node;
struct figure_tree;
struct scope;

/**
 * struct tree_cost - what one backtrace contributes
 * @stack: the backtrace; from tree_begin() on its node of lines
 * @count: not 0
 */
struct tree_cost {
	uint32_t stack;
	uint64_t bytes;
	uint64_t count;
};

/* Frames that a tree with callees first walks, all backtraces together. */
enum { TREE_FRAMES_MAX = 8000000 };

/**
 * struct tree_options
 * @by_count: the cost is the count, else bytes
 * @callees_first: from the innermost function outwards: children are callers.
 *            Every backtrace has a path of its own then, so with many deep ones
 *            the outermost callers are left out
 * @is_whole: the tree of functions is not cut, however large
 */
struct tree_options {
	const char *cost_label;
	bool by_count;
	bool callees_first;
	bool is_whole;
};

/**
 * struct tree - a tree that was begun
 * @costs:  @cost_count of them, owned
 * @merged: borrowed; @own if callees come first
 * @reached: a bit for each node of lines, after tree_finish_lines(); owned
 * @functions, @lines: nodes of the figures; owned
 * @depth_max: callees first: frames of a stack that are shown, UINT32_MAX if all
 *          are
 */
struct tree {
	struct tree_options options;
	struct tree_cost *costs;
	size_t cost_count;
	const struct merged *merged;
	struct merged own;
	uint32_t depth_max;
	uint8_t *reached;
	struct figure_node *functions;
	struct figure_node *lines;
};

/**
 * tree_begin() - merge the backtraces
 * @tree:  to be ended by tree_done() whatever the result
 * @costs: @cost_count of them, from malloc(); @tree comes to own them
 *
 * Cost: O(nodes of the stack tree reached), each symbolised once for all trees;
 *       callees first O(frames of all backtraces), at most TREE_FRAMES_MAX.
 *
 * Return: 0 or -ENOMEM.
 */
int tree_begin(struct tree *tree, const struct scope *scope,
	       struct tree_cost *costs, size_t cost_count,
	       const struct tree_options *options);

/* Adds up by lines, once no more trees are begun.  @ret: lives as long as @tree;
   NULL if it is not wanted.  Both trees are cut as FIGURE_TREE_WHOLE_NODES says,
   that of functions unless it is to be whole.  Return: 0 or -ENOMEM. */
int tree_finish_lines(struct tree *tree, struct figure_tree *ret);

/* Adds up by functions, after tree_finish_lines() and, but for callees first,
   merged_functions().  @ret: lives as long as @tree and @arena.  Return: 0 or
   -ENOMEM. */
int tree_finish_functions(struct tree *tree, struct arena *arena,
			  struct figure_tree *ret);

void tree_done(struct tree *tree);

#endif /* REPORT_AGGREGATE_TREE_H */
