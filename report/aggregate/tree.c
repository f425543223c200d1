/* SPDX-License-Identifier: MIT */
/*
 * Of the nodes that all trees share, one tree has those that its backtraces go
 * through, numbered in the order in which these reach them.  So a child's number
 * is greater than its parent's, and one sweep from the end adds up the totals
 * and links the siblings.  No step recurses: stacks may be 65,536 deep.
 */
#include "report/aggregate/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/aggregate/scope.h"
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
		uint32_t own = cost->count ? nodes[cost->stack].depth : 0;

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
	tree->leaves = malloc((cost_count + 1) * sizeof(*tree->leaves));
	if (!tree->leaves)
		return -ENOMEM;
	for (size_t i = 0; i < cost_count; i++) {
		uint32_t stack = costs[i].stack, *leaf = &tree->leaves[i];

		*leaf = 0;
		if (!costs[i].count)
			continue;
		*leaf = options->callees_first
				? merge_callee(tree, scope, stack)
				: merged_stack(scope->merged, scope->stacks,
					       scope->symbols, stack);
		if (*leaf == MERGED_NONE)
			return -ENOMEM;
	}
	return 0;
}

/* Frees what was needed to make the nodes. */
static void tree_settle(struct tree *tree)
{
	free(tree->costs);
	free(tree->leaves);
	tree->costs = NULL;
	tree->leaves = NULL;
}

void tree_done(struct tree *tree)
{
	tree_settle(tree);
	merged_done(&tree->own);
	free(tree->nodes);
	memset(tree, 0, sizeof(*tree));
}

/* --- the nodes of one tree ----------------------------------------------- */

/**
 * struct growing - the nodes of one tree
 * @nodes:       the figure's; @count of them, with room for all that @merged
 *               has.  Until siblings are linked, @next_sibling is the parent
 * @of_line:     number + 1 by node of lines, 0 for none
 * @of_function: the same by node of functions; NULL if lines decide
 * @path:        of one backtrace, innermost first
 */
struct growing {
	const struct merged *merged;
	struct arena *arena;
	bool by_count;
	struct figure_node *nodes;
	uint32_t count;
	uint32_t *of_line;
	uint32_t *of_function;
	struct {
		uint32_t *items;
		size_t count, capacity;
	} path;
};

/* A merged node shows what its frames have in common: @other is one more.
   Return: false when out of memory. */
static bool frame_merge(struct growing *growing, struct figure_node *node,
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
	own = arena_alloc(growing->arena, sizeof(*own));
	if (!own)
		return false;
	*own = merged;
	node->frame = own;
	return true;
}

/* Return: number + 1 of a new node below that with the number + 1 @parent. */
static uint32_t node_add(struct growing *growing, uint32_t parent,
			 const struct figure_frame *frame)
{
	growing->nodes[growing->count] = (struct figure_node){
		.frame = frame,
		.next_sibling = parent - 1,
	};
	return ++growing->count;
}

/* Return: number + 1 of the node for the node of lines @at, whose parent's is
   @parent; 0 when out of memory. */
static uint32_t node_reach(struct growing *growing, uint32_t parent,
			   uint32_t at)
{
	const struct merged_line *line = &growing->merged->lines.items[at];
	uint32_t *slot;

	if (!growing->of_function)
		return node_add(growing, parent, line->frame);
	slot = &growing->of_function[line->function];
	if (!*slot)
		*slot = node_add(growing, parent, line->frame);
	else if (!frame_merge(growing, &growing->nodes[*slot - 1],
			      line->frame))
		return 0;
	return *slot;
}

/* Return: number + 1 of the node for the node of lines @leaf, which all nodes
   above it are given as well; 0 when out of memory. */
static uint32_t path_reach(struct growing *growing, uint32_t leaf)
{
	const struct merged_line *lines = growing->merged->lines.items;
	uint32_t at;

	growing->path.count = 0;
	for (; !growing->of_line[leaf]; leaf = lines[leaf].parent) {
		uint32_t *step = vec_push(&growing->path);

		if (!step)
			return 0;
		*step = leaf;
	}
	at = growing->of_line[leaf];
	for (size_t i = growing->path.count; at && i-- > 0;) {
		leaf = growing->path.items[i];
		at = node_reach(growing, at, leaf);
		growing->of_line[leaf] = at;
	}
	return at;
}

/* Return: whether there is memory for @growing->merged. */
static bool growing_init(struct growing *growing, bool by_line)
{
	const struct merged *merged = growing->merged;
	size_t lines = merged->lines.count + 1;
	size_t functions = merged->functions.count + 1;

	growing->nodes = malloc((by_line ? lines : functions) *
				sizeof(*growing->nodes));
	growing->of_line = calloc(lines, sizeof(*growing->of_line));
	if (!by_line)
		growing->of_function =
			calloc(functions, sizeof(*growing->of_function));
	return growing->nodes && growing->of_line &&
	       (by_line || growing->of_function);
}

static bool grow(struct growing *growing, const struct tree *tree)
{
	growing->of_line[0] = node_add(growing, 1, NULL); /* the root */
	for (size_t i = 0; i < tree->cost_count; i++) {
		const struct tree_cost *cost = &tree->costs[i];
		uint32_t at;

		if (!cost->count)
			continue;
		at = path_reach(growing, tree->leaves[i]);
		if (!at)
			return false;
		growing->nodes[at - 1].total_bytes += cost->bytes;
		growing->nodes[at - 1].total_count += cost->count;
	}
	return true;
}

/* --- sums and order ------------------------------------------------------ */

static int compare_text(const char *a, const char *b)
{
	return a == b ? 0 : strcmp(a ? a : "", b ? b : "");
}

struct sorting {
	const struct figure_node *nodes;
	bool by_count;
};

/* Siblings by falling cost; ties by name, then by number, which the
   order of the backtraces gives. */
static int compare_nodes(const void *a, const void *b, void *context)
{
	const struct sorting *sorting = context;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct figure_node *x = &sorting->nodes[i];
	const struct figure_node *y = &sorting->nodes[j];
	uint64_t cost_x = sorting->by_count ? x->total_count : x->total_bytes;
	uint64_t cost_y = sorting->by_count ? y->total_count : y->total_bytes;
	int order;

	if (cost_x != cost_y)
		return cost_x > cost_y ? -1 : 1;
	order = compare_text(x->frame->function, y->frame->function);
	if (!order)
		order = compare_text(x->frame->module, y->frame->module);
	if (!order)
		order = compare_text(x->frame->file, y->frame->file);
	if (!order && x->frame->line != y->frame->line)
		order = x->frame->line < y->frame->line ? -1 : 1;
	return order ? order : (i > j) - (i < j);
}

/* Adds the totals of callees to those of their callers, which have their own
   costs, and links siblings, the first ones first. */
static void sum_and_link(struct growing *growing)
{
	struct figure_node *nodes = growing->nodes;

	for (uint32_t i = 0; i < growing->count; i++)
		nodes[i].first_child = FIGURE_NO_NODE;
	for (uint32_t i = growing->count; i-- > 0;) {
		struct figure_node *node = &nodes[i];
		struct figure_node *parent = &nodes[node->next_sibling];

		if (i == 0)
			break;
		parent->total_bytes += node->total_bytes;
		parent->total_count += node->total_count;
		node->next_sibling = parent->first_child;
		parent->first_child = i;
	}
	nodes[0].next_sibling = FIGURE_NO_NODE;
}

/* Most nodes have no siblings: there is nothing to compare.  Return: false when
   out of memory. */
static bool sort_siblings(struct growing *growing)
{
	struct figure_node *nodes = growing->nodes;
	struct sorting sorting = { nodes, growing->by_count };

	for (uint32_t i = 0; i < growing->count; i++) {
		uint32_t child = nodes[i].first_child, *slot;

		if (child == FIGURE_NO_NODE ||
		    nodes[child].next_sibling == FIGURE_NO_NODE)
			continue;
		growing->path.count = 0;
		for (; child != FIGURE_NO_NODE;
		     child = nodes[child].next_sibling) {
			slot = vec_push(&growing->path);
			if (!slot)
				return false;
			*slot = child;
		}
		qsort_r(growing->path.items, growing->path.count,
			sizeof(uint32_t), compare_nodes, &sorting);
		child = FIGURE_NO_NODE;
		for (size_t j = growing->path.count; j-- > 0;) {
			nodes[growing->path.items[j]].next_sibling = child;
			child = growing->path.items[j];
		}
		nodes[i].first_child = child;
	}
	return true;
}

int tree_finish(struct tree *tree, struct arena *arena, struct figure_tree *ret)
{
	struct growing growing = {
		.merged = tree->merged,
		.arena = arena,
		.by_count = tree->options.by_count,
	};
	bool done = growing_init(&growing, tree->options.by_line) &&
		    grow(&growing, tree);

	if (done)
		sum_and_link(&growing);
	done = done && sort_siblings(&growing);
	if (done)
		/* Less room always is there. */
		tree->nodes = realloc(growing.nodes,
				      growing.count * sizeof(*tree->nodes));
	if (!tree->nodes)
		free(growing.nodes);
	if (tree->nodes)
		*ret = (struct figure_tree){
			.nodes = tree->nodes,
			.node_count = growing.count,
			.by_count = tree->options.by_count,
			.callees_first = tree->options.callees_first,
			.cost_label = tree->options.cost_label,
		};
	vec_done(&growing.path);
	free(growing.of_line);
	free(growing.of_function);
	tree_settle(tree);
	return tree->nodes ? 0 : -ENOMEM;
}
