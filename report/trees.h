/* SPDX-License-Identifier: MIT */
/* The trees that the artifacts of a report show, made side by side. */
#ifndef REPORT_TREES_H
#define REPORT_TREES_H

#include <stdbool.h>
#include <stddef.h>

struct figure;
struct pipeline;
struct tasks;
struct tree_step;
struct view_tree;

/**
 * struct trees - all but @count is owned
 * @items: one a view, with the trees that artifacts or pages show
 * @steps: what is done by tasks
 * @after: by view, so many tasks must be over before its trees, and those of the
 *         views before, are there; after trees_make()
 */
struct trees {
	struct view_tree *items;
	struct tree_step *steps;
	size_t *after;
	size_t count;
};

/* The figures of the trees of all views, without nodes.  @has_pages: which show
   trees as well.  To be ended by trees_done(), after the tasks, whatever the
   result.  Return: 0 or -ENOMEM. */
int trees_init(struct trees *trees, const struct pipeline *pipeline,
	       bool has_pages);

/* Finds their nodes, which takes names, and leaves the rest to @tasks; if that is
   NULL it does the rest itself.  Return: 0 or -ENOMEM. */
int trees_make(struct trees *trees, const struct pipeline *pipeline,
	       struct tasks *tasks);
void trees_done(struct trees *trees);

/* Return: the tree of view @index, which may only be looked into after the
   tasks. */
const struct figure *trees_get(const struct trees *trees, size_t index,
			       bool by_line);

#endif /* REPORT_TREES_H */
