/* SPDX-License-Identifier: MIT */
/*
 * Values and terms inside of HTML.
 *
 * Layer: output, private to the HTML page.
 */
#ifndef REPORT_OUTPUT_HTML_HTML_VALUE_H
#define REPORT_OUTPUT_HTML_HTML_VALUE_H

#include "report/figure/figure.h"
#include "report/output/html/html_writer.h"

/* A cell's value: what people read, with the exact number in its title. */
void html_value(struct html *html, const struct cell *cell);

/* A label whose definition, if it has one, is its title. */
void html_term(struct html *html, const char *label, const char *definition);

/* A disclosure "?" with the definition; nothing if there is none. */
void html_definition_popup(struct html *html, const char *label,
			   const char *definition);

#endif /* REPORT_OUTPUT_HTML_HTML_VALUE_H */
