/* SPDX-License-Identifier: MIT */
/*
 * What the two pages share: a page as the data of a template.
 *
 * Layer: output, private to the pages.
 */
#ifndef REPORT_OUTPUT_PAGE_DATA_H
#define REPORT_OUTPUT_PAGE_DATA_H

#include "report/core/arena.h"
#include "report/output/page.h"
#include "report/template/template.h"

enum page_block {
	PAGE_BLOCK_NONE,
	PAGE_BLOCK_DEFINITIONS, /* "definitions" */
	PAGE_BLOCK_LINKS,       /* "links": of all views */
	PAGE_BLOCK_VIEW_LINKS,  /* "view.NAME.links" */
};

/* @data and what it points to. */
struct page_data {
	const struct page *page;
	struct arena arena;
	struct template_data data;
	struct template_text texts[1];
};

/* Views come in the order of the page's links, then of its figures.
   Return: 0 or -ENOMEM with @diag filled; page_data_done() either way. */
int page_data_init(struct page_data *ret, const struct page *page,
		   struct diag *diag);
void page_data_done(struct page_data *data);

/* Return: what @name stands for, PAGE_BLOCK_NONE when there is no such block
   or nothing in it.  *@ret_view is the view's name for
   PAGE_BLOCK_VIEW_LINKS, owned by @data. */
enum page_block page_data_block(struct page_data *data, const char *name,
				const char **ret_view);

/* Return: the link after @link (the first for NULL) that belongs to @view,
   any view for NULL; NULL at the end. */
const struct page_link *page_data_link(const struct page_data *data,
				       const char *view,
				       const struct page_link *link);

/* Return: "Note", "Warning", "Error". */
const char *page_note_word(enum figure_severity severity);

#endif /* REPORT_OUTPUT_PAGE_DATA_H */
