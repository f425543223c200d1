/* SPDX-License-Identifier: MIT */
/*
 * HTML through libxml2's writer: elements are closed and text is escaped
 * there, so nothing from a trace is ever pasted.  Texts are sanitised before
 * (report/core/text.h).
 *
 * Layer: output.
 */
#ifndef REPORT_OUTPUT_HTML_HTML_WRITER_H
#define REPORT_OUTPUT_HTML_HTML_WRITER_H

#include <stdbool.h>

struct diag;
struct sink;

/**
 * struct html - a piece of HTML being written
 * @writer: xmlTextWriterPtr, owned
 * @failed: the first error sticks
 */
struct html {
	void *writer;
	bool failed;
};

/* Return: 0 or -ENOMEM with @diag filled.  @out is borrowed until
   html_done(). */
int html_init(struct html *html, struct sink *out, struct diag *diag);

/* Must follow html_init().  Return: 0 or negative errno. */
int html_done(struct html *html, struct diag *diag);

/* @class may be NULL. */
void html_open(struct html *html, const char *element, const char *class);
void html_close(struct html *html);
/* An element that has no end tag: meta, wbr. */
void html_close_void(struct html *html);
void html_attr(struct html *html, const char *name, const char *value);
/* href="…": a file at @path, relative to the page; what means something else in a
   URL is percent-encoded. */
void html_href(struct html *html, const char *path);
void html_attr_printf(struct html *html, const char *name, const char *format,
		      ...) __attribute__((format(printf, 3, 4)));
void html_text(struct html *html, const char *text);
/* <element class="class">text</element> */
void html_element(struct html *html, const char *element, const char *class,
		  const char *text);
/* A line break between elements, for people who read the source. */
void html_break(struct html *html);

/* HTML that is already written: what the template made, style, script. */
void html_raw(struct html *html, const char *markup);

#endif /* REPORT_OUTPUT_HTML_HTML_WRITER_H */
