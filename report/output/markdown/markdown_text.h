/* SPDX-License-Identifier: MIT */
/*
 * Text as GitHub-flavoured Markdown, taken literally by whoever renders it.
 *
 * GitHub looks for @mentions, #123, addresses and :emoji: in the rendered
 * text, where a backslash no longer helps; an empty comment in their middle
 * does.  Names from traces go into code spans, which are left alone.
 *
 * Layer: output, private to the Markdown page.
 */
#ifndef REPORT_OUTPUT_MARKDOWN_MARKDOWN_TEXT_H
#define REPORT_OUTPUT_MARKDOWN_MARKDOWN_TEXT_H

#include <stddef.h>

struct sink;

/* Plain text inside of a line or a table's cell. */
void markdown_text(struct sink *out, const char *text);

/* @text as a code span, cut to @max_letters code points with "…".  Safe in
   tables: a `|` is escaped there as the table syntax wants it. */
void markdown_code(struct sink *out, const char *text, size_t max_letters);

/* The same outside of tables. */
void markdown_code_outside(struct sink *out, const char *text,
			   size_t max_letters);

/* A path relative to the page as a link's target. */
void markdown_target(struct sink *out, const char *path);

/* @text, which may have lines, as a fenced block. */
void markdown_block(struct sink *out, const char *text);

/* The content of an HTML element: only <summary> needs it. */
void markdown_html_text(struct sink *out, const char *text);

#endif /* REPORT_OUTPUT_MARKDOWN_MARKDOWN_TEXT_H */
