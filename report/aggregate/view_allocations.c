/* SPDX-License-Identifier: MIT */
#include "report/aggregate/view_data.h"
#include "report/event/event.h"
#include "report/event/run.h"

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
	{ "chain_id", "Chain", NULL, CELL_ID },
	{ "marker", "Markers before", NULL, CELL_ID },
	{ "backtrace", "Backtrace", "backtrace", CELL_STACK },
	{ "deallocation_backtrace", "Freed from", "backtrace", CELL_STACK },
};

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
	table_add(table, record->chain ? cell_id(record->chain) : cell_none());
	table_add(table, cell_id(record->marker));
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
	table_init(&table, allocation_columns,
		   sizeof(allocation_columns) / sizeof(allocation_columns[0]));
	for (size_t i = view->options.skip; i < view->rows.count; i++) {
		table_row(&table);
		add_allocation(&table, scope, &view->rows.items[i]);
	}
	figure = view_rows_finish(view, scope, &table, "allocations",
				  view->totals.count);
	if (!figure)
		return NULL;
	figure->schema_version = 2;
	figure->table.shares_stacks = true;
	return figure;
}
