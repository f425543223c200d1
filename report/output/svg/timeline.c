/* SPDX-License-Identifier: MIT */
/*
 * Values over the run: one panel for curves in bytes, one below for counts.
 *
 * Curves lie in nested <svg>s that are stretched to the container's width
 * (preserveAspectRatio="none"); letters and lines are placed in percent and
 * pixels and keep their size.  Labels of the y axis stand inside the panel, so
 * no margin has to be known in percent.
 *
 * What the script (templates/timeline.js) relies on: paths of class mp-curve
 * in a box of 1000 by 1000 with H and V commands only; data-top, the value at
 * the box's upper edge; data-kind; data-label; data-end, seconds at the right
 * edge, on the root.
 */
#include "report/output/artifact.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/output/svg/svg.h"
#include "report/output/svg/svg_figures.h"
#include "report/output/svg/svg_head.h"
#include "report/output/svg/timeline_marks.h"
#include "report/output/svg/timeline_panel.h"

enum {
	BYTES_PX = 210,
	COUNT_PX = 90,
	LEGEND_PX = 22,
	TICK_ROOM_PX = 12, /* for the label of a line near a panel's edge */
	AXIS_PX = 24,
	GAP_PX = 14,
};

struct timeline_document {
	struct timeline_drawing draw;
	const struct figure *figure;
	struct timeline_options options;
	struct svg_head head;
};

static double largest_value(const struct figure_series *series,
			    enum cell_kind kind)
{
	double largest = 0;

	for (size_t c = 0; c < series->curve_count; c++) {
		const double *values = series->curves[c].values;

		if (!timeline_has_curve(&series->curves[c], kind))
			continue;
		for (size_t i = 0; i < series->point_count; i++)
			largest = fmax(largest, timeline_value(values[i]));
	}
	return largest;
}

static void draw_legend(struct timeline_drawing *draw, enum cell_kind kind,
			double y)
{
	struct svg *svg = &draw->svg;
	double x = SVG_MARGIN_PX;

	for (size_t i = 0; i < draw->series->curve_count; i++) {
		const struct figure_curve *curve = &draw->series->curves[i];
		char class[16];

		if (!timeline_has_curve(curve, kind))
			continue;
		snprintf(class, sizeof(class), "mp-c%u",
			 (unsigned)(i % TIMELINE_COLOURS));
		svg_open(svg, "rect");
		svg_attr(svg, "class", class);
		svg_attr_number(svg, "x", x, 1);
		svg_attr_number(svg, "y", y + 5, 1);
		svg_attr(svg, "width", "12");
		svg_attr(svg, "height", "12");
		svg_attr(svg, "rx", "2");
		svg_attr(svg, "fill", timeline_colours[i % TIMELINE_COLOURS]);
		svg_close(svg);
		svg_open(svg, "text");
		svg_attr_number(svg, "x", x + 17, 1);
		svg_attr_number(svg, "y", y + 15, 1);
		svg_text(svg, curve->label);
		svg_close(svg);
		svg_break(svg);
		x += 17 + svg_text_width(curve->label, SVG_FONT_PX) + 14;
	}
}

/* --- the document ------------------------------------------------------- */

struct timeline_plan {
	struct timeline_panel panels[2];
	double legends_px[2];
	double marks_px;
	double spans_px;
	unsigned panel_count;
	double axis_px;
	double height_px;
};

static void plan_panel(const struct figure_series *series,
		       struct timeline_plan *plan, enum cell_kind kind)
{
	struct timeline_panel *panel = &plan->panels[plan->panel_count];
	double largest = largest_value(series, kind);

	if (!timeline_first_curve(series, kind))
		return;
	plan->legends_px[plan->panel_count] = plan->height_px;
	plan->height_px += LEGEND_PX;
	if (plan->panel_count == 0) {
		plan->marks_px = plan->height_px;
		plan->height_px += timeline_marks_height(series);
		plan->spans_px = plan->height_px;
		plan->height_px += timeline_spans_height(series);
	}
	plan->height_px += TICK_ROOM_PX;
	*panel = (struct timeline_panel){
		.kind = kind,
		.top_px = plan->height_px,
		.height_px = kind == CELL_BYTES ? BYTES_PX : COUNT_PX,
		.top_value = largest > 0 ? largest * 1.06 : 1,
		.max_ticks = kind == CELL_BYTES ? 5 : 3,
	};
	plan->height_px += panel->height_px + GAP_PX;
	plan->panel_count++;
}

static void plan_document(const struct timeline_document *document,
			  struct timeline_plan *plan)
{
	const struct figure_series *series = document->draw.series;

	memset(plan, 0, sizeof(*plan));
	plan->height_px = svg_head_height(&document->head);
	if (series->point_count) {
		plan_panel(series, plan, CELL_BYTES);
		plan_panel(series, plan, CELL_COUNT);
		plan->axis_px = plan->height_px - GAP_PX;
		plan->height_px += AXIS_PX - GAP_PX;
	}
	plan->height_px += SVG_MARGIN_PX;
}

static void draw_plan(struct timeline_drawing *draw,
		      const struct timeline_plan *plan)
{
	if (!plan->panel_count)
		return;
	timeline_draw_x_labels(draw, plan->axis_px);
	for (unsigned i = 0; i < plan->panel_count; i++) {
		draw_legend(draw, plan->panels[i].kind, plan->legends_px[i]);
		timeline_draw_panel(draw, &plan->panels[i]);
	}
	timeline_spans_draw(draw, &plan->panels[0], plan->spans_px);
	timeline_marks_draw(draw, &plan->panels[0], plan->marks_px);
}

static void draw_document(struct timeline_document *document)
{
	const struct figure *figure = document->figure;
	const struct timeline_options *options = &document->options;
	struct timeline_drawing *draw = &document->draw;
	const char *title = options->title;
	const char *id = options->id_prefix;
	bool is_file = !options->inline_in_html;
	struct timeline_plan plan;
	struct svg *svg = &draw->svg;

	if (!title)
		title = is_file ? figure->title : "";
	if (title && *title)
		svg_head_add(&document->head, "mp-title", title);
	if (figure->caption && is_file)
		svg_head_add(&document->head, "mp-note", figure->caption);
	if (!draw->series->point_count || !draw->series->curve_count)
		svg_head_add(&document->head, "mp-empty",
			     figure->caption ? "nothing to show"
					     : "nothing matched");
	plan_document(document, &plan);
	svg_open_root(svg, id ? id : figure->id, "mp-timeline",
		      *figure->title ? figure->title : figure->id,
		      plan.height_px, SVG_FONT_PX);
	svg_attr_number(svg, "data-end", draw->end, 6);
	if (is_file)
		svg_draw_style(svg);
	svg_head_draw(&document->head, svg);
	draw_plan(draw, &plan);
	if (is_file && plan.panel_count)
		svg_draw_script(svg, timeline_script());
	svg_close(svg);
}

int timeline_render(const struct figure *figure,
		    const struct timeline_options *options, struct sink *out,
		    struct diag *diag)
{
	struct timeline_document document = { .figure = figure,
					      .draw.series = &figure->series };
	const struct figure_series *series = &figure->series;
	struct svg *svg = &document.draw.svg;
	int error;

	if (figure->kind != FIGURE_SERIES)
		return diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
				"a timeline needs a series");
	if (options)
		document.options = *options;
	if (series->point_count)
		document.draw.end = timeline_value(
			series->seconds[series->point_count - 1]);
	error = svg_init(svg, out, !document.options.inline_in_html);
	if (error)
		return diag_set(diag, error, NULL, DIAG_NO_OFFSET,
				"out of memory");
	draw_document(&document);
	svg_head_done(&document.head);
	return svg_done(svg, diag);
}

const char *timeline_script(void)
{
	return svg_builtin("timeline.js");
}

static int render(const struct figure *figure, struct sink *out,
		  struct diag *diag)
{
	return timeline_render(figure, NULL, out, diag);
}

const struct artifact_format artifact_timeline = {
	.name = "timeline",
	.suffix = "timeline.svg",
	.subject = SUBJECT_TIMELINE,
	.kind = FIGURE_SERIES,
	.summary = "live memory over the run: SVG chart",
	.render = render,
};

const struct artifact_format artifact_residency = {
	.name = "residency",
	.suffix = "residency.svg",
	.subject = SUBJECT_RESIDENCY,
	.kind = FIGURE_SERIES,
	.summary = "resident memory over the run, by kind: SVG chart",
	.render = render,
};
