/* SPDX-License-Identifier: MIT */
/*
 * Trees and curves as a few lines of text, for where no picture shows.
 *
 * Layer: output, private to the Markdown page.
 */
#ifndef REPORT_OUTPUT_MARKDOWN_MARKDOWN_TREE_H
#define REPORT_OUTPUT_MARKDOWN_MARKDOWN_TREE_H

#include <stddef.h>

struct figure_series;
struct figure_tree;
struct sink;

/* The heaviest nodes, indented, in a fenced block, and what is left out of them.
   @max_letters: of a name */
void markdown_tree(struct sink *out, const struct figure_tree *tree,
		   size_t max_letters);

/* A line of bars for each curve. */
void markdown_series(struct sink *out, const struct figure_series *series);

#endif /* REPORT_OUTPUT_MARKDOWN_MARKDOWN_TREE_H */
