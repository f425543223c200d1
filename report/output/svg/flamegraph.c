/* SPDX-License-Identifier: MIT */
/*
 * A tree as an icicle: the root on top, callees below their callers, because
 * a page is read from its top however deep the stacks are.
 *
 * Each box is a nested <svg> with left edge and width in percent: the graph is
 * as wide as its container and letters keep their size with no script at all,
 * and what does not fit is clipped.  Texts are cut for the nominal width; the
 * script (templates/flamegraph.js) cuts them again for the real one.
 *
 * What the script relies on: boxes in preorder; `y` tells the row; data-v the
 * cost (data-cost on the root says of what, data-root what its box says); the
 * first line of <title> the function, the last the numbers; data-hidden, how
 * many frames are missing.
 */
#include "report/output/artifact.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/units.h"
#include "report/output/svg/flamegraph_key.h"
#include "report/output/svg/flamegraph_layout.h"
#include "report/output/svg/svg.h"
#include "report/output/svg/svg_figures.h"
#include "report/output/svg/svg_form.h"
#include "report/output/svg/svg_frame.h"
#include "report/output/svg/svg_head.h"

enum {
	ROW_PX = 18,
	BOX_PX = 17,
	GAP_PX = 6,
	TEXT_PAD_PX = 3,
	MAX_ROWS = 2000,
	MAX_BOXES = 20000,
	MAX_BYTES = 3600000,
	NOMINAL_WIDTH = 1200,
	LABEL_SIZE = 2048,
};

/* What is written of the colour of a box. */
struct flame_paint {
	char class[16];
	char colour[8];
};

/* Kinds of boxes. */
enum { BOX_INLINED = 1, BOX_LABELLED = 2, BOX_FORMS = 4 };

struct flame_drawing {
	struct svg svg;
	struct svg_form forms[BOX_FORMS];
	struct flame_paint paints[SVG_HUE_COUNT + 1][SVG_SHADE_COUNT];
	const struct figure *figure;
	const struct figure_tree *tree;
	struct flamegraph_options options;
	struct flame_layout layout;
	struct svg_head head;
	struct flame_key key;
};

/* --- boxes -------------------------------------------------------------- */

/* The values of a box in the order in which fill_box() gives them. */
static void draw_form(struct svg *svg, const void *context)
{
	unsigned kind = *(const unsigned *)context;

	svg_open(svg, "svg");
	svg_attr(svg, "x", SVG_FORM_MARK);
	svg_attr(svg, "y", SVG_FORM_MARK);
	svg_attr(svg, "width", SVG_FORM_MARK);
	svg_attr(svg, "class", SVG_FORM_MARK);
	svg_attr(svg, "data-v", SVG_FORM_MARK);
	svg_open(svg, "title");
	svg_text(svg, SVG_FORM_MARK);
	svg_close(svg);
	svg_open(svg, "rect");
	svg_attr(svg, "width", "100%");
	svg_attr_int(svg, "height", BOX_PX);
	svg_attr(svg, "fill", SVG_FORM_MARK);
	if (kind & BOX_INLINED) {
		svg_attr(svg, "stroke", "#777");
		svg_attr(svg, "stroke-dasharray", "3 2");
	}
	svg_close(svg);
	if (kind & BOX_LABELLED) {
		svg_open(svg, "text");
		svg_attr_int(svg, "x", TEXT_PAD_PX);
		svg_attr_int(svg, "y", BOX_PX - 4);
		svg_text(svg, SVG_FORM_MARK);
		svg_close(svg);
	}
	svg_close(svg);
}

/* Return: 0 or -ENOMEM. */
static int make_forms(struct flame_drawing *draw)
{
	int error = 0;

	for (unsigned kind = 0; !error && kind < BOX_FORMS; kind++)
		error = svg_form_make(&draw->forms[kind], draw_form, &kind);
	return error;
}

static void fill_percent(struct svg_fill *fill, double percent)
{
	char text[UNITS_TEXT_SIZE];

	svg_format_percent(text, sizeof(text), percent);
	svg_fill_plain(fill, text);
	svg_fill_next(fill);
}

static void fill_count(struct svg_fill *fill, uint64_t count)
{
	char text[UNITS_TEXT_SIZE];

	units_format_decimal(text, count);
	svg_fill_plain(fill, text);
	svg_fill_next(fill);
}

static void fill_title(struct svg_fill *fill, const struct figure_node *node,
		       double width)
{
	char text[UNITS_TEXT_SIZE];

	svg_frame_fill(fill, node->frame);
	svg_fill_text(fill, "\n");
	if (node->total_bytes >= 1024) {
		units_format_bytes(text, sizeof(text), node->total_bytes);
		svg_fill_text(fill, text);
		svg_fill_text(fill, " (");
	}
	units_format_count(text, sizeof(text), node->total_bytes);
	svg_fill_text(fill, text);
	svg_fill_text(fill, node->total_bytes < 1024 ? " bytes, "
						     : " bytes), ");
	units_format_count(text, sizeof(text), node->total_count);
	svg_fill_text(fill, text);
	svg_fill_text(fill, node->total_count == 1 ? " allocation, "
						   : " allocations, ");
	units_format_ratio(text, sizeof(text), width);
	svg_fill_text(fill, text);
	svg_fill_next(fill);
}

/* "all — 11.5 MiB", "all — 1,234 temporary allocations". */
static void root_label(const struct flame_drawing *draw, char *buf, size_t size)
{
	const char *cost = draw->tree->cost_label;
	char total[UNITS_TEXT_SIZE];
	const struct figure_node *root = &draw->tree->nodes[0];

	if (draw->tree->by_count)
		units_format_count(total, sizeof(total), root->total_count);
	else
		units_format_bytes(total, sizeof(total), root->total_bytes);
	snprintf(buf, size, "all — %s%s%.60s", total,
		 draw->tree->by_count ? " " : "",
		 !draw->tree->by_count ? "" : cost ? cost : "allocations");
}

/* Below this share a box has no border: it would hide the colour. */
#define BORDER_MIN_RATIO 0.003

static const struct flame_paint *box_paint(const struct flame_drawing *draw,
					   const struct figure_frame *frame)
{
	static const struct flame_paint root = { "r", "#dcdcdc" };
	unsigned hue;

	if (!frame)
		return &root;
	hue = flame_key_hue(&draw->key, frame->module);
	return &draw->paints[hue][svg_frame_shade(frame->function)];
}

/* Class and colour say the same: for the style and for where there is none. */
static void fill_box(struct svg_fill *fill, const struct flame_drawing *draw,
		     const struct flame_box *box)
{
	const struct figure_node *node = &draw->tree->nodes[box->node];
	const struct figure_frame *frame = node->frame;
	const struct flame_paint *paint = box_paint(draw, frame);

	fill_percent(fill, box->left * 100);
	fill_count(fill, (uint64_t)box->depth * ROW_PX);
	fill_percent(fill, box->width * 100);
	svg_fill_plain(fill, paint->class);
	if (frame && frame->is_inlined)
		svg_fill_plain(fill, " i");
	if (frame && box->width < BORDER_MIN_RATIO)
		svg_fill_plain(fill, " n");
	svg_fill_next(fill);
	fill_count(fill, flame_cost(draw->tree, box->node));
	fill_title(fill, node, box->width);
	svg_fill_plain(fill, paint->colour);
}

static void draw_box(struct flame_drawing *draw, const struct flame_box *box)
{
	const struct figure_frame *frame = draw->tree->nodes[box->node].frame;
	double room = box->width * draw->options.nominal_width -
		      2 * TEXT_PAD_PX;
	char root[64], label[LABEL_SIZE];
	unsigned kind = frame && frame->is_inlined ? BOX_INLINED : 0;
	struct svg_fill fill;

	if (!frame)
		root_label(draw, root, sizeof(root));
	if (svg_fit_text(label, sizeof(label), frame ? frame->function : root,
			 room, SVG_FONT_PX))
		kind |= BOX_LABELLED;
	svg_fill_begin(&fill, &draw->svg, &draw->forms[kind]);
	fill_box(&fill, draw, box);
	if (kind & BOX_LABELLED) {
		svg_fill_next(&fill);
		svg_fill_text(&fill, label);
	}
	svg_fill_end(&fill);
}

static bool tree_is_empty(const struct figure_tree *tree)
{
	return !tree->node_count ||
	       tree->nodes[0].first_child == FIGURE_NO_NODE;
}

/* --- head --------------------------------------------------------------- */

/* "Hidden: 1,234 frames under 0.05 %, 1.2 % of bytes.": fits a phone. */
static void add_omission(struct flame_drawing *draw, enum flame_fate fate,
			 const char *why)
{
	const struct flame_layout *layout = &draw->layout;
	uint64_t all = flame_cost(draw->tree, 0);
	char count[UNITS_TEXT_SIZE], share[UNITS_TEXT_SIZE];

	if (!layout->nodes[fate])
		return;
	units_format_count(count, sizeof(count), layout->nodes[fate]);
	units_format_ratio(share, sizeof(share),
			   all ? (double)layout->cost[fate] / (double)all : 0);
	svg_head_printf(&draw->head, "mp-note",
			"Hidden: %s frame%s %s, %s of %s.", count,
			layout->nodes[fate] == 1 ? "" : "s", why, share,
			draw->tree->by_count ? "count" : "bytes");
}

static void add_legend(struct flame_drawing *draw)
{
	const struct figure_tree *tree = draw->tree;
	const char *cost = tree->cost_label;
	char why[128], number[UNITS_TEXT_SIZE];

	if (!cost)
		cost = tree->by_count ? "allocations" : "bytes";
	svg_head_printf(&draw->head, "mp-legend", "Width: %s, %s.", cost,
			tree->callees_first ? "by way of here"
					    : "here and in all it calls");
	svg_head_printf(&draw->head, "mp-legend",
			"Below each function %s. Dashed: inlined.",
			tree->callees_first ? "its callers" : "what it calls");
	units_format_ratio(number, sizeof(number), draw->options.min_ratio);
	snprintf(why, sizeof(why), "under %s", number);
	add_omission(draw, FLAME_NARROW, why);
	units_format_count(number, sizeof(number), draw->layout.rows);
	snprintf(why, sizeof(why), "below row %s", number);
	add_omission(draw, FLAME_DEEP, why);
	units_format_count(number, sizeof(number), draw->layout.count);
	snprintf(why, sizeof(why), "smaller than the largest %s", number);
	add_omission(draw, FLAME_EXCESS, why);
}

static void add_head(struct flame_drawing *draw)
{
	const struct figure *figure = draw->figure;
	const char *title = draw->options.title;

	if (!title)
		title = draw->options.inline_in_html ? "" : figure->title;
	if (title && *title)
		svg_head_add(&draw->head, "mp-title", title);
	if (figure->caption && !draw->options.inline_in_html)
		svg_head_add(&draw->head, "mp-note", figure->caption);
	if (tree_is_empty(draw->tree))
		svg_head_add(&draw->head, "mp-empty",
			     figure->caption ? "nothing to show"
					     : "nothing matched");
	else
		add_legend(draw);
}

/* --- the document ------------------------------------------------------- */

static void mix_paints(struct flame_drawing *draw)
{
	for (unsigned hue = 0; hue <= SVG_HUE_COUNT; hue++)
		for (unsigned shade = 0; shade < SVG_SHADE_COUNT; shade++) {
			struct flame_paint *paint = &draw->paints[hue][shade];

			snprintf(paint->class, sizeof(paint->class), "h%u s%u",
				 hue, shade);
			svg_frame_colour(paint->colour, sizeof(paint->colour),
					 hue, shade);
		}
}

static void draw_boxes(struct flame_drawing *draw, double top)
{
	struct svg *svg = &draw->svg;

	mix_paints(draw);
	svg_open(svg, "svg");
	svg_attr(svg, "class", "mp-frames");
	svg_attr_number(svg, "y", top, 0);
	svg_attr_int(svg, "height", (long long)draw->layout.rows * ROW_PX);
	svg_break(svg);
	for (size_t i = 0; i < draw->layout.count; i++)
		draw_box(draw, &draw->layout.boxes[i]);
	svg_close(svg);
	svg_break(svg);
}

static void draw_document(struct flame_drawing *draw)
{
	struct svg *svg = &draw->svg;
	const struct figure *figure = draw->figure;
	const char *id = draw->options.id_prefix;
	bool is_file = !draw->options.inline_in_html;
	bool is_empty = tree_is_empty(draw->tree);
	double top, height;

	add_head(draw);
	top = svg_head_height(&draw->head) + draw->key.height_px + GAP_PX;
	height = top + SVG_MARGIN_PX;
	if (!is_empty)
		height += (double)draw->layout.rows * ROW_PX;
	svg_open_root(svg, id ? id : figure->id, "mp-flame",
		      *figure->title ? figure->title : figure->id, height,
		      SVG_FONT_PX);
	svg_attr(svg, "data-cost", draw->tree->by_count ? "count" : "bytes");
	if (!is_empty) {
		char label[LABEL_SIZE];

		root_label(draw, label, sizeof(label));
		svg_attr(svg, "data-root", label);
	}
	svg_attr_int(svg, "data-hidden",
		     (long long)draw->tree->node_count +
			     (long long)draw->tree->left_out.count -
			     (long long)draw->layout.count);
	if (is_file)
		svg_draw_style(svg);
	svg_head_draw(&draw->head, svg);
	flame_key_draw(&draw->key, svg, svg_head_height(&draw->head));
	if (!is_empty)
		draw_boxes(draw, top);
	if (is_file && !is_empty)
		svg_draw_script(svg, flamegraph_script());
	svg_close(svg);
}

int flamegraph_render(const struct figure *figure,
		      const struct flamegraph_options *options,
		      struct sink *out, struct diag *diag)
{
	struct flame_drawing draw = { .figure = figure, .tree = &figure->tree };
	struct flame_limits limits = { .max_rows = MAX_ROWS,
				       .max_bytes = MAX_BYTES };
	int error;

	if (figure->kind != FIGURE_TREE)
		return diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
				"a flamegraph needs a tree");
	if (options)
		draw.options = *options;
	if (draw.options.min_ratio <= 0)
		draw.options.min_ratio =
			draw.options.inline_in_html
				? 0.0005
				: 1.0 / FIGURE_TREE_DRAWN_PARTS;
	if (!draw.options.max_boxes)
		draw.options.max_boxes = MAX_BOXES;
	if (!draw.options.nominal_width)
		draw.options.nominal_width = NOMINAL_WIDTH;
	limits.min_ratio = draw.options.min_ratio;
	limits.row_ratio = draw.options.inline_in_html ? 0.0025 : 0;
	limits.max_boxes = draw.options.max_boxes;
	error = flame_layout_compute(draw.tree, &limits, &draw.layout);
	if (!error)
		error = flame_key_compute(draw.tree, &draw.key);
	if (!error)
		error = make_forms(&draw);
	if (!error)
		error = svg_init(&draw.svg, out, !draw.options.inline_in_html);
	if (!error) {
		draw_document(&draw);
		error = svg_done(&draw.svg, diag);
	} else {
		diag_set(diag, error, NULL, DIAG_NO_OFFSET, "out of memory");
	}
	for (unsigned kind = 0; kind < BOX_FORMS; kind++)
		svg_form_done(&draw.forms[kind]);
	flame_layout_done(&draw.layout);
	svg_head_done(&draw.head);
	return error;
}

const char *flamegraph_script(void)
{
	return svg_builtin("flamegraph.js");
}

static int render(const struct figure *figure, struct sink *out,
		  struct diag *diag)
{
	return flamegraph_render(figure, NULL, out, diag);
}

const struct artifact_format artifact_flamegraph = {
	.name = "flamegraph",
	.suffix = "flamegraph.svg",
	.subject = SUBJECT_FUNCTIONS,
	.kind = FIGURE_TREE,
	.summary = "call tree as a picture: SVG with zoom and search",
	.render = render,
};
