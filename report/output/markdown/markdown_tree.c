/* SPDX-License-Identifier: MIT */
#include "report/output/markdown/markdown_tree.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "report/core/sink.h"
#include "report/figure/figure.h"
#include "report/output/markdown/markdown_text.h"
#include "report/output/value.h"

enum { TREE_LINES_MAX = 16, SERIES_BARS = 60 };

/* Nodes below this share of the whole are left out. */
static const double tree_share_min = 0.02;

/* A function that gets this much of its caller's shares its line. */
static const double chain_share = 0.98;

static uint64_t node_cost(const struct figure_tree *tree, uint32_t node)
{
	return tree->by_count ? tree->nodes[node].total_count
			      : tree->nodes[node].total_bytes;
}

static void cut_puts(struct sink *out, const char *text, size_t max_letters)
{
	size_t letters = 0;
	size_t len = 0;

	for (; text[len]; len++)
		if (((unsigned char)text[len] & 0xc0) != 0x80 &&
		    ++letters > max_letters)
			break;
	sink_write(out, text, len);
	sink_puts(out, text[len] ? "\xe2\x80\xa6" : "");
}

/**
 * struct tree_row - one line: a function, or a way down from one to another
 * @first, @last: nodes, the same for a function alone
 * @between:      how many there are between them
 */
struct tree_row {
	uint32_t first;
	uint32_t last;
	unsigned between;
};

/**
 * struct tree_way - how far the tree is written
 * @path: rows from the root to the one to write, which is no deeper than there
 *         are lines above it
 * @least: cost below which nodes are left out
 * @has_small, @has_more: what was left out: for its cost, for the number of lines
 */
struct tree_way {
	const struct figure_tree *tree;
	struct tree_row path[TREE_LINES_MAX + 1];
	unsigned depth;
	double least;
	bool has_small;
	bool has_more;
};

static const char *node_name(const struct figure_tree *tree, uint32_t number)
{
	const struct figure_node *node = &tree->nodes[number];

	return node->frame ? value_frame_name(node->frame) : "all";
}

/* "main", "_start > main", "_start > 2 frames > main". */
static void row_write(struct sink *out, const struct tree_way *way,
		      size_t max_letters)
{
	const struct figure_tree *tree = way->tree;
	const struct tree_row *row = &way->path[way->depth];
	struct cell cost = { .kind = tree->by_count ? CELL_COUNT : CELL_BYTES,
			     .count = node_cost(tree, row->first) };
	struct cell share = cell_ratio((double)cost.count /
				       (double)node_cost(tree, 0));
	char cost_text[VALUE_TEXT_SIZE];
	char share_text[VALUE_TEXT_SIZE];

	value_format(cost_text, sizeof(cost_text), &cost);
	value_format(share_text, sizeof(share_text), &share);
	sink_printf(out, "%10s %7s  %*s", cost_text, share_text,
		    2 * (int)way->depth, "");
	if (row->first != row->last) {
		cut_puts(out, node_name(tree, row->first), max_letters / 2);
		if (row->between)
			sink_printf(out, " > %u frame%s", row->between,
				    row->between == 1 ? "" : "s");
		sink_puts(out, " > ");
	}
	cut_puts(out, node_name(tree, row->last), max_letters);
	sink_puts(out, "\n");
}

/* Whether @node, which may be none, is one to write. */
static bool is_shown(struct tree_way *way, uint32_t node)
{
	if (node == FIGURE_NO_NODE)
		return false;
	if ((double)node_cost(way->tree, node) >= way->least)
		return true;
	way->has_small = true;
	return false;
}

/* Return: the row that begins with @node: down to where costs divide, as what
   just calls the next says little. */
static struct tree_row row_at(struct tree_way *way, uint32_t node)
{
	const struct figure_node *nodes = way->tree->nodes;
	struct tree_row row = { .first = node, .last = node };

	for (;;) {
		uint32_t next = nodes[row.last].first_child;

		if (node == 0 || next == FIGURE_NO_NODE ||
		    (double)node_cost(way->tree, next) <
			    (double)node_cost(way->tree, node) * chain_share)
			return row;
		row.between += row.last != row.first;
		row.last = next;
	}
}

/* Goes on to the next row in the order of the text.  Return: false after the
   last. */
static bool way_next(struct tree_way *way)
{
	const struct figure_node *nodes = way->tree->nodes;
	uint32_t next = nodes[way->path[way->depth].last].first_child;

	if (is_shown(way, next)) {
		way->path[++way->depth] = row_at(way, next);
		return true;
	}
	/* Siblings fall in cost: after a small one all are small. */
	for (; way->depth > 0; way->depth--) {
		next = nodes[way->path[way->depth].first].next_sibling;
		if (!is_shown(way, next))
			continue;
		way->path[way->depth] = row_at(way, next);
		return true;
	}
	return false;
}

/* "Left out: …", nothing if nothing is. */
static void hidden_write(struct sink *out, const struct tree_way *way)
{
	if (!way->has_small && !way->has_more)
		return;
	sink_puts(out, "\nLeft out: ");
	if (way->has_small)
		sink_printf(out, "functions below %g %% of the total%s",
			    tree_share_min * 100, way->has_more ? ", " : "");
	if (way->has_more)
		sink_printf(out, "all after %d lines", TREE_LINES_MAX);
	sink_puts(out, ".\n");
}

void markdown_tree(struct sink *out, const struct figure_tree *tree,
		   size_t max_letters)
{
	struct tree_way way = {
		.tree = tree,
		.least = (double)node_cost(tree, 0) * tree_share_min,
	};
	unsigned lines = 0;
	struct sink text;

	sink_init_memory(&text);
	do {
		if (lines++ == TREE_LINES_MAX) {
			way.has_more = true;
			break;
		}
		row_write(&text, &way, max_letters);
	} while (way_next(&way));
	if (text.error)
		out->error = text.error;
	else
		markdown_block(out, text.data);
	hidden_write(out, &way);
	sink_done(&text);
}

static double series_highest(const double *values, size_t begin, size_t end)
{
	double highest = 0;

	for (size_t i = begin; i < end; i++)
		highest = values[i] > highest ? values[i] : highest;
	return highest;
}

void markdown_series(struct sink *out, const struct figure_series *series)
{
	static const char *const bars[] = {
		"\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83", "\xe2\x96\x84",
		"\xe2\x96\x85", "\xe2\x96\x86", "\xe2\x96\x87", "\xe2\x96\x88",
	};
	size_t points = series->point_count;
	size_t count = points < SERIES_BARS ? points : SERIES_BARS;

	sink_puts(out, "```text\n");
	for (size_t c = 0; c < series->curve_count; c++) {
		const struct figure_curve *curve = &series->curves[c];
		double top = series_highest(curve->values, 0, points);
		struct cell highest = { .kind = curve->kind,
					.count = (uint64_t)top };
		char text[VALUE_TEXT_SIZE];

		if (curve->per_bin)
			continue;
		for (size_t i = 0; i < count; i++) {
			double value = series_highest(curve->values,
						      i * points / count,
						      (i + 1) * points / count);

			sink_puts(out, bars[top > 0 ? (size_t)(value / top * 7)
						    : 0]);
		}
		value_format(text, sizeof(text), &highest);
		sink_printf(out, "  %s, at most %s\n", curve->label, text);
	}
	sink_puts(out, "```\n");
}
