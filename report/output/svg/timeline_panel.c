/* SPDX-License-Identifier: MIT */
#include "report/output/svg/timeline_panel.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/core/units.h"
#include "report/figure/figure.h"
#include "report/output/svg/svg.h"
#include "report/output/svg/ticks.h"

enum { BOX = 1000, X_TICKS = 7 };

const char *const timeline_colours[TIMELINE_COLOURS] = {
	"#2f6fb5", "#b3541e", "#3f7d46", "#7a4fa3",
	"#8a6d00", "#0f7b83", "#b0357a", "#5c6670",
};

double timeline_value(double value)
{
	return isfinite(value) && value > 0 ? value : 0;
}

double timeline_x_ratio(const struct timeline_drawing *draw, double seconds)
{
	if (!(draw->end > 0))
		return 0;
	return fmin(fmax(seconds / draw->end, 0), 1);
}

double timeline_y_px(const struct timeline_panel *panel, double value)
{
	double ratio = timeline_value(value) / panel->top_value;

	return panel->top_px + panel->height_px * (1 - ratio);
}

bool timeline_has_curve(const struct figure_curve *curve, enum cell_kind kind)
{
	return curve->kind == kind && !curve->per_bin;
}

const struct figure_curve *
timeline_first_curve(const struct figure_series *series, enum cell_kind kind)
{
	for (size_t i = 0; i < series->curve_count; i++)
		if (timeline_has_curve(&series->curves[i], kind))
			return &series->curves[i];
	return NULL;
}

void timeline_draw_label(struct svg *svg, const char *class, double percent,
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

void timeline_draw_line(struct svg *svg, const char *class, const double x[2],
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
static void draw_y_grid(struct svg *svg, const struct timeline_panel *panel)
{
	struct ticks ticks;

	ticks_compute(&ticks, panel->kind, panel->top_value, panel->max_ticks);
	for (unsigned i = 0; i < ticks.count; i++) {
		double y = floor(timeline_y_px(panel, ticks.step * i)) + 0.5;

		timeline_draw_line(svg, i ? "mp-grid" : "mp-axis",
				   (double[]){ 0, 100 }, (double[]){ y, y },
				   i ? "#d8dee4" : "#57606a");
	}
}

static void draw_y_labels(struct svg *svg, const struct timeline_panel *panel)
{
	struct ticks ticks;

	ticks_compute(&ticks, panel->kind, panel->top_value, panel->max_ticks);
	for (unsigned i = 1; i < ticks.count; i++) {
		double y = floor(timeline_y_px(panel, ticks.step * i)) - 4;
		char text[UNITS_TEXT_SIZE];

		ticks_format(&ticks, i, text, sizeof(text));
		timeline_draw_label(svg, "mp-tick", 0, 0, y, text);
	}
}

static void draw_x_grid(struct timeline_drawing *draw,
			const struct timeline_panel *panel)
{
	struct ticks ticks;

	ticks_compute(&ticks, CELL_SECONDS, draw->end, X_TICKS);
	for (unsigned i = 1; i < ticks.count; i++) {
		double percent = 100 * timeline_x_ratio(draw, ticks.step * i);

		if (percent < 99.5)
			timeline_draw_line(
				&draw->svg, "mp-grid",
				(double[]){ percent, percent },
				(double[]){ panel->top_px,
					    panel->top_px + panel->height_px },
				"#d8dee4");
	}
}

void timeline_draw_x_labels(struct timeline_drawing *draw, double y)
{
	struct ticks ticks;

	ticks_compute(&ticks, CELL_SECONDS, draw->end, X_TICKS);
	for (unsigned i = 0; i < ticks.count; i++) {
		double percent = 100 * timeline_x_ratio(draw, ticks.step * i);
		char text[UNITS_TEXT_SIZE];

		ticks_format(&ticks, i, text, sizeof(text));
		timeline_draw_label(&draw->svg, "mp-tick", percent, 0, y + 16,
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
	const double *seconds = draw->series->seconds;

	if (!curve->start)
		return 0;
	return BOX * timeline_x_ratio(draw, seconds[curve->start - 1]);
}

/* A value holds over its whole bin, so curves are steps. */
static void draw_path(struct timeline_drawing *draw,
		      const struct timeline_panel *panel,
		      const struct figure_curve *curve)
{
	const struct figure_series *series = draw->series;
	char level[56] = "", edge[56] = "";

	format_point(edge, sizeof(edge), 'M', start_x(draw, curve));
	svg_value(&draw->svg, edge);
	svg_value(&draw->svg, " ");
	for (size_t i = curve->start; i < series->point_count; i++) {
		double x = BOX * timeline_x_ratio(draw, series->seconds[i]);
		double ratio = timeline_value(curve->values[i]) /
			       panel->top_value;
		double y = BOX * (1 - ratio);
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

static void draw_curve(struct timeline_drawing *draw,
		       const struct timeline_panel *panel,
		       size_t index, bool is_area)
{
	const struct figure_curve *curve = &draw->series->curves[index];
	const char *colour = timeline_colours[index % TIMELINE_COLOURS];
	struct svg *svg = &draw->svg;
	char class[32], edge[56];

	snprintf(class, sizeof(class), "mp-c%u",
		 (unsigned)(index % TIMELINE_COLOURS));
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
		 (unsigned)(index % TIMELINE_COLOURS));
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
void timeline_draw_panel(struct timeline_drawing *draw,
			 const struct timeline_panel *panel)
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
		if (!timeline_has_curve(&draw->series->curves[i], panel->kind))
			continue;
		draw_curve(draw, panel, i, is_first);
		is_first = false;
	}
	svg_close(svg);
	svg_break(svg);
	draw_y_labels(svg, panel);
}
