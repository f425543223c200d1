/* SPDX-License-Identifier: MIT */
/*
 * Figures as blocks of Markdown.
 *
 * Layer: output, private to the Markdown page.
 */
#ifndef REPORT_OUTPUT_MARKDOWN_MARKDOWN_FIGURE_H
#define REPORT_OUTPUT_MARKDOWN_MARKDOWN_FIGURE_H

#include <stddef.h>

#include "report/figure/figure.h"

struct page_data;
struct sink;

/**
 * struct markdown_limits - what keeps the page short
 * @rows:    of a table
 * @letters: of a name
 */
struct markdown_limits {
	size_t rows;
	size_t letters;
};

/* Trees and series become pictures if @data has a link to one. */
void markdown_figure(struct sink *out, const struct figure *figure,
		     const struct page_data *data,
		     const struct markdown_limits *limits);

/* A table of one row. */
void markdown_tiles(struct sink *out,
		    const struct figure_scalar *const *scalars, size_t count,
		    const struct markdown_limits *limits);

/* One value in a line of text. */
void markdown_value(struct sink *out, const struct cell *cell,
		    const struct markdown_limits *limits);

#endif /* REPORT_OUTPUT_MARKDOWN_MARKDOWN_FIGURE_H */
