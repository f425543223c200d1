/* SPDX-License-Identifier: MIT */
/*
 * What a view says once a trace is read: sums, captions, charts, and the frame
 * of its tables.
 */
#include "report/aggregate/view.h"

#include "report/aggregate/view_data.h"
#include "report/core/units.h"
#include "report/filter/filter.h"

const char *view_nothing_passed(const struct view *view,
				const struct scope *scope)
{
	return view->totals.count ? NULL
				  : filter_explain(view->filter, scope->arena);
}

const char *view_caption(const struct view *view, const struct scope *scope,
			 const char *text)
{
	uint64_t undecided = view->totals.undecided_count;
	char count[UNITS_TEXT_SIZE];

	if (!undecided)
		return text;
	units_format_count(count, sizeof(count), undecided);
	return arena_printf(scope->arena,
			    "%s%s%s culled allocation%s left out: whether %s "
			    "is not known",
			    text ? text : "", text ? "; " : "", count,
			    undecided == 1 ? "" : "s",
			    undecided == 1 ? "it matches" : "they match");
}

const struct figure *view_summary(const struct view *view,
				  const struct scope *scope)
{
	const struct view_sums *totals = &view->totals;
	const struct figure_scalar items[] = {
		{ "matched_count", "Allocations", "allocations",
		  cell_count(totals->count) },
		{ "matched_bytes", "Allocated", "allocated_bytes",
		  cell_bytes(totals->bytes) },
		{ "matched_leaked_count", "Blocks never freed", "leaked",
		  cell_count(totals->leaked_count) },
		{ "matched_leaked_bytes", "Bytes never freed", "leaked",
		  cell_bytes(totals->leaked_bytes) },
		{ "matched_groups", "Backtraces", "group",
		  cell_count(totals->groups) },
		{ "culled_count", "Of these, culled", "culled",
		  cell_count(totals->culled_count) },
		{ "culled_bytes", "Culled bytes", "culled",
		  cell_bytes(totals->culled_bytes) },
		{ "undecided_count", "Undecided", "undecided",
		  cell_count(totals->undecided_count) },
		{ "undecided_bytes", "Undecided bytes", "undecided",
		  cell_bytes(totals->undecided_bytes) },
	};
	size_t count = sizeof(items) / sizeof(items[0]);

	return scope_scalars(scope,
			     arena_printf(scope->arena, "view.%s.summary",
					  view->options.name),
			     view->options.title, items,
			     scope_is_culled(scope) ? count : count - 4);
}

bool view_nothing(const struct view *view, const struct scope *scope,
		  const struct figure **ret)
{
	*ret = NULL;
	if (view->totals.count)
		return true;
	*ret = scope_note(scope,
			  arena_printf(scope->arena, "view.%s.nothing",
				       view->options.name),
			  FIGURE_INFO,
			  view_caption(view, scope,
				       view_nothing_passed(view, scope)));
	return *ret != NULL;
}

/* As scalars beside rows or points. */
static bool name_view(const struct view *view, const struct scope *scope,
		      struct figure *figure)
{
	struct figure_scalar *scalar =
		arena_alloc(scope->arena, sizeof(*scalar));

	if (!scalar)
		return false;
	*scalar = (struct figure_scalar){ "view", "View", NULL,
					  cell_text(view->options.name) };
	figure->scalars = scalar;
	figure->scalar_count = 1;
	return true;
}

const struct figure *view_series(const struct view *view,
				 const struct scope *scope)
{
	const char *id = arena_printf(scope->arena, "view.%s.timeline",
				      view->options.name);
	struct figure *figure =
		view->has_timeline
			? timeline_of_view(&view->timeline, scope, id,
					   view->options.title)
			: arena_alloc(scope->arena, sizeof(*figure));
	const struct figure *run =
		view->has_timeline ? figure : timeline_of_run(scope);

	if (!figure || !run || !id)
		return NULL;
	*figure = *run;
	figure->id = id;
	figure->title = view->options.title;
	figure->caption =
		view_caption(view, scope, view_nothing_passed(view, scope));
	if (!view->totals.count)
		figure->series.point_count = 0;
	return name_view(view, scope, figure) ? figure : NULL;
}

const struct figure *view_history(const struct view *view,
				  const struct scope *scope)
{
	const struct view_sums *totals = &view->totals;

	return history_figure(view->history, scope,
			      arena_printf(scope->arena, "view.%s.history",
					   view->options.name),
			      view->options.title,
			      totals->culled_count + totals->undecided_count);
}

static const struct figure *histogram_finish(const struct view *view,
					     const struct scope *scope,
					     struct figure *figure)
{
	struct figure_scalar *undecided;

	if (!figure || !name_view(view, scope, figure))
		return NULL;
	figure->caption =
		view_caption(view, scope, view_nothing_passed(view, scope));
	if (!scope_is_culled(scope))
		return figure;
	undecided = arena_alloc(scope->arena, sizeof(*undecided));
	if (!undecided)
		return NULL;
	*undecided = (struct figure_scalar){
		"undecided_count", "Undecided", "undecided",
		cell_count(view->totals.undecided_count)
	};
	figure->scalars = undecided;
	figure->scalar_count = 1;
	return figure;
}

const struct figure *view_sizes(const struct view *view,
				const struct scope *scope)
{
	struct figure *figure = histogram_of_sizes(
		&view->histogram, scope,
		arena_printf(scope->arena, "view.%s.sizes", view->options.name),
		view->options.title);

	return histogram_finish(view, scope, figure);
}

const struct figure *view_lifetimes(const struct view *view,
				    const struct scope *scope)
{
	struct figure *figure = histogram_of_lifetimes(
		&view->histogram, scope,
		arena_printf(scope->arena, "view.%s.lifetimes",
			     view->options.name),
		view->options.title);

	return histogram_finish(view, scope, figure);
}

struct figure *view_rows_finish(const struct view *view,
				const struct scope *scope,
				struct table_maker *table, const char *part,
				uint64_t total)
{
	struct figure *figure =
		table_finish(table, scope,
			     arena_printf(scope->arena, "view.%s.%s",
					  view->options.name, part),
			     view->options.title);

	return figure ? view_rows_describe(view, scope, figure, part, total)
		      : NULL;
}

struct figure *view_rows_describe(const struct view *view,
				  const struct scope *scope,
				  struct figure *figure, const char *part,
				  uint64_t total)
{
	struct figure_scalar *scalars =
		arena_array(scope->arena, 6, sizeof(*scalars));
	char shown[UNITS_TEXT_SIZE], all[UNITS_TEXT_SIZE];

	if (!scalars)
		return NULL;
	scalars[0] = (struct figure_scalar){ "view", "View", NULL,
					     cell_text(view->options.name) };
	scalars[1] = (struct figure_scalar){ "total_count", "Matched", NULL,
					     cell_count(total) };
	scalars[2] = (struct figure_scalar){
		"matched_count", "Allocations", "allocations",
		cell_count(view->totals.count)
	};
	scalars[3] = (struct figure_scalar){
		"matched_bytes", "Allocated", "allocated_bytes",
		cell_bytes(view->totals.bytes)
	};
	figure->schema = part;
	figure->rows_key = part;
	figure->scalars = scalars;
	figure->scalar_count = 4;
	if (scope_is_culled(scope)) {
		scalars[4] = (struct figure_scalar){
			"culled_count", "Of these, culled", "culled",
			cell_count(view->totals.culled_count)
		};
		scalars[5] = (struct figure_scalar){
			"undecided_count", "Undecided", "undecided",
			cell_count(view->totals.undecided_count)
		};
		figure->scalar_count = 6;
	}
	units_format_count(shown, sizeof(shown), figure->table.row_count);
	units_format_count(all, sizeof(all), total);
	figure->caption = view_nothing_passed(view, scope);
	if (figure->table.row_count < total)
		figure->caption = arena_printf(scope->arena, "%s of %s shown",
					       shown, all);
	figure->caption = view_caption(view, scope, figure->caption);
	return figure;
}
