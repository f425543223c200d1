/* SPDX-License-Identifier: MIT */
/*
 * The stack tree has a node for each return address; the figure has one for
 * each function below the same callers.  For every backtrace the path from the
 * root is mapped node by node, and each mapping is kept, so a shared prefix is
 * walked once.  A child's number is greater than its parent's, so one sweep
 * from the end adds up the totals.  No step recurses: stacks may be 65,536
 * deep.
 */
#include "report/aggregate/tree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/aggregate/scope.h"
#include "report/core/arena.h"
#include "report/core/vec.h"
#include "report/event/stacks.h"
#include "report/symbol/symbol.h"

/**
 * struct tree_node - a node under construction
 * @key:   function or frame number
 * @frame: of all nodes that begin with one symbol frame, unless @has_own
 */
struct tree_node {
	uint32_t parent;
	uint32_t key : 31;
	uint32_t has_own : 1;
	struct figure_frame *frame;
	uint64_t self_bytes, self_count;
	uint64_t total_bytes, total_count;
};

struct tree {
	const struct scope *scope;
	const struct tree_options *options;
	struct {
		struct tree_node *items;
		size_t count;
		size_t capacity;
	} nodes;
	uint64_t *table; /* by (parent, key): hash << 32 | node, 0 is free */
	uint32_t table_mask;
	uint32_t *of_stack; /* figure node + 1 by stack node */
	uint32_t depth_max; /* callees first: frames of a stack that are shown */
	struct {
		uint32_t *items;
		size_t count;
		size_t capacity;
	} path;
	struct { /* function number + 1 by frame id */
		uint32_t *items;
		size_t count;
		size_t capacity;
	} function_of_frame;
	struct { /* first frame of each function */
		const struct symbol_frame **items;
		size_t count;
		size_t capacity;
	} functions;
	uint32_t *function_table;
	uint32_t function_mask;
	struct shown_frame *shown; /* open addressing */
	uint32_t shown_count;
	uint32_t shown_mask;
};

/* A frame as figures show it, made once for all nodes. */
struct shown_frame {
	const struct symbol_frame *from; /* NULL in a free slot */
	struct figure_frame *frame;
};

static uint32_t hash_pair(uint32_t a, uint32_t b)
{
	uint64_t h = ((uint64_t)a << 32 | b) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(h >> 32);
}

static uint32_t hash_text(const char *text, uint32_t seed)
{
	uint32_t h = seed ^ UINT32_C(2166136261); /* FNV-1a */

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT32_C(16777619);
	return h;
}

static bool function_table_grow(struct tree *tree)
{
	uint32_t mask = tree->function_mask ? tree->function_mask * 2 + 1 : 1023;
	uint32_t *table = calloc((size_t)mask + 1, sizeof(*table));

	if (!table)
		return false;
	for (uint32_t i = 0; i < tree->functions.count; i++) {
		const struct symbol_frame *frame = tree->functions.items[i];
		uint32_t at = hash_text(frame->function,
					hash_text(frame->module, 0)) & mask;

		while (table[at])
			at = (at + 1) & mask;
		table[at] = i + 1;
	}
	free(tree->function_table);
	tree->function_table = table;
	tree->function_mask = mask;
	return true;
}

/* Number + 1 of the function of @frame, 0 when out of memory. */
static uint32_t function_intern(struct tree *tree,
				const struct symbol_frame *frame)
{
	const struct symbol_frame **slot;
	uint32_t at;

	if (tree->functions.count * 2 >= tree->function_mask &&
	    !function_table_grow(tree))
		return 0;
	at = hash_text(frame->function, hash_text(frame->module, 0)) &
	     tree->function_mask;
	for (; tree->function_table[at]; at = (at + 1) & tree->function_mask) {
		const struct symbol_frame *other =
			tree->functions.items[tree->function_table[at] - 1];

		if (strcmp(other->function, frame->function) == 0 &&
		    strcmp(other->module, frame->module) == 0)
			return tree->function_table[at];
	}
	slot = vec_push(&tree->functions);
	if (!slot)
		return 0;
	*slot = frame;
	tree->function_table[at] = (uint32_t)tree->functions.count;
	return (uint32_t)tree->functions.count;
}

/* What decides whether two frames are one node; 0 when out of memory. */
static uint32_t frame_key(struct tree *tree, const struct symbol_frame *frame)
{
	uint32_t *slot;

	if (tree->options->by_line)
		return frame->id + 1;
	while (tree->function_of_frame.count <= frame->id)
		if (!vec_push(&tree->function_of_frame))
			return 0;
	slot = &tree->function_of_frame.items[frame->id];
	if (!*slot)
		*slot = function_intern(tree, frame);
	return *slot;
}

static bool node_table_grow(struct tree *tree)
{
	uint32_t mask = tree->table_mask ? tree->table_mask * 2 + 1 : 4095;
	uint64_t *table = calloc((size_t)mask + 1, sizeof(*table));

	if (!table)
		return false;
	for (size_t i = 0; tree->table && i <= tree->table_mask; i++) {
		uint64_t entry = tree->table[i];
		uint32_t at = (uint32_t)(entry >> 32) & mask;

		while (entry && table[at])
			at = (at + 1) & mask;
		if (entry)
			table[at] = entry;
	}
	free(tree->table);
	tree->table = table;
	tree->table_mask = mask;
	return true;
}

static struct shown_frame *shown_slot(struct shown_frame *slots, uint32_t mask,
				      const struct symbol_frame *from)
{
	uint32_t at = (uint32_t)((uintptr_t)from *
					 UINT64_C(0x9e3779b97f4a7c15) >>
				 32) &
		      mask;

	while (slots[at].from && slots[at].from != from)
		at = (at + 1) & mask;
	return &slots[at];
}

static bool shown_grow(struct tree *tree)
{
	uint32_t mask = tree->shown_mask ? tree->shown_mask * 2 + 1 : 1023;
	struct shown_frame *slots = calloc((size_t)mask + 1, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; tree->shown && i <= tree->shown_mask; i++)
		if (tree->shown[i].from)
			*shown_slot(slots, mask, tree->shown[i].from) =
				tree->shown[i];
	free(tree->shown);
	tree->shown = slots;
	tree->shown_mask = mask;
	return true;
}

/* Return: what figures show of @from, which is the frame of several nodes; NULL
   when out of memory. */
static struct figure_frame *frame_show(struct tree *tree,
				       const struct symbol_frame *from,
				       uint64_t pc_key)
{
	struct shown_frame *slot;

	if (tree->shown_count * 2 >= tree->shown_mask && !shown_grow(tree))
		return NULL;
	slot = shown_slot(tree->shown, tree->shown_mask, from);
	if (slot->from)
		return slot->frame;
	slot->frame = scope_frame(tree->scope, from, pc_key);
	if (!slot->frame)
		return NULL;
	slot->from = from;
	tree->shown_count++;
	return slot->frame;
}

/* A merged node shows what its frames have in common: @other is one more.
   Return: false when out of memory. */
static bool frame_merge(struct tree *tree, struct tree_node *node,
			const struct symbol_frame *other)
{
	const struct figure_frame *frame = node->frame;
	bool same_file = frame->file == other->file ||
			 (frame->file && other->file &&
			  strcmp(frame->file, other->file) == 0);
	struct figure_frame merged = *frame;

	if (!same_file)
		merged.file = NULL;
	if (!same_file || frame->line != other->line)
		merged.line = 0;
	merged.is_inlined &= other->is_inlined;
	if (merged.file == frame->file && merged.line == frame->line &&
	    merged.is_inlined == frame->is_inlined)
		return true;
	if (!node->has_own)
		node->frame = arena_alloc(tree->scope->arena, sizeof(merged));
	if (!node->frame)
		return false;
	node->has_own = true;
	*node->frame = merged;
	return true;
}

/* The child of @parent for @frame; 0 when out of memory. */
static uint32_t node_child(struct tree *tree, uint32_t parent,
			   const struct symbol_frame *frame, uint64_t pc_key)
{
	uint32_t key = frame_key(tree, frame);
	uint32_t hash = hash_pair(parent, key), at;
	struct tree_node *node;
	uint64_t entry;

	if (!key || key >> 31 || (tree->nodes.count * 2 >= tree->table_mask &&
		     !node_table_grow(tree)))
		return 0;
	at = hash & tree->table_mask;
	for (; (entry = tree->table[at]) != 0;
	     at = (at + 1) & tree->table_mask) {
		node = &tree->nodes.items[(uint32_t)entry];
		if (entry >> 32 == hash && node->parent == parent &&
		    node->key == key)
			return frame_merge(tree, node, frame) ? (uint32_t)entry
							      : 0;
	}
	if (tree->nodes.count >= UINT32_MAX / 4 || !vec_push(&tree->nodes))
		return 0;
	node = &tree->nodes.items[tree->nodes.count - 1];
	node->parent = parent;
	node->key = key;
	node->frame = frame_show(tree, frame, pc_key);
	if (!node->frame)
		return 0;
	tree->table[at] =
		(uint64_t)hash << 32 | (uint32_t)(tree->nodes.count - 1);
	return (uint32_t)tree->nodes.count - 1;
}

/* Figure node + 1 of stack node @stack, 0 when out of memory. */
static uint32_t node_of_stack(struct tree *tree, uint32_t stack)
{
	const struct stacks_node *nodes = tree->scope->stacks->nodes;
	uint32_t at = 1;

	tree->path.count = 0;
	for (; stack != STACKS_ROOT; stack = nodes[stack].parent) {
		uint32_t *step;

		if (tree->of_stack[stack]) {
			at = tree->of_stack[stack];
			break;
		}
		step = vec_push(&tree->path);
		if (!step)
			return 0;
		*step = stack;
	}
	for (size_t i = tree->path.count; i-- > 0;) {
		uint64_t pc_key = nodes[tree->path.items[i]].pc_key;
		size_t count;
		const struct symbol_frame *frames =
			symbols_resolve(tree->scope->symbols, pc_key, &count);

		while (count-- > 0) {
			at = node_child(tree, at - 1, &frames[count], pc_key);
			if (!at)
				return 0;
			at++;
		}
		tree->of_stack[tree->path.items[i]] = at;
	}
	return at;
}

static void tree_sum(struct tree *tree)
{
	struct tree_node *nodes = tree->nodes.items;

	for (size_t i = tree->nodes.count; i-- > 0;) {
		nodes[i].total_bytes += nodes[i].self_bytes;
		nodes[i].total_count += nodes[i].self_count;
		if (i) {
			nodes[nodes[i].parent].total_bytes +=
				nodes[i].total_bytes;
			nodes[nodes[i].parent].total_count +=
				nodes[i].total_count;
		}
	}
}

static int compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

/* Siblings by falling cost; ties by name, then by number, which the
   order of the backtraces gives. */
static int compare_nodes(const void *a, const void *b, void *context)
{
	const struct tree *tree = context;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct tree_node *x = &tree->nodes.items[i];
	const struct tree_node *y = &tree->nodes.items[j];
	bool by_count = tree->options->by_count;
	uint64_t cost_x = by_count ? x->total_count : x->total_bytes;
	uint64_t cost_y = by_count ? y->total_count : y->total_bytes;
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

/* Return: all nodes but the root, siblings together and sorted, owned by the
   caller; NULL when out of memory.  Most nodes have no siblings: there is
   nothing to compare. */
static uint32_t *tree_order(struct tree *tree)
{
	const struct tree_node *nodes = tree->nodes.items;
	size_t count = tree->nodes.count;
	uint32_t *order = malloc(count * sizeof(*order));
	uint32_t *ends = calloc(count + 1, sizeof(*ends));

	for (size_t i = 1; order && ends && i < count; i++)
		ends[nodes[i].parent + 1]++;
	for (size_t i = 1; order && ends && i <= count; i++)
		ends[i] += ends[i - 1];
	for (size_t i = 1; order && ends && i < count; i++)
		order[ends[nodes[i].parent]++] = (uint32_t)i;
	for (size_t i = 0, begin = 0; order && ends && i < count; i++) {
		if (ends[i] - begin > 1)
			qsort_r(order + begin, ends[i] - begin, sizeof(*order),
				compare_nodes, tree);
		begin = ends[i];
	}
	if (!ends) {
		free(order);
		order = NULL;
	}
	free(ends);
	return order;
}

/* Copies the nodes into the figure and links the sorted siblings. */
static bool tree_emit(struct tree *tree, struct figure_tree *ret)
{
	size_t count = tree->nodes.count;
	struct figure_node *nodes =
		arena_array(tree->scope->arena, count, sizeof(*nodes));
	uint32_t *order = tree_order(tree);

	if (!nodes || !order) {
		free(order);
		return false;
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct tree_node *from = &tree->nodes.items[i];

		nodes[i] = (struct figure_node){
			.frame = from->frame,
			.total_bytes = from->total_bytes,
			.total_count = from->total_count,
			.self_bytes = from->self_bytes,
			.self_count = from->self_count,
			.first_child = FIGURE_NO_NODE,
			.next_sibling = FIGURE_NO_NODE,
		};
	}
	for (size_t i = count - 1; i-- > 0;) {
		struct figure_node *parent =
			&nodes[tree->nodes.items[order[i]].parent];

		nodes[order[i]].next_sibling = parent->first_child;
		parent->first_child = order[i];
	}
	free(order);
	ret->nodes = nodes;
	ret->node_count = (uint32_t)count;
	ret->by_count = tree->options->by_count;
	ret->callees_first = tree->options->callees_first;
	ret->cost_label = tree->options->cost_label;
	return true;
}

/* The same for the way from the innermost function outwards, which no two
   stacks share in the stack tree. */
static uint32_t node_of_callee(struct tree *tree, uint32_t stack)
{
	const struct stacks_node *nodes = tree->scope->stacks->nodes;
	uint32_t at = 1;

	for (uint32_t left = tree->depth_max; stack != STACKS_ROOT && left;
	     stack = nodes[stack].parent, left--) {
		uint64_t pc_key = nodes[stack].pc_key;
		size_t count;
		const struct symbol_frame *frames =
			symbols_resolve(tree->scope->symbols, pc_key, &count);

		for (size_t i = 0; i < count; i++) {
			at = node_child(tree, at - 1, &frames[i], pc_key);
			if (!at)
				return 0;
			at++;
		}
	}
	return at;
}

static uint64_t frames_within(const struct tree *tree,
			      const struct tree_cost *costs, size_t cost_count,
			      uint32_t depth)
{
	const struct stacks_node *nodes = tree->scope->stacks->nodes;
	uint64_t frames = 0;

	for (size_t i = 0; i < cost_count; i++) {
		uint32_t own = costs[i].count ? nodes[costs[i].stack].depth : 0;

		frames += own < depth ? own : depth;
	}
	return frames;
}

/* The largest depth with which all backtraces together stay in bounds. */
static uint32_t depth_within(const struct tree *tree,
			     const struct tree_cost *costs, size_t cost_count)
{
	uint32_t low = 1, high = UINT32_MAX;

	if (frames_within(tree, costs, cost_count, high) <= TREE_FRAMES_MAX)
		return high;
	while (low + 1 < high) {
		uint32_t middle = low + (high - low) / 2;

		if (frames_within(tree, costs, cost_count, middle) <=
		    TREE_FRAMES_MAX)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static bool tree_fill(struct tree *tree, const struct tree_cost *costs,
		      size_t cost_count)
{
	if (!vec_push(&tree->nodes)) /* the root */
		return false;
	for (size_t i = 0; i < cost_count; i++) {
		struct tree_node *node;
		uint32_t at;

		if (!costs[i].count)
			continue;
		at = tree->options->callees_first
			     ? node_of_callee(tree, costs[i].stack)
			     : node_of_stack(tree, costs[i].stack);
		if (!at)
			return false;
		node = &tree->nodes.items[at - 1];
		node->self_bytes += costs[i].bytes;
		node->self_count += costs[i].count;
	}
	tree_sum(tree);
	return true;
}

struct figure *tree_compute(const struct scope *scope,
			    const struct tree_cost *costs, size_t cost_count,
			    const struct tree_options *options)
{
	struct tree tree = { .scope = scope, .options = options };
	struct figure *figure = arena_alloc(scope->arena, sizeof(*figure));
	bool done;

	tree.depth_max = UINT32_MAX;
	if (options->callees_first)
		tree.depth_max = depth_within(&tree, costs, cost_count);
	tree.of_stack = calloc(scope->stacks->count, sizeof(*tree.of_stack));
	done = figure && tree.of_stack && tree_fill(&tree, costs, cost_count) &&
	       tree_emit(&tree, &figure->tree);
	if (done && tree.depth_max < UINT32_MAX)
		figure->caption = arena_printf(
			scope->arena,
			"The innermost %" PRIu32 " calls of each stack",
			tree.depth_max);
	if (done) {
		figure->kind = FIGURE_TREE;
		figure->id = options->id;
		figure->title = options->title;
	}
	vec_done(&tree.nodes);
	vec_done(&tree.path);
	vec_done(&tree.function_of_frame);
	vec_done(&tree.functions);
	free(tree.table);
	free(tree.of_stack);
	free(tree.function_table);
	free(tree.shown);
	return done ? figure : NULL;
}
