/* SPDX-License-Identifier: MIT */
/*
 * A child's number is greater than its parent's, so passes that carry
 * something from parents to children are loops over numbers: no recursion and
 * no stack, however deep the tree.
 *
 * Where there are too many boxes, the first of (cost falling, depth rising,
 * number rising) are kept.  A child costs no more than its parent and is one
 * deeper, so what is kept always hangs together.
 */
#include "report/output/flamegraph_layout.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

struct layout_work {
	const struct figure_tree *tree;
	const struct flame_limits *limits;
	uint64_t root_cost;
	struct place *places;
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

/* Places the children of each node beside each other. */
static void place_nodes(struct layout_work *work)
{
	const struct figure_node *nodes = work->tree->nodes;

	for (uint32_t i = 0; i < work->tree->node_count; i++) {
		const struct place *parent = &work->places[i];
		uint64_t left = parent->left;
		uint32_t child = nodes[i].first_child;

		if (parent->fate == FLAME_DRAWN) {
			work->candidate_count++;
			work->bytes += box_bytes(work->tree, i);
		}
		for (; child != FIGURE_NO_NODE;
		     child = nodes[child].next_sibling) {
			struct place *place = &work->places[child];

			place->left = left;
			place->depth = parent->depth + 1;
			place->fate = parent->fate;
			if (parent->fate == FLAME_DRAWN)
				place->fate =
					(uint8_t)fate_by_size(work, child);
			left += flame_cost(work->tree, child);
		}
	}
}

/* Marks what is below the last row that has a wide box as too deep: slivers that
   would take screens of empty space. */
static void drop_sliver_rows(struct layout_work *work)
{
	double least = work->limits->row_ratio * (double)work->root_cost;
	uint32_t last = 0;

	for (uint32_t i = 0; i < work->tree->node_count; i++)
		if (work->places[i].fate == FLAME_DRAWN &&
		    work->places[i].depth > last &&
		    (double)flame_cost(work->tree, i) >= least)
			last = work->places[i].depth;
	for (uint32_t i = 0; i < work->tree->node_count; i++) {
		struct place *place = &work->places[i];

		if (place->fate != FLAME_DRAWN || place->depth <= last)
			continue;
		place->fate = FLAME_DEEP;
		work->candidate_count--;
		work->bytes -= box_bytes(work->tree, i);
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
	for (uint32_t i = 0; i < work->tree->node_count; i++)
		if (work->places[i].fate == FLAME_DRAWN)
			work->candidates[n++] = (struct candidate){
				.cost = flame_cost(work->tree, i),
				.depth = work->places[i].depth,
				.node = i,
			};
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

/* Hides what is below hidden frames and sums up. */
static void settle_fates(struct layout_work *work, struct flame_layout *ret)
{
	const struct figure_node *nodes = work->tree->nodes;

	for (uint32_t i = 0; i < work->tree->node_count; i++) {
		uint8_t fate = work->places[i].fate;
		uint32_t child = nodes[i].first_child;

		ret->nodes[fate]++;
		for (; child != FIGURE_NO_NODE;
		     child = nodes[child].next_sibling) {
			uint8_t *own = &work->places[child].fate;

			if (fate != FLAME_DRAWN)
				*own = fate;
			else if (*own != FLAME_DRAWN)
				ret->cost[*own] +=
					flame_cost(work->tree, child);
		}
	}
}

/* Collects the drawn nodes in preorder; @pending has room for two a row. */
static void collect_boxes(const struct layout_work *work, uint32_t *pending,
			  struct flame_layout *ret)
{
	double scale = work->root_cost ? 1 / (double)work->root_cost : 0;
	size_t depth = 0;

	pending[depth++] = 0;
	while (depth) {
		uint32_t i = pending[--depth];
		const struct figure_node *node = &work->tree->nodes[i];
		const struct place *place = &work->places[i];

		if (node->next_sibling != FIGURE_NO_NODE)
			pending[depth++] = node->next_sibling;
		if (place->fate != FLAME_DRAWN)
			continue;
		ret->boxes[ret->count++] = (struct flame_box){
			.node = i,
			.depth = place->depth,
			.left = (double)place->left * scale,
			.width = i ? (double)flame_cost(work->tree, i) * scale
				   : 1,
		};
		if (place->depth >= ret->rows)
			ret->rows = place->depth + 1;
		if (node->first_child != FIGURE_NO_NODE)
			pending[depth++] = node->first_child;
	}
}

int flame_layout_compute(const struct figure_tree *tree,
			 const struct flame_limits *limits,
			 struct flame_layout *ret)
{
	struct layout_work work = { .tree = tree, .limits = limits };
	uint32_t *pending = NULL;
	int error = -ENOMEM;

	memset(ret, 0, sizeof(*ret));
	if (!tree->node_count)
		return 0;
	work.root_cost = flame_cost(tree, 0);
	work.places = calloc(tree->node_count, sizeof(*work.places));
	if (!work.places)
		return -ENOMEM;
	place_nodes(&work);
	if (limits->row_ratio > 0)
		drop_sliver_rows(&work);
	if (drop_excess(&work) < 0)
		goto out;
	settle_fates(&work, ret);
	ret->boxes = calloc(ret->nodes[FLAME_DRAWN], sizeof(*ret->boxes));
	pending = calloc((size_t)ret->nodes[FLAME_DRAWN] + 2, sizeof(*pending));
	if (!ret->boxes || !pending)
		goto out;
	collect_boxes(&work, pending, ret);
	error = 0;
out:
	free(pending);
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
