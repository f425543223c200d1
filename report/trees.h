/* SPDX-License-Identifier: MIT */
/* The trees that the artifacts of a report show, made side by side. */
#ifndef REPORT_TREES_H
#define REPORT_TREES_H

#include <stdbool.h>
#include <stddef.h>

struct figure;
struct pipeline;
struct tasks;
struct view_tree;

/**
 * struct trees
 * @items: one a view, with the trees that artifacts or pages show
 * @task_count: tasks after which all are there
 */
struct trees {
	struct view_tree *items;
	size_t count;
	size_t task_count;
};

/* Begins the trees of all views and leaves the rest to @tasks.  If that is NULL,
   there are no pages either, and it does the rest itself.  To be ended by
   trees_done(), after the tasks, whatever the result.  Return: 0 or -ENOMEM. */
int trees_make(struct trees *trees, const struct pipeline *pipeline,
	       struct tasks *tasks);
void trees_done(struct trees *trees);

/* Return: the tree of view @index, which may only be looked into after the
   tasks. */
const struct figure *trees_get(const struct trees *trees, size_t index,
			       bool by_line);

#endif /* REPORT_TREES_H */
