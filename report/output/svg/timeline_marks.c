/* SPDX-License-Identifier: MIT */
#include "report/output/svg/timeline_marks.h"

#include <stdio.h>
#include <string.h>

#include "report/core/units.h"
#include "report/figure/figure.h"
#include "report/output/svg/svg.h"
#include "report/output/svg/svg_head.h"
#include "report/output/svg/timeline_panel.h"

enum {
	MARK_ROW_PX = 18,
	MAX_MARKS = 3,
	MAX_SPAN_ROWS = 6,
	SPAN_NAME_PX = 150,
};

/* Return: the value of @curve in the bin that @seconds lies in. */
static double value_at(const struct figure_series *series,
		       const struct figure_curve *curve, double seconds)
{
	size_t i = 0;

	while (i + 1 < series->point_count && series->seconds[i] < seconds)
		i++;
	return timeline_value(curve->values[i]);
}

static size_t mark_rows(const struct figure_series *series)
{
	return series->mark_count < MAX_MARKS ? series->mark_count : MAX_MARKS;
}

double timeline_marks_height(const struct figure_series *series)
{
	return (double)mark_rows(series) * MARK_ROW_PX;
}

/* Labels stand above the panel, one row each, so that they never meet. */
void timeline_marks_draw(struct timeline_drawing *draw,
			 const struct timeline_panel *panel, double top_px)
{
	struct svg *svg = &draw->svg;
	const struct figure_curve *curve =
		timeline_first_curve(draw->series, panel->kind);
	double bottom = panel->top_px + panel->height_px;

	for (size_t i = 0; i < mark_rows(draw->series); i++) {
		const struct figure_mark *mark = &draw->series->marks[i];
		double percent = 100 * timeline_x_ratio(draw, mark->seconds);
		double value = value_at(draw->series, curve, mark->seconds);
		double y = top_px + (double)i * MARK_ROW_PX;
		char amount[UNITS_TEXT_SIZE], when[UNITS_TEXT_SIZE], text[256];

		units_format_seconds(when, sizeof(when), mark->seconds);
		units_format_bytes(amount, sizeof(amount), (uint64_t)value);
		if (panel->kind == CELL_COUNT)
			units_format_count(amount, sizeof(amount),
					   (uint64_t)value);
		snprintf(text, sizeof(text), "%.120s %s at %s", mark->label,
			 amount, when);
		timeline_draw_line(svg, "mp-mark",
				   (double[]){ percent, percent },
				   (double[]){ y + 4, bottom }, "#b3261e");
		svg_open(svg, "circle");
		svg_attr(svg, "class", "mp-dot");
		svg_attr_percent(svg, "cx", percent);
		svg_attr_number(svg, "cy", timeline_y_px(panel, value), 1);
		svg_attr(svg, "r", "3.5");
		svg_attr(svg, "fill", "#b3261e");
		svg_close(svg);
		timeline_draw_label(svg, "mp-mark", percent, 6, y + 13, text);
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

double timeline_spans_height(const struct figure_series *series)
{
	const char *names[MAX_SPAN_ROWS];

	return (double)span_rows(series, names) * MARK_ROW_PX;
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
static void draw_span(struct timeline_drawing *draw,
		      const struct timeline_panel *panel,
		      const struct figure_span *span, double row_px)
{
	const double x[2] = { 100 * timeline_x_ratio(draw, span->start),
			      100 * timeline_x_ratio(draw, span->end) };
	double bottom = panel->top_px + panel->height_px;

	svg_open(&draw->svg, "g");
	draw_span_title(&draw->svg, span);
	if (span->is_moment) {
		timeline_draw_line(&draw->svg, "mp-span",
				   (double[]){ x[0], x[0] },
				   (double[]){ row_px + 4, bottom }, "#7a4fa3");
		svg_close(&draw->svg);
		return;
	}
	timeline_draw_line(&draw->svg, "mp-span", (double[]){ x[0], x[0] },
			   (double[]){ row_px + 4, row_px + MARK_ROW_PX },
			   "#7a4fa3");
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
		timeline_draw_label(&draw->svg, "mp-span-name",
				    100 * timeline_x_ratio(draw, span->start),
				    6, row_px + 12, text);
}

static const struct figure_span *first_span(const struct figure_series *series,
					    const char *name)
{
	size_t i = 0;

	while (strcmp(series->spans[i].label, name) != 0)
		i++;
	return &series->spans[i];
}

void timeline_spans_draw(struct timeline_drawing *draw,
			 const struct timeline_panel *panel, double top_px)
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
