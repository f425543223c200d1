/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "report/aggregate/view_data.h"
#include "report/engine/engine.h"
#include "report/event/run.h"

enum group_value view_sorted_value(enum sort_by sort_by)
{
	switch (sort_by) {
	case SORT_MATCHED_MIN_TIMESTAMP:
		return GROUP_FIRST;
	case SORT_MATCHED_MAX_TIMESTAMP:
		return GROUP_LAST;
	case SORT_MATCHED_INTERVAL:
		return GROUP_INTERVAL;
	case SORT_MATCHED_ALLOCATED_COUNT:
		return GROUP_ALLOCATIONS;
	case SORT_MATCHED_LEAKED_COUNT:
		return GROUP_LEAKED_COUNT;
	case SORT_ALL_MIN_TIMESTAMP:
		return GROUP_ALL_FIRST;
	case SORT_ALL_MAX_TIMESTAMP:
		return GROUP_ALL_LAST;
	case SORT_ALL_INTERVAL:
		return GROUP_ALL_INTERVAL;
	case SORT_ALL_ALLOCATED_COUNT:
		return GROUP_ALL_ALLOCATIONS;
	case SORT_ALL_LEAKED_COUNT:
		return GROUP_ALL_LEAKED_COUNT;
	case SORT_ALL_SIZE:
		return GROUP_ALL_SIZE;
	case SORT_ALL_MAX_USAGE:
		return GROUP_ALL_MOST_AT;
	case SORT_DEFAULT:
	case SORT_TIMESTAMP:
	case SORT_ADDRESS:
	case SORT_SIZE:
	case SORT_USABLE_SIZE:
	case SORT_LIFETIME:
	case SORT_MATCHED_SIZE:
		break;
	}
	return GROUP_SIZE;
}

uint64_t view_group_value(const struct run *run, enum group_value value,
			  const struct view_group *matched,
			  const struct group *all)
{
	switch (value) {
	case GROUP_SIZE:
		return matched->bytes;
	case GROUP_ALLOCATIONS:
		return matched->count;
	case GROUP_LEAKED_SIZE:
		return matched->leaked_bytes;
	case GROUP_LEAKED_COUNT:
		return matched->leaked_count;
	case GROUP_TEMPORARY:
		return matched->temporary_count;
	case GROUP_FIRST:
		return matched->first_tick;
	case GROUP_LAST:
		return matched->last_tick;
	case GROUP_INTERVAL:
		return run_span_ns(run, matched->first_tick,
				   matched->last_tick);
	case GROUP_ALL_SIZE:
		return all->allocated_bytes;
	case GROUP_ALL_ALLOCATIONS:
		return all->allocated_count;
	case GROUP_ALL_LEAKED_COUNT:
		return all->allocated_count - all->freed_count;
	case GROUP_ALL_FIRST:
		return all->all.first_tick;
	case GROUP_ALL_LAST:
		return all->all.last_tick;
	case GROUP_ALL_INTERVAL:
		return run_span_ns(run, all->all.first_tick,
				   all->all.last_tick);
	case GROUP_ALL_MOST_AT:
		return all->max_live_bytes ? all->max_live_tick : 0;
	case GROUP_VALUES:
		break;
	}
	return 0;
}

static int compare_group_rows(const void *a, const void *b, void *descending)
{
	const struct group_row *x = a, *y = b;

	if (x->key != y->key)
		return (x->key < y->key) == !*(bool *)descending ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Whether groups come biggest first where no order is asked for: by amounts they
   do, by times the earliest is first. */
static bool falls_by_itself(enum sort_by sort_by)
{
	switch (sort_by) {
	case SORT_MATCHED_MIN_TIMESTAMP:
	case SORT_MATCHED_MAX_TIMESTAMP:
	case SORT_ALL_MIN_TIMESTAMP:
	case SORT_ALL_MAX_TIMESTAMP:
	case SORT_ALL_MAX_USAGE:
		return false;
	case SORT_DEFAULT:
	case SORT_TIMESTAMP:
	case SORT_ADDRESS:
	case SORT_SIZE:
	case SORT_USABLE_SIZE:
	case SORT_LIFETIME:
	case SORT_MATCHED_INTERVAL:
	case SORT_MATCHED_ALLOCATED_COUNT:
	case SORT_MATCHED_LEAKED_COUNT:
	case SORT_MATCHED_SIZE:
	case SORT_ALL_INTERVAL:
	case SORT_ALL_ALLOCATED_COUNT:
	case SORT_ALL_LEAKED_COUNT:
	case SORT_ALL_SIZE:
		break;
	}
	return true;
}

bool view_groups_fall(const struct view *view)
{
	return view->options.has_order
		       ? view->options.order == SORT_DESCENDING
		       : falls_by_itself(view->options.sort_by);
}

/* The rows seen so far that come first, @most at most; from then on a heap with
   the last of them on top. */
struct first_rows {
	struct group_row *items;
	size_t count;
	size_t most;
	bool descending;
};

static void sift_down(struct first_rows *rows, size_t at)
{
	struct group_row *items = rows->items, moving = items[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= rows->count)
			break;
		if (child + 1 < rows->count &&
		    compare_group_rows(&items[child], &items[child + 1],
				       &rows->descending) < 0)
			child++;
		if (compare_group_rows(&moving, &items[child],
				       &rows->descending) >= 0)
			break;
		items[at] = items[child];
		at = child;
	}
	items[at] = moving;
}

static void first_rows_add(struct first_rows *rows, struct group_row row)
{
	if (rows->count < rows->most) {
		rows->items[rows->count++] = row;
		if (rows->count < rows->most)
			return;
		for (size_t i = rows->count / 2; i-- > 0;)
			sift_down(rows, i);
	} else if (rows->most &&
		   compare_group_rows(&row, &rows->items[0],
				      &rows->descending) < 0) {
		rows->items[0] = row;
		sift_down(rows, 0);
	}
}

/* What groups are sorted by: moments, too, in nanoseconds, as reports write
   them. */
static uint64_t group_key(const struct view *view, enum group_value value,
			  const struct view_group *matched,
			  const struct group *all)
{
	const struct run *run = view->options.run;
	uint64_t key = view_group_value(run, value, matched, all);
	bool is_moment = value == GROUP_FIRST || value == GROUP_LAST ||
			 value == GROUP_ALL_FIRST || value == GROUP_ALL_LAST ||
			 value == GROUP_ALL_MOST_AT;

	return is_moment ? run_span_ns(run, run->first_tick, key) : key;
}

struct group_row *view_sort_groups(const struct view *view,
				   const struct groups *groups, uint64_t most,
				   size_t *ret_count)
{
	enum group_value sorted = view_sorted_value(view->options.sort_by);
	struct first_rows rows = {
		.most = most < view->totals.groups ? most : view->totals.groups,
		.descending = view_groups_fall(view),
	};

	rows.items = calloc(rows.most + 1, sizeof(*rows.items));
	if (!rows.items)
		return NULL;
	for (size_t i = 0; i < view->groups.count; i++) {
		const struct view_group *matched = &view->groups.items[i];

		if (matched->count)
			first_rows_add(&rows,
				       (struct group_row){
					       .number = (uint32_t)i,
					       .key = group_key(
						       view, sorted, matched,
						       &groups->items[i]),
				       });
	}
	qsort_r(rows.items, rows.count, sizeof(*rows.items), compare_group_rows,
		&rows.descending);
	*ret_count = rows.count;
	return rows.items;
}

#define GROUP_COLUMNS(prefix, words)                                           \
	{ prefix "size", words "bytes", "allocated_bytes", CELL_BYTES },       \
	{ prefix "usable_size", words "usable", "usable_bytes", CELL_BYTES },  \
	{ prefix "allocated_count", words "allocations", "allocations",        \
	  CELL_COUNT },                                                        \
	{ prefix "leaked_count", words "leaked", "leaked", CELL_COUNT },       \
	{ prefix "leaked_size", words "leaked bytes", "leaked", CELL_BYTES },  \
	{ prefix "temporary_count", words "temporary", "temporary",            \
	  CELL_COUNT },                                                        \
	{ prefix "min_size", words "smallest", NULL, CELL_BYTES },             \
	{ prefix "max_size", words "largest", NULL, CELL_BYTES },              \
	{ prefix "min_timestamp", words "first", NULL, CELL_SECONDS },         \
	{ prefix "max_timestamp", words "last", NULL, CELL_SECONDS },          \
	{ prefix "interval", words "interval", NULL, CELL_SECONDS }

static const struct figure_column group_columns[] = {
	GROUP_COLUMNS("only_matched_", "Matched: "),
	GROUP_COLUMNS("all_", "All: "),
	{ "all_peak_size", "All: at the peak", "peak_share", CELL_BYTES },
	{ "all_max_total_usage", "All: most alive", NULL, CELL_BYTES },
	{ "all_max_total_usage_first_seen_at", "All: most alive at", NULL,
	  CELL_SECONDS },
	{ "backtrace", "Backtrace", "backtrace", CELL_STACK },
};

static void add_group_half(struct table_maker *table, const struct scope *scope,
			   const struct view_group *half)
{
	const struct run *run = scope->run;

	table_add(table, cell_bytes(half->bytes));
	table_add(table, run->has_usable ? cell_bytes(half->usable)
					 : cell_none());
	table_add(table, cell_count(half->count));
	table_add(table, cell_count(half->leaked_count));
	table_add(table, cell_bytes(half->leaked_bytes));
	table_add(table, cell_count(half->temporary_count));
	table_add(table, cell_bytes(half->min_size));
	table_add(table, cell_bytes(half->max_size));
	table_add(table, cell_seconds(run_seconds(run, half->first_tick)));
	table_add(table, cell_seconds(run_seconds(run, half->last_tick)));
	table_add(table, cell_seconds(run_span(run, half->first_tick,
					       half->last_tick)));
}

static void add_group(struct table_maker *table, const struct scope *scope,
		      const struct view_group *matched,
		      const struct group *group)
{
	const struct view_group all = view_group_of(group, FILTER_ALL);

	table_row(table);
	add_group_half(table, scope, matched);
	add_group_half(table, scope, &all);
	table_add(table, cell_bytes(group->peak_bytes));
	table_add(table, cell_bytes(group->max_live_bytes));
	table_add(table,
		  cell_seconds(group->max_live_bytes
				       ? run_seconds(scope->run,
						     group->max_live_tick)
				       : 0));
	table_add(table, cell_stack(scope_stack(scope, group->stack)));
}

const struct figure *view_groups(const struct view *view,
				 const struct scope *scope)
{
	const struct groups *groups = engine_groups(scope->engine);
	struct table_maker table;
	size_t count = 0;
	struct group_row *rows = view_sort_groups(
		view, groups, view_rows_kept(&view->options), &count);

	if (!rows)
		return NULL;
	table_init(&table, group_columns,
		   sizeof(group_columns) / sizeof(group_columns[0]));
	for (size_t i = view->options.skip; i < count; i++)
		add_group(&table, scope,
			  &view->groups.items[rows[i].number],
			  &groups->items[rows[i].number]);
	free(rows);
	return view_rows_finish(view, scope, &table, "groups",
				view->totals.groups);
}
