/* SPDX-License-Identifier: MIT */
/*
 * Figures as SVG, for a file of their own or for the middle of an HTML page.
 *
 * Both kinds are complete without script and without style; they are as wide
 * as their container and letters keep their size, so a phone can read them.
 * Style and script only add: colours for dark mode, zoom, search.  A page
 * that draws inline carries svg_figures_style(), flamegraph_script() and
 * timeline_script() once each, in any order, for all its graphs.
 *
 * Theme: prefers-color-scheme decides, unless the page's root element says
 * data-theme="light" or "dark".
 *
 * Layer: output.
 */
#ifndef REPORT_OUTPUT_SVG_SVG_FIGURES_H
#define REPORT_OUTPUT_SVG_SVG_FIGURES_H

#include <stdbool.h>
#include <stddef.h>

struct diag;
struct figure;
struct sink;

/**
 * struct flamegraph_options - how to draw a tree; all zero is a file
 * @inline_in_html: no XML declaration, style and script: the page has them;
 *                  no title and caption: they are the page's text; no rows
 *                  below the last that has a box of 0.25 % of the width
 * @id_prefix:      unique in the page, [a-z0-9_.-]+: the graph's id and, in
 *                  the URL fragment, the name of its state
 *                  ("leaks.zoom=12"); NULL: figure id, and just "zoom" in a
 *                  file of its own
 * @title:          NULL: the figure's own (none when inline); "" none
 * @min_ratio:      boxes narrower than this share of the width are left out,
 *                  and the legend says how many; 0: 0.0005 when inline,
 *                  0.0001, to have more to zoom into, in a file
 * @max_boxes:      the largest are kept; 0: 20,000
 * @nominal_width:  pixels that texts are cut for; 0: 1200
 */
struct flamegraph_options {
	bool inline_in_html;
	const char *id_prefix;
	const char *title;
	double min_ratio;
	size_t max_boxes;
	unsigned nominal_width;
};

/* @options may be NULL.  Return: 0 or negative errno with @diag filled. */
int flamegraph_render(const struct figure *figure,
		      const struct flamegraph_options *options,
		      struct sink *out, struct diag *diag);

/**
 * struct timeline_options - how to draw a series or a histogram; all zero is a
 * file
 * @inline_in_html, @id_prefix, @title: as above
 */
struct timeline_options {
	bool inline_in_html;
	const char *id_prefix;
	const char *title;
};

int timeline_render(const struct figure *figure,
		    const struct timeline_options *options, struct sink *out,
		    struct diag *diag);

/* A table that is_histogram.  Needs no script. */
int histogram_render(const struct figure *figure,
		     const struct timeline_options *options, struct sink *out,
		     struct diag *diag);

/* CSS and JavaScript for <style> and <script> elements or files of their own.
   Never holds "</" or "]]>".  Static storage. */
const char *svg_figures_style(void);
const char *flamegraph_script(void);
const char *timeline_script(void);

#endif /* REPORT_OUTPUT_SVG_SVG_FIGURES_H */
