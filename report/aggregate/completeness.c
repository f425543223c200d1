/* SPDX-License-Identifier: MIT */
#include "report/aggregate/completeness.h"

#include <inttypes.h>
#include <string.h>

#include "report/aggregate/scope.h"
#include "report/core/text.h"
#include "report/core/units.h"
#include "report/core/vec.h"
#include "report/engine/engine.h"
#include "report/event/run.h"
#include "report/symbol/symbol.h"

/* Rebuilt modules that a note names. */
enum { REBUILT_NAMED = 4 };

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

/* Return: "4,482", owned by the arena; "" when out of memory, which the note
   then runs out of as well. */
static const char *count_text(struct arena *arena, uint64_t count)
{
	char text[UNITS_TEXT_SIZE];
	const char *copy;

	units_format_count(text, sizeof(text), count);
	copy = arena_printf(arena, "%s", text);
	return copy ? copy : "";
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
			       "that were freed then look as if they lived on, "
			       "and count in peaks after it",
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
			       count == 1 ? "%s block was freed %s, since its "
					    "address is allocated again later"
					  : "%s blocks were freed %s, since "
					    "their addresses are allocated "
					    "again later",
			       count_text(notes->scope->arena, count), when));
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
				       totals->unmatched_frees == 1
					       ? "%s free is of a block "
						 "inherited from the process "
						 "that forked this one"
					       : "%s frees are of blocks "
						 "inherited from the process "
						 "that forked this one",
				       count_text(arena,
						  totals->unmatched_frees)));
}

/* What the trace has only in sums: the peak is not exact. */
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
	notes_add(notes, FIGURE_WARNING,
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
				       totals->culled_astride == 1
					       ? "%s culled allocation may "
						 "belong to the phase before "
						 "the one that it is counted in"
					       : "%s culled allocations may "
						 "belong to the phase before "
						 "the one that they are "
						 "counted in",
				       count_text(arena,
						  totals->culled_astride)));
}

/* Allocations and frees whose other half is not there. */
static void note_unpaired(struct notes *notes)
{
	const struct run *run = notes->scope->run;
	const struct engine_totals *totals = engine_totals(notes->scope->engine);
	uint64_t overwritten = totals->overwritten - totals->overwritten_in_gap;
	struct arena *arena = notes->scope->arena;

	if (totals->overwritten > totals->overwritten_in_gap)
		notes_add(notes, FIGURE_WARNING,
			  arena_printf(arena,
				       "%s allocation%s at an address whose "
				       "earlier block was never seen freed",
				       count_text(arena, overwritten),
				       overwritten == 1 ? " was" : "s were"));
	if (totals->unmatched_frees &&
	    !(run->piece_count && run->pieces[0].parent_run))
		notes_add(notes, FIGURE_INFO,
			  arena_printf(arena,
				       totals->unmatched_frees == 1
					       ? "%s free of a block whose "
						 "allocation is not in the "
						 "trace"
					       : "%s frees of blocks whose "
						 "allocation is not in the "
						 "trace",
				       count_text(arena,
						  totals->unmatched_frees)));
}

static void note_losses(struct notes *notes)
{
	const struct run *run = notes->scope->run;
	const struct engine_totals *totals = engine_totals(notes->scope->engine);
	struct arena *arena = notes->scope->arena;

	if (run->events_lost)
		notes_add(notes, FIGURE_WARNING,
			  arena_printf(arena,
				       "The tracer could not record %s event%s",
				       count_text(arena, run->events_lost),
				       run->events_lost == 1 ? "" : "s"));
	if (run->events_declared > totals->events && !run->damage.count)
		notes_add(notes, FIGURE_WARNING,
			  arena_printf(arena,
				       "The tracer counted %s events, "
				       "the trace holds %s",
				       count_text(arena, run->events_declared),
				       count_text(arena, totals->events)));
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
	else if (run->end == RUN_END_STOPPED)
		notes_add(notes, FIGURE_WARNING,
			  "Recording was stopped and the program went on: "
			  "this is how things were at that moment. Live blocks "
			  "are shown as leaked");
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
				       "%s event%s %s (%s)",
				       count_text(arena, run->live_events),
				       run->live_events == 1 ? " was"
							     : "s were",
				       run->is_running
					       ? "still in the program's "
						 "buffers"
					       : "recovered from the buffers "
						 "the program left behind",
				       run->live_path ? run->live_path
						      : run->trace_path));
	note_unpaired(notes);
	if (!totals->allocated_count)
		notes_add(notes, FIGURE_WARNING,
			  "The trace holds no allocation: the program made "
			  "none, or it uses an allocator that is linked "
			  "statically and cannot be traced");
}

/* Return: "a, b and others", the rebuilt modules that frames are in; NULL when
   out of memory.  @ret_count: how many are named, 0 if there are none. */
static const char *rebuilt_names(const struct scope *scope, size_t *ret_count)
{
	const char *named[REBUILT_NAMED];
	size_t rows, count = 0;
	const struct symbol_module_status *row =
		symbols_module_status(scope->symbols, &rows);
	const char *text = "";

	for (size_t i = 0; i < rows && text; i++) {
		const char *name = text_basename(row[i].module->name);
		size_t at = 0;

		if (!row[i].is_rebuilt)
			continue;
		/* What is loaded often is a module each time. */
		while (at < count && strcmp(named[at], name) != 0)
			at++;
		if (at < count)
			continue;
		if (count == REBUILT_NAMED) {
			text = arena_printf(scope->arena, "%s and others",
					    text);
			break;
		}
		named[count++] = name;
		text = arena_printf(scope->arena, "%s%s%s", text,
				    count > 1 ? ", " : "", name);
	}
	*ret_count = count;
	return text;
}

const char *completeness_rebuilt_text(const struct scope *scope)
{
	size_t count;
	const char *names = rebuilt_names(scope, &count);
	bool is_one = count == 1;

	if (!names || !count)
		return NULL;
	return arena_printf(
		scope->arena,
		"%s %s rebuilt or replaced since %s traced: %s functions have "
		"no names; record with --binaries to keep them",
		names, is_one ? "was" : "were", is_one ? "it was" : "they were",
		is_one ? "its" : "their");
}

static void note_rebuilt(struct notes *notes)
{
	const char *text = completeness_rebuilt_text(notes->scope);

	if (text)
		notes_add(notes, FIGURE_WARNING, text);
}

const struct figure *completeness_notes(const struct scope *scope)
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
	note_rebuilt(&notes);
	if (!notes.failed)
		figure = scope_group(scope, "completeness", "Completeness",
				     notes.list.items, notes.list.count);
	vec_done(&notes.list);
	return figure;
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

const char *completeness_text(const struct scope *scope)
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
	if (run->end == RUN_END_STOPPED)
		return "complete up to where recording was stopped";
	if (!(off > 0) && run->piece_count && run->pieces[0].has_gap)
		return "complete since recording began; the process had run "
		       "for a while before";
	if (!(off > 0))
		return "complete";
	units_format_seconds(text, sizeof(text), off);
	return arena_printf(scope->arena,
			    "complete but for %s when recording was off", text);
}
