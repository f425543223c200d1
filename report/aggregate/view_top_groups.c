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

/* What a column can show of a group. */
enum top_value {
	TOP_SIZE,
	TOP_ALLOCATIONS,
	TOP_LEAKED_SIZE,
	TOP_LEAKED_COUNT,
	TOP_TEMPORARY,
	TOP_FIRST,
	TOP_LAST,
	TOP_INTERVAL,
	TOP_ALL_SIZE,
	TOP_ALL_ALLOCATIONS,
	TOP_ALL_LEAKED_COUNT,
	TOP_ALL_FIRST,
	TOP_ALL_LAST,
	TOP_ALL_INTERVAL,
	TOP_ALL_MOST_AT,
	TOP_VALUES,
};

static const struct figure_column value_columns[TOP_VALUES] = {
	[TOP_SIZE] = { "size", "Allocated", "allocated_bytes", CELL_BYTES },
	[TOP_ALLOCATIONS] = { "allocated_count", "Allocations", "allocations",
			      CELL_COUNT },
	[TOP_LEAKED_SIZE] = { "leaked_size", "Bytes never freed", "leaked",
			      CELL_BYTES },
	[TOP_LEAKED_COUNT] = { "leaked_count", "Blocks never freed", "leaked",
			       CELL_COUNT },
	[TOP_TEMPORARY] = { "temporary_count", "Temporary", "temporary",
			    CELL_COUNT },
	[TOP_FIRST] = { "min_timestamp", "First", NULL, CELL_SECONDS },
	[TOP_LAST] = { "max_timestamp", "Last", NULL, CELL_SECONDS },
	[TOP_INTERVAL] = { "interval", "First to last", NULL, CELL_SECONDS },
	[TOP_ALL_SIZE] = { "all_size", "All: allocated", "allocated_bytes",
			   CELL_BYTES },
	[TOP_ALL_ALLOCATIONS] = { "all_allocated_count", "All: allocations",
				  "allocations", CELL_COUNT },
	[TOP_ALL_LEAKED_COUNT] = { "all_leaked_count",
				   "All: blocks never freed", "leaked",
				   CELL_COUNT },
	[TOP_ALL_FIRST] = { "all_min_timestamp", "All: first", NULL,
			    CELL_SECONDS },
	[TOP_ALL_LAST] = { "all_max_timestamp", "All: last", NULL,
			   CELL_SECONDS },
	[TOP_ALL_INTERVAL] = { "all_interval", "All: first to last", NULL,
			       CELL_SECONDS },
	[TOP_ALL_MOST_AT] = { "all_max_total_usage_first_seen_at",
			      "All: most alive at", NULL, CELL_SECONDS },
};

/* Shown in any order of the rows. */
static const enum top_value always[] = {
	TOP_SIZE,      TOP_ALLOCATIONS, TOP_LEAKED_SIZE,
	TOP_TEMPORARY, TOP_FIRST,	TOP_LAST,
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
	enum top_value values[ALWAYS + 1];
	size_t value_count;
	bool has_share;
	uint64_t whole;
};

static enum top_value sorted_value(enum sort_by sort_by)
{
	switch (sort_by) {
	case SORT_MATCHED_MIN_TIMESTAMP:
		return TOP_FIRST;
	case SORT_MATCHED_MAX_TIMESTAMP:
		return TOP_LAST;
	case SORT_MATCHED_INTERVAL:
		return TOP_INTERVAL;
	case SORT_MATCHED_ALLOCATED_COUNT:
		return TOP_ALLOCATIONS;
	case SORT_MATCHED_LEAKED_COUNT:
		return TOP_LEAKED_COUNT;
	case SORT_ALL_MIN_TIMESTAMP:
		return TOP_ALL_FIRST;
	case SORT_ALL_MAX_TIMESTAMP:
		return TOP_ALL_LAST;
	case SORT_ALL_INTERVAL:
		return TOP_ALL_INTERVAL;
	case SORT_ALL_ALLOCATED_COUNT:
		return TOP_ALL_ALLOCATIONS;
	case SORT_ALL_LEAKED_COUNT:
		return TOP_ALL_LEAKED_COUNT;
	case SORT_ALL_SIZE:
		return TOP_ALL_SIZE;
	case SORT_ALL_MAX_USAGE:
		return TOP_ALL_MOST_AT;
	case SORT_DEFAULT:
	case SORT_TIMESTAMP:
	case SORT_ADDRESS:
	case SORT_SIZE:
	case SORT_USABLE_SIZE:
	case SORT_LIFETIME:
	case SORT_MATCHED_SIZE:
		break;
	}
	return TOP_SIZE;
}

/* Return: the label of the share of @value, NULL where it cannot be added up
   over the view. */
static const char *share_label(enum top_value value)
{
	if (value == TOP_SIZE)
		return "Of the bytes";
	if (value == TOP_ALLOCATIONS)
		return "Of the allocations";
	if (value == TOP_LEAKED_COUNT)
		return "Of the blocks";
	return NULL;
}

static uint64_t share_whole(const struct view *view, enum top_value value)
{
	if (value == TOP_ALLOCATIONS)
		return view->totals.count;
	if (value == TOP_LEAKED_COUNT)
		return view->totals.leaked_count;
	return view->totals.bytes;
}

static bool top_init(struct top *top, const struct view *view,
		     const struct scope *scope)
{
	enum top_value sorted = sorted_value(view->options.sort_by);
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

static struct cell time_cell(const struct scope *scope, uint64_t tick)
{
	return cell_seconds(run_seconds(scope->run, tick));
}

/* What @value is in the matched and in all allocations of a group. */
static struct cell top_cell(const struct scope *scope, enum top_value value,
			    const struct view_group *matched,
			    const struct group *all)
{
	switch (value) {
	case TOP_SIZE:
		return cell_bytes(matched->bytes);
	case TOP_ALLOCATIONS:
		return cell_count(matched->count);
	case TOP_LEAKED_SIZE:
		return cell_bytes(matched->leaked_bytes);
	case TOP_LEAKED_COUNT:
		return cell_count(matched->leaked_count);
	case TOP_TEMPORARY:
		return cell_count(matched->temporary_count);
	case TOP_FIRST:
		return time_cell(scope, matched->first_tick);
	case TOP_LAST:
		return time_cell(scope, matched->last_tick);
	case TOP_INTERVAL:
		return cell_seconds(run_span(scope->run, matched->first_tick,
					     matched->last_tick));
	case TOP_ALL_SIZE:
		return cell_bytes(all->allocated_bytes);
	case TOP_ALL_ALLOCATIONS:
		return cell_count(all->allocated_count);
	case TOP_ALL_LEAKED_COUNT:
		return cell_count(all->allocated_count - all->freed_count);
	case TOP_ALL_FIRST:
		return time_cell(scope, all->first_tick);
	case TOP_ALL_LAST:
		return time_cell(scope, all->last_tick);
	case TOP_ALL_INTERVAL:
		return cell_seconds(run_span(scope->run, all->first_tick,
					     all->last_tick));
	case TOP_ALL_MOST_AT:
		return all->max_live_bytes
			       ? time_cell(scope, all->max_live_tick)
			       : cell_none();
	case TOP_VALUES:
		break;
	}
	return cell_none();
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
