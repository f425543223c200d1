/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <errno.h>

#include "report/aggregate/view_data.h"
#include "report/core/diag.h"
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

	if (record_is_leaked(record)) {
		for (int i = 0; i < 4; i++)
			table_add(table, cell_none());
		return;
	}
	table_add(table, cell_seconds(run_seconds(run, record->free_tick)));
	table_add(table, cell_id(record->free_thread));
	table_add(table, record->free_call
			 ? cell_text(event_call_name(record->free_call))
			 : cell_none());
	table_add(table,
		  cell_seconds(run_span(run, record->alloc_tick,
					record->free_tick)));
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

/* What rows are made from while they are written. */
struct allocation_rows {
	struct figure_row_source source;
	struct view *view;
	struct scope scope;
};

static int rows_fail(struct view *view, int status, struct diag *diag)
{
	if (runs_explain(&view->rows.runs, status, diag) == -ENOMEM)
		diag_set(diag, status, NULL, DIAG_NO_OFFSET, "out of memory");
	return status;
}

static int source_rewind(void *context, struct diag *diag)
{
	struct allocation_rows *source = context;
	struct view *view = source->view;
	const struct record *record;
	int status = rows_rewind(&view->rows);

	for (uint64_t i = 0; status == 0 && i < view->options.skip; i++) {
		int more = rows_next(&view->rows, &record);

		if (more <= 0) {
			status = more;
			break;
		}
	}
	return status ? rows_fail(view, status, diag) : 0;
}

static int source_next(void *context, const struct cell **ret_cells,
		       struct diag *diag)
{
	struct allocation_rows *source = context;
	struct view *view = source->view;
	const struct record *record;
	int status = rows_next(&view->rows, &record);

	if (status <= 0)
		return status ? rows_fail(view, status, diag) : 0;
	view->row.cells.count = 0;
	add_allocation(&view->row, &source->scope, record);
	if (view->row.failed)
		return rows_fail(view, -ENOMEM, diag);
	assert(view->row.cells.count == view->row.column_count);
	*ret_cells = view->row.cells.items;
	return 1;
}

const struct figure *view_allocations(struct view *view,
				      const struct scope *scope)
{
	struct allocation_rows *source =
		arena_alloc(scope->arena, sizeof(*source));
	uint64_t count = rows_count(&view->rows);
	struct table_maker none;
	struct figure *figure;

	if (!source)
		return NULL;
	source->source = (struct figure_row_source){
		.context = source,
		.rewind = source_rewind,
		.next = source_next,
	};
	source->view = view;
	source->scope = *scope;
	table_init(&view->row, allocation_columns,
		   sizeof(allocation_columns) / sizeof(allocation_columns[0]));
	none = view->row;
	figure = table_finish(&none, scope,
			      arena_printf(scope->arena, "view.%s.allocations",
					   view->options.name),
			      view->options.title);
	if (!figure)
		return NULL;
	figure->table.source = &source->source;
	figure->table.row_count = count > view->options.skip
					  ? (size_t)(count - view->options.skip)
					  : 0;
	figure->table.shares_stacks = true;
	figure->schema_version = 2;
	return view_rows_describe(view, scope, figure, "allocations",
				  view->totals.count -
					  view->totals.culled_count);
}
