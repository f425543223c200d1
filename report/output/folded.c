/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks: "outermost;…;innermost COST", one line for each way to a
 * function that has cost of its own, as flamegraph.pl, inferno and speedscope
 * read them.
 *
 * flamegraph.pl knows no escape, so ";" in a name becomes ":"; and it takes a
 * second number at the end of a line for a comparison, so a blank before
 * digits that end a name becomes "_".
 */
#include "report/output/artifact.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/sink.h"
#include "report/core/vec.h"
#include "report/figure/tree_walk.h"

struct folded_line {
	size_t offset; /* of the stack in the text */
	uint64_t cost;
};

/**
 * struct folding - what is gathered
 * @text:    stacks, each NUL-terminated
 * @ends:    for each depth of the walk, the length of its stack in @stack
 */
struct folding {
	struct sink text;
	struct {
		char *items;
		size_t count, capacity;
	} stack;
	struct {
		size_t *items;
		size_t count, capacity;
	} ends;
	struct {
		struct folded_line *items;
		size_t count, capacity;
	} lines;
};

static bool push_name(struct folding *folding, const char *name)
{
	size_t len = strlen(name);
	size_t start = folding->stack.count;

	if (!vec_reserve(&folding->stack, start + len + 2))
		return false;
	if (start)
		folding->stack.items[folding->stack.count++] = ';';
	for (size_t i = 0; i < len; i++)
		folding->stack.items[folding->stack.count++] =
			name[i] == ';' ? ':' : name[i];
	return true;
}

/* Cuts the stack back to @depth - 1 frames and adds the one of @depth. */
static bool enter_node(struct folding *folding, const struct figure_node *node,
		       size_t depth)
{
	size_t *end;

	while (folding->ends.count > depth)
		folding->ends.count--;
	folding->stack.count =
		depth ? folding->ends.items[folding->ends.count - 1] : 0;
	if (node->frame &&
	    !push_name(folding,
		       *node->frame->function ? node->frame->function : "?"))
		return false;
	end = vec_push(&folding->ends);
	if (end)
		*end = folding->stack.count;
	return end != NULL;
}

/* "f 12" -> "f_12". */
static void protect_number(char *stack, size_t len)
{
	size_t i = len;

	while (i && stack[i - 1] >= '0' && stack[i - 1] <= '9')
		i--;
	if (i && i < len && stack[i - 1] == ' ')
		stack[i - 1] = '_';
}

static bool add_line(struct folding *folding, uint64_t cost)
{
	struct folded_line *line = vec_push(&folding->lines);
	size_t offset = folding->text.len;

	if (!line)
		return false;
	if (folding->stack.count)
		sink_write(&folding->text, folding->stack.items,
			   folding->stack.count);
	else
		sink_puts(&folding->text, "[no stack]");
	sink_write(&folding->text, "", 1);
	if (folding->text.error)
		return false;
	protect_number(folding->text.data + offset,
		       folding->text.len - offset - 1);
	*line = (struct folded_line){ .offset = offset, .cost = cost };
	return true;
}

static int gather_lines(struct folding *folding, const struct figure_tree *tree)
{
	struct tree_walk walk = { .tree = tree };
	bool fits = true;
	int error;

	while (fits && tree_walk_next(&walk)) {
		const struct figure_node *node = &tree->nodes[walk.node];
		uint64_t cost =
			tree->by_count ? node->self_count : node->self_bytes;

		fits = enter_node(folding, node, walk.depth);
		if (fits && cost)
			fits = add_line(folding, cost);
	}
	error = tree_walk_done(&walk);
	return fits ? error : -ENOMEM;
}

static int line_compare(const void *a, const void *b, void *context)
{
	const struct folded_line *x = a, *y = b;
	const char *text = context;

	return strcmp(text + x->offset, text + y->offset);
}

static void write_lines(struct folding *folding, struct sink *out)
{
	const char *text = folding->text.data;
	size_t count = folding->lines.count;
	struct folded_line *lines = folding->lines.items;

	if (!count)
		return;
	qsort_r(lines, count, sizeof(*lines), line_compare, folding->text.data);
	for (size_t i = 0; i < count; i++) {
		const char *stack = text + lines[i].offset;
		uint64_t cost = lines[i].cost;

		while (i + 1 < count &&
		       strcmp(stack, text + lines[i + 1].offset) == 0)
			cost += lines[++i].cost;
		sink_puts(out, stack);
		sink_printf(out, " %" PRIu64 "\n", cost);
	}
}

static int render(const struct figure *figure, struct sink *out,
		  struct diag *diag)
{
	struct folding folding = { 0 };
	int error = 0;

	if (figure->kind != FIGURE_TREE)
		return diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
				"folded stacks need a tree");
	sink_init_memory(&folding.text);
	error = gather_lines(&folding, &figure->tree);
	if (error)
		diag_set(diag, error, NULL, DIAG_NO_OFFSET, "out of memory");
	else
		write_lines(&folding, out);
	sink_done(&folding.text);
	vec_done(&folding.stack);
	vec_done(&folding.ends);
	vec_done(&folding.lines);
	return error;
}

const struct artifact_format artifact_folded = {
	.name = "folded",
	.suffix = "folded",
	.kind = FIGURE_TREE,
	.summary = "call stacks, one per line, for flamegraph.pl and others",
	.render = render,
};
