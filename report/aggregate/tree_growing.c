/* SPDX-License-Identifier: MIT */
#include "report/aggregate/tree_growing.h"

#include <stdlib.h>
#include <string.h>

#include "report/core/vec.h"

bool growing_begin(struct growing *growing, size_t numbers)
{
	free(growing->numbers);
	growing->numbers = calloc(numbers + 1, sizeof(*growing->numbers));
	return growing->numbers != NULL;
}

uint32_t growing_add(struct growing *growing, uint32_t parent,
		     const struct figure_frame *frame,
		     const struct growing_sum *sum)
{
	struct figure_node *node = vec_push(&growing->nodes);

	if (!node)
		return 0;
	*node = (struct figure_node){
		.frame = frame,
		.total_bytes = sum->bytes,
		.total_count = sum->count,
		.first_child = FIGURE_NO_NODE,
		.next_sibling = parent - 1,
	};
	return (uint32_t)growing->nodes.count;
}

static int compare_text(const char *a, const char *b)
{
	return a == b ? 0 : strcmp(a ? a : "", b ? b : "");
}

/* Siblings by falling cost; ties by name, then by number, which the order in
   which frames were first met gives. */
static int compare_nodes(const void *a, const void *b, void *context)
{
	const struct growing *growing = context;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct figure_node *x = &growing->nodes.items[i];
	const struct figure_node *y = &growing->nodes.items[j];
	uint64_t cost_x = growing->by_count ? x->total_count : x->total_bytes;
	uint64_t cost_y = growing->by_count ? y->total_count : y->total_bytes;
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

/* Links siblings and finds nodes that have several children. */
static bool link_siblings(struct growing *growing)
{
	struct figure_node *nodes = growing->nodes.items;

	growing->branching.count = 0;
	for (uint32_t i = (uint32_t)growing->nodes.count; i-- > 1;) {
		uint32_t number = nodes[i].next_sibling;
		struct figure_node *parent = &nodes[number];
		uint32_t next = parent->first_child;

		if (next != FIGURE_NO_NODE &&
		    nodes[next].next_sibling == FIGURE_NO_NODE &&
		    !growing_push(&growing->branching, number))
			return false;
		nodes[i].next_sibling = next;
		parent->first_child = i;
	}
	nodes[0].next_sibling = FIGURE_NO_NODE;
	return true;
}

/* Sorts the children of nodes[@number]. */
static bool sort_children(struct growing *growing, uint32_t number)
{
	struct figure_node *nodes = growing->nodes.items;
	struct growing_numbers *siblings = &growing->siblings;
	uint32_t child = nodes[number].first_child;

	siblings->count = 0;
	for (; child != FIGURE_NO_NODE; child = nodes[child].next_sibling)
		if (!growing_push(siblings, child))
			return false;
	qsort_r(siblings->items, siblings->count, sizeof(uint32_t),
		compare_nodes, growing);
	for (size_t i = siblings->count; i-- > 0;) {
		nodes[siblings->items[i]].next_sibling = child;
		child = siblings->items[i];
	}
	nodes[number].first_child = child;
	return true;
}

struct figure_node *growing_finish(struct growing *growing,
				   struct figure_tree *ret)
{
	struct figure_node *nodes;
	size_t count = growing->nodes.count;

	if (!link_siblings(growing))
		return NULL;
	for (size_t i = 0; i < growing->branching.count; i++)
		if (!sort_children(growing, growing->branching.items[i]))
			return NULL;
	nodes = realloc(growing->nodes.items, count * sizeof(*nodes));
	if (!nodes)
		return NULL;
	growing->nodes.items = NULL;
	vec_done(&growing->nodes);
	ret->nodes = nodes;
	ret->node_count = (uint32_t)count;
	ret->by_count = growing->by_count;
	ret->least = growing->least;
	return nodes;
}

void growing_done(struct growing *growing)
{
	vec_done(&growing->nodes);
	vec_done(&growing->branching);
	vec_done(&growing->siblings);
	free(growing->numbers);
	growing->numbers = NULL;
}
