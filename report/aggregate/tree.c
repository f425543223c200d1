/* SPDX-License-Identifier: MIT */
/*
 * Of the nodes that all trees share, one tree has those that its backtraces go
 * through.  A child's number is greater than its parent's in all of them, so
 * sweeps from the end add up totals and link siblings, and memory is walked in
 * order.  No step recurses: stacks may be 65,536 deep.
 */
#include "report/aggregate/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/aggregate/scope.h"
#include "report/aggregate/tree_growing.h"
#include "report/core/arena.h"
#include "report/core/vec.h"
#include "report/event/stacks.h"
#include "report/symbol/symbol.h"

/* --- the nodes of backtraces --------------------------------------------- */

/* The node of the way from the innermost function outwards, which no two stacks
   share in the stack tree.  Return: as merged_stack(). */
static uint32_t merge_callee(struct tree *tree, const struct scope *scope,
			     uint32_t stack)
{
	const struct stacks_node *nodes = scope->stacks->nodes;
	uint32_t at = 0;

	for (uint32_t left = tree->depth_max; stack != STACKS_ROOT && left;
	     stack = nodes[stack].parent, left--) {
		uint64_t pc_key = nodes[stack].pc_key;
		size_t count;
		const struct symbol_frame *frames =
			symbols_resolve(scope->symbols, pc_key, &count);

		for (size_t i = 0; i < count && at != MERGED_NONE; i++)
			at = merged_child(&tree->own, at, &frames[i], pc_key);
		if (at == MERGED_NONE)
			break;
	}
	return at;
}

static uint64_t frames_within(const struct tree *tree,
			      const struct scope *scope, uint32_t depth)
{
	const struct stacks_node *nodes = scope->stacks->nodes;
	uint64_t frames = 0;

	for (size_t i = 0; i < tree->cost_count; i++) {
		const struct tree_cost *cost = &tree->costs[i];
		uint32_t own = nodes[cost->stack].depth;

		frames += own < depth ? own : depth;
	}
	return frames;
}

/* The largest depth with which all backtraces together stay in bounds. */
static uint32_t depth_within(const struct tree *tree, const struct scope *scope)
{
	uint32_t low = 1, high = UINT32_MAX;

	if (frames_within(tree, scope, high) <= TREE_FRAMES_MAX)
		return high;
	while (low + 1 < high) {
		uint32_t middle = low + (high - low) / 2;

		if (frames_within(tree, scope, middle) <= TREE_FRAMES_MAX)
			low = middle;
		else
			high = middle;
	}
	return low;
}

int tree_begin(struct tree *tree, const struct scope *scope,
	       struct tree_cost *costs, size_t cost_count,
	       const struct tree_options *options)
{
	memset(tree, 0, sizeof(*tree));
	tree->options = *options;
	tree->costs = costs;
	tree->cost_count = cost_count;
	tree->depth_max = UINT32_MAX;
	tree->merged = options->callees_first ? &tree->own : scope->merged;
	if (options->callees_first)
		tree->depth_max = depth_within(tree, scope);
	for (size_t i = 0; i < cost_count; i++) {
		uint32_t stack = costs[i].stack;
		uint32_t leaf = options->callees_first
					? merge_callee(tree, scope, stack)
					: merged_stack(scope->merged,
						       scope->stacks,
						       scope->symbols, stack);

		if (leaf == MERGED_NONE)
			return -ENOMEM;
		costs[i].stack = leaf;
	}
	return 0;
}

void tree_done(struct tree *tree)
{
	free(tree->costs);
	merged_done(&tree->own);
	free(tree->reached);
	free(tree->functions);
	free(tree->lines);
	memset(tree, 0, sizeof(*tree));
}

/* --- sums ---------------------------------------------------------------- */

/**
 * struct finishing - a tree while one of its figures is made
 * @sums:  by node, of lines or of functions; owned
 * @count: how many of them backtraces go through, the root, even of nothing,
 *         among them
 * @path:  from a function to one that has a node
 */
struct finishing {
	const struct tree *tree;
	const struct merged *merged;
	struct arena *arena;
	struct growing_sum *sums;
	size_t count;
	struct growing growing;
	struct growing_numbers path;
};

static struct finishing finishing_begin(const struct tree *tree)
{
	return (struct finishing){
		.tree = tree,
		.merged = tree->merged,
		.growing.by_count = tree->options.by_count,
	};
}

static void finishing_done(struct finishing *finishing)
{
	growing_done(&finishing->growing);
	vec_done(&finishing->path);
	free(finishing->sums);
}

static void sum_add(struct growing_sum *to, uint64_t bytes, uint64_t count)
{
	to->bytes += bytes;
	to->count += count;
}

/* Return: whether there was memory, as all below. */
static bool add_up_lines(struct finishing *finishing)
{
	const struct tree *tree = finishing->tree;
	const struct merged_line *lines = finishing->merged->lines.items;
	size_t count = finishing->merged->lines.count;
	struct growing_sum *sums = calloc(count + 1, sizeof(*sums));

	finishing->sums = sums;
	if (!sums)
		return false;
	for (size_t i = 0; i < tree->cost_count; i++) {
		const struct tree_cost *cost = &tree->costs[i];

		sum_add(&sums[cost->stack], cost->bytes, cost->count);
	}
	finishing->count = 1;
	for (size_t i = count; i-- > 1;) {
		if (!sums[i].count)
			continue;
		finishing->count++;
		sum_add(&sums[lines[i].link.parent], sums[i].bytes,
			sums[i].count);
	}
	return true;
}

/* The merged node of functions where the backtrace @cost ends. */
static uint32_t leaf_function(const struct finishing *finishing,
			      const struct tree_cost *cost)
{
	const struct merged_line *lines = finishing->merged->lines.items;

	return cost->stack ? lines[cost->stack].function : 0;
}

static bool add_up_functions(struct finishing *finishing)
{
	const struct tree *tree = finishing->tree;
	const struct merged_link *functions =
		finishing->merged->functions.items;
	size_t count = finishing->merged->functions.count;
	struct growing_sum *sums = calloc(count + 1, sizeof(*sums));

	finishing->sums = sums;
	if (!sums)
		return false;
	for (size_t i = 0; i < tree->cost_count; i++) {
		const struct tree_cost *cost = &tree->costs[i];

		sum_add(&sums[leaf_function(finishing, cost)], cost->bytes,
			cost->count);
	}
	finishing->count = 1;
	for (size_t i = count; i-- > 1;) {
		if (!sums[i].count)
			continue;
		finishing->count++;
		sum_add(&sums[functions[i].parent], sums[i].bytes,
			sums[i].count);
	}
	return true;
}

/* Keeps which nodes of lines are reached, for the functions. */
static bool keep_reached(struct tree *tree, const struct growing_sum *sums)
{
	size_t count = tree->merged->lines.count;

	tree->reached = calloc(count / 8 + 1, 1);
	for (size_t i = 0; tree->reached && i < count; i++)
		if (sums[i].count)
			tree->reached[i / 8] |= (uint8_t)(1U << i % 8);
	return tree->reached != NULL;
}

static bool is_reached(const struct tree *tree, size_t line)
{
	return tree->reached[line / 8] >> line % 8 & 1;
}

/* What a figure of @finishing is; without nodes. */
static struct figure_tree figure_begin(const struct finishing *finishing)
{
	return (struct figure_tree){
		.callees_first = finishing->tree->options.callees_first,
		.cost_label = finishing->tree->options.cost_label,
	};
}

/* Return: the cost below which nodes get no children, if only those of one part
   in @parts are looked into. */
static uint64_t least_cost(const struct finishing *finishing, uint64_t parts)
{
	return finishing->count > FIGURE_TREE_WHOLE_NODES
		       ? growing_cost(&finishing->growing, finishing->sums) /
				 parts
		       : 0;
}

/* --- functions ----------------------------------------------------------- */

/* In place of the number of what gets no node. */
#define LEFT_OUT UINT32_MAX

/* Return: number + 1 for the node of functions @function below @parent. */
static uint32_t function_add(struct finishing *finishing, uint32_t parent,
			     uint32_t function)
{
	struct growing *growing = &finishing->growing;
	const struct growing_sum *sums = finishing->sums;

	if (growing->numbers[parent] == LEFT_OUT ||
	    growing_cost(growing, &sums[parent]) < growing->least)
		return LEFT_OUT;
	return growing_add(growing, growing->numbers[parent], NULL,
			   &sums[function]);
}

/* Makes the nodes of functions that the backtraces go through, in the order in
   which these reach them. */
static bool reach_functions(struct finishing *finishing)
{
	const struct merged_link *functions =
		finishing->merged->functions.items;
	struct growing_numbers *path = &finishing->path;
	uint32_t *numbers = finishing->growing.numbers;

	numbers[0] = growing_add(&finishing->growing, 1, NULL,
				 finishing->sums);
	if (!numbers[0])
		return false;
	for (size_t i = 0; i < finishing->tree->cost_count; i++) {
		uint32_t at = leaf_function(finishing,
					    &finishing->tree->costs[i]);

		path->count = 0;
		for (; !numbers[at]; at = functions[at].parent)
			if (!growing_push(path, at))
				return false;
		for (size_t j = path->count; j-- > 0;) {
			uint32_t below = path->items[j];

			numbers[below] = function_add(finishing, at, below);
			if (!numbers[below])
				return false;
			at = below;
		}
	}
	return true;
}

/* A merged node shows what its frames have in common: @other is one more. */
static bool frame_merge(struct finishing *finishing, struct figure_node *node,
			const struct figure_frame *other)
{
	const struct figure_frame *frame = node->frame;
	bool same_file = frame->file == other->file ||
			 (frame->file && other->file &&
			  strcmp(frame->file, other->file) == 0);
	struct figure_frame merged = *frame, *own;

	if (!same_file)
		merged.file = NULL;
	if (!same_file || frame->line != other->line)
		merged.line = 0;
	merged.is_inlined &= other->is_inlined;
	if (merged.file == frame->file && merged.line == frame->line &&
	    merged.is_inlined == frame->is_inlined)
		return true;
	own = arena_alloc(finishing->arena, sizeof(*own));
	if (!own)
		return false;
	*own = merged;
	node->frame = own;
	return true;
}

static bool name_functions(struct finishing *finishing)
{
	const struct merged_line *lines = finishing->merged->lines.items;
	const struct growing *growing = &finishing->growing;

	for (size_t i = 1; i < finishing->merged->lines.count; i++) {
		uint32_t number = growing->numbers[lines[i].function];
		struct figure_node *node;

		if (!is_reached(finishing->tree, i) || number == LEFT_OUT)
			continue;
		node = &growing->nodes.items[number - 1];
		if (!node->frame)
			node->frame = lines[i].frame;
		else if (!frame_merge(finishing, node, lines[i].frame))
			return false;
	}
	return true;
}

/* What functions that were left out cost, by number of the function. */
static bool list_modules(struct finishing *finishing, const uint64_t *costs,
			 struct figure_left_out *ret)
{
	const struct merged *merged = finishing->merged;
	struct figure_module_cost *modules = arena_array(
		finishing->arena, merged->first.count, sizeof(*modules));

	if (!modules)
		return false;
	ret->modules = modules;
	for (size_t i = 0; i < merged->first.count; i++)
		if (costs[i])
			modules[ret->module_count++] =
				(struct figure_module_cost){
					merged->first.items[i]->module,
					costs[i],
				};
	return true;
}

/* @below: zeroes, by node of functions; @costs: by number of the function. */
static bool count_left_out(struct finishing *finishing, uint32_t *below,
			   uint64_t *costs, struct figure_left_out *ret)
{
	const struct merged_link *functions =
		finishing->merged->functions.items;
	const struct growing *growing = &finishing->growing;
	uint32_t *of_nodes = arena_array(finishing->arena, growing->nodes.count,
					 sizeof(*of_nodes));

	if (!of_nodes)
		return false;
	ret->below = of_nodes;
	for (size_t i = finishing->merged->functions.count; i-- > 1;) {
		uint32_t number = growing->numbers[i];
		uint64_t *cost = &costs[functions[i].key - 1];

		if (number && number != LEFT_OUT)
			of_nodes[number - 1] = below[i];
		if (number != LEFT_OUT)
			continue;
		below[functions[i].parent] += below[i] + 1;
		ret->count++;
		/* Added up for one on top of another, it may exceed any. */
		if (__builtin_add_overflow(
			    *cost,
			    growing_cost(growing, &finishing->sums[i]),
			    cost))
			*cost = UINT64_MAX;
	}
	return list_modules(finishing, costs, ret);
}

static bool leave_out(struct finishing *finishing, struct figure_left_out *ret)
{
	const struct merged *merged = finishing->merged;
	uint32_t *below = calloc(merged->functions.count + 1, sizeof(*below));
	uint64_t *costs = calloc(merged->first.count + 1, sizeof(*costs));
	bool done = below && costs &&
		    count_left_out(finishing, below, costs, ret);

	free(below);
	free(costs);
	return done;
}

static bool grow_functions(struct finishing *finishing,
			   struct figure_left_out *ret)
{
	struct growing *growing = &finishing->growing;

	if (!add_up_functions(finishing) ||
	    !growing_begin(growing, finishing->merged->functions.count))
		return false;
	if (!finishing->tree->options.is_whole)
		growing->least = least_cost(finishing, FIGURE_TREE_DRAWN_PARTS);
	return reach_functions(finishing) && name_functions(finishing) &&
	       (!growing->least || leave_out(finishing, ret));
}

int tree_finish_functions(struct tree *tree, struct arena *arena,
			  struct figure_tree *ret)
{
	struct finishing finishing = finishing_begin(tree);
	struct figure_tree figure = figure_begin(&finishing);

	finishing.arena = arena;
	if ((!tree->options.callees_first || merged_functions(&tree->own)) &&
	    grow_functions(&finishing, &figure.left_out))
		tree->functions = growing_finish(&finishing.growing, &figure);
	finishing_done(&finishing);
	if (!tree->functions)
		return -ENOMEM;
	*ret = figure;
	return 0;
}

/* --- lines --------------------------------------------------------------- */

static bool grow_lines(struct finishing *finishing)
{
	const struct merged_line *lines = finishing->merged->lines.items;
	const struct growing_sum *sums = finishing->sums;
	struct growing *growing = &finishing->growing;
	uint32_t *numbers;

	if (!growing_begin(growing, finishing->merged->lines.count))
		return false;
	growing->least = least_cost(finishing, FIGURE_TREE_PARTS);
	numbers = growing->numbers;
	numbers[0] = growing_add(growing, 1, NULL, sums);
	for (size_t i = 1; numbers[0] && i < finishing->merged->lines.count;
	     i++) {
		uint32_t parent = lines[i].link.parent;

		if (!sums[i].count || !numbers[parent] ||
		    growing_cost(growing, &sums[parent]) < growing->least)
			continue;
		numbers[i] = growing_add(growing, numbers[parent],
					 lines[i].frame, &sums[i]);
		if (!numbers[i])
			return false;
	}
	return numbers[0] != 0;
}

int tree_finish_lines(struct tree *tree, struct figure_tree *ret)
{
	struct finishing finishing = finishing_begin(tree);
	struct figure_tree figure = figure_begin(&finishing);
	bool done = add_up_lines(&finishing) &&
		    keep_reached(tree, finishing.sums);

	if (done && ret && grow_lines(&finishing))
		tree->lines = growing_finish(&finishing.growing, &figure);
	finishing_done(&finishing);
	if (!done || (ret && !tree->lines))
		return -ENOMEM;
	if (ret)
		*ret = figure;
	return 0;
}
