/* SPDX-License-Identifier: MIT */
/*
 * Which boxes of a flamegraph are drawn and where.
 *
 * Layer: output.
 */
#ifndef REPORT_OUTPUT_SVG_FLAMEGRAPH_LAYOUT_H
#define REPORT_OUTPUT_SVG_FLAMEGRAPH_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "report/figure/figure.h"

/* @left, @width: shares of the root's width. */
struct flame_box {
	uint32_t node;
	uint32_t depth;
	double left;
	double width;
};

/* Why a frame is not drawn; it hides its callees too. */
enum flame_fate {
	FLAME_DRAWN,
	FLAME_NARROW, /* below the smallest width */
	FLAME_DEEP,   /* below the last row */
	FLAME_EXCESS, /* among the smallest of too many */
	FLAME_FATE_COUNT,
};

/**
 * struct flame_layout
 * @boxes: in preorder, siblings by falling width; owned
 * @rows:  deepest drawn depth + 1, 0 if nothing is drawn
 * @nodes: how many frames met each fate
 * @cost:  their cost, a frame below a hidden one not counted again
 */
struct flame_layout {
	struct flame_box *boxes;
	size_t count;
	uint32_t rows;
	uint32_t nodes[FLAME_FATE_COUNT];
	uint64_t cost[FLAME_FATE_COUNT];
};

/**
 * struct flame_limits
 * @min_ratio:  smallest width as a share
 * @row_ratio:  the last row is the deepest with a box this wide; 0: with any
 * @max_boxes:  most boxes
 * @max_rows:   most rows
 * @max_bytes:  most bytes of SVG, by estimate
 */
struct flame_limits {
	double min_ratio;
	double row_ratio;
	size_t max_boxes;
	uint32_t max_rows;
	size_t max_bytes;
};

/* Cost: O(nodes), and a sort of the drawable ones where they are too many.
   Return: 0 or -ENOMEM.  @ret is freed with flame_layout_done(). */
int flame_layout_compute(const struct figure_tree *tree,
			 const struct flame_limits *limits,
			 struct flame_layout *ret);
void flame_layout_done(struct flame_layout *layout);

/* What widths mean. */
static inline uint64_t flame_cost(const struct figure_tree *tree, uint32_t node)
{
	return tree->by_count ? tree->nodes[node].total_count
			      : tree->nodes[node].total_bytes;
}

#endif /* REPORT_OUTPUT_SVG_FLAMEGRAPH_LAYOUT_H */
