/* SPDX-License-Identifier: MIT */
/*
 * How a function looks in a drawing: words and colours.
 *
 * Layer: output.
 */
#ifndef REPORT_OUTPUT_SVG_FRAME_H
#define REPORT_OUTPUT_SVG_FRAME_H

#include <stddef.h>

struct figure_frame;
struct svg;

/* "function\nfile:line\nmodule", what is unknown left out; "all" for NULL. */
void svg_frame_text(struct svg *svg, const struct figure_frame *frame);

/* Muted and stable: the hue stands for the module, the shade for the function.
   @colour: "#rrggbb", light theme.  @class: names the same for the style. */
void svg_frame_colour(const struct figure_frame *frame, char *colour,
		      size_t colour_size, char *class, size_t class_size);

#endif /* REPORT_OUTPUT_SVG_FRAME_H */
