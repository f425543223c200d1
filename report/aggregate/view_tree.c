/* SPDX-License-Identifier: MIT */
#include "report/aggregate/view_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "report/aggregate/view_data.h"
#include "report/core/units.h"

static struct tree_cost group_cost(const struct view_group *group,
				   enum cost cost)
{
	struct tree_cost result = { .stack = group->stack };

	switch (cost) {
	case COST_TEMPORARY:
		result.bytes = group->temporary_bytes;
		result.count = group->temporary_count;
		break;
	case COST_PEAK:
		result.bytes = group->peak_bytes;
		result.count = group->peak_count;
		break;
	case COST_LEAKED:
		result.bytes = group->leaked_bytes;
		result.count = group->leaked_count;
		break;
	case COST_BYTES:
	case COST_COUNT:
	case COST_KINDS:
		result.bytes = group->bytes;
		result.count = group->count;
		break;
	}
	return result;
}

/* As in "Width: …, here and in all it calls". */
static const char *const cost_labels[COST_KINDS] = {
	[COST_BYTES] = "requested bytes",
	[COST_COUNT] = "allocations",
	[COST_TEMPORARY] = "temporary allocations",
	[COST_PEAK] = "requested bytes alive at the peak",
	[COST_LEAKED] = "requested bytes never freed",
};

/* A tree without cost of a view with matches is not one where nothing
   matched. */
static const char *no_cost_caption(const struct view *view,
				   const struct scope *scope)
{
	char count[UNITS_TEXT_SIZE];

	units_format_count(count, sizeof(count), view->totals.count);
	return arena_printf(scope->arena, "%s allocation%s matched, but no %s",
			    count, view->totals.count == 1 ? "" : "s",
			    cost_labels[view->options.cost]);
}

static struct figure *figure_make(const struct view *view,
				  const struct scope *scope, const char *what)
{
	struct figure *figure = arena_alloc(scope->arena, sizeof(*figure));

	if (!figure)
		return NULL;
	figure->kind = FIGURE_TREE;
	figure->id = arena_printf(scope->arena, "view.%s.%s",
				  view->options.name, what);
	figure->title = view->options.title;
	return figure->id ? figure : NULL;
}

/* Return: what the groups of @view cost, owned by the caller; NULL when out of
   memory. */
static struct tree_cost *costs_make(const struct view *view, enum cost cost,
				    size_t *ret_count)
{
	struct tree_cost *costs =
		malloc((view->groups.count + 1) * sizeof(*costs));
	size_t count = 0;

	for (size_t i = 0; costs && i < view->groups.count; i++) {
		costs[count] = group_cost(&view->groups.items[i], cost);
		count += costs[count].count != 0;
	}
	*ret_count = count;
	return costs;
}

int view_tree_init(struct view_tree *tree, const struct view *view,
		   const struct scope *scope, struct view_tree_wish wish)
{
	tree->view = view;
	tree->is_whole = wish.is_whole;
	tree->purpose = arena_printf(scope->arena, "the tree of view %s",
				     view->options.name);
	if (wish.functions)
		tree->functions = figure_make(view, scope, "tree");
	if (wish.lines)
		tree->lines = figure_make(view, scope, "lines");
	return tree->purpose && (!wish.functions || tree->functions) &&
			       (!wish.lines || tree->lines)
		       ? 0
		       : -ENOMEM;
}

int view_tree_begin(struct view_tree *tree, const struct scope *scope)
{
	const struct view *view = tree->view;
	enum cost cost = view->options.cost;
	const struct tree_options options = {
		.cost_label = cost_labels[cost],
		.by_count = cost == COST_COUNT || cost == COST_TEMPORARY,
		.callees_first = view->options.direction == DIRECTION_CALLEES,
		.is_whole = tree->is_whole,
	};
	size_t count;
	struct tree_cost *costs = costs_make(view, cost, &count);

	return costs ? tree_begin(&tree->tree, scope, costs, count, &options)
		     : -ENOMEM;
}

/* Return: what stands below @figure, NULL for nothing. */
static const char *caption(struct view_tree *tree, const struct figure *figure)
{
	const struct scope scope = { .arena = &tree->arena };
	const struct view *view = tree->view;
	const char *text = NULL;

	if (!view->totals.count)
		text = view_nothing_passed(view, &scope);
	else if (!figure->tree.nodes[0].total_count)
		text = no_cost_caption(view, &scope);
	else if (tree->tree.depth_max < UINT32_MAX)
		text = arena_printf(
			&tree->arena,
			"The innermost %" PRIu32 " calls of each stack",
			tree->tree.depth_max);
	return view_caption(view, &scope, text);
}

int view_tree_finish_lines(struct view_tree *tree)
{
	struct figure *lines = tree->lines;
	int status = tree_finish_lines(&tree->tree,
				       lines ? &lines->tree : NULL);

	if (status == 0 && lines)
		lines->caption = caption(tree, lines);
	return status;
}

int view_tree_finish_functions(struct view_tree *tree)
{
	struct figure *functions = tree->functions;
	int status = 0;

	if (functions)
		status = tree_finish_functions(&tree->tree, &tree->arena,
					       &functions->tree);
	if (functions && status == 0)
		functions->caption = caption(tree, functions);
	return status;
}

void view_tree_done(struct view_tree *tree)
{
	tree_done(&tree->tree);
	arena_done(&tree->arena);
}
