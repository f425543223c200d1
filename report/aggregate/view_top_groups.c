/* SPDX-License-Identifier: MIT */
/*
 * The first groups of a view, for people: what they are sorted by, its share of
 * the view where it can be added up, and the few figures that one asks for next.
 */
#include <assert.h>
#include <stdlib.h>

#include "report/aggregate/site_frame.h"
#include "report/aggregate/view_data.h"
#include "report/engine/engine.h"
#include "report/event/run.h"

enum { TOP_GROUPS = 10 };

static const struct figure_column value_columns[GROUP_VALUES] = {
	[GROUP_SIZE] = { "size", "Allocated", "allocated_bytes", CELL_BYTES },
	[GROUP_ALLOCATIONS] = { "allocated_count", "Allocations", "allocations",
				CELL_COUNT },
	[GROUP_LEAKED_SIZE] = { "leaked_size", "Bytes never freed", "leaked",
				CELL_BYTES },
	[GROUP_LEAKED_COUNT] = { "leaked_count", "Blocks never freed", "leaked",
				 CELL_COUNT },
	[GROUP_TEMPORARY] = { "temporary_count", "Temporary", "temporary",
			      CELL_COUNT },
	[GROUP_FIRST] = { "min_timestamp", "First", NULL, CELL_SECONDS },
	[GROUP_LAST] = { "max_timestamp", "Last", NULL, CELL_SECONDS },
	[GROUP_INTERVAL] = { "interval", "First to last", NULL, CELL_SECONDS },
	[GROUP_ALL_SIZE] = { "all_size", "All: allocated", "allocated_bytes",
			     CELL_BYTES },
	[GROUP_ALL_ALLOCATIONS] = { "all_allocated_count", "All: allocations",
				    "allocations", CELL_COUNT },
	[GROUP_ALL_LEAKED_COUNT] = { "all_leaked_count",
				     "All: blocks never freed", "leaked",
				     CELL_COUNT },
	[GROUP_ALL_FIRST] = { "all_min_timestamp", "All: first", NULL,
			      CELL_SECONDS },
	[GROUP_ALL_LAST] = { "all_max_timestamp", "All: last", NULL,
			     CELL_SECONDS },
	[GROUP_ALL_INTERVAL] = { "all_interval", "All: first to last", NULL,
				 CELL_SECONDS },
	[GROUP_ALL_MOST_AT] = { "all_max_total_usage_first_seen_at",
				"All: most alive at", NULL, CELL_SECONDS },
};

/* Shown in any order of the rows. */
static const enum group_value always[] = {
	GROUP_SIZE,	 GROUP_ALLOCATIONS, GROUP_LEAKED_SIZE,
	GROUP_TEMPORARY, GROUP_FIRST,	    GROUP_LAST,
};

enum {
	ALWAYS = sizeof(always) / sizeof(always[0]),
	/* A backtrace, the share, what rows are sorted by. */
	COLUMNS_MAX = ALWAYS + 3,
};

/**
 * struct top - a table under construction
 * @columns: the backtrace, the share if there is one, then @values
 * @value_count: of @values; the first is what rows are sorted by
 * @whole:   what shares are of, 0 where there are none
 */
struct top {
	struct figure_column *columns;
	enum group_value values[ALWAYS + 1];
	size_t value_count;
	bool has_share;
	uint64_t whole;
};

/* Return: the label of the share of @value, NULL where it cannot be added up
   over the view. */
static const char *share_label(enum group_value value)
{
	if (value == GROUP_SIZE)
		return "Of the bytes";
	if (value == GROUP_ALLOCATIONS)
		return "Of the allocations";
	if (value == GROUP_LEAKED_COUNT)
		return "Of the blocks";
	return NULL;
}

static uint64_t share_whole(const struct view *view, enum group_value value)
{
	if (value == GROUP_ALLOCATIONS)
		return view->totals.count;
	if (value == GROUP_LEAKED_COUNT)
		return view->totals.leaked_count;
	return view->totals.bytes;
}

static bool top_init(struct top *top, const struct view *view,
		     const struct scope *scope)
{
	enum group_value sorted = view_sorted_value(view->options.sort_by);
	size_t count = 0;

	*top = (struct top){
		.columns = arena_array(scope->arena, COLUMNS_MAX,
				       sizeof(*top->columns)),
		.has_share = share_label(sorted) != NULL,
		.whole = share_whole(view, sorted),
	};
	if (!top->columns)
		return false;
	top->values[top->value_count++] = sorted;
	for (size_t i = 0; i < ALWAYS; i++)
		if (always[i] != sorted)
			top->values[top->value_count++] = always[i];
	top->columns[count++] = (struct figure_column){
		"backtrace", "Backtrace", "backtrace", CELL_STACK
	};
	if (top->has_share)
		top->columns[count++] = (struct figure_column){
			"share", share_label(sorted), "share", CELL_RATIO
		};
	for (size_t i = 0; i < top->value_count; i++)
		top->columns[count++] = value_columns[top->values[i]];
	assert(count <= COLUMNS_MAX);
	return true;
}

/* What @value is in the matched and in all allocations of a group. */
static struct cell top_cell(const struct scope *scope, enum group_value value,
			    const struct view_group *matched,
			    const struct group *all)
{
	const struct run *run = scope->run;
	uint64_t number = view_group_value(run, value, matched, all);

	if (value == GROUP_INTERVAL)
		return cell_seconds(run_span(run, matched->first_tick,
					     matched->last_tick));
	if (value == GROUP_ALL_INTERVAL)
		return cell_seconds(
			run_span(run, all->all.first_tick, all->all.last_tick));
	if (value == GROUP_ALL_MOST_AT && !all->max_live_bytes)
		return cell_none();
	if (value_columns[value].kind == CELL_SECONDS)
		return cell_seconds(run_seconds(run, number));
	return value_columns[value].kind == CELL_BYTES ? cell_bytes(number)
						       : cell_count(number);
}

/* Return: the backtrace of @node, to be shown from its call site on; NULL when
   out of memory. */
static const struct figure_stack *top_stack(const struct scope *scope,
					    uint32_t node)
{
	const struct figure_stack *stack = scope_stack(scope, node);
	struct figure_stack *copy = arena_alloc(scope->arena, sizeof(*copy));
	size_t inner;

	if (!stack || !copy)
		return NULL;
	*copy = *stack;
	site_frame(scope, node, &inner);
	if (inner < copy->count)
		copy->plumbing = inner;
	return copy;
}

static void top_add(struct table_maker *table, const struct top *top,
		    const struct scope *scope,
		    const struct view_group *matched, const struct group *all)
{
	struct cell sorted = top_cell(scope, top->values[0], matched, all);

	table_row(table);
	table_add(table, cell_stack(top_stack(scope, matched->stack)));
	if (top->has_share)
		table_add(table,
			  cell_ratio(scope_ratio(sorted.count, top->whole)));
	table_add(table, sorted);
	for (size_t i = 1; i < top->value_count; i++)
		table_add(table,
			  top_cell(scope, top->values[i], matched, all));
}

const struct figure *view_top_groups(const struct view *view,
				     const struct scope *scope)
{
	const struct groups *groups = engine_groups(scope->engine);
	struct table_maker table;
	struct figure *figure;
	struct top top;
	size_t count = 0;
	struct group_row *rows =
		view_sort_groups(view, groups, TOP_GROUPS, &count);

	if (!rows || !top_init(&top, view, scope)) {
		free(rows);
		return NULL;
	}
	table_init(&table, top.columns,
		   1 + top.has_share + top.value_count);
	for (size_t i = 0; i < count; i++)
		top_add(&table, &top, scope,
			&view->groups.items[rows[i].number],
			&groups->items[rows[i].number]);
	free(rows);
	figure = view_rows_finish(view, scope, &table, "groups",
				  view->totals.groups);
	if (!figure)
		return NULL;
	figure->table.main_key = value_columns[top.values[0]].key;
	figure->table.main_rises = !view_groups_fall(view);
	figure->table.share_key = top.has_share ? "share" : NULL;
	return figure;
}
