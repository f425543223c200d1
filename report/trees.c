/* SPDX-License-Identifier: MIT */
#include "report/trees.h"

#include <errno.h>
#include <stdlib.h>

#include "report/aggregate/view_tree.h"
#include "report/core/memory.h"
#include "report/core/tasks.h"
#include "report/output/artifact.h"
#include "report/pipeline.h"
#include "report/spec.h"

static bool wants(const struct spec_view *view, enum artifact_subject subject)
{
	for (size_t i = 0; i < view->artifact_count; i++)
		if (view->artifacts[i]->subject == subject)
			return true;
	return false;
}

/* Pages show the functions of what is written by lines, too. */
static bool is_needed(const struct spec_view *view, bool by_line, bool for_pages)
{
	bool lines = wants(view, SUBJECT_LINES);

	if (by_line)
		return lines;
	return wants(view, SUBJECT_FUNCTIONS) || (lines && for_pages);
}

static int finish(void *context, struct diag *diag)
{
	struct view_tree *tree = context;
	int status;

	(void)diag;
	memory_set_purpose(tree->purpose);
	status = view_tree_finish(tree);
	memory_set_purpose(NULL);
	return status;
}

int trees_make(struct trees *trees, const struct pipeline *pipeline,
	       struct tasks *tasks)
{
	const struct spec *spec = pipeline->spec;
	int status = 0;

	trees->count = 2 * spec->view_count;
	trees->items = calloc(trees->count + 1, sizeof(*trees->items));
	if (!trees->items)
		return -ENOMEM;
	for (size_t i = 0; status == 0 && i < trees->count; i++)
		if (is_needed(&spec->views[i / 2], i % 2, tasks != NULL))
			status = view_tree_begin(&trees->items[i],
						 pipeline->views[i / 2],
						 &pipeline->scope, i % 2);
	for (size_t i = 0; status == 0 && i < trees->count; i++) {
		struct view_tree *tree = &trees->items[i];

		if (!tree->figure)
			continue;
		status = tasks ? tasks_add(tasks, finish, tree)
			       : view_tree_finish(tree);
	}
	if (tasks)
		trees->task_count = tasks_count(tasks);
	return status;
}

void trees_done(struct trees *trees)
{
	for (size_t i = 0; trees->items && i < trees->count; i++)
		view_tree_done(&trees->items[i]);
	free(trees->items);
	trees->items = NULL;
}

const struct figure *trees_get(const struct trees *trees, size_t index,
			       bool by_line)
{
	return trees->items[2 * index + by_line].figure;
}
