/* SPDX-License-Identifier: MIT */
#include "report/aggregate/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/aggregate/rows.h"
#include "report/aggregate/scope.h"
#include "report/aggregate/tree.h"
#include "report/core/units.h"
#include "report/core/vec.h"
#include "report/engine/engine.h"
#include "report/event/event.h"
#include "report/event/run.h"
#include "report/filter/filter.h"

/* The matched allocations of one group. */
struct view_group {
	uint64_t count;
	uint64_t bytes;
	uint64_t usable;
	uint64_t leaked_count;
	uint64_t leaked_bytes;
	uint64_t first_tick;
	uint64_t last_tick;
	uint64_t min_size;
	uint64_t max_size;
	uint32_t stack;
};

/* What the view found; sizes are requested bytes. */
struct view_totals {
	uint64_t count;
	uint64_t bytes;
	uint64_t leaked_count;
	uint64_t leaked_bytes;
	uint64_t groups;
};

struct view {
	struct view_options options;
	struct filter *filter;
	struct view_totals totals;
	struct {
		struct view_group *items; /* by group number */
		size_t count;
		size_t capacity;
	} groups;
	struct rows rows;
};

struct view *view_new(const struct view_options *options, struct filter *filter)
{
	struct view *view = calloc(1, sizeof(*view));

	if (!view)
		return NULL;
	view->options = *options;
	view->filter = filter;
	rows_init(&view->rows, options->sort_by,
		  options->has_order ? options->order : SORT_ASCENDING,
		  options->keep_records ? options->rows : 0);
	return view;
}

void view_free(struct view *view)
{
	if (!view)
		return;
	rows_done(&view->rows);
	vec_done(&view->groups);
	free(view);
}

int view_add(void *context, const struct record *record)
{
	struct view *view = context;
	struct view_group *group;

	if (!filter_match(view->filter, record))
		return 0;
	while (view->groups.count <= record->group)
		if (!vec_push(&view->groups))
			return -ENOMEM;
	group = &view->groups.items[record->group];
	if (!group->count) {
		view->totals.groups++;
		group->stack = record->stack;
		group->first_tick = UINT64_MAX;
		group->min_size = UINT64_MAX;
	}
	group->count++;
	group->bytes += record->size;
	group->usable += record->usable;
	if (record->alloc_tick < group->first_tick)
		group->first_tick = record->alloc_tick;
	if (record->alloc_tick > group->last_tick)
		group->last_tick = record->alloc_tick;
	if (record->size < group->min_size)
		group->min_size = record->size;
	if (record->size > group->max_size)
		group->max_size = record->size;
	view->totals.count++;
	view->totals.bytes += record->size;
	if (record_is_leaked(record)) {
		group->leaked_count++;
		group->leaked_bytes += record->size;
		view->totals.leaked_count++;
		view->totals.leaked_bytes += record->size;
	}
	return rows_add(&view->rows, record);
}

const struct figure *view_summary(const struct view *view,
				  const struct scope *scope)
{
	const struct view_totals *totals = &view->totals;
	const struct figure_scalar items[] = {
		{ "matched_count", "Allocations", "allocations",
		  cell_count(totals->count) },
		{ "matched_bytes", "Allocated", "allocated_bytes",
		  cell_bytes(totals->bytes) },
		{ "matched_leaked_count", "Never freed", "leaked",
		  cell_count(totals->leaked_count) },
		{ "matched_leaked_bytes", "Bytes never freed", "leaked",
		  cell_bytes(totals->leaked_bytes) },
		{ "matched_groups", "Backtraces", "group",
		  cell_count(totals->groups) },
	};

	return scope_scalars(scope,
			     arena_printf(scope->arena, "view.%s.summary",
					  view->options.name),
			     view->options.title, items,
			     sizeof(items) / sizeof(items[0]));
}

const struct figure *view_tree(const struct view *view,
			       const struct scope *scope, bool by_line)
{
	const struct tree_options options = {
		.id = arena_printf(scope->arena, "view.%s.%s",
				   view->options.name,
				   by_line ? "lines" : "tree"),
		.title = view->options.title,
		.cost_label = view->options.cost_by_count ? "allocations"
							  : "requested bytes",
		.by_line = by_line,
		.by_count = view->options.cost_by_count,
	};
	struct tree_cost *costs =
		calloc(view->groups.count + 1, sizeof(*costs));
	struct figure *figure;

	if (!costs)
		return NULL;
	for (size_t i = 0; i < view->groups.count; i++) {
		costs[i].stack = view->groups.items[i].stack;
		costs[i].bytes = view->groups.items[i].bytes;
		costs[i].count = view->groups.items[i].count;
	}
	figure = tree_compute(scope, costs, view->groups.count, &options);
	free(costs);
	return figure;
}

/* Facts beside the rows: how many there are, how many are shown. */
static struct figure *with_totals(const struct view *view,
				  const struct scope *scope,
				  struct figure *figure, uint64_t total)
{
	struct figure_scalar *scalars =
		arena_array(scope->arena, 4, sizeof(*scalars));
	char shown[UNITS_TEXT_SIZE], all[UNITS_TEXT_SIZE];

	if (!figure || !scalars)
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
	figure->scalars = scalars;
	figure->scalar_count = 4;
	units_format_count(shown, sizeof(shown), figure->table.row_count);
	units_format_count(all, sizeof(all), total);
	if (figure->table.row_count < total)
		figure->caption = arena_printf(scope->arena, "%s of %s shown",
					       shown, all);
	return figure;
}

static const struct figure_column allocation_columns[] = {
	{ "id", "Number", NULL, CELL_ID },
	{ "address", "Address", NULL, CELL_ADDRESS },
	{ "size", "Size", "allocated_bytes", CELL_BYTES },
	{ "usable_size", "Usable", "usable_bytes", CELL_BYTES },
	{ "timestamp", "Time", NULL, CELL_SECONDS },
	{ "timestamp_relative", "Of the run", NULL, CELL_RATIO },
	{ "thread", "Thread", "threads", CELL_ID },
	{ "thread_name", "Thread name", NULL, CELL_TEXT },
	{ "call", "Call", NULL, CELL_TEXT },
	{ "deallocation_timestamp", "Freed at", NULL, CELL_SECONDS },
	{ "deallocation_thread", "Freed by thread", NULL, CELL_ID },
	{ "deallocation_call", "Freed by", NULL, CELL_TEXT },
	{ "lifetime", "Lifetime", "lifetime", CELL_SECONDS },
	{ "temporary", "Temporary", "temporary", CELL_FLAG },
	{ "position_in_chain", "Reallocs before", NULL, CELL_COUNT },
	{ "backtrace_id", "Backtrace number", "group", CELL_ID },
	{ "backtrace", "Backtrace", "backtrace", CELL_STACK },
	{ "deallocation_backtrace", "Freed from", "backtrace", CELL_STACK },
};

#define COLUMNS(array) (array), sizeof(array) / sizeof((array)[0])

static void add_deallocation(struct table_maker *table,
			     const struct scope *scope,
			     const struct record *record)
{
	const struct run *run = scope->run;
	double end = run_seconds(run, record->free_tick);

	if (record_is_leaked(record)) {
		for (int i = 0; i < 4; i++)
			table_add(table, cell_none());
		return;
	}
	table_add(table, cell_seconds(end));
	table_add(table, cell_id(record->free_thread));
	table_add(table, record->free_call
			 ? cell_text(event_call_name(record->free_call))
			 : cell_none());
	table_add(table,
		  cell_seconds(end - run_seconds(run, record->alloc_tick)));
}

static void add_allocation(struct table_maker *table, const struct scope *scope,
			   const struct record *record)
{
	const struct run *run = scope->run;
	const struct run_thread *thread = run_thread_find(run, record->thread);
	double seconds = run_seconds(run, record->alloc_tick);
	double duration = run_duration(run);

	table_add(table, cell_id(record->id));
	table_add(table, cell_address(record->addr));
	table_add(table, cell_bytes(record->size));
	table_add(table, run->has_usable ? cell_bytes(record->usable)
					 : cell_none());
	table_add(table, cell_seconds(seconds));
	table_add(table, cell_ratio(duration > 0 ? seconds / duration : 0));
	table_add(table, cell_id(record->thread));
	table_add(table, thread && thread->name[0] ? cell_text(thread->name)
						   : cell_none());
	table_add(table, cell_text(event_call_name(record->call)));
	add_deallocation(table, scope, record);
	table_add(table, cell_flag(record->is_temporary));
	table_add(table, cell_count(record->chain_position));
	table_add(table, cell_id(record->group));
	table_add(table, cell_stack(scope_stack(scope, record->stack)));
	table_add(table, record->free_stack
			 ? cell_stack(scope_stack(scope, record->free_stack))
			 : cell_none());
}

const struct figure *view_allocations(struct view *view,
				      const struct scope *scope)
{
	struct table_maker table;
	struct figure *figure;

	rows_sort(&view->rows);
	table_init(&table, COLUMNS(allocation_columns));
	for (size_t i = 0; i < view->rows.count; i++) {
		table_row(&table);
		add_allocation(&table, scope, &view->rows.items[i]);
	}
	figure = table_finish(&table, scope,
			      arena_printf(scope->arena, "view.%s.allocations",
					   view->options.name),
			      view->options.title);
	if (!figure)
		return NULL;
	figure->schema = "allocations";
	figure->rows_key = "allocations";
	return with_totals(view, scope, figure, view->totals.count);
}

/* One group with both halves of what it is sorted by. */
struct group_row {
	uint32_t number;
	uint64_t key;
};

static uint64_t group_sort_key(const struct view *view,
			       const struct view_group *matched,
			       const struct group *all)
{
	switch (view->options.sort_by) {
	case SORT_MATCHED_MIN_TIMESTAMP:
		return matched->first_tick;
	case SORT_MATCHED_MAX_TIMESTAMP:
		return matched->last_tick;
	case SORT_MATCHED_INTERVAL:
		return matched->last_tick - matched->first_tick;
	case SORT_MATCHED_ALLOCATED_COUNT:
		return matched->count;
	case SORT_MATCHED_LEAKED_COUNT:
		return matched->leaked_count;
	case SORT_ALL_MIN_TIMESTAMP:
		return all->first_tick;
	case SORT_ALL_MAX_TIMESTAMP:
		return all->last_tick;
	case SORT_ALL_INTERVAL:
		return all->last_tick - all->first_tick;
	case SORT_ALL_ALLOCATED_COUNT:
		return all->allocated_count;
	case SORT_ALL_LEAKED_COUNT:
		return all->allocated_count - all->freed_count;
	case SORT_ALL_SIZE:
		return all->allocated_bytes;
	case SORT_DEFAULT:
	case SORT_TIMESTAMP:
	case SORT_ADDRESS:
	case SORT_SIZE:
	case SORT_MATCHED_SIZE:
		break;
	}
	return matched->bytes;
}

static bool sorts_groups(enum sort_by sort_by)
{
	return sort_by >= SORT_MATCHED_MIN_TIMESTAMP;
}

static int compare_group_rows(const void *a, const void *b, void *descending)
{
	const struct group_row *x = a, *y = b;

	if (x->key != y->key)
		return (x->key < y->key) == !*(bool *)descending ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Return: rows in order, owned by the caller; NULL when out of memory. */
static struct group_row *sorted_groups(const struct view *view,
				       const struct groups *groups,
				       size_t *ret_count)
{
	struct group_row *rows =
		calloc(view->totals.groups + 1, sizeof(*rows));
	bool descending = view->options.has_order
				  ? view->options.order == SORT_DESCENDING
				  : !sorts_groups(view->options.sort_by);
	size_t count = 0;

	if (!rows)
		return NULL;
	for (size_t i = 0; i < view->groups.count; i++) {
		const struct view_group *matched = &view->groups.items[i];

		if (!matched->count)
			continue;
		rows[count].number = (uint32_t)i;
		rows[count++].key =
			group_sort_key(view, matched, &groups->items[i]);
	}
	qsort_r(rows, count, sizeof(*rows), compare_group_rows, &descending);
	*ret_count = count;
	return rows;
}

#define GROUP_COLUMNS(prefix, words)                                           \
	{ prefix "size", words "bytes", "allocated_bytes", CELL_BYTES },       \
	{ prefix "usable_size", words "usable", "usable_bytes", CELL_BYTES },  \
	{ prefix "allocated_count", words "allocations", "allocations",        \
	  CELL_COUNT },                                                        \
	{ prefix "leaked_count", words "leaked", "leaked", CELL_COUNT },       \
	{ prefix "leaked_size", words "leaked bytes", "leaked", CELL_BYTES },  \
	{ prefix "min_size", words "smallest", NULL, CELL_BYTES },             \
	{ prefix "max_size", words "largest", NULL, CELL_BYTES },              \
	{ prefix "min_timestamp", words "first", NULL, CELL_SECONDS },         \
	{ prefix "max_timestamp", words "last", NULL, CELL_SECONDS },          \
	{ prefix "interval", words "interval", NULL, CELL_SECONDS }

static const struct figure_column group_columns[] = {
	{ "backtrace_id", "Backtrace number", "group", CELL_ID },
	GROUP_COLUMNS("only_matched_", "Matched: "),
	GROUP_COLUMNS("all_", "All: "),
	{ "all_temporary_count", "All: temporary", "temporary", CELL_COUNT },
	{ "all_peak_size", "All: at the peak", "peak_share", CELL_BYTES },
	{ "backtrace", "Backtrace", "backtrace", CELL_STACK },
};

static void add_group_half(struct table_maker *table, const struct scope *scope,
			   const struct view_group *half)
{
	const struct run *run = scope->run;
	double first = run_seconds(run, half->first_tick);
	double last = run_seconds(run, half->last_tick);

	table_add(table, cell_bytes(half->bytes));
	table_add(table, run->has_usable ? cell_bytes(half->usable)
					 : cell_none());
	table_add(table, cell_count(half->count));
	table_add(table, cell_count(half->leaked_count));
	table_add(table, cell_bytes(half->leaked_bytes));
	table_add(table, cell_bytes(half->min_size));
	table_add(table, cell_bytes(half->max_size));
	table_add(table, cell_seconds(first));
	table_add(table, cell_seconds(last));
	table_add(table, cell_seconds(last - first));
}

static void add_group(struct table_maker *table, const struct scope *scope,
		      uint32_t number, const struct view_group *matched,
		      const struct group *group)
{
	const struct view_group all = {
		.count = group->allocated_count,
		.bytes = group->allocated_bytes,
		.usable = group->usable_bytes,
		.leaked_count = group->allocated_count - group->freed_count,
		.leaked_bytes = group->allocated_bytes - group->freed_bytes,
		.first_tick = group->first_tick,
		.last_tick = group->last_tick,
		.min_size = group->min_size,
		.max_size = group->max_size,
	};

	table_row(table);
	table_add(table, cell_id(number));
	add_group_half(table, scope, matched);
	add_group_half(table, scope, &all);
	table_add(table, cell_count(group->temporary_count));
	table_add(table, cell_bytes(group->peak_bytes));
	table_add(table, cell_stack(scope_stack(scope, group->stack)));
}

const struct figure *view_groups(const struct view *view,
				 const struct scope *scope)
{
	const struct groups *groups = engine_groups(scope->engine);
	struct table_maker table;
	struct figure *figure;
	size_t count = 0;
	struct group_row *rows = sorted_groups(view, groups, &count);

	if (!rows)
		return NULL;
	table_init(&table, COLUMNS(group_columns));
	for (size_t i = 0; i < count && i < view->options.rows; i++)
		add_group(&table, scope, rows[i].number,
			  &view->groups.items[rows[i].number],
			  &groups->items[rows[i].number]);
	free(rows);
	figure = table_finish(&table, scope,
			      arena_printf(scope->arena, "view.%s.groups",
					   view->options.name),
			      view->options.title);
	if (!figure)
		return NULL;
	figure->schema = "groups";
	figure->rows_key = "groups";
	return with_totals(view, scope, figure, view->totals.groups);
}
