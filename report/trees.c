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

/* Whether a file has even the functions that cost next to nothing. */
static bool wants_all(const struct spec_view *view)
{
	for (size_t i = 0; i < view->artifact_count; i++)
		if (view->artifacts[i] == &artifact_folded)
			return true;
	return false;
}

/**
 * struct tree_step - one step of a view's trees, as a task
 * @after: so many of @tasks must be over before
 */
struct tree_step {
	struct view_tree *tree;
	struct tasks *tasks;
	size_t after;
};

static int finish_lines(void *context, struct diag *diag)
{
	const struct tree_step *step = context;
	int status;

	(void)diag;
	memory_set_purpose(step->tree->purpose);
	status = view_tree_finish_lines(step->tree);
	memory_set_purpose(NULL);
	return status;
}

static int finish_functions(void *context, struct diag *diag)
{
	const struct tree_step *step = context;
	int status = tasks_wait(step->tasks, step->after);

	(void)diag;
	if (status)
		return status;
	memory_set_purpose(step->tree->purpose);
	status = view_tree_finish_functions(step->tree);
	memory_set_purpose(NULL);
	return status;
}

static int find_functions(void *context, struct diag *diag)
{
	(void)diag;
	return merged_functions(context) ? 0 : -ENOMEM;
}

/* Pages show the functions of what is written by lines, too. */
static int init(struct trees *trees, const struct pipeline *pipeline,
		size_t index, bool has_pages)
{
	const struct spec_view *view = &pipeline->spec->views[index];
	struct view_tree_wish wish = {
		.lines = spec_view_has(view, SUBJECT_LINES),
		.is_whole = wants_all(view),
	};

	wish.functions = spec_view_has(view, SUBJECT_FUNCTIONS) ||
			 (wish.lines && has_pages);
	if (!wish.lines && !wish.functions)
		return 0;
	return view_tree_init(&trees->items[index], pipeline->views[index],
			      &pipeline->scope, wish);
}

int trees_init(struct trees *trees, const struct pipeline *pipeline,
	       bool has_pages)
{
	int status = 0;

	trees->count = pipeline->spec->view_count;
	trees->items = calloc(trees->count + 1, sizeof(*trees->items));
	trees->steps = calloc(trees->count + 1, sizeof(*trees->steps));
	trees->after = calloc(trees->count + 1, sizeof(*trees->after));
	if (!trees->items || !trees->steps || !trees->after)
		return -ENOMEM;
	for (size_t i = 0; status == 0 && i < trees->count; i++)
		status = init(trees, pipeline, i, has_pages);
	return status;
}

/* Lines of one view and then of the next need nothing from each other, and while
   they are added up the functions of all are found. */
static int add_tasks(struct trees *trees, struct merged *merged,
		     struct tasks *tasks)
{
	int status = tasks_add(tasks, find_functions, merged);

	for (size_t i = 0; status == 0 && i < trees->count; i++) {
		trees->steps[i] = (struct tree_step){
			.tree = &trees->items[i],
			.tasks = tasks,
		};
		if (trees->items[i].view)
			status = tasks_add(tasks, finish_lines,
					   &trees->steps[i]);
		trees->steps[i].after = tasks_count(tasks);
	}
	for (size_t i = 0; status == 0 && i < trees->count; i++) {
		if (trees->items[i].view)
			status = tasks_add(tasks, finish_functions,
					   &trees->steps[i]);
		trees->after[i] = tasks_count(tasks);
	}
	return status;
}

int trees_make(struct trees *trees, const struct pipeline *pipeline,
	       struct tasks *tasks)
{
	struct merged *merged = pipeline->scope.merged;
	int status = 0;

	for (size_t i = 0; status == 0 && i < trees->count; i++)
		if (trees->items[i].view)
			status = view_tree_begin(&trees->items[i],
						 &pipeline->scope);
	if (status == 0 && tasks)
		return add_tasks(trees, merged, tasks);
	if (status == 0 && !merged_functions(merged))
		status = -ENOMEM;
	for (size_t i = 0; status == 0 && i < trees->count; i++) {
		struct view_tree *tree = &trees->items[i];

		status = tree->view ? view_tree_finish_lines(tree) : 0;
		if (status == 0 && tree->view)
			status = view_tree_finish_functions(tree);
	}
	return status;
}

void trees_done(struct trees *trees)
{
	for (size_t i = 0; trees->items && i < trees->count; i++)
		view_tree_done(&trees->items[i]);
	free(trees->items);
	free(trees->steps);
	free(trees->after);
	trees->items = NULL;
	trees->steps = NULL;
	trees->after = NULL;
}

const struct figure *trees_get(const struct trees *trees, size_t index,
			       bool by_line)
{
	const struct view_tree *tree = &trees->items[index];

	return by_line ? tree->lines : tree->functions;
}
