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

/* Whether a file has even the functions that cost next to nothing. */
static bool wants_all(const struct spec_view *view)
{
	for (size_t i = 0; i < view->artifact_count; i++)
		if (view->artifacts[i] == &artifact_folded)
			return true;
	return false;
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

/* Pages show the functions of what is written by lines, too. */
static int begin(struct trees *trees, const struct pipeline *pipeline,
		 size_t index, bool has_pages)
{
	const struct spec_view *view = &pipeline->spec->views[index];
	struct view_tree_wish wish = {
		.lines = wants(view, SUBJECT_LINES),
		.is_whole = wants_all(view),
	};

	wish.functions = wants(view, SUBJECT_FUNCTIONS) ||
			 (wish.lines && has_pages);
	if (!wish.lines && !wish.functions)
		return 0;
	return view_tree_begin(&trees->items[index], pipeline->views[index],
			       &pipeline->scope, wish);
}

int trees_make(struct trees *trees, const struct pipeline *pipeline,
	       struct tasks *tasks)
{
	int status = 0;

	trees->count = pipeline->spec->view_count;
	trees->items = calloc(trees->count + 1, sizeof(*trees->items));
	if (!trees->items)
		return -ENOMEM;
	for (size_t i = 0; status == 0 && i < trees->count; i++)
		status = begin(trees, pipeline, i, tasks != NULL);
	for (size_t i = 0; status == 0 && i < trees->count; i++) {
		struct view_tree *tree = &trees->items[i];

		if (!tree->view)
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
	const struct view_tree *tree = &trees->items[index];

	return by_line ? tree->lines : tree->functions;
}
