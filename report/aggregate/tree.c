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
	free(tree->functions);
	free(tree->lines);
	memset(tree, 0, sizeof(*tree));
}

/* --- sums ---------------------------------------------------------------- */

/* Of a node of lines: with all below it.  A backtrace may reach it and cost
   nothing. */
struct sum {
	uint64_t bytes;
	uint64_t count;
	bool is_reached;
};

/**
 * struct growing - what trees are made from
 * @sums:    by node of lines
 * @reached: how many of them
 * @numbers: number + 1 of the figure's node, by node of lines or of functions;
 *           0 where there is none
 * @branching: nodes of the figure that have several children
 * @siblings: of one of them
 * @path:    from a function to one that has a node
 */
struct growing {
	const struct merged *merged;
	struct arena *arena;
	bool by_count;
	struct sum *sums;
	size_t reached;
	uint32_t *numbers;
	struct figure_node *nodes;
	uint32_t count;
	struct numbers {
		uint32_t *items;
		size_t count, capacity;
	} branching, siblings, path;
};

static uint64_t sum_cost(const struct growing *growing, uint32_t line)
{
	const struct sum *sum = &growing->sums[line];

	return growing->by_count ? sum->count : sum->bytes;
}

/* Return: whether there was memory. */
static bool add_up(struct growing *growing, const struct tree *tree)
{
	const struct merged_line *lines = growing->merged->lines.items;
	size_t count = growing->merged->lines.count;
	struct sum *sums = calloc(count + 1, sizeof(*sums));

	growing->sums = sums;
	if (!sums)
		return false;
	for (size_t i = 0; i < tree->cost_count; i++) {
		struct sum *sum = &sums[tree->costs[i].stack];

		sum->bytes += tree->costs[i].bytes;
		sum->count += tree->costs[i].count;
		sum->is_reached = true;
	}
	sums[0].is_reached = true; /* the root, even of nothing */
	growing->reached = 1;
	for (size_t i = count; i-- > 1;) {
		struct sum *parent = &sums[lines[i].link.parent];

		if (!sums[i].is_reached)
			continue;
		growing->reached++;
		parent->bytes += sums[i].bytes;
		parent->count += sums[i].count;
		parent->is_reached = true;
	}
	return true;
}

/* --- nodes --------------------------------------------------------------- */

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

static bool number_push(struct numbers *numbers, uint32_t number)
{
	uint32_t *slot = vec_push(numbers);

	if (slot)
		*slot = number;
	return slot != NULL;
}

/* Return: number + 1 of a new node below that with the number + 1 @parent, which
   for the root is its own.  Until siblings are linked, next_sibling is the
   parent. */
static uint32_t node_add(struct growing *growing, uint32_t parent,
			 const struct figure_frame *frame)
{
	growing->nodes[growing->count] = (struct figure_node){
		.frame = frame,
		.first_child = FIGURE_NO_NODE,
		.next_sibling = parent - 1,
	};
	return ++growing->count;
}

/* Makes the nodes of functions that the backtraces go through, in the order in
   which these reach them.  Return: whether there was memory. */
static bool reach_functions(struct growing *growing, const struct tree *tree)
{
	const struct merged_link *functions =
		growing->merged->functions.items;
	const struct merged_line *lines = growing->merged->lines.items;
	uint32_t *numbers = growing->numbers;

	numbers[0] = node_add(growing, 1, NULL);
	for (size_t i = 0; i < tree->cost_count; i++) {
		uint32_t leaf = tree->costs[i].stack;
		uint32_t at = leaf ? lines[leaf].function : 0;

		growing->path.count = 0;
		for (; !numbers[at]; at = functions[at].parent)
			if (!number_push(&growing->path, at))
				return false;
		for (size_t j = growing->path.count; j-- > 0;) {
			uint32_t below = growing->path.items[j];

			numbers[below] = node_add(growing, numbers[at], NULL);
			at = below;
		}
	}
	return true;
}

/* @node also has what the node of lines @line sums up to. */
static void node_cost_add(const struct growing *growing,
			  struct figure_node *node, size_t line)
{
	node->total_bytes += growing->sums[line].bytes;
	node->total_count += growing->sums[line].count;
}

/* Return: as above. */
static bool grow_functions(struct growing *growing, const struct tree *tree)
{
	const struct merged_line *lines = growing->merged->lines.items;

	if (!reach_functions(growing, tree))
		return false;
	node_cost_add(growing, growing->nodes, 0);
	for (size_t i = 1; i < growing->merged->lines.count; i++) {
		struct figure_node *node;

		if (!growing->sums[i].is_reached)
			continue;
		node = &growing->nodes[growing->numbers[lines[i].function] - 1];
		if (!node->frame)
			node->frame = lines[i].frame;
		else if (!frame_merge(growing, node, lines[i].frame))
			return false;
		node_cost_add(growing, node, i);
	}
	return true;
}

/* Nodes that cost less than @least have no children. */
static void grow_lines(struct growing *growing, uint64_t least)
{
	const struct merged_line *lines = growing->merged->lines.items;
	uint32_t *numbers = growing->numbers;

	numbers[0] = node_add(growing, 1, NULL);
	node_cost_add(growing, growing->nodes, 0);
	for (size_t i = 1; i < growing->merged->lines.count; i++) {
		uint32_t parent = lines[i].link.parent;

		if (!growing->sums[i].is_reached || !numbers[parent] ||
		    sum_cost(growing, parent) < least)
			continue;
		numbers[i] = node_add(growing, numbers[parent], lines[i].frame);
		node_cost_add(growing, &growing->nodes[numbers[i] - 1], i);
	}
}

/* --- order --------------------------------------------------------------- */

static int compare_text(const char *a, const char *b)
{
	return a == b ? 0 : strcmp(a ? a : "", b ? b : "");
}

struct sorting {
	const struct figure_node *nodes;
	bool by_count;
};

/* Siblings by falling cost; ties by name, then by number, which the order in
   which frames were first met gives. */
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

/* Links siblings and finds nodes that have several children, which are few.
   Return: whether there was memory. */
static bool link_siblings(struct growing *growing)
{
	struct figure_node *nodes = growing->nodes;

	growing->branching.count = 0;
	for (uint32_t i = growing->count; i-- > 1;) {
		uint32_t number = nodes[i].next_sibling;
		struct figure_node *parent = &nodes[number];
		uint32_t next = parent->first_child;

		if (next != FIGURE_NO_NODE &&
		    nodes[next].next_sibling == FIGURE_NO_NODE &&
		    !number_push(&growing->branching, number))
			return false;
		nodes[i].next_sibling = next;
		parent->first_child = i;
	}
	nodes[0].next_sibling = FIGURE_NO_NODE;
	return true;
}

/* Sorts the children of nodes[@number].  Return: as above. */
static bool sort_children(struct growing *growing, uint32_t number)
{
	struct figure_node *nodes = growing->nodes;
	struct sorting sorting = { nodes, growing->by_count };
	uint32_t child = nodes[number].first_child;

	growing->siblings.count = 0;
	for (; child != FIGURE_NO_NODE; child = nodes[child].next_sibling)
		if (!number_push(&growing->siblings, child))
			return false;
	qsort_r(growing->siblings.items, growing->siblings.count,
		sizeof(uint32_t), compare_nodes, &sorting);
	for (size_t i = growing->siblings.count; i-- > 0;) {
		nodes[growing->siblings.items[i]].next_sibling = child;
		child = growing->siblings.items[i];
	}
	nodes[number].first_child = child;
	return true;
}

static bool sort_siblings(struct growing *growing)
{
	for (size_t i = 0; i < growing->branching.count; i++)
		if (!sort_children(growing, growing->branching.items[i]))
			return false;
	return true;
}

/* --- both trees ---------------------------------------------------------- */

/* A tree without nodes, with room for those that @count nodes of the merged
   tree have.  Return: whether there was memory. */
static bool growing_begin(struct growing *growing, size_t count)
{
	free(growing->numbers);
	growing->count = 0;
	growing->numbers = calloc(count + 1, sizeof(*growing->numbers));
	growing->nodes = malloc(growing->reached * sizeof(*growing->nodes));
	return growing->numbers && growing->nodes;
}

/* Orders the nodes if they are @grown.  Return: they, owned by the caller; NULL
   when out of memory. */
static struct figure_node *growing_end(struct growing *growing, bool grown,
				       const struct tree *tree,
				       struct figure_tree *ret)
{
	struct figure_node *nodes = NULL;

	if (grown && link_siblings(growing) && sort_siblings(growing))
		/* Less room always is there. */
		nodes = realloc(growing->nodes,
				growing->count * sizeof(*nodes));
	if (!nodes) {
		free(growing->nodes);
		return NULL;
	}
	*ret = (struct figure_tree){
		.nodes = nodes,
		.node_count = growing->count,
		.by_count = tree->options.by_count,
		.callees_first = tree->options.callees_first,
		.cost_label = tree->options.cost_label,
	};
	return nodes;
}

static bool finish_functions(struct growing *growing, struct tree *tree,
			     struct figure_tree *ret)
{
	bool grown = growing_begin(growing,
				   growing->merged->functions.count) &&
		     grow_functions(growing, tree);

	tree->functions = growing_end(growing, grown, tree, ret);
	return tree->functions;
}

static bool finish_lines(struct growing *growing, struct tree *tree,
			 struct figure_tree *ret)
{
	bool is_cut = growing->reached > FIGURE_TREE_WHOLE_NODES;
	uint64_t least = is_cut ? sum_cost(growing, 0) / FIGURE_TREE_PARTS : 0;
	bool grown = growing_begin(growing, growing->merged->lines.count);

	if (grown)
		grow_lines(growing, least);
	tree->lines = growing_end(growing, grown, tree, ret);
	ret->least = least;
	return tree->lines;
}

int tree_finish(struct tree *tree, struct arena *arena,
		struct figure_tree *ret_functions,
		struct figure_tree *ret_lines)
{
	struct growing growing = {
		.merged = tree->merged,
		.arena = arena,
		.by_count = tree->options.by_count,
	};
	bool done = add_up(&growing, tree);

	if (done && ret_functions)
		done = finish_functions(&growing, tree, ret_functions);
	if (done && ret_lines)
		done = finish_lines(&growing, tree, ret_lines);
	vec_done(&growing.branching);
	vec_done(&growing.siblings);
	vec_done(&growing.path);
	free(growing.numbers);
	free(growing.sums);
	free(tree->costs);
	tree->costs = NULL;
	return done ? 0 : -ENOMEM;
}
