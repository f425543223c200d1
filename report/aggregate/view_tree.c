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
				  const struct scope *scope, bool by_line)
{
	struct figure *figure = arena_alloc(scope->arena, sizeof(*figure));

	if (!figure)
		return NULL;
	figure->kind = FIGURE_TREE;
	figure->id = arena_printf(scope->arena, "view.%s.%s",
				  view->options.name,
				  by_line ? "lines" : "tree");
	figure->title = view->options.title;
	return figure->id ? figure : NULL;
}

int view_tree_begin(struct view_tree *tree, const struct view *view,
		    const struct scope *scope, bool by_line)
{
	enum cost cost = view->options.cost;
	const struct tree_options options = {
		.cost_label = cost_labels[cost],
		.by_line = by_line,
		.by_count = cost == COST_COUNT || cost == COST_TEMPORARY,
		.callees_first = view->options.direction == DIRECTION_CALLEES,
	};
	struct tree_cost *costs =
		calloc(view->groups.count + 1, sizeof(*costs));

	tree->view = view;
	tree->figure = figure_make(view, scope, by_line);
	tree->purpose = arena_printf(scope->arena, "the tree of view %s",
				     view->options.name);
	if (!costs || !tree->figure || !tree->purpose) {
		free(costs);
		return -ENOMEM;
	}
	for (size_t i = 0; i < view->groups.count; i++)
		costs[i] = group_cost(&view->groups.items[i], cost);
	return tree_begin(&tree->tree, scope, costs, view->groups.count,
			  &options);
}

static const char *caption(struct view_tree *tree)
{
	const struct scope scope = { .arena = &tree->arena };
	const struct view *view = tree->view;

	if (!view->totals.count)
		return view_nothing_passed(view, &scope);
	if (!tree->figure->tree.nodes[0].total_count)
		return no_cost_caption(view, &scope);
	if (tree->tree.depth_max < UINT32_MAX)
		return arena_printf(
			&tree->arena,
			"The innermost %" PRIu32 " calls of each stack",
			tree->tree.depth_max);
	return NULL;
}

int view_tree_finish(struct view_tree *tree)
{
	int status = tree_finish(&tree->tree, &tree->arena,
				 &tree->figure->tree);

	if (status == 0) {
		const struct scope scope = { .arena = &tree->arena };

		tree->figure->caption =
			view_caption(tree->view, &scope, caption(tree));
	}
	return status;
}

void view_tree_done(struct view_tree *tree)
{
	tree_done(&tree->tree);
	arena_done(&tree->arena);
}
