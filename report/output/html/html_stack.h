/* SPDX-License-Identifier: MIT */
/*
 * Backtraces inside of HTML: what names one, and how it came about.
 *
 * Layer: output, private to the HTML page.
 */
#ifndef REPORT_OUTPUT_HTML_HTML_STACK_H
#define REPORT_OUTPUT_HTML_HTML_STACK_H

#include "report/figure/figure.h"
#include "report/output/html/html_writer.h"

/* The call site, and where it is in small letters. */
void html_stack_site(struct html *html, const struct figure_stack *stack);

/* The nearest callers of the call site, and the whole stack to unfold; needs the
   width of a page.  Nothing for the empty stack. */
void html_stack_calls(struct html *html, const struct figure_stack *stack);

#endif /* REPORT_OUTPUT_HTML_HTML_STACK_H */
