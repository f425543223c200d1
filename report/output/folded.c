/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks: "outermost;…;innermost COST", one line for each way to a
 * function that has cost of its own, as flamegraph.pl, inferno and speedscope
 * read them.
 *
 * flamegraph.pl knows no escape, so ";" in a name becomes ":"; and it takes a
 * second number at the end of a line for a comparison, so a blank before
 * digits that end a name becomes "_".
 *
 * The tree may hold several nodes of one name below one parent (other line,
 * other module).  Such nodes are walked together, as one set, and the sets of
 * a level in the order of their names: lines come out merged and sorted, name
 * by name, and no more than one way through the tree is held in memory.
 */
#include "report/output/artifact.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/sink.h"
#include "report/core/vec.h"

/**
 * struct level - the callees of one set of nodes
 * @begin, @end: their part of @nodes, sorted by name
 * @next:        first one not yet walked
 * @stack_len:   length of their callers' text in @stack
 */
struct level {
	size_t begin;
	size_t next;
	size_t end;
	size_t stack_len;
};

struct folding {
	const struct figure_tree *tree;
	struct sink *out;
	struct {
		char *items;
		size_t count, capacity;
	} stack;
	struct {
		uint32_t *items;
		size_t count, capacity;
	} nodes;
	struct {
		struct level *items;
		size_t count, capacity;
	} levels;
};

static const char *node_name(const struct figure_tree *tree, uint32_t node)
{
	const struct figure_frame *frame = tree->nodes[node].frame;

	return frame && *frame->function ? frame->function : "?";
}

static unsigned char written_byte(char byte)
{
	return (unsigned char)(byte == ';' ? ':' : byte);
}

/* By the bytes as they are written. */
static int compare_names(const char *a, const char *b)
{
	if (a == b)
		return 0;
	while (*a && written_byte(*a) == written_byte(*b)) {
		a++;
		b++;
	}
	return (int)written_byte(*a) - (int)written_byte(*b);
}

static int compare_nodes(const void *a, const void *b, void *context)
{
	const struct figure_tree *tree = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = compare_names(node_name(tree, x), node_name(tree, y));

	return order ? order : (x > y) - (x < y);
}

static bool push_name(struct folding *folding, const char *name)
{
	size_t start = folding->stack.count, len = strlen(name);
	char *at, *end;

	if (!vec_reserve(&folding->stack, start + len + 1))
		return false;
	if (start)
		folding->stack.items[folding->stack.count++] = ';';
	at = folding->stack.items + folding->stack.count;
	end = at + len;
	memcpy(at, name, len);
	while ((at = memchr(at, ';', (size_t)(end - at))) != NULL)
		*at = (char)written_byte(*at);
	folding->stack.count += len;
	return true;
}

static bool add_children(struct folding *folding, uint32_t parent)
{
	const struct figure_node *nodes = folding->tree->nodes;
	uint32_t child = nodes[parent].first_child;

	for (; child != FIGURE_NO_NODE; child = nodes[child].next_sibling) {
		uint32_t *slot = vec_push(&folding->nodes);

		if (!slot)
			return false;
		*slot = child;
	}
	return true;
}

/* The children of nodes @begin to @end - 1 of @nodes become the next level. */
static bool push_level(struct folding *folding, size_t begin, size_t end)
{
	size_t start = folding->nodes.count;
	struct figure_tree tree = *folding->tree;
	struct level *level;

	for (size_t i = begin; i < end; i++)
		if (!add_children(folding, folding->nodes.items[i]))
			return false;
	if (folding->nodes.count == start)
		return true;
	qsort_r(folding->nodes.items + start, folding->nodes.count - start,
		sizeof(uint32_t), compare_nodes, &tree);
	level = vec_push(&folding->levels);
	if (level)
		*level = (struct level){
			.begin = start,
			.next = start,
			.end = folding->nodes.count,
			.stack_len = folding->stack.count,
		};
	return level != NULL;
}

/* How many digits at the end of @stack a blank stands before, 0 if none does.
 */
static size_t final_number(const char *stack, size_t len)
{
	size_t i = len;

	while (i && stack[i - 1] >= '0' && stack[i - 1] <= '9')
		i--;
	return i && i < len && stack[i - 1] == ' ' ? len - i : 0;
}

static void write_line(struct folding *folding, uint64_t cost)
{
	const char *stack = folding->stack.items;
	size_t len = folding->stack.count;
	size_t digits = final_number(stack, len);

	if (digits) {
		sink_write(folding->out, stack, len - digits - 1);
		sink_puts(folding->out, "_");
		sink_write(folding->out, stack + len - digits, digits);
	} else if (len) {
		sink_write(folding->out, stack, len);
	} else {
		sink_puts(folding->out, "[no stack]");
	}
	sink_printf(folding->out, " %" PRIu64 "\n", cost);
}

static uint64_t node_cost(const struct figure_tree *tree, uint32_t node)
{
	return tree->by_count ? tree->nodes[node].total_count
			      : tree->nodes[node].total_bytes;
}

/* What @node costs without its callees. */
static uint64_t own_cost(const struct figure_tree *tree, uint32_t node)
{
	uint64_t cost = node_cost(tree, node);
	uint32_t child = tree->nodes[node].first_child;

	for (; child != FIGURE_NO_NODE; child = tree->nodes[child].next_sibling)
		cost -= node_cost(tree, child);
	return cost;
}

/* Walks the next set of nodes of one name in the innermost level. */
static bool walk_set(struct folding *folding)
{
	const struct figure_tree *tree = folding->tree;
	struct level *level = &folding->levels.items[folding->levels.count - 1];
	const uint32_t *nodes = folding->nodes.items;
	size_t begin = level->next, end = begin;
	const char *name = node_name(tree, nodes[begin]);
	uint64_t cost = 0;

	for (; end < level->end &&
	       compare_names(name, node_name(tree, nodes[end])) == 0;
	     end++)
		cost += own_cost(tree, nodes[end]);
	level->next = end;
	folding->stack.count = level->stack_len;
	if (!push_name(folding, name))
		return false;
	if (cost)
		write_line(folding, cost);
	return push_level(folding, begin, end);
}

static int write_lines(struct folding *folding)
{
	const struct figure_tree *tree = folding->tree;
	uint64_t cost;
	uint32_t *slot;

	if (!tree->node_count)
		return 0;
	cost = own_cost(tree, 0);
	if (cost)
		write_line(folding, cost);
	slot = vec_push(&folding->nodes);
	if (!slot || !push_level(folding, 0, 1))
		return -ENOMEM;
	while (folding->levels.count) {
		struct level *level =
			&folding->levels.items[folding->levels.count - 1];

		if (level->next == level->end) {
			folding->nodes.count = level->begin;
			folding->levels.count--;
		} else if (!walk_set(folding)) {
			return -ENOMEM;
		}
	}
	return 0;
}

static int render(const struct figure *figure, struct sink *out,
		  struct diag *diag)
{
	struct folding folding = { .tree = &figure->tree, .out = out };
	int error;

	if (figure->kind != FIGURE_TREE)
		return diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
				"folded stacks need a tree");
	error = write_lines(&folding);
	if (error)
		diag_set(diag, error, NULL, DIAG_NO_OFFSET, "out of memory");
	vec_done(&folding.stack);
	vec_done(&folding.nodes);
	vec_done(&folding.levels);
	return error;
}

const struct artifact_format artifact_folded = {
	.name = "folded",
	.suffix = "folded",
	.subject = SUBJECT_FUNCTIONS,
	.kind = FIGURE_TREE,
	.summary = "call stacks, one per line, for flamegraph.pl and others",
	.render = render,
};
