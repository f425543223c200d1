/* SPDX-License-Identifier: MIT */
/*
 * Tables of the HTML page.
 *
 * Layer: output, private to the HTML page.
 */
#ifndef REPORT_OUTPUT_HTML_HTML_TABLE_H
#define REPORT_OUTPUT_HTML_HTML_TABLE_H

#include "report/figure/figure.h"
#include "report/output/html/html_writer.h"

/* Rows a page shows of one table; the rest is in the artifacts. */
enum { HTML_TABLE_ROWS_MAX = 1000 };

/* Draws a FIGURE_TABLE with a caption, a sideways scrolling body and the
   meaning of its columns. */
void html_table(struct html *html, const struct figure *figure);

#endif /* REPORT_OUTPUT_HTML_HTML_TABLE_H */
