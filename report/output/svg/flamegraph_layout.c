/* SPDX-License-Identifier: MIT */
/*
 * Nearly all frames of a large tree are too narrow to be drawn.  So only what
 * may be drawn gets a place, callers first, with a look at its children; the
 * others are counted, not visited.  No step recurses, however deep the tree.
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

/**
 * struct place - a node that is wide enough to be drawn, or was
 * @left, @narrow_cost: in units of cost; the latter of its narrow children
 * @bytes:  of SVG that its box takes, rather too many
 * @first:  its children among the places, one behind the other, if it
 *          @has_child
 * @is_last: of its siblings
 */
struct place {
	uint64_t left;
	uint64_t narrow_cost;
	uint32_t node;
	uint32_t depth;
	uint32_t bytes;
	uint32_t first;
	uint8_t fate;
	bool has_child;
	bool is_last;
};

struct candidate {
	uint64_t cost;
	uint32_t depth;
	uint32_t node;
	uint32_t place;
};

/**
 * struct layout_work
 * @places:    callers first
 * @pending:   of a walk in preorder
 * @candidate_count: how many of @places are to be drawn, by now; with @bytes
 */
struct layout_work {
	const struct figure_tree *tree;
	const struct flame_limits *limits;
	uint64_t root_cost;
	struct {
		struct place *items;
		size_t count, capacity;
	} places;
	struct {
		uint32_t *items;
		size_t count, capacity;
	} pending;
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
static uint32_t box_bytes(const struct figure_tree *tree, uint32_t node)
{
	enum { MARKUP_BYTES = 230 };
	const struct figure_frame *frame = tree->nodes[node].frame;
	size_t bytes = MARKUP_BYTES;

	if (frame)
		bytes += strlen(frame->function) + strlen(frame->module) +
			 (frame->file ? strlen(frame->file) : 0);
	return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

static enum flame_fate fate_by_size(const struct layout_work *work,
				    uint32_t node, uint32_t depth)
{
	uint64_t cost = flame_cost(work->tree, node);

	if (!cost ||
	    (double)cost < work->limits->min_ratio * (double)work->root_cost)
		return FLAME_NARROW;
	return depth >= work->limits->max_rows ? FLAME_DEEP : FLAME_DRAWN;
}

static bool node_push(struct layout_work *work, uint32_t node)
{
	uint32_t *slot = vec_push(&work->pending);

	if (slot)
		*slot = node;
	return slot != NULL;
}

/* Return: whether memory sufficed. */
static bool place_add(struct layout_work *work, uint32_t node, uint64_t left,
		      uint32_t depth, enum flame_fate fate)
{
	struct place *place = vec_push(&work->places);

	if (!place)
		return false;
	place->node = node;
	place->left = left;
	place->depth = depth;
	place->fate = (uint8_t)fate;
	if (fate != FLAME_DRAWN)
		return true;
	place->bytes = box_bytes(work->tree, node);
	work->bytes += place->bytes;
	work->candidate_count++;
	return true;
}

/* Places the children of places[@parent] beside each other.  Return: as
   above. */
static bool place_children(struct layout_work *work, size_t parent)
{
	const struct figure_node *nodes = work->tree->nodes;
	struct place at = work->places.items[parent];
	uint32_t child = nodes[at.node].first_child;

	at.first = (uint32_t)work->places.count;
	for (uint64_t left = at.left; child != FIGURE_NO_NODE;
	     child = nodes[child].next_sibling) {
		enum flame_fate fate = fate_by_size(work, child, at.depth + 1);
		uint64_t cost = flame_cost(work->tree, child);

		if (fate == FLAME_NARROW)
			at.narrow_cost += cost;
		else if (!place_add(work, child, left, at.depth + 1, fate))
			return false;
		left += cost;
	}
	at.has_child = at.first < work->places.count;
	if (at.has_child)
		work->places.items[work->places.count - 1].is_last = true;
	work->places.items[parent] = at;
	return true;
}

/* Places what is wide enough.  Return: as above. */
static bool place_nodes(struct layout_work *work)
{
	if (!place_add(work, 0, 0, 0, FLAME_DRAWN))
		return false;
	work->places.items[0].is_last = true;
	for (size_t i = 0; i < work->places.count; i++)
		if (work->places.items[i].fate == FLAME_DRAWN &&
		    !place_children(work, i))
			return false;
	return true;
}

/* Marks what is below the last row that has a wide box as too deep: slivers that
   would take screens of empty space. */
static void drop_sliver_rows(struct layout_work *work)
{
	double least = work->limits->row_ratio * (double)work->root_cost;
	uint32_t last = 0;

	for (size_t i = 0; i < work->places.count; i++) {
		const struct place *place = &work->places.items[i];

		if (place->fate == FLAME_DRAWN && place->depth > last &&
		    (double)flame_cost(work->tree, place->node) >= least)
			last = place->depth;
	}
	for (size_t i = 0; i < work->places.count; i++) {
		struct place *place = &work->places.items[i];

		if (place->fate != FLAME_DRAWN || place->depth <= last)
			continue;
		place->fate = FLAME_DEEP;
		work->candidate_count--;
		work->bytes -= place->bytes;
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
	for (size_t i = 0; i < work->places.count; i++) {
		const struct place *place = &work->places.items[i];

		if (place->fate == FLAME_DRAWN)
			work->candidates[n++] = (struct candidate){
				.cost = flame_cost(work->tree, place->node),
				.depth = place->depth,
				.node = place->node,
				.place = (uint32_t)i,
			};
	}
	qsort(work->candidates, n, sizeof(*work->candidates),
	      candidate_compare);
	for (; kept < n && kept < limits->max_boxes; kept++) {
		bytes += work->places.items[work->candidates[kept].place].bytes;
		if (kept && bytes > limits->max_bytes)
			break;
	}
	for (size_t i = kept; i < n; i++)
		work->places.items[work->candidates[i].place].fate =
			FLAME_EXCESS;
	return 0;
}

/* Return: @node, and what was left out of the tree below it. */
static uint32_t count_node(const struct figure_tree *tree, uint32_t node)
{
	return 1 + (tree->left_out.below ? tree->left_out.below[node] : 0);
}

/* Return: how many nodes there are below @top, and itself; 0 when out of
   memory. */
static uint32_t count_nodes(struct layout_work *work, uint32_t top)
{
	const struct figure_node *nodes = work->tree->nodes;
	uint32_t child = nodes[top].first_child;
	uint32_t count = count_node(work->tree, top);

	work->pending.count = 0;
	if (child != FIGURE_NO_NODE && !node_push(work, child))
		return 0;
	while (work->pending.count) {
		uint32_t node = work->pending.items[--work->pending.count];
		uint32_t next = nodes[node].next_sibling;

		count += count_node(work->tree, node);
		child = nodes[node].first_child;
		if ((next != FIGURE_NO_NODE && !node_push(work, next)) ||
		    (child != FIGURE_NO_NODE && !node_push(work, child)))
			return 0;
	}
	return count;
}

/* Sums up the hidden children of @place.  Return: whether memory sufficed. */
static bool hide_children(struct layout_work *work, const struct place *place,
			  struct flame_layout *ret)
{
	const struct place *child = &work->places.items[place->first];
	bool more = place->has_child;

	ret->cost[FLAME_NARROW] += place->narrow_cost;
	for (; more; child++) {
		uint32_t count;

		more = !child->is_last;
		if (child->fate == FLAME_DRAWN)
			continue;
		count = count_nodes(work, child->node);
		if (!count)
			return false;
		ret->cost[child->fate] += flame_cost(work->tree, child->node);
		ret->nodes[child->fate] += count;
	}
	return true;
}

/* Sums up what is hidden, with all that is below it: what met no other fate is
   narrow.  Return: whether memory sufficed. */
static bool settle_fates(struct layout_work *work, struct flame_layout *ret)
{
	for (size_t i = 0; i < work->places.count; i++) {
		const struct place *place = &work->places.items[i];

		if (place->fate != FLAME_DRAWN)
			continue;
		ret->nodes[FLAME_DRAWN]++;
		if (!hide_children(work, place, ret))
			return false;
	}
	ret->nodes[FLAME_NARROW] =
		work->tree->node_count + work->tree->left_out.count -
		ret->nodes[FLAME_DRAWN] - ret->nodes[FLAME_DEEP] -
		ret->nodes[FLAME_EXCESS];
	return true;
}

/* Collects the drawn nodes in preorder.  Return: whether memory sufficed. */
static bool collect_boxes(struct layout_work *work, struct flame_layout *ret)
{
	double whole = work->root_cost ? (double)work->root_cost : 1;

	work->pending.count = 0;
	if (!node_push(work, 0))
		return false;
	while (work->pending.count) {
		uint32_t i = work->pending.items[--work->pending.count];
		const struct place *place = &work->places.items[i];
		bool drawn = place->fate == FLAME_DRAWN;

		if ((!place->is_last && !node_push(work, i + 1)) ||
		    (drawn && place->has_child &&
		     !node_push(work, place->first)))
			return false;
		if (!drawn)
			continue;
		ret->boxes[ret->count++] = (struct flame_box){
			.node = place->node,
			.depth = place->depth,
			.left = (double)place->left / whole,
			.width = i ? (double)flame_cost(work->tree,
							place->node) /
					     whole
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
	vec_done(&work.places);
	vec_done(&work.pending);
	free(work.candidates);
	if (error)
		flame_layout_done(ret);
	return error;
}

void flame_layout_done(struct flame_layout *layout)
{
	free(layout->boxes);
	memset(layout, 0, sizeof(*layout));
}
