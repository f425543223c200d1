/* SPDX-License-Identifier: MIT */
/*
 * One panel of a timeline: its axes, its curves and what is drawn with them.
 *
 * Layer: output.
 */
#ifndef REPORT_OUTPUT_SVG_TIMELINE_PANEL_H
#define REPORT_OUTPUT_SVG_TIMELINE_PANEL_H

#include <stdbool.h>

#include "report/figure/figure.h"
#include "report/output/svg/svg.h"

enum { TIMELINE_COLOURS = 8 };

/* Of the curves, in their order, over again from the first. */
extern const char *const timeline_colours[TIMELINE_COLOURS];

/**
 * struct timeline_drawing - what is drawn, and to where
 * @end: seconds at the right edge
 */
struct timeline_drawing {
	struct svg svg;
	const struct figure_series *series;
	double end;
};

/**
 * struct timeline_panel - curves of one kind, over the whole width
 * @top_value: at the upper edge; > 0
 */
struct timeline_panel {
	enum cell_kind kind;
	double top_px;
	double height_px;
	double top_value;
	unsigned max_ticks;
};

/* Return: @value, 0 where it is none that can be drawn. */
double timeline_value(double value);

/* Return: where @seconds are, 0 at the left edge and 1 at the right. */
double timeline_x_ratio(const struct timeline_drawing *draw, double seconds);
double timeline_y_px(const struct timeline_panel *panel, double value);

/* Whether the panel of @kind shows @curve. */
bool timeline_has_curve(const struct figure_curve *curve, enum cell_kind kind);

/* Return: the first that the panel of @kind shows, or NULL. */
const struct figure_curve *
timeline_first_curve(const struct figure_series *series, enum cell_kind kind);

/* At @percent of the width; @shift_px > 0: so far to the side that has room. */
void timeline_draw_label(struct svg *svg, const char *class, double percent,
			 double shift_px, double y, const char *text);

/* From x[0] to x[1] percent and y[0] to y[1] pixels. */
void timeline_draw_line(struct svg *svg, const char *class, const double x[2],
			const double y[2], const char *colour);

/* Below the last panel, which ends at @y. */
void timeline_draw_x_labels(struct timeline_drawing *draw, double y);

void timeline_draw_panel(struct timeline_drawing *draw,
			 const struct timeline_panel *panel);

#endif /* REPORT_OUTPUT_SVG_TIMELINE_PANEL_H */
