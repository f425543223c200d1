/* SPDX-License-Identifier: MIT */
/*
 * Documents from Markdown templates: parsed with cmark, figures bound into the
 * parsed tree, rendered as HTML or Markdown.  The language: docs/templates.md.
 *
 * cmark stays in this folder.  Data never meets Markdown text: a figure
 * becomes a custom block, a value a custom inline or a text node.
 *
 * Layer: template.  May include core/, figure/.
 */
#ifndef REPORT_TEMPLATE_TEMPLATE_H
#define REPORT_TEMPLATE_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "report/figure/figure.h"

struct diag;
struct sink;

/* What {{#each views}} walks over. */
struct template_view {
	const char *name;
	const char *title;
};

/* A plain text that templates name: {{title}}. */
struct template_text {
	const char *name;
	const char *text;
};

enum template_section { SECTION_DETAILS, SECTION_TABS };

enum {
	TEMPLATE_E_NO_BLOCK = 1, /* the output has no block of that name */
};

/**
 * struct template_output - how one output draws
 * @context: handed to each function
 * @is_html: render HTML with headings that have ids; else Markdown
 * @figure:  a figure as a block
 * @block:   what the output adds to the figures ("definitions", "links",
 *           "view.NAME.links"); with a NULL sink only the question whether
 *           there is such a block with anything in it.
 *           Return: 0, TEMPLATE_E_NO_BLOCK or negative errno
 * @tiles:   a row of scalars as a block
 * @scalar:  one value inside a line of text
 * @text:    plain text inside a line of text; NULL: a cmark text node
 * @section: what stands before and after a section's content; @title is
 *           plain text, "" for SECTION_TABS
 *
 * All return 0 or negative errno with @diag filled, and write the target
 * language, escaped.
 */
struct template_output {
	void *context;
	bool is_html;
	int (*figure)(void *context, const struct figure *figure,
		      struct sink *out, struct diag *diag);
	int (*block)(void *context, const char *name, struct sink *out,
		     struct diag *diag);
	int (*tiles)(void *context, const struct figure_scalar *const *scalars,
		     size_t count, struct sink *out, struct diag *diag);
	int (*scalar)(void *context, const struct figure_scalar *scalar,
		      struct sink *out, struct diag *diag);
	int (*text)(void *context, const char *text, struct sink *out,
		    struct diag *diag);
	int (*section)(void *context, enum template_section section,
		       const char *title, struct sink *before,
		       struct sink *after);
};

/**
 * struct template_data - what a template can name; all borrowed
 * @figures: ids are unique
 */
struct template_data {
	const struct figure *const *figures;
	size_t figure_count;
	const struct template_view *views;
	size_t view_count;
	const struct template_text *texts;
	size_t text_count;
};

/**
 * template_render() - a whole document
 * @name: the template's file, for messages
 * @text: @len bytes of Markdown
 *
 * Cost: linear in the template and in what is drawn.
 * Return: 0; -EINVAL with @diag naming file and line for a fault in the
 * template; any other negative errno.
 */
int template_render(const char *name, const char *text, size_t len,
		    const struct template_data *data,
		    const struct template_output *output, struct sink *out,
		    struct diag *diag);

/* Return: whether @figure has nothing to show. */
bool template_figure_is_empty(const struct figure *figure);

#endif /* REPORT_TEMPLATE_TEMPLATE_H */
