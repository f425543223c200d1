/* SPDX-License-Identifier: MIT */
#include "report/input/records.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "report/core/arena.h"
#include "report/core/diag.h"
#include "report/core/text.h"
#include "report/core/vec.h"
#include "report/event/run.h"
#include "report/input/chunk.h"
#include "report/input/cursor.h"
#include "report/input/memprof.h"
#include "report/source/source.h"

/* Nanoseconds a tick that a clock can have: 100 GHz to 1 MHz. */
static const double tick_ns_min = 0.01, tick_ns_max = 1000;

void records_init(struct records *records, struct run *run)
{
	memset(records, 0, sizeof(*records));
	records->run = run;
}

void records_begin_piece(struct records *records, const struct source *source)
{
	struct run *run = records->run;

	records->source = source;
	records->file = source->path;
	records->piece = (struct run_piece){0};
	records->has_process = false;
	records->has_live = false;
	records->has_end = false;
	records->has_totals = false;
	records->lost = 0;
	run->end = RUN_END_MISSING;
	run->end_status = -1;
	run->events_declared = 0;
	run->events_lost = 0;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void records_add_lost(struct records *records, uint64_t count)
{
	records->lost = sum(records->lost, count);
}

int records_end_piece(struct records *records)
{
	struct run *run = records->run;
	struct run_piece *item = vec_push(&records->pieces);

	if (!item)
		return -ENOMEM;
	records->piece.path = text_sanitize(&run->arena, records->file,
					    strlen(records->file));
	*item = records->piece;
	/* END sums up what the LOST chunks and events say one by one. */
	records->lost_sum =
	    sum(records->lost_sum, records->lost > run->events_lost
				       ? records->lost
				       : run->events_lost);
	records->declared = sum(records->declared, run->events_declared);
	records->totals_missing |= !records->has_totals;
	return item->path ? 0 : -ENOMEM;
}

void records_done(struct records *records)
{
	vec_done(&records->threads);
	vec_done(&records->modules);
	vec_done(&records->unloads);
	vec_done(&records->marks);
	vec_done(&records->pieces);
	records_done_smaps(records);
	records_done_files(records);
}

const char *records_text(struct records *records, const char *text, size_t len)
{
	struct arena *arena = &records->run->arena;

	if (arena->used_bytes < RECORDS_ARENA_MAX)
		return text_sanitize(arena, text, len);
	if (!records->texts_refused)
		findings_add(&records->run->damage, records->file,
			     DIAG_NO_OFFSET,
			     "holds more than %zu bytes of names; the rest of "
			     "them is left out",
			     RECORDS_ARENA_MAX);
	records->texts_refused = true;
	return "";
}

void records_add_pair(struct records *records, struct clock_pair pair)
{
	if (!records->pair_count || pair.tick < records->first_pair.tick)
		records->first_pair = pair;
	if (!records->pair_count || pair.tick >= records->last_pair.tick)
		records->last_pair = pair;
	records->pair_count++;
}

static struct clock_pair pair_read(struct cursor *cursor)
{
	struct clock_pair pair;

	pair.tick = cursor_u64(cursor);
	pair.monotonic_ns = cursor_u64(cursor);
	pair.realtime_ns = cursor_u64(cursor);
	return pair;
}

/* Return: the string at the cursor as sanitised text, NULL when out of
   memory. */
static const char *read_text(struct records *records, struct cursor *cursor)
{
	struct cursor_text text = cursor_string(cursor, TRACE_STRING_LEN_MAX);

	return records_text(records, text.data, text.len);
}

static int read_arguments(struct records *records, const struct chunk *chunk,
			  struct cursor *cursor, uint32_t count)
{
	struct run *run = records->run;
	const char **arguments;

	/* Each takes a length of four bytes at least. */
	if (count > cursor->left / 4) {
		cursor->failed = true;
		count = (uint32_t)(cursor->left / 4);
	}
	arguments =
	    arena_array(&run->arena, (size_t)count + 1, sizeof(*arguments));
	if (!arguments)
		return -ENOMEM;
	run->arguments = arguments;
	for (uint32_t i = 0; i < count && !cursor->failed; i++) {
		const char *text = read_text(records, cursor);

		if (!text)
			return -ENOMEM;
		if (cursor->failed)
			break;
		arguments[run->argument_count++] = text;
	}
	if (cursor->failed)
		findings_add(&run->damage, records->file, chunk->offset,
			     "the PROCESS chunk ends within its arguments");
	return 0;
}

static int add_process(struct records *records, const struct chunk *chunk,
		       struct cursor *cursor)
{
	struct run *run = records->run;
	struct clock_pair pair;
	uint32_t argument_count;
	uint8_t flags;
	uint32_t pid;
	int error;

	if (records->has_process) {
		findings_add(&run->damage, records->file, chunk->offset,
			     "a second PROCESS chunk is ignored");
		return 0;
	}
	pid = cursor_u32(cursor);
	run->ppid = cursor_u32(cursor);
	records->clock = cursor_u8(cursor);
	records->arch = cursor_u8(cursor);
	cursor_u8(cursor);
	flags = cursor_u8(cursor);
	argument_count = cursor_u32(cursor);
	pair = pair_read(cursor);
	if (cursor->failed) {
		findings_add(&run->damage, records->file, chunk->offset,
			     "the PROCESS chunk is too short");
		return 0;
	}
	if (records->clock != TRACE_CLOCK_TSC &&
	    records->clock != TRACE_CLOCK_MONOTONIC)
		findings_add(&run->damage, records->file, chunk->offset,
			     "the PROCESS chunk names an unknown clock, %u",
			     records->clock);
	if (records->arch != TRACE_ARCH_X86_64 &&
	    records->arch != TRACE_ARCH_AARCH64)
		findings_add(&run->damage, records->file, chunk->offset,
			     "the PROCESS chunk names an unknown "
			     "architecture, %u",
			     records->arch);
	records->has_process = true;
	records->has_live = flags & 2;
	run->is_culled |= (flags & 4) != 0;
	records->piece.start_tick = pair.tick;
	if (records->has_start) {
		records_add_pair(records, pair);
		return 0;
	}
	records->has_start = true;
	run->has_free_stacks = flags & 1;
	run->pid = pid;
	run->first_tick = pair.tick;
	run->start_realtime_ns = pair.realtime_ns;
	records_add_pair(records, pair);
	run->executable = read_text(records, cursor);
	run->directory = read_text(records, cursor);
	if (!run->executable || !run->directory)
		return -ENOMEM;
	error = read_arguments(records, chunk, cursor, argument_count);
	if (error)
		return error;
	run->tracer_version = read_text(records, cursor);
	return run->tracer_version ? 0 : -ENOMEM;
}

static void too_short(struct records *records, const struct chunk *chunk)
{
	findings_add(&records->run->damage, records->file, chunk->offset,
		     "a %s chunk is too short and is ignored",
		     chunk_type_name(chunk->header.type));
}

static void add_piece(struct records *records, const struct chunk *chunk,
		      struct cursor *cursor)
{
	struct run_piece piece = records->piece;
	struct run *run = records->run;

	memprof_read_piece(&piece, cursor);
	if (cursor->failed)
		too_short(records, chunk);
	else if (records->piece.is_known)
		findings_add(&run->damage, records->file, chunk->offset,
			     "a second PIECE chunk is ignored");
	else
		records->piece = piece;
}

static void add_clock(struct records *records, const struct chunk *chunk,
		      struct cursor *cursor)
{
	struct clock_pair pair = pair_read(cursor);

	if (cursor->failed)
		too_short(records, chunk);
	else
		records_add_pair(records, pair);
}

static void add_lost(struct records *records, const struct chunk *chunk,
		     struct cursor *cursor)
{
	uint64_t count = cursor_u64(cursor);
	uint32_t reason = cursor_u32(cursor);

	cursor_u32(cursor);
	cursor_u64(cursor);
	if (cursor->failed)
		too_short(records, chunk);
	else if (reason != TRACE_LOST_UNWIND &&
		 __builtin_add_overflow(records->lost, count, &records->lost))
		records->lost = UINT64_MAX;
}

static enum run_end end_how(uint32_t how)
{
	static const enum run_end ends[] = {
	    [TRACE_END_EXIT] = RUN_END_EXIT,
	    [TRACE_END_QUICK_EXIT] = RUN_END_QUICK_EXIT,
	    [TRACE_END__EXIT] = RUN_END__EXIT,
	    [TRACE_END_ABORT] = RUN_END_ABORT,
	    [TRACE_END_SIGNAL] = RUN_END_SIGNAL,
	    [TRACE_END_EXEC] = RUN_END_EXEC,
	    [TRACE_END_UNSEEN] = RUN_END_UNSEEN,
	    [TRACE_END_CONTINUED] = RUN_END_CONTINUED,
	    [TRACE_END_STOPPED] = RUN_END_STOPPED,
	};

	return how < sizeof(ends) / sizeof(ends[0]) ? ends[how]
						    : RUN_END_MISSING;
}

void records_go_on(struct records *records, bool is_clock)
{
	struct run *run = records->run;

	if (run->end != RUN_END_ABORT &&
	    !(run->end == RUN_END_EXEC && is_clock))
		return;
	run->end = RUN_END_MISSING;
	run->end_status = -1;
	run->events_declared = 0;
	records->has_end = false;
	records->has_totals = false;
}

/* The last END counts, so each overwrites the one before. */
static int add_end(struct records *records, const struct chunk *chunk,
		   struct cursor *cursor)
{
	struct run *run = records->run;
	uint32_t how = cursor_u32(cursor);
	int32_t status = (int32_t)cursor_u32(cursor);
	struct clock_pair pair = pair_read(cursor);
	uint64_t event_count = cursor_u64(cursor);
	uint64_t lost_count = cursor_u64(cursor);
	uint64_t peak_rss_bytes = cursor_u64(cursor);
	struct cursor_text program =
	    cursor_string(cursor, TRACE_STRING_LEN_MAX);

	if (cursor->failed) {
		too_short(records, chunk);
		return 0;
	}
	run->end = end_how(how);
	if (run->end == RUN_END_MISSING)
		findings_add(&run->damage, records->file, chunk->offset,
			     "the END chunk names an unknown end, %" PRIu32,
			     how);
	records->has_end = true;
	run->end_status = status;
	if (peak_rss_bytes)
		run->peak_rss_bytes = peak_rss_bytes;
	/* memprof-record knows how the process ended but not what the tracer
	   counted. */
	if (event_count || pair.tick) {
		records->has_totals = true;
		run->events_declared = event_count;
		run->events_lost = lost_count;
	}
	if (pair.tick) {
		records_add_pair(records, pair);
		records->piece.end_tick = pair.tick;
		if (pair.tick > run->last_tick)
			run->last_tick = pair.tick;
	}
	run->exec_program = records_text(records, program.data, program.len);
	return run->exec_program ? 0 : -ENOMEM;
}

int records_add(struct records *records, const struct chunk *chunk,
		const uint8_t *data, size_t len)
{
	struct cursor cursor = cursor_make(data, len);

	switch (chunk->header.type) {
	case TRACE_CHUNK_PROCESS:
		return add_process(records, chunk, &cursor);
	case TRACE_CHUNK_MODULE:
		return records_add_module(records, chunk, &cursor);
	case TRACE_CHUNK_UNLOAD:
		return records_add_unload(records, chunk, &cursor);
	case TRACE_CHUNK_THREAD:
		return records_add_thread(records, chunk, &cursor);
	case TRACE_CHUNK_CLOCK:
		records_go_on(records, true);
		add_clock(records, chunk, &cursor);
		return 0;
	case TRACE_CHUNK_LOST:
		add_lost(records, chunk, &cursor);
		return 0;
	case TRACE_CHUNK_END:
		return add_end(records, chunk, &cursor);
	case TRACE_CHUNK_MARK:
		return records_add_mark(records, chunk, &cursor);
	case TRACE_CHUNK_PIECE:
		add_piece(records, chunk, &cursor);
		return 0;
	case TRACE_CHUNK_SMAPS:
		return records_add_smaps(records, chunk, data, len);
	case TRACE_CHUNK_FILE:
		return records_add_file(records, chunk, &cursor);
	default:
		return 0;
	}
}

/* Slope of the line through the first and the last reading. */
static void finish_clock(struct records *records)
{
	const struct clock_pair *first = &records->first_pair;
	const struct clock_pair *last = &records->last_pair;
	struct run *run = records->run;
	double ns;

	run->tick_ns = 1;
	if (records->clock == TRACE_CLOCK_MONOTONIC ||
	    (records->pair_count && first->tick == first->monotonic_ns))
		return;
	if (records->pair_count >= 2 && last->tick > first->tick &&
	    last->monotonic_ns > first->monotonic_ns) {
		ns = (double)(last->monotonic_ns - first->monotonic_ns) /
		     (double)(last->tick - first->tick);
		if (ns >= tick_ns_min && ns <= tick_ns_max) {
			run->tick_ns = ns;
			return;
		}
	}
	findings_add(&run->damage, records->file, DIAG_NO_OFFSET,
		     "the trace's clock is not calibrated: times are given in "
		     "clock ticks as if these were nanoseconds");
}

/* What a PROCESS chunk would have said. */
static void finish_process(struct records *records)
{
	struct run *run = records->run;

	if (!records->has_start) {
		findings_add(&run->damage, records->file, DIAG_NO_OFFSET,
			     "no PROCESS chunk can be read: the program, its "
			     "arguments and the time of its start are not "
			     "known");
		run->has_free_stacks = true;
	}
	if (!run->executable)
		run->executable = "";
	if (!run->directory)
		run->directory = "";
	if (!run->tracer_version)
		run->tracer_version = "";
	if (!run->exec_program)
		run->exec_program = "";
	if (!records->has_end)
		run->end_status = -1;
	run->events_lost = records->lost_sum;
	run->events_declared = records->totals_missing ? 0 : records->declared;
}

int records_finish(struct records *records, const uint32_t *lane_threads,
		   size_t lane_thread_count)
{
	struct run *run = records->run;
	size_t pieces = records->pieces.count;
	int error;

	finish_process(records);
	finish_clock(records);
	run->pieces = arena_array(&run->arena, pieces, sizeof(*run->pieces));
	if (!run->pieces)
		return -ENOMEM;
	run->piece_count = pieces;
	if (pieces)
		memcpy(run->pieces, records->pieces.items,
		       pieces * sizeof(*run->pieces));
	error = records_finish_marks(records);
	if (!error)
		error = records_finish_smaps(records);
	if (error)
		return error;
	error =
	    records_finish_threads(records, lane_threads, lane_thread_count);
	if (!error)
		error = records_finish_modules(records);
	return error ? error : records_finish_files(records);
}
