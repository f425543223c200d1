/* SPDX-License-Identifier: MIT */
/*
 * What lies over the curves of a timeline: the moments that the report points
 * out, and the phases and moments that the program said it was at.
 *
 * Layer: output.
 */
#ifndef REPORT_OUTPUT_SVG_TIMELINE_MARKS_H
#define REPORT_OUTPUT_SVG_TIMELINE_MARKS_H

struct figure_series;
struct timeline_drawing;
struct timeline_panel;

/* Pixels above the panel that their labels take, 0 where there are none. */
double timeline_marks_height(const struct figure_series *series);
double timeline_spans_height(const struct figure_series *series);

/* On @panel, labels from @top_px on.  Later ones lie over earlier ones, and
   marks over spans if they are drawn after them. */
void timeline_marks_draw(struct timeline_drawing *draw,
			 const struct timeline_panel *panel, double top_px);
void timeline_spans_draw(struct timeline_drawing *draw,
			 const struct timeline_panel *panel, double top_px);

#endif /* REPORT_OUTPUT_SVG_TIMELINE_MARKS_H */
