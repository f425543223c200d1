/* SPDX-License-Identifier: MIT */
/*
 * Nearly all frames of a large tree are too narrow to be drawn.  So only what may
 * be drawn is listed, callers first, with a look at its children; the others are
 * counted, not visited.  No step recurses, however deep the tree.
 *
 * Where there are too many boxes, the first of (cost falling, depth rising,
 * number rising) are kept.  A child costs no more than its parent and is one
 * deeper, so what is kept always hangs together.
 */
#include "report/output/svg/flamegraph_layout.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/vec.h"

struct place {
	uint64_t left; /* in units of cost */
	uint32_t depth;
	uint8_t fate;
};

struct candidate {
	uint64_t cost;
	uint32_t depth;
	uint32_t node;
};

/**
 * struct layout_work
 * @places:    by node, of those listed and their children
 * @listed:    nodes wide enough to be drawn, callers first
 * @pending:   of a walk in preorder
 * @candidate_count: how many of @listed are to be drawn, by now; with @bytes
 */
struct layout_work {
	const struct figure_tree *tree;
	const struct flame_limits *limits;
	uint64_t root_cost;
	struct place *places;
	struct node_list {
		uint32_t *items;
		size_t count, capacity;
	} listed, pending;
	struct candidate *candidates;
	size_t candidate_count;
	size_t bytes;
};

static int candidate_compare(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->cost != y->cost)
		return x->cost < y->cost ? 1 : -1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Bytes of SVG that one box takes, rather too many. */
static size_t box_bytes(const struct figure_tree *tree, uint32_t node)
{
	enum { MARKUP_BYTES = 230 };
	const struct figure_frame *frame = tree->nodes[node].frame;
	size_t bytes = MARKUP_BYTES;

	if (frame)
		bytes += strlen(frame->function) + strlen(frame->module) +
			 (frame->file ? strlen(frame->file) : 0);
	return bytes;
}

static enum flame_fate fate_by_size(const struct layout_work *work,
				    uint32_t node)
{
	uint64_t cost = flame_cost(work->tree, node);

	if (!cost ||
	    (double)cost < work->limits->min_ratio * (double)work->root_cost)
		return FLAME_NARROW;
	if (work->places[node].depth >= work->limits->max_rows)
		return FLAME_DEEP;
	return FLAME_DRAWN;
}

static bool node_push(struct node_list *list, uint32_t node)
{
	uint32_t *slot = vec_push(list);

	if (slot)
		*slot = node;
	return slot != NULL;
}

/* Places the children of each listed node beside each other and lists those that
   are wide enough.  Return: whether memory sufficed. */
static bool place_nodes(struct layout_work *work)
{
	const struct figure_node *nodes = work->tree->nodes;

	if (!node_push(&work->listed, 0))
		return false;
	for (size_t i = 0; i < work->listed.count; i++) {
		uint32_t node = work->listed.items[i];
		const struct place *parent = &work->places[node];
		uint64_t left = parent->left;
		uint32_t child = nodes[node].first_child;

		work->bytes += box_bytes(work->tree, node);
		for (; child != FIGURE_NO_NODE;
		     child = nodes[child].next_sibling) {
			struct place *place = &work->places[child];

			place->left = left;
			place->depth = parent->depth + 1;
			place->fate = (uint8_t)fate_by_size(work, child);
			left += flame_cost(work->tree, child);
			if (place->fate == FLAME_DRAWN &&
			    !node_push(&work->listed, child))
				return false;
		}
	}
	work->candidate_count = work->listed.count;
	return true;
}

/* Marks what is below the last row that has a wide box as too deep: slivers that
   would take screens of empty space. */
static void drop_sliver_rows(struct layout_work *work)
{
	double least = work->limits->row_ratio * (double)work->root_cost;
	uint32_t last = 0;

	for (size_t i = 0; i < work->listed.count; i++) {
		uint32_t node = work->listed.items[i];

		if (work->places[node].depth > last &&
		    (double)flame_cost(work->tree, node) >= least)
			last = work->places[node].depth;
	}
	for (size_t i = 0; i < work->listed.count; i++) {
		uint32_t node = work->listed.items[i];

		if (work->places[node].depth <= last)
			continue;
		work->places[node].fate = FLAME_DEEP;
		work->candidate_count--;
		work->bytes -= box_bytes(work->tree, node);
	}
}

/* Marks the smallest candidates as excess.  Return: 0 or -ENOMEM. */
static int drop_excess(struct layout_work *work)
{
	const struct flame_limits *limits = work->limits;
	size_t n = 0, bytes = 0, kept = 0;

	if (work->candidate_count <= limits->max_boxes &&
	    work->bytes <= limits->max_bytes)
		return 0;
	work->candidates =
		calloc(work->candidate_count, sizeof(*work->candidates));
	if (!work->candidates)
		return -ENOMEM;
	for (size_t i = 0; i < work->listed.count; i++) {
		uint32_t node = work->listed.items[i];

		if (work->places[node].fate == FLAME_DRAWN)
			work->candidates[n++] = (struct candidate){
				.cost = flame_cost(work->tree, node),
				.depth = work->places[node].depth,
				.node = node,
			};
	}
	qsort(work->candidates, n, sizeof(*work->candidates),
	      candidate_compare);
	for (; kept < n && kept < limits->max_boxes; kept++) {
		bytes += box_bytes(work->tree, work->candidates[kept].node);
		if (kept && bytes > limits->max_bytes)
			break;
	}
	for (size_t i = kept; i < n; i++)
		work->places[work->candidates[i].node].fate = FLAME_EXCESS;
	return 0;
}

/* What a walk comes to after @node: first the one pushed last.  Return: whether
   memory sufficed. */
static bool pend_next(struct layout_work *work, uint32_t node,
		      bool with_sibling, bool with_child)
{
	const struct figure_node *at = &work->tree->nodes[node];

	if (with_sibling && at->next_sibling != FIGURE_NO_NODE &&
	    !node_push(&work->pending, at->next_sibling))
		return false;
	return !with_child || at->first_child == FIGURE_NO_NODE ||
	       node_push(&work->pending, at->first_child);
}

/* Gives all frames below @top its fate.  Return: their number with @top, 0 when
   out of memory. */
static uint32_t hide_below(struct layout_work *work, uint32_t top)
{
	uint8_t fate = work->places[top].fate;
	uint32_t count = 1;

	work->pending.count = 0;
	if (!pend_next(work, top, false, true))
		return 0;
	for (; work->pending.count; count++) {
		uint32_t node = work->pending.items[--work->pending.count];

		work->places[node].fate = fate;
		if (!pend_next(work, node, true, true))
			return 0;
	}
	return count;
}

/* Sums up the hidden children of @node.  Return: whether memory sufficed. */
static bool hide_children(struct layout_work *work, uint32_t node,
			  struct flame_layout *ret)
{
	const struct figure_node *nodes = work->tree->nodes;
	uint32_t child = nodes[node].first_child;

	for (; child != FIGURE_NO_NODE; child = nodes[child].next_sibling) {
		uint8_t fate = work->places[child].fate;
		uint32_t count = 0;

		if (fate == FLAME_DRAWN)
			continue;
		ret->cost[fate] += flame_cost(work->tree, child);
		if (fate == FLAME_NARROW)
			continue;
		count = hide_below(work, child);
		if (!count)
			return false;
		ret->nodes[fate] += count;
	}
	return true;
}

/* Hides what is below hidden frames and sums up: what met no other fate is
   narrow.  Return: whether memory sufficed. */
static bool settle_fates(struct layout_work *work, struct flame_layout *ret)
{
	for (size_t i = 0; i < work->listed.count; i++) {
		uint32_t node = work->listed.items[i];

		if (work->places[node].fate != FLAME_DRAWN)
			continue;
		ret->nodes[FLAME_DRAWN]++;
		if (!hide_children(work, node, ret))
			return false;
	}
	ret->nodes[FLAME_NARROW] =
		work->tree->node_count - ret->nodes[FLAME_DRAWN] -
		ret->nodes[FLAME_DEEP] - ret->nodes[FLAME_EXCESS];
	return true;
}

/* Collects the drawn nodes in preorder.  Return: whether memory sufficed. */
static bool collect_boxes(struct layout_work *work, struct flame_layout *ret)
{
	double whole = work->root_cost ? (double)work->root_cost : 1;

	work->pending.count = 0;
	if (!node_push(&work->pending, 0))
		return false;
	while (work->pending.count) {
		uint32_t i = work->pending.items[--work->pending.count];
		const struct place *place = &work->places[i];
		bool drawn = place->fate == FLAME_DRAWN;

		if (!pend_next(work, i, true, drawn))
			return false;
		if (!drawn)
			continue;
		ret->boxes[ret->count++] = (struct flame_box){
			.node = i,
			.depth = place->depth,
			.left = (double)place->left / whole,
			.width = i ? (double)flame_cost(work->tree, i) / whole
				   : 1,
		};
		if (place->depth >= ret->rows)
			ret->rows = place->depth + 1;
	}
	return true;
}

int flame_layout_compute(const struct figure_tree *tree,
			 const struct flame_limits *limits,
			 struct flame_layout *ret)
{
	struct layout_work work = { .tree = tree, .limits = limits };
	int error = -ENOMEM;

	memset(ret, 0, sizeof(*ret));
	if (!tree->node_count)
		return 0;
	work.root_cost = flame_cost(tree, 0);
	work.places = calloc(tree->node_count, sizeof(*work.places));
	if (!work.places)
		return -ENOMEM;
	if (!place_nodes(&work))
		goto out;
	if (limits->row_ratio > 0)
		drop_sliver_rows(&work);
	if (drop_excess(&work) < 0 || !settle_fates(&work, ret))
		goto out;
	ret->boxes = calloc(ret->nodes[FLAME_DRAWN], sizeof(*ret->boxes));
	if (!ret->boxes || !collect_boxes(&work, ret))
		goto out;
	error = 0;
out:
	vec_done(&work.listed);
	vec_done(&work.pending);
	free(work.candidates);
	free(work.places);
	if (error)
		flame_layout_done(ret);
	return error;
}

void flame_layout_done(struct flame_layout *layout)
{
	free(layout->boxes);
	memset(layout, 0, sizeof(*layout));
}
