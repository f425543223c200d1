/* SPDX-License-Identifier: MIT */
/*
 * Costs by backtrace, as a tree of functions: flamegraphs, folded stacks, ASCII
 * trees.
 *
 * Layer: aggregate.
 */
#ifndef REPORT_AGGREGATE_TREE_H
#define REPORT_AGGREGATE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct figure;
struct scope;

/* What one backtrace contributes; a backtrace with count 0 is left out. */
struct tree_cost {
	uint32_t stack;
	uint64_t bytes;
	uint64_t count;
};

/* Frames that a tree with callees first walks, all backtraces together. */
enum { TREE_FRAMES_MAX = 8000000 };

/**
 * struct tree_options
 * @by_line:  frames are one node only if file and line agree too; else
 *            function and module decide, and a node whose frames differ in
 *            line has none
 * @by_count: the cost is the count, else bytes
 * @callees_first: from the innermost function outwards: children are callers.
 *            Every backtrace has a path of its own then, so with many deep ones
 *            the outermost callers are left out and the caption says so
 */
struct tree_options {
	const char *id;
	const char *title;
	const char *cost_label;
	bool by_line;
	bool by_count;
	bool callees_first;
};

/**
 * tree_compute() - merge the backtraces by function
 * @costs: @cost_count of them
 *
 * Cost: O(nodes of the stack tree reached), each symbolised once; callees first
 *       O(frames of all backtraces), at most TREE_FRAMES_MAX.
 *
 * Return: a TREE figure, NULL when out of memory.
 */
struct figure *tree_compute(const struct scope *scope,
			    const struct tree_cost *costs, size_t cost_count,
			    const struct tree_options *options);

#endif /* REPORT_AGGREGATE_TREE_H */
