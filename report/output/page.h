/* SPDX-License-Identifier: MIT */
/*
 * Pages: a whole report for people, from a Markdown template and figures.
 *
 * Layer: output.  May include core/, figure/, template/.
 */
#ifndef REPORT_OUTPUT_PAGE_H
#define REPORT_OUTPUT_PAGE_H

#include <stdbool.h>

#include "report/figure/figure.h"

struct diag;
struct sink;

/* A file beside the page. @path: relative to the page. */
struct page_link {
	const char *view;  /* view's name, "" for the trace's own artifacts */
	const char *name;  /* artifact's name */
	const char *title; /* view's title */
	const char *path;
};

enum page_theme { THEME_AUTO, THEME_LIGHT, THEME_DARK };

/**
 * struct page - what a page is made of
 * @title:    of the report
 * @figures:  everything a template may name by figure id; also trees, drawn
 *            inline as flamegraph SVG in HTML and as a link in Markdown
 * @links:    artifacts written beside the page, in order
 * @template_dir: overrides built-in templates by file name; NULL for none
 * @template_file: instead of the format's own; NULL for that
 */
struct page {
	const char *title;
	const struct figure *const *figures;
	size_t figure_count;
	const struct page_link *links;
	size_t link_count;
	enum page_theme theme;
	const char *template_dir;
	const char *template_file;
};

/**
 * struct page_format
 * @name:     as in `pages =`: "html", "markdown"
 * @file:     "index.html", "report.md"
 * @template_file: Markdown template, in templates/ or @page->template_dir
 */
struct page_format {
	const char *name;
	const char *file;
	const char *template_file;
	const char *summary;
	int (*render)(const struct page *page, struct sink *out,
		      struct diag *diag);
};

#define PAGE(id) extern const struct page_format page_##id;
#include "report/output/page_list.h"
#undef PAGE

/* Return: the format called @name, or NULL. */
const struct page_format *page_find(const char *name);

/* NULL-terminated. */
extern const struct page_format *const page_formats[];

#endif /* REPORT_OUTPUT_PAGE_H */
