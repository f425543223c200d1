/* SPDX-License-Identifier: MIT */
/*
 * Figures as blocks of HTML.
 *
 * Layer: output, private to the HTML page.
 */
#ifndef REPORT_OUTPUT_HTML_HTML_FIGURE_H
#define REPORT_OUTPUT_HTML_HTML_FIGURE_H

#include <stddef.h>

#include "report/figure/figure.h"
#include "report/output/html/html_writer.h"

struct page_data;

/* Draws any figure to @out.  Return: 0 or negative errno with @diag filled. */
int html_figure(const struct figure *figure, struct sink *out,
		struct diag *diag);

/* The most important values, large. */
void html_tiles(struct html *html, const struct figure_scalar *const *scalars,
		size_t count);

/* All terms; what html_definition_popup() explains is here once more. */
void html_definitions(struct html *html);

/* The files beside the page: of @view, or of all, a line for each view. */
void html_links(struct html *html, const struct page_data *data,
		const char *view);

#endif /* REPORT_OUTPUT_HTML_HTML_FIGURE_H */
