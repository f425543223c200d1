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
#include "report/core/units.h"
#include "report/output/svg/svg.h"
#include "report/output/svg/svg_figures.h"
#include "report/output/svg/svg_head.h"
#include "report/output/svg/ticks.h"

enum {
	BYTES_PX = 210,
	COUNT_PX = 90,
	MARK_ROW_PX = 18,
	LEGEND_PX = 22,
	TICK_ROOM_PX = 12, /* for the label of a line near a panel's edge */
	AXIS_PX = 24,
	GAP_PX = 14,
	BOX = 1000,
	MAX_MARKS = 3,
	MAX_SPAN_ROWS = 6,
	SPAN_NAME_PX = 150,
	X_TICKS = 7,
};

struct timeline_drawing {
	struct svg svg;
	const struct figure *figure;
	const struct figure_series *series;
	struct timeline_options options;
	struct svg_head head;
	double end; /* seconds at the right edge */
};

struct panel {
	enum cell_kind kind;
	double top_px;
	double height_px;
	double top_value; /* at the upper edge */
	unsigned max_ticks;
};

static const char *const colours[] = { "#2f6fb5", "#b3541e", "#3f7d46",
				       "#7a4fa3", "#8a6d00", "#0f7b83",
				       "#b0357a", "#5c6670" };
enum { COLOUR_COUNT = sizeof(colours) / sizeof(colours[0]) };

static double clean(double value)
{
	return isfinite(value) && value > 0 ? value : 0;
}

static double x_ratio(const struct timeline_drawing *draw, double seconds)
{
	if (!(draw->end > 0))
		return 0;
	return fmin(fmax(seconds / draw->end, 0), 1);
}

static double y_px(const struct panel *panel, double value)
{
	return panel->top_px +
	       panel->height_px * (1 - clean(value) / panel->top_value);
}

static bool is_drawn(const struct figure_curve *curve, enum cell_kind kind)
{
	return curve->kind == kind && !curve->per_bin;
}

static bool has_kind(const struct figure_series *series, enum cell_kind kind)
{
	for (size_t i = 0; i < series->curve_count; i++)
		if (is_drawn(&series->curves[i], kind))
			return true;
	return false;
}

static double largest_value(const struct figure_series *series,
			    enum cell_kind kind)
{
	double largest = 0;

	for (size_t c = 0; c < series->curve_count; c++) {
		if (!is_drawn(&series->curves[c], kind))
			continue;
		for (size_t i = 0; i < series->point_count; i++)
			largest = fmax(largest,
				       clean(series->curves[c].values[i]));
	}
	return largest;
}

/* --- parts -------------------------------------------------------------- */

static void draw_label(struct svg *svg, const char *class, double percent,
		       double shift_px, double y, const char *text)
{
	static const char *const anchors[] = { "start", "middle", "end" };
	int anchor = percent < 4 ? 0 : percent > 96 ? 2 : 1;

	if (shift_px > 0)
		anchor = percent > 50 ? 2 : 0;
	svg_open(svg, "text");
	svg_attr(svg, "class", class);
	svg_attr_percent(svg, "x", percent);
	svg_attr_number(svg, "y", y, 1);
	if (anchor)
		svg_attr(svg, "text-anchor", anchors[anchor]);
	if (anchor != 1)
		svg_attr_number(
			svg, "dx",
			(shift_px > 0 ? shift_px : 2) * (anchor ? -1 : 1), 1);
	svg_text(svg, text);
	svg_close(svg);
	svg_break(svg);
}

static void draw_line(struct svg *svg, const char *class, const double x[2],
		      const double y[2], const char *colour)
{
	svg_open(svg, "line");
	svg_attr(svg, "class", class);
	svg_attr_percent(svg, "x1", x[0]);
	svg_attr_percent(svg, "x2", x[1]);
	svg_attr_number(svg, "y1", y[0], 1);
	svg_attr_number(svg, "y2", y[1], 1);
	svg_attr(svg, "stroke", colour);
	svg_close(svg);
	svg_break(svg);
}

/* Lines lie below the curves, labels over them. */
static void draw_y_grid(struct svg *svg, const struct panel *panel)
{
	struct ticks ticks;

	ticks_compute(&ticks, panel->kind, panel->top_value, panel->max_ticks);
	for (unsigned i = 0; i < ticks.count; i++) {
		double y = floor(y_px(panel, ticks.step * i)) + 0.5;

		draw_line(svg, i ? "mp-grid" : "mp-axis", (double[]){ 0, 100 },
			  (double[]){ y, y }, i ? "#d8dee4" : "#57606a");
	}
}

static void draw_y_labels(struct svg *svg, const struct panel *panel)
{
	struct ticks ticks;

	ticks_compute(&ticks, panel->kind, panel->top_value, panel->max_ticks);
	for (unsigned i = 1; i < ticks.count; i++) {
		char text[UNITS_TEXT_SIZE];

		ticks_format(&ticks, i, text, sizeof(text));
		draw_label(svg, "mp-tick", 0, 0,
			   floor(y_px(panel, ticks.step * i)) - 4, text);
	}
}

static void draw_x_grid(struct timeline_drawing *draw,
			const struct panel *panel)
{
	struct ticks ticks;

	ticks_compute(&ticks, CELL_SECONDS, draw->end, X_TICKS);
	for (unsigned i = 1; i < ticks.count; i++) {
		double percent = 100 * x_ratio(draw, ticks.step * i);

		if (percent < 99.5)
			draw_line(
				&draw->svg, "mp-grid",
				(double[]){ percent, percent },
				(double[]){ panel->top_px,
					    panel->top_px + panel->height_px },
				"#d8dee4");
	}
}

static void draw_x_labels(struct timeline_drawing *draw, double y)
{
	struct ticks ticks;

	ticks_compute(&ticks, CELL_SECONDS, draw->end, X_TICKS);
	for (unsigned i = 0; i < ticks.count; i++) {
		char text[UNITS_TEXT_SIZE];

		ticks_format(&ticks, i, text, sizeof(text));
		draw_label(&draw->svg, "mp-tick",
			   100 * x_ratio(draw, ticks.step * i), 0, y + 16,
			   text);
	}
}

static void format_point(char *buf, size_t size, char command, double value)
{
	char number[48];

	svg_format_number(number, sizeof(number), value, 1);
	snprintf(buf, size, "%c%s", command, number);
}

/* Return: where the box's first value that is known begins. */
static double start_x(const struct timeline_drawing *draw,
		      const struct figure_curve *curve)
{
	if (!curve->start)
		return 0;
	return BOX * x_ratio(draw, draw->series->seconds[curve->start - 1]);
}

/* A value holds over its whole bin, so curves are steps. */
static void draw_path(struct timeline_drawing *draw, const struct panel *panel,
		      const struct figure_curve *curve)
{
	const struct figure_series *series = draw->series;
	char level[56] = "", edge[56] = "";

	format_point(edge, sizeof(edge), 'M', start_x(draw, curve));
	svg_value(&draw->svg, edge);
	svg_value(&draw->svg, " ");
	for (size_t i = curve->start; i < series->point_count; i++) {
		double x = BOX * x_ratio(draw, series->seconds[i]);
		double y =
			BOX * (1 - clean(curve->values[i]) / panel->top_value);
		char next[56];

		format_point(next, sizeof(next), 'V', y);
		if (i == curve->start) {
			svg_value(&draw->svg, next + 1);
		} else if (strcmp(next, level) != 0) {
			svg_value(&draw->svg, edge);
			svg_value(&draw->svg, next);
		}
		memcpy(level, next, sizeof(level));
		format_point(edge, sizeof(edge), 'H', x);
	}
	svg_value(&draw->svg, edge);
}

static void draw_curve(struct timeline_drawing *draw, const struct panel *panel,
		       size_t index, bool is_area)
{
	const struct figure_curve *curve = &draw->series->curves[index];
	const char *colour = colours[index % COLOUR_COUNT];
	struct svg *svg = &draw->svg;
	char class[32], edge[56];

	snprintf(class, sizeof(class), "mp-c%u",
		 (unsigned)(index % COLOUR_COUNT));
	if (is_area) {
		svg_open(svg, "path");
		svg_attr(svg, "class", class);
		svg_attr(svg, "fill", colour);
		svg_attr(svg, "fill-opacity", "0.25");
		svg_value_open(svg, "d");
		draw_path(draw, panel, curve);
		format_point(edge, sizeof(edge), 'H', start_x(draw, curve));
		svg_value(svg, "V1000");
		svg_value(svg, edge);
		svg_value(svg, "Z");
		svg_value_close(svg);
		svg_close(svg);
		svg_break(svg);
	}
	snprintf(class, sizeof(class), "mp-c%u mp-curve",
		 (unsigned)(index % COLOUR_COUNT));
	svg_open(svg, "path");
	svg_attr(svg, "class", class);
	svg_attr(svg, "fill", "none");
	svg_attr(svg, "stroke", colour);
	svg_attr(svg, "stroke-width", "1.5");
	svg_attr(svg, "vector-effect", "non-scaling-stroke");
	svg_attr(svg, "data-label", curve->label);
	svg_attr(svg, "data-kind",
		 curve->kind == CELL_BYTES ? "bytes" : "count");
	svg_attr_number(svg, "data-top", panel->top_value, 3);
	svg_value_open(svg, "d");
	draw_path(draw, panel, curve);
	svg_value_close(svg);
	svg_close(svg);
	svg_break(svg);
}

/* The first curve of a panel is an area, others lie over it. */
static void draw_panel(struct timeline_drawing *draw, const struct panel *panel)
{
	struct svg *svg = &draw->svg;
	bool is_first = true;

	draw_x_grid(draw, panel);
	draw_y_grid(svg, panel);
	svg_open(svg, "svg");
	svg_attr(svg, "class", "mp-plot");
	svg_attr_number(svg, "y", panel->top_px, 1);
	svg_attr(svg, "width", "100%");
	svg_attr_number(svg, "height", panel->height_px, 1);
	svg_attr(svg, "viewBox", "0 0 1000 1000");
	svg_attr(svg, "preserveAspectRatio", "none");
	svg_break(svg);
	for (size_t i = 0; i < draw->series->curve_count; i++) {
		if (!is_drawn(&draw->series->curves[i], panel->kind))
			continue;
		draw_curve(draw, panel, i, is_first);
		is_first = false;
	}
	svg_close(svg);
	svg_break(svg);
	draw_y_labels(svg, panel);
}

/* --- marks and legend --------------------------------------------------- */

/* Return: the value of @curve in the bin that @seconds lies in. */
static double value_at(const struct figure_series *series,
		       const struct figure_curve *curve, double seconds)
{
	size_t i = 0;

	while (i + 1 < series->point_count && series->seconds[i] < seconds)
		i++;
	return clean(curve->values[i]);
}

static const struct figure_curve *
first_curve(const struct figure_series *series, enum cell_kind kind)
{
	for (size_t i = 0; i < series->curve_count; i++)
		if (is_drawn(&series->curves[i], kind))
			return &series->curves[i];
	return NULL;
}

static size_t mark_count(const struct figure_series *series)
{
	return series->mark_count < MAX_MARKS ? series->mark_count : MAX_MARKS;
}

/* Labels stand above the panel, one row each, so that they never meet. */
static void draw_marks(struct timeline_drawing *draw, const struct panel *panel,
		       double labels_px)
{
	struct svg *svg = &draw->svg;
	const struct figure_curve *curve =
		first_curve(draw->series, panel->kind);

	for (size_t i = 0; i < mark_count(draw->series); i++) {
		const struct figure_mark *mark = &draw->series->marks[i];
		double percent = 100 * x_ratio(draw, mark->seconds);
		double value = value_at(draw->series, curve, mark->seconds);
		double y = labels_px + (double)i * MARK_ROW_PX;
		char amount[UNITS_TEXT_SIZE], when[UNITS_TEXT_SIZE], text[256];

		units_format_seconds(when, sizeof(when), mark->seconds);
		units_format_bytes(amount, sizeof(amount), (uint64_t)value);
		if (panel->kind == CELL_COUNT)
			units_format_count(amount, sizeof(amount),
					   (uint64_t)value);
		snprintf(text, sizeof(text), "%.120s %s at %s", mark->label,
			 amount, when);
		draw_line(svg, "mp-mark", (double[]){ percent, percent },
			  (double[]){ y + 4, panel->top_px + panel->height_px },
			  "#b3261e");
		svg_open(svg, "circle");
		svg_attr(svg, "class", "mp-dot");
		svg_attr_percent(svg, "cx", percent);
		svg_attr_number(svg, "cy", y_px(panel, value), 1);
		svg_attr(svg, "r", "3.5");
		svg_attr(svg, "fill", "#b3261e");
		svg_close(svg);
		draw_label(svg, "mp-mark", percent, 6, y + 13, text);
	}
}

/* --- what the program said it was at ------------------------------------- */

/* The first names, one row each.  Return: how many. */
static size_t span_rows(const struct figure_series *series,
			const char *ret_names[MAX_SPAN_ROWS])
{
	size_t count = 0;

	for (size_t i = 0; i < series->span_count; i++) {
		const char *name = series->spans[i].label;
		size_t row = 0;

		while (row < count && strcmp(ret_names[row], name) != 0)
			row++;
		if (row == MAX_SPAN_ROWS)
			break;
		ret_names[row] = name;
		if (row == count)
			count++;
	}
	return count;
}

static void draw_box(struct svg *svg, const double percent[2], double y,
		     double height_px, const char *opacity)
{
	svg_open(svg, "rect");
	svg_attr(svg, "class", "mp-span");
	svg_attr_percent(svg, "x", percent[0]);
	svg_attr_percent(svg, "width", percent[1] - percent[0]);
	svg_attr_number(svg, "y", y, 1);
	svg_attr_number(svg, "height", height_px, 1);
	svg_attr(svg, "fill", "#7a4fa3");
	svg_attr(svg, "fill-opacity", opacity);
	svg_close(svg);
	svg_break(svg);
}

/* "load, 98.1 ms to 110 ms" */
static void draw_span_title(struct svg *svg, const struct figure_span *span)
{
	char start[UNITS_TEXT_SIZE], end[UNITS_TEXT_SIZE];
	char when[2 * UNITS_TEXT_SIZE + 8];

	units_format_seconds(start, sizeof(start), span->start);
	units_format_seconds(end, sizeof(end), span->end);
	snprintf(when, sizeof(when), span->is_moment ? ", %s" : ", %s to %s",
		 start, end);
	svg_open(svg, "title");
	svg_text(svg, span->label);
	svg_text(svg, when);
	svg_close(svg);
}

/* A phase is a bar in its row and a shade on the panel, a moment a line. */
static void draw_span(struct timeline_drawing *draw, const struct panel *panel,
		      const struct figure_span *span, double row_px)
{
	const double x[2] = { 100 * x_ratio(draw, span->start),
			      100 * x_ratio(draw, span->end) };
	double bottom = panel->top_px + panel->height_px;

	svg_open(&draw->svg, "g");
	draw_span_title(&draw->svg, span);
	if (span->is_moment) {
		draw_line(&draw->svg, "mp-span", (double[]){ x[0], x[0] },
			  (double[]){ row_px + 4, bottom }, "#7a4fa3");
		svg_close(&draw->svg);
		return;
	}
	draw_line(&draw->svg, "mp-span", (double[]){ x[0], x[0] },
		  (double[]){ row_px + 4, row_px + MARK_ROW_PX }, "#7a4fa3");
	draw_box(&draw->svg, x, row_px + MARK_ROW_PX - 4, 3, "1");
	draw_box(&draw->svg, x, panel->top_px, panel->height_px, "0.08");
	svg_close(&draw->svg);
}

/* Beside the first of its name, cut to what a phone has room for. */
static void draw_span_name(struct timeline_drawing *draw,
			   const struct figure_span *span, double row_px)
{
	char text[256];

	if (svg_fit_text(text, sizeof(text), span->label, SPAN_NAME_PX,
			 SVG_FONT_PX))
		draw_label(&draw->svg, "mp-span-name",
			   100 * x_ratio(draw, span->start), 6, row_px + 12,
			   text);
}

static const struct figure_span *first_span(const struct figure_series *series,
					    const char *name)
{
	size_t i = 0;

	while (strcmp(series->spans[i].label, name) != 0)
		i++;
	return &series->spans[i];
}

static void draw_spans(struct timeline_drawing *draw, const struct panel *panel,
		       double top_px)
{
	const struct figure_series *series = draw->series;
	const char *names[MAX_SPAN_ROWS];
	size_t rows = span_rows(series, names);

	for (size_t row = 0; row < rows; row++) {
		double y = top_px + (double)row * MARK_ROW_PX;

		for (size_t i = 0; i < series->span_count; i++)
			if (strcmp(series->spans[i].label, names[row]) == 0)
				draw_span(draw, panel, &series->spans[i], y);
	}
	/* Names lie over the lines of other rows. */
	for (size_t row = 0; row < rows; row++)
		draw_span_name(draw, first_span(series, names[row]),
			       top_px + (double)row * MARK_ROW_PX);
}

static void draw_legend(struct timeline_drawing *draw, enum cell_kind kind,
			double y)
{
	struct svg *svg = &draw->svg;
	double x = SVG_MARGIN_PX;

	for (size_t i = 0; i < draw->series->curve_count; i++) {
		const struct figure_curve *curve = &draw->series->curves[i];
		char class[16];

		if (!is_drawn(curve, kind))
			continue;
		snprintf(class, sizeof(class), "mp-c%u",
			 (unsigned)(i % COLOUR_COUNT));
		svg_open(svg, "rect");
		svg_attr(svg, "class", class);
		svg_attr_number(svg, "x", x, 1);
		svg_attr_number(svg, "y", y + 5, 1);
		svg_attr(svg, "width", "12");
		svg_attr(svg, "height", "12");
		svg_attr(svg, "rx", "2");
		svg_attr(svg, "fill", colours[i % COLOUR_COUNT]);
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
	struct panel panels[2];
	double legends_px[2];
	double marks_px;
	double spans_px;
	unsigned panel_count;
	double axis_px;
	double height_px;
};

static void plan_panel(const struct timeline_drawing *draw,
		       struct timeline_plan *plan, enum cell_kind kind)
{
	struct panel *panel = &plan->panels[plan->panel_count];
	double largest = largest_value(draw->series, kind);

	if (!has_kind(draw->series, kind))
		return;
	plan->legends_px[plan->panel_count] = plan->height_px;
	plan->height_px += LEGEND_PX;
	if (plan->panel_count == 0 && mark_count(draw->series)) {
		plan->marks_px = plan->height_px;
		plan->height_px +=
			(double)mark_count(draw->series) * MARK_ROW_PX;
	}
	if (plan->panel_count == 0 && draw->series->span_count) {
		const char *names[MAX_SPAN_ROWS];

		plan->spans_px = plan->height_px;
		plan->height_px += (double)span_rows(draw->series, names) *
				   MARK_ROW_PX;
	}
	plan->height_px += TICK_ROOM_PX;
	*panel = (struct panel){
		.kind = kind,
		.top_px = plan->height_px,
		.height_px = kind == CELL_BYTES ? BYTES_PX : COUNT_PX,
		.top_value = largest > 0 ? largest * 1.06 : 1,
		.max_ticks = kind == CELL_BYTES ? 5 : 3,
	};
	plan->height_px += panel->height_px + GAP_PX;
	plan->panel_count++;
}

static void plan_document(const struct timeline_drawing *draw,
			  struct timeline_plan *plan)
{
	memset(plan, 0, sizeof(*plan));
	plan->height_px = svg_head_height(&draw->head);
	if (draw->series->point_count) {
		plan_panel(draw, plan, CELL_BYTES);
		plan_panel(draw, plan, CELL_COUNT);
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
	draw_x_labels(draw, plan->axis_px);
	for (unsigned i = 0; i < plan->panel_count; i++) {
		draw_legend(draw, plan->panels[i].kind, plan->legends_px[i]);
		draw_panel(draw, &plan->panels[i]);
	}
	draw_spans(draw, &plan->panels[0], plan->spans_px);
	draw_marks(draw, &plan->panels[0], plan->marks_px);
}

static void draw_document(struct timeline_drawing *draw)
{
	const struct figure *figure = draw->figure;
	const char *title = draw->options.title;
	const char *id = draw->options.id_prefix;
	bool is_file = !draw->options.inline_in_html;
	struct timeline_plan plan;
	struct svg *svg = &draw->svg;

	if (!title)
		title = is_file ? figure->title : "";
	if (title && *title)
		svg_head_add(&draw->head, "mp-title", title);
	if (figure->caption && is_file)
		svg_head_add(&draw->head, "mp-note", figure->caption);
	if (!draw->series->point_count || !draw->series->curve_count)
		svg_head_add(&draw->head, "mp-empty",
			     figure->caption ? "nothing to show"
					     : "nothing matched");
	plan_document(draw, &plan);
	svg_open_root(svg, id ? id : figure->id, "mp-timeline",
		      *figure->title ? figure->title : figure->id,
		      plan.height_px, SVG_FONT_PX);
	svg_attr_number(svg, "data-end", draw->end, 6);
	if (is_file)
		svg_draw_style(svg);
	svg_head_draw(&draw->head, svg);
	draw_plan(draw, &plan);
	if (is_file && plan.panel_count)
		svg_draw_script(svg, timeline_script());
	svg_close(svg);
}

int timeline_render(const struct figure *figure,
		    const struct timeline_options *options, struct sink *out,
		    struct diag *diag)
{
	struct timeline_drawing draw = { .figure = figure,
					 .series = &figure->series };
	const struct figure_series *series = &figure->series;
	int error;

	if (figure->kind != FIGURE_SERIES)
		return diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
				"a timeline needs a series");
	if (options)
		draw.options = *options;
	if (series->point_count)
		draw.end = clean(series->seconds[series->point_count - 1]);
	error = svg_init(&draw.svg, out, !draw.options.inline_in_html);
	if (error)
		return diag_set(diag, error, NULL, DIAG_NO_OFFSET,
				"out of memory");
	draw_document(&draw);
	svg_head_done(&draw.head);
	return svg_done(&draw.svg, diag);
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
