/* SPDX-License-Identifier: MIT */
#include "report/aggregate/summary.h"

#include <inttypes.h>
#include <string.h>

#include "report/aggregate/scope.h"
#include "report/core/units.h"
#include "report/core/vec.h"
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
		how = "quick_exit, ";
		break;
	case RUN_END__EXIT:
		how = "_exit, ";
		break;
	case RUN_END_EXIT:
		break;
	}
	if (run->end_status < 0)
		return arena_printf(scope->arena, "%sexit status unknown", how);
	return arena_printf(scope->arena, "%sexit status %d", how,
			    run->end_status);
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

/* Notes under construction. */
struct notes {
	const struct scope *scope;
	struct {
		const struct figure **items;
		size_t count;
		size_t capacity;
	} list;
	bool failed;
};

static void notes_add(struct notes *notes, enum figure_severity severity,
		      const char *text)
{
	const struct figure **slot = vec_push(&notes->list);

	if (slot)
		*slot = scope_note(
			notes->scope,
			arena_printf(notes->scope->arena, "completeness.%zu",
				     notes->list.count - 1),
			severity, text);
	if (!slot || !*slot)
		notes->failed = true;
}

static void note_damage(struct notes *notes)
{
	const struct run *run = notes->scope->run;
	struct arena *arena = notes->scope->arena;
	char bytes[UNITS_TEXT_SIZE], skipped[UNITS_TEXT_SIZE];
	char text[2048];

	if (!run->damage.count)
		return;
	units_format_count(bytes, sizeof(bytes), run->damaged_bytes);
	units_format_count(skipped, sizeof(skipped), run->events_skipped);
	notes_add(notes, FIGURE_ERROR,
		  arena_printf(arena,
			       "The trace is damaged: %zu finding%s, %s bytes "
			       "skipped, at least %s events missing. Figures "
			       "below count what could be read: blocks whose "
			       "free was in a damaged part look leaked",
			       run->damage.count,
			       run->damage.count == 1 ? "" : "s", bytes,
			       skipped));
	for (size_t i = 0; i < run->damage.stored && i < 20; i++) {
		diag_format(&run->damage.items[i], text, sizeof(text));
		notes_add(notes, FIGURE_ERROR,
			  arena_printf(arena, "%s", text));
	}
	if (run->damage.count > 20)
		notes_add(notes, FIGURE_ERROR,
			  arena_printf(arena, "and %zu more findings",
				       run->damage.count - 20));
}

static const char *piece_numbers(struct arena *arena, uint32_t from,
				 uint32_t count)
{
	if (count == 1)
		return arena_printf(arena, "Piece %" PRIu32 " is", from);
	return arena_printf(arena, "Pieces %" PRIu32 " to %" PRIu32 " are",
			    from, from + count - 1);
}

static void note_missing(struct notes *notes, size_t i, uint32_t missing)
{
	const struct run_piece *piece = &notes->scope->run->pieces[i];
	struct arena *arena = notes->scope->arena;
	const char *numbers =
		piece_numbers(arena, piece->index - missing, missing);

	notes_add(notes, FIGURE_WARNING,
		  i ? arena_printf(arena,
				   "%s missing (before %s): what was freed "
				   "there looks alive, so the peak and the "
				   "leaks may be too high; what was allocated "
				   "there is not counted",
				   numbers, piece->path)
		    : arena_printf(arena,
				   "%s missing (before %s): what was allocated "
				   "there is not counted, so the peak and the "
				   "leaks may be too low",
				   numbers, piece->path));
}

static void note_off(struct notes *notes, size_t i)
{
	const struct run *run = notes->scope->run;
	const struct run_piece *piece = &run->pieces[i];
	uint64_t end = run->pieces[i - 1].end_tick;
	struct arena *arena = notes->scope->arena;
	char from[UNITS_TEXT_SIZE], to[UNITS_TEXT_SIZE];
	const char *when;

	units_format_seconds(from, sizeof(from), run_seconds(run, end));
	units_format_seconds(to, sizeof(to),
			     run_seconds(run, piece->start_tick));
	when = end ? arena_printf(arena, "from %s to %s", from, to)
		   : arena_printf(arena, "for a while up to %s", to);
	notes_add(notes, FIGURE_WARNING,
		  arena_printf(arena,
			       "Recording was off %s, when %s begins: blocks "
			       "that were freed then look as if they lived on",
			       when, piece->path));
}

/* A program that records a while in each minute has as many gaps. */
enum { GAP_NOTES_MAX = 3 };

/* What is missing before each piece: the first gaps one by one, of each kind,
   and the rest as a number. */
static void note_gaps(struct notes *notes)
{
	const struct run *run = notes->scope->run;
	size_t off = 0, missing = 0;

	for (size_t i = 0; i < run->piece_count; i++) {
		uint32_t before = run_piece_missing(run, i);

		if (before && missing++ < GAP_NOTES_MAX)
			note_missing(notes, i, before);
		else if (!before && i && run->pieces[i].has_gap &&
			 off++ < GAP_NOTES_MAX)
			note_off(notes, i);
		else if (!before && !i && run->pieces[i].has_gap)
			notes_add(notes, FIGURE_INFO,
				  "The process had run for a while before it "
				  "was recorded");
	}
	if (missing > GAP_NOTES_MAX)
		notes_add(notes, FIGURE_WARNING,
			  arena_printf(notes->scope->arena,
				       "Pieces are missing in %zu more place%s",
				       missing - GAP_NOTES_MAX,
				       missing == GAP_NOTES_MAX + 1 ? ""
								    : "s"));
	if (off > GAP_NOTES_MAX)
		notes_add(notes, FIGURE_WARNING,
			  arena_printf(notes->scope->arena,
				       "Recording was off %zu more time%s",
				       off - GAP_NOTES_MAX,
				       off == GAP_NOTES_MAX + 1 ? "" : "s"));
}

/* Blocks whose end the trace does not have, though it can be told from what
   followed. */
static void note_freed_unseen(struct notes *notes, uint64_t count)
{
	const struct run *run = notes->scope->run;
	const char *when = "while recording was off";
	bool is_off = false;
	bool is_missing = false;

	for (size_t i = 0; i < run->piece_count; i++) {
		is_missing |= run_piece_missing(run, i) > 0;
		is_off |= i && run->pieces[i].has_gap &&
			  !run_piece_missing(run, i);
	}
	if (is_missing)
		when = is_off ? "while recording was off or in a missing piece"
			      : "in a missing piece";
	notes_add(notes, FIGURE_INFO,
		  arena_printf(notes->scope->arena,
			       "%" PRIu64 " blocks were freed %s, since their "
			       "addresses are allocated again later",
			       count, when));
}

/* Of which pieces of the run the trace consists. */
static void note_pieces(struct notes *notes)
{
	const struct run *run = notes->scope->run;
	const struct engine_totals *totals = engine_totals(notes->scope->engine);
	struct arena *arena = notes->scope->arena;

	if (run->piece_count > 1)
		notes_add(notes, FIGURE_INFO,
			  arena_printf(arena, "The trace is in %zu pieces",
				       run->piece_count));
	note_gaps(notes);
	if (run->end == RUN_END_CONTINUED)
		notes_add(notes, FIGURE_WARNING,
			  arena_printf(arena,
				       "The run goes on in piece %" PRIu32
				       ", which is missing: what was freed "
				       "there looks leaked",
				       run->pieces[run->piece_count - 1].index +
					       1));
	if (totals->overwritten_in_gap)
		note_freed_unseen(notes, totals->overwritten_in_gap);
	if (run->piece_count && run->pieces[0].parent_run &&
	    totals->unmatched_frees)
		notes_add(notes, FIGURE_INFO,
			  arena_printf(arena,
				       "%" PRIu64 " frees are of blocks "
				       "inherited from the process that forked "
				       "this one",
				       totals->unmatched_frees));
}

/* What the trace has only in sums. */
static void note_culled(struct notes *notes)
{
	const struct engine_totals *totals = engine_totals(notes->scope->engine);
	struct arena *arena = notes->scope->arena;
	char count[UNITS_TEXT_SIZE], bytes[UNITS_TEXT_SIZE];
	char most[UNITS_TEXT_SIZE];

	if (!totals->culled_count)
		return;
	units_format_count(count, sizeof(count), totals->culled_count);
	units_format_bytes(bytes, sizeof(bytes), totals->culled_bytes);
	units_format_bytes(most, sizeof(most), totals->culled_most);
	notes_add(notes, FIGURE_INFO,
		  arena_printf(arena,
			       "Temporary allocations were culled: of %s, with "
			       "%s, the trace has only sums by backtrace and "
			       "size. They count among allocations and frees, "
			       "but not as live: the peak may be too low by up "
			       "to %s",
			       count, bytes, most));
	if (totals->culled_astride)
		notes_add(notes, FIGURE_INFO,
			  arena_printf(arena,
				       "%" PRIu64 " culled allocations may "
				       "belong to the phase before the one "
				       "that they are counted in",
				       totals->culled_astride));
}

static void note_losses(struct notes *notes)
{
	const struct run *run = notes->scope->run;
	const struct engine_totals *totals = engine_totals(notes->scope->engine);
	struct arena *arena = notes->scope->arena;

	if (run->events_lost)
		notes_add(notes, FIGURE_WARNING,
			  arena_printf(arena,
				       "The tracer could not record %" PRIu64
				       " events",
				       run->events_lost));
	if (run->events_declared > totals->events && !run->damage.count)
		notes_add(notes, FIGURE_WARNING,
			  arena_printf(arena,
				       "The tracer counted %" PRIu64 " events, "
				       "the trace holds %" PRIu64,
				       run->events_declared, totals->events));
	if (run->is_running)
		notes_add(notes, FIGURE_WARNING,
			  "The program was running when the trace was read: "
			  "this is how things were at that moment. Live blocks "
			  "are shown as leaked");
	else if (run->end == RUN_END_MISSING)
		notes_add(notes, FIGURE_WARNING,
			  "The trace has no end record: the program was "
			  "killed, or the file was copied while it ran. Live "
			  "blocks are shown as leaked");
	if (run->end == RUN_END_EXEC)
		notes_add(notes, FIGURE_WARNING,
			  arena_printf(arena,
				       "The program replaced itself by %s, "
				       "which this trace does not cover "
				       "(memprof-record --children traces it)",
				       run->exec_program));
	if (run->live_events)
		notes_add(notes, FIGURE_INFO,
			  arena_printf(arena,
				       "%" PRIu64 " events were %s (%s)",
				       run->live_events,
				       run->is_running
					       ? "still in the program's "
						 "buffers"
					       : "recovered from the buffers "
						 "the program left behind",
				       run->live_path ? run->live_path
						      : run->trace_path));
	if (totals->overwritten > totals->overwritten_in_gap)
		notes_add(notes, FIGURE_WARNING,
			  arena_printf(arena,
				       "%" PRIu64 " allocations were at an "
				       "address whose earlier block was never "
				       "seen freed",
				       totals->overwritten -
					       totals->overwritten_in_gap));
	if (totals->unmatched_frees &&
	    !(run->piece_count && run->pieces[0].parent_run))
		notes_add(notes, FIGURE_INFO,
			  arena_printf(arena,
				       "%" PRIu64 " frees of blocks whose "
				       "allocation is not in the trace",
				       totals->unmatched_frees));
	if (!totals->allocated_count)
		notes_add(notes, FIGURE_WARNING,
			  "The trace holds no allocation: the program made "
			  "none, or it uses an allocator that is linked "
			  "statically and cannot be traced");
}

/* Return: the numbers of the missing pieces, "pieces 2-4, 7". */
static const char *missing_text(const struct scope *scope)
{
	const struct run *run = scope->run;
	bool goes_on = run->end == RUN_END_CONTINUED;
	uint64_t count = goes_on;
	const char *text = "";

	for (size_t i = 0; i < run->piece_count && text; i++) {
		uint32_t missing = run_piece_missing(run, i);
		uint32_t last = run->pieces[i].index - 1;

		if (!missing)
			continue;
		text = missing == 1
			       ? arena_printf(scope->arena, "%s%s%" PRIu32,
					      text, count > goes_on ? ", " : " ",
					      last)
			       : arena_printf(scope->arena,
					      "%s%s%" PRIu32 "-%" PRIu32, text,
					      count > goes_on ? ", " : " ",
					      last - missing + 1, last);
		count += missing;
	}
	if (goes_on && text)
		text = arena_printf(scope->arena, "%s%s%" PRIu64, text,
				    count > 1 ? ", " : " ",
				    (uint64_t)run->pieces[run->piece_count - 1]
						    .index + 1);
	return text ? arena_printf(scope->arena, "piece%s%s missing",
				   count == 1 ? "" : "s", text)
		    : NULL;
}

const char *summary_trace_text(const struct scope *scope)
{
	const struct run *run = scope->run;
	double off = run_off_seconds(run);
	char text[UNITS_TEXT_SIZE];

	if (run_misses_pieces(run))
		return arena_printf(scope->arena, "incomplete: %s",
				    missing_text(scope));
	if (run->is_running && !run->events_lost)
		return "as it is now: the program still runs";
	if (run->events_lost || run->end == RUN_END_MISSING)
		return "incomplete, see the report's head";
	if (run->end == RUN_END_EXEC)
		return "up to where the program replaced itself; "
		       "memprof-record --children traces what it became, too";
	if (!(off > 0))
		return "complete";
	units_format_seconds(text, sizeof(text), off);
	return arena_printf(scope->arena,
			    "complete but for %s when recording was off", text);
}

const struct figure *summary_completeness(const struct scope *scope)
{
	struct notes notes = { .scope = scope };
	const struct figure *figure = NULL;

	note_damage(&notes);
	note_pieces(&notes);
	note_losses(&notes);
	if (!notes.list.count)
		notes_add(&notes, FIGURE_INFO,
			  "Complete: every event that the tracer saw is in the "
			  "trace");
	note_culled(&notes);
	if (!notes.failed)
		figure = scope_group(scope, "completeness", "Completeness",
				     notes.list.items, notes.list.count);
	vec_done(&notes.list);
	return figure;
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
