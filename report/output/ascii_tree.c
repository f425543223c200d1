/* SPDX-License-Identifier: MIT */
/*
 * A tree as text.  Only where a function has several callees does the drawing
 * step to the right; a chain of single callees runs straight down:
 *
 *	     SIZE   SHARE  COUNT  FUNCTION
 *	 12.0 KiB   100 %    100  all
 *	 12.0 KiB   100 %    100  main [main.c:12]
 *	 8.00 KiB  66.7 %     60  ├ read_all [read.c:7]
 *	 8.00 KiB  66.7 %     60  │ read_one [read.c:31]
 *	 4.00 KiB  33.3 %     40  └ write_all [write.c:9]
 *
 * The first number is what rows are sorted by and what shares are of; in a tree
 * of counts it is the count, and the size stands behind.
 */
#include "report/output/artifact.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/sink.h"
#include "report/core/text.h"
#include "report/core/units.h"
#include "report/core/vec.h"
#include "report/figure/tree_walk.h"

enum {
	SIZE_COLUMNS = 9,
	SHARE_COLUMNS = 7,
	COUNT_COLUMNS_MIN = 5,
	/* Deeper branchings are told by number: lines stay bounded. */
	BARS_MAX = 64,
};

/**
 * struct tree_drawing
 * @bars:  for each branching between the root and the node, whether more
 *         siblings follow: a bar or a blank
 * @marks: for each depth of the walk, how many @bars there are
 * @least: functions of a lower cost are not drawn but summed; 0 draws all
 */
struct tree_drawing {
	const struct figure_tree *tree;
	struct sink *out;
	int count_columns;
	uint64_t least;
	struct {
		bool *items;
		size_t count, capacity;
	} bars;
	struct {
		size_t *items;
		size_t count, capacity;
	} marks;
};

static uint64_t node_cost(const struct figure_tree *tree, uint32_t node)
{
	return tree->by_count ? tree->nodes[node].total_count
			      : tree->nodes[node].total_bytes;
}

static void write_label(struct sink *out, const struct figure_frame *frame)
{
	if (!frame) {
		sink_puts(out, "all");
		return;
	}
	sink_puts(out, frame->function);
	if (frame->file && frame->line)
		sink_printf(out, " [%s:%u]", text_basename(frame->file),
			    (unsigned)frame->line);
	else if (frame->file)
		sink_printf(out, " [%s]", text_basename(frame->file));
	if (frame->is_inlined)
		sink_puts(out, " (inlined)");
}

static void write_bars(const struct tree_drawing *draw, bool is_branch)
{
	size_t count = draw->bars.count;
	size_t shown = count < BARS_MAX ? count : BARS_MAX;

	for (size_t i = 0; i < shown; i++) {
		bool is_last = i + 1 == count;
		bool more = draw->bars.items[i];

		if (is_last && is_branch)
			sink_puts(draw->out, more ? "├ " : "└ ");
		else
			sink_puts(draw->out, more ? "│ " : "  ");
	}
	if (count > shown)
		sink_printf(draw->out, "+%zu ", count - shown);
}

static void write_columns(const struct tree_drawing *draw, const char *size,
			  const char *count, const char *share)
{
	if (draw->tree->by_count)
		sink_printf(draw->out, "%*s  %*s  %*s  ", draw->count_columns,
			    count, SHARE_COLUMNS, share, SIZE_COLUMNS, size);
	else
		sink_printf(draw->out, "%*s  %*s  %*s  ", SIZE_COLUMNS, size,
			    SHARE_COLUMNS, share, draw->count_columns, count);
}

static void write_numbers(const struct tree_drawing *draw,
			  const struct figure_node *node)
{
	uint64_t all = node_cost(draw->tree, 0);
	uint64_t cost = draw->tree->by_count ? node->total_count
					     : node->total_bytes;
	char bytes[UNITS_TEXT_SIZE], count[UNITS_TEXT_SIZE];
	char share[UNITS_TEXT_SIZE];

	units_format_bytes(bytes, sizeof(bytes), node->total_bytes);
	units_format_count(count, sizeof(count), node->total_count);
	units_format_ratio(share, sizeof(share),
			   all ? (double)cost / (double)all : 0);
	write_columns(draw, bytes, count, share);
}

static void write_row(const struct tree_drawing *draw, uint32_t index,
		      bool is_branch)
{
	const struct figure_node *node = &draw->tree->nodes[index];

	write_numbers(draw, node);
	write_bars(draw, is_branch);
	write_label(draw->out, node->frame);
	sink_puts(draw->out, "\n");
}

/* One row for @index and its later siblings, all of a lower cost. */
static void write_rest(struct tree_drawing *draw, uint32_t index,
		       bool is_branch)
{
	struct figure_node sum = { 0 };
	size_t count = 0;

	for (uint32_t i = index; i != FIGURE_NO_NODE;
	     i = draw->tree->nodes[i].next_sibling) {
		sum.total_bytes += draw->tree->nodes[i].total_bytes;
		sum.total_count += draw->tree->nodes[i].total_count;
		count++;
	}
	if (is_branch)
		draw->bars.items[draw->bars.count - 1] = false;
	write_numbers(draw, &sum);
	write_bars(draw, is_branch);
	sink_printf(draw->out, "(%zu function%s below 0.05 %%)\n", count,
		    count == 1 ? "" : "s");
}

static bool is_only_child(const struct figure_tree *tree, uint32_t parent)
{
	uint32_t child = tree->nodes[parent].first_child;

	return child != FIGURE_NO_NODE &&
	       tree->nodes[child].next_sibling == FIGURE_NO_NODE;
}

/* Sets the bars for a node.  Return: 1 where it is one of several children,
   0 where it is not, -ENOMEM. */
static int enter_node(struct tree_drawing *draw, const struct tree_walk *walk)
{
	size_t *mark;
	bool *bar;
	bool is_branch =
		walk->depth > 0 &&
		!is_only_child(draw->tree, walk->path[walk->depth - 1]);

	draw->marks.count = walk->depth;
	draw->bars.count = walk->depth ? draw->marks.items[walk->depth - 1] : 0;
	if (is_branch) {
		bar = vec_push(&draw->bars);
		if (!bar)
			return -ENOMEM;
		*bar = draw->tree->nodes[walk->node].next_sibling !=
		       FIGURE_NO_NODE;
	}
	mark = vec_push(&draw->marks);
	if (!mark)
		return -ENOMEM;
	*mark = draw->bars.count;
	return is_branch;
}

static int write_rows(struct tree_drawing *draw)
{
	struct tree_walk walk = { .tree = draw->tree };
	int branch = 0, error;

	while (branch >= 0 && tree_walk_next(&walk)) {
		branch = enter_node(draw, &walk);
		if (branch < 0)
			break;
		walk.skip_siblings = node_cost(draw->tree, walk.node) <
				     draw->least;
		if (walk.skip_siblings)
			write_rest(draw, walk.node, branch > 0);
		else
			write_row(draw, walk.node, branch > 0);
	}
	error = tree_walk_done(&walk);
	return branch < 0 ? branch : error;
}

/* "NAME: 12.0 KiB (12,288 bytes) in 100 allocations", or by count
   "NAME: 100 allocations of 12.0 KiB (12,288 bytes)". */
static void write_total(struct tree_drawing *draw, const struct figure *figure)
{
	const struct figure_tree *tree = &figure->tree;
	const struct figure_node none = { 0 };
	const struct figure_node *root = tree->node_count ? tree->nodes : &none;
	const char *plural = root->total_count == 1 ? "" : "s";
	char human[UNITS_TEXT_SIZE], exact[UNITS_TEXT_SIZE];
	char count[UNITS_TEXT_SIZE];
	int columns;

	units_format_bytes(human, sizeof(human), root->total_bytes);
	units_format_count(exact, sizeof(exact), root->total_bytes);
	units_format_count(count, sizeof(count), root->total_count);
	columns = (int)strlen(count);
	draw->count_columns =
		columns < COUNT_COLUMNS_MIN ? COUNT_COLUMNS_MIN : columns;
	if (*figure->title)
		sink_printf(draw->out, "%s: ", figure->title);
	if (tree->by_count)
		sink_printf(draw->out, "%s allocation%s of %s (%s bytes)\n",
			    count, plural, human, exact);
	else
		sink_printf(draw->out, "%s (%s bytes) in %s allocation%s\n",
			    human, exact, count, plural);
}

static void write_head(struct tree_drawing *draw, const struct figure *figure)
{
	const struct figure_tree *tree = &figure->tree;

	write_total(draw, figure);
	if (figure->caption)
		sink_printf(draw->out, "%s\n", figure->caption);
	sink_printf(draw->out, "Sorted by %s, SHARE of the same; %s.\n",
		    tree->cost_label
			    ? tree->cost_label
			    : (tree->by_count ? "allocations" : "bytes"),
		    tree->callees_first ? "callers below callees"
					: "callees below callers");
	if (draw->least)
		sink_puts(draw->out, "Functions below 0.05 % of the total are "
				     "summed; the folded stacks have all.\n");
	sink_puts(draw->out, "\n");
	write_columns(draw, "SIZE", "COUNT", "SHARE");
	sink_puts(draw->out, "FUNCTION\n");
}

static int render(const struct figure *figure, struct sink *out,
		  struct diag *diag)
{
	struct tree_drawing draw = { .tree = &figure->tree, .out = out };
	int error;

	if (figure->kind != FIGURE_TREE)
		return diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
				"a text tree needs a tree");
	draw.least = figure->tree.least;
	if (figure->tree.node_count > FIGURE_TREE_WHOLE_NODES)
		draw.least = node_cost(&figure->tree, 0) / FIGURE_TREE_PARTS;
	write_head(&draw, figure);
	if (!figure->tree.node_count ||
	    figure->tree.nodes[0].first_child == FIGURE_NO_NODE) {
		sink_puts(out, figure->caption ? "nothing to show\n"
					       : "nothing matched\n");
		return 0;
	}
	error = write_rows(&draw);
	vec_done(&draw.bars);
	vec_done(&draw.marks);
	if (error)
		return diag_set(diag, error, NULL, DIAG_NO_OFFSET,
				"out of memory");
	return 0;
}

const struct artifact_format artifact_tree = {
	.name = "tree",
	.suffix = "tree.txt",
	.subject = SUBJECT_LINES,
	.kind = FIGURE_TREE,
	.summary = "call tree as text",
	.render = render,
};
