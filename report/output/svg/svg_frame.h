/* SPDX-License-Identifier: MIT */
/*
 * How a function looks in a drawing: words and colours.
 *
 * Layer: output.
 */
#ifndef REPORT_OUTPUT_SVG_SVG_FRAME_H
#define REPORT_OUTPUT_SVG_SVG_FRAME_H

#include <stddef.h>

struct figure_frame;
struct svg_fill;

/* "function\nfile:line\nmodule", what is unknown left out; "all" for NULL. */
void svg_frame_fill(struct svg_fill *fill, const struct figure_frame *frame);

/* Hues apart from each other and from the pink of a search hit; the classes h0
   to h11 of templates/figures.css say the same. */
enum { SVG_HUE_COUNT = 12, SVG_SHADE_COUNT = 4 };

/* Stable: decided by the names alone. */
unsigned svg_frame_hue(const char *module);
unsigned svg_frame_shade(const char *function);

/* "#rrggbb" of the light theme; @hue SVG_HUE_COUNT is grey. */
void svg_frame_colour(char *buf, size_t size, unsigned hue, unsigned shade);

#endif /* REPORT_OUTPUT_SVG_SVG_FRAME_H */
