/* SPDX-License-Identifier: MIT */
#include "report/aggregate/summary.h"

#include <string.h>

#include "report/aggregate/scope.h"
#include "report/engine/engine.h"
#include "report/event/run.h"
#include "report/symbol/symbol.h"

static const char *signal_text(const struct scope *scope, int signal)
{
	const char *name = sigabbrev_np(signal);

	if (signal <= 0)
		return "killed by a signal";
	return arena_printf(scope->arena, "killed by signal %d (SIG%s)", signal,
			    name ? name : "?");
}

const char *summary_end_text(const struct scope *scope)
{
	const struct run *run = scope->run;
	const char *how = "";

	switch (run->end) {
	case RUN_END_MISSING:
		if (run->is_running)
			return "not yet: it was running when the trace was "
			       "read";
		return "unknown: the trace has no end record";
	case RUN_END_UNSEEN:
		return "unknown: killed, or in a way that nobody saw";
	case RUN_END_CONTINUED:
		return "not yet: goes on in the next piece of the trace";
	case RUN_END_STOPPED:
		return "not seen: recording was stopped before";
	case RUN_END_ABORT:
		return "abort()";
	case RUN_END_SIGNAL:
		return signal_text(scope, run->end_status);
	case RUN_END_EXEC:
		return arena_printf(scope->arena, "replaced itself by %s",
				    run->exec_program);
	case RUN_END_QUICK_EXIT:
		how = ", by quick_exit()";
		break;
	case RUN_END__EXIT:
		how = ", by _exit()";
		break;
	case RUN_END_EXIT:
		break;
	}
	if (run->end_status < 0)
		return arena_printf(scope->arena, "exit status unknown%s", how);
	return arena_printf(scope->arena, "exit status %d%s", run->end_status,
			    how);
}

static const struct figure_list *arguments(const struct scope *scope)
{
	struct figure_list *list = arena_alloc(scope->arena, sizeof(*list));

	if (list) {
		list->items = scope->run->arguments;
		list->count = scope->run->argument_count;
	}
	return list;
}

/* Counters a hostile end record may hold, as far as JSON can tell them. */
static uint64_t clamp(uint64_t count)
{
	return count < INT64_MAX ? count : INT64_MAX;
}

const struct figure *summary_head(const struct scope *scope)
{
	const struct run *run = scope->run;
	const struct engine_totals *totals = engine_totals(scope->engine);
	const struct figure_list *list = arguments(scope);
	uint64_t rss = run_peak_rss(run, totals->peak_rss);
	const struct figure_scalar items[] = {
		{ "program", "Program", "program", cell_text(run->executable) },
		{ "arguments", "Command", "arguments",
		  { .kind = list ? CELL_LIST : CELL_NONE, .list = list } },
		{ "pid", "Process", NULL, cell_or_none(cell_id(run->pid),
						       run->pid != 0) },
		{ "start", "Started", NULL,
		  cell_or_none((struct cell){ .kind = CELL_DATE,
					      .count = run->start_realtime_ns },
			       run->start_realtime_ns != 0) },
		{ "run_time", "Run time", "run_time",
		  cell_seconds(run_duration(run)) },
		{ "end", "Ended", "end", cell_text(summary_end_text(scope)) },
		{ "peak_bytes", "Peak", "peak_bytes",
		  cell_bytes(totals->peak_bytes) },
		{ "peak_blocks", "Blocks at the peak", "peak_blocks",
		  cell_count(totals->peak_count) },
		{ "peak_usable_bytes", "Usable at the peak", "usable_bytes",
		  cell_or_none(cell_bytes(totals->peak_usable),
			       run->has_usable) },
		{ "peak_time", "Time of the peak", "peak_time",
		  cell_seconds(run_seconds(run, totals->peak_tick)) },
		{ "peak_rss_bytes", "Peak resident", "peak_rss",
		  cell_or_none(cell_bytes(clamp(rss)), rss != 0) },
		{ "leaked_bytes", "Leaked", "leaked",
		  cell_bytes(totals->live_bytes) },
		{ "leaked_count", "Leaked blocks", "leaked",
		  cell_count(totals->live_count) },
		{ "allocations", "Allocations", "allocations",
		  cell_count(totals->allocated_count) },
		{ "allocated_bytes", "Allocated", "allocated_bytes",
		  cell_bytes(totals->allocated_bytes) },
		{ "frees", "Frees", "frees", cell_count(totals->freed_count) },
		{ "reallocs", "Reallocs", "reallocs",
		  cell_count(totals->realloc_count) },
		{ "temporary", "Temporary", "temporary",
		  cell_count(totals->temporary_count) },
		{ "temporary_share", "Temporary of all", "temporary",
		  cell_ratio(scope_ratio(totals->temporary_count,
					 totals->allocated_count)) },
		{ "backtraces", "Backtraces", "backtrace",
		  cell_count(engine_groups(scope->engine)->count) },
		{ "threads", "Threads", "threads",
		  cell_count(run->thread_count) },
		{ "map_calls", "mmap and munmap calls", "mmaps",
		  cell_count(totals->map_events) },
		{ "unmatched_frees", "Unmatched frees", "unmatched_frees",
		  cell_count(totals->unmatched_frees) },
		{ "overwritten", "Reused while live", "overwritten",
		  cell_count(totals->overwritten) },
		{ "events", "Events", "events", cell_count(totals->events) },
		{ "events_lost", "Lost events", "events_lost",
		  cell_count(clamp(run->events_lost)) },
		{ "trace_path", "Trace", NULL, cell_text(run->trace_path) },
		{ "trace_bytes", "Trace size", "trace_bytes",
		  cell_bytes(run->trace_bytes) },
		{ "trace_format", "Trace format", NULL,
		  cell_text(run->format) },
		{ "culled", "Culled", "culled",
		  cell_count(totals->culled_count) },
		{ "culled_bytes", "Culled bytes", "culled",
		  cell_bytes(clamp(totals->culled_bytes)) },
		{ "culled_most_bytes", "Culled, alive at once", "culled_most",
		  cell_bytes(clamp(totals->culled_most)) },
	};
	size_t count = sizeof(items) / sizeof(items[0]);

	return scope_scalars(scope, "head", "Summary", items,
			     scope_is_culled(scope) ? count : count - 3);
}

static const struct figure_column thread_columns[] = {
	{ "thread", "Thread", "threads", CELL_ID },
	{ "tid", "Kernel id", NULL, CELL_ID },
	{ "name", "Name", NULL, CELL_TEXT },
	{ "start", "First seen", NULL, CELL_SECONDS },
	{ "end", "Ended", NULL, CELL_SECONDS },
};

const struct figure *summary_threads(const struct scope *scope)
{
	const struct run *run = scope->run;
	struct table_maker table;

	table_init(&table, thread_columns,
		   sizeof(thread_columns) / sizeof(thread_columns[0]));
	for (size_t i = 0; i < run->thread_count; i++) {
		const struct run_thread *thread = &run->threads[i];

		table_row(&table);
		table_add(&table, cell_id(thread->number));
		table_add(&table, cell_or_none(cell_id(thread->tid),
					       thread->tid != 0));
		table_add(&table, cell_or_none(cell_text(thread->name),
					       thread->name[0] != '\0'));
		table_add(&table,
			  cell_seconds(run_seconds(run, thread->start_tick)));
		table_add(&table,
			  cell_or_none(cell_seconds(run_seconds(
					       run, thread->end_tick)),
				       thread->end_tick != UINT64_MAX));
	}
	return table_finish(&table, scope, "threads", "Threads");
}

static const struct figure_column module_columns[] = {
	{ "module", "Module", NULL, CELL_TEXT },
	{ "build_id", "Build ID", NULL, CELL_TEXT },
	{ "addresses", "Addresses", NULL, CELL_COUNT },
	{ "function_and_line", "Function and line", "symbol_quality",
	  CELL_RATIO },
	{ "function_only", "Function only", "symbol_quality", CELL_RATIO },
	{ "module_only", "Module only", "symbol_quality", CELL_RATIO },
	{ "debug_file", "Debug information from", NULL, CELL_TEXT },
	{ "note", "Note", NULL, CELL_TEXT },
};

static const char *build_id_text(const struct scope *scope,
				 const struct module *module)
{
	char *text = arena_alloc(scope->arena, 2 * module->build_id_len + 1);

	for (size_t i = 0; text && i < module->build_id_len; i++) {
		text[2 * i] = "0123456789abcdef"[module->build_id[i] >> 4];
		text[2 * i + 1] = "0123456789abcdef"[module->build_id[i] & 15];
	}
	return text;
}

const struct figure *summary_modules(const struct scope *scope)
{
	size_t count;
	const struct symbol_module_status *rows =
		symbols_module_status(scope->symbols, &count);
	struct table_maker table;

	table_init(&table, module_columns,
		   sizeof(module_columns) / sizeof(module_columns[0]));
	for (size_t i = 0; i < count; i++) {
		const struct symbol_module_status *row = &rows[i];

		table_row(&table);
		table_add(&table, cell_text(row->module->name));
		table_add(&table,
			  cell_or_none(cell_text(build_id_text(scope,
							       row->module)),
				       row->module->build_id_len != 0));
		table_add(&table, cell_count(row->addresses));
		for (int quality = SYMBOL_LINE; quality >= SYMBOL_MODULE;
		     quality--)
			table_add(&table,
				  cell_ratio(scope_ratio(row->resolved[quality],
							 row->addresses)));
		table_add(&table, cell_text(row->debug_path));
		table_add(&table, cell_or_none(cell_text(row->note),
					       row->note && row->note[0]));
	}
	return table_finish(&table, scope, "modules", "Modules");
}

static const struct figure_column loaded_columns[] = {
	{ "number", "Number", NULL, CELL_ID },
	{ "path", "Path", NULL, CELL_TEXT },
	{ "build_id", "Build ID", NULL, CELL_TEXT },
	{ "start", "From", NULL, CELL_ADDRESS },
	{ "end", "To", NULL, CELL_ADDRESS },
	{ "bias", "Moved by", NULL, CELL_ADDRESS },
	{ "loaded", "First seen", NULL, CELL_SECONDS },
	{ "unloaded", "Gone", NULL, CELL_SECONDS },
	{ "program", "The program", NULL, CELL_FLAG },
};

const struct figure *summary_loaded_modules(const struct scope *scope)
{
	const struct run *run = scope->run;
	struct table_maker table;

	table_init(&table, loaded_columns,
		   sizeof(loaded_columns) / sizeof(loaded_columns[0]));
	for (size_t i = 0; i < run->modules.count; i++) {
		const struct module *module = &run->modules.items[i];
		bool is_gone = module->unload_tick != MODULE_NEVER_UNLOADED;

		table_row(&table);
		table_add(&table, cell_id(module->number));
		table_add(&table, cell_text(module->name));
		table_add(&table,
			  cell_or_none(cell_text(build_id_text(scope, module)),
				       module->build_id_len != 0));
		table_add(&table, cell_address(module->start));
		table_add(&table, cell_address(module->end));
		table_add(&table, cell_address(module->bias));
		table_add(&table,
			  cell_seconds(run_seconds(run, module->load_tick)));
		table_add(&table, is_gone ? cell_seconds(run_seconds(
						    run, module->unload_tick))
					  : cell_none());
		table_add(&table, cell_flag(module->is_program));
	}
	return table_finish(&table, scope, "modules", "Modules");
}
