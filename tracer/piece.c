/* SPDX-License-Identifier: MIT */
#include "tracer/piece.h"

#include <errno.h>

#include "tracer/announce.h"
#include "tracer/buffer.h"
#include "tracer/chunk.h"
#include "tracer/clock.h"
#include "tracer/filters.h"
#include "tracer/heap.h"
#include "tracer/helper.h"
#include "tracer/include.h"
#include "tracer/jit.h"
#include "tracer/live.h"
#include "tracer/log.h"
#include "tracer/modules.h"
#include "tracer/options.h"
#include "tracer/queue.h"
#include "tracer/record.h"
#include "tracer/smaps.h"
#include "tracer/sys.h"
#include "tracer/thread.h"
#include "tracer/trace_file.h"

enum {
	RETRY_S = 10, /* after a rotation that failed */
};

atomic_uint piece_now = PIECE_NONE;

/**
 * struct run - the pieces of this process
 * @next:       index of the next piece
 * @has_gap:    there will be a gap before it
 * @has_failed: it could not be begun, which was said
 * @run_id:     trace_id of piece 0
 * @trace_id:   of the last piece; 0 before the first
 * @parent_id:  of the parent's piece at the fork, or 0
 * @parent_run: its run_id, or 0
 * @lost_count: events lost that are not the present piece's to tell
 * @begun_ns:   CLOCK_MONOTONIC when it did
 * @due_ns:     no rotation before that
 */
static struct {
	uint32_t next;
	bool has_gap;
	bool has_failed;
	uint64_t run_id;
	uint64_t trace_id;
	uint64_t parent_id;
	uint64_t parent_run;
	uint64_t lost_count;
	_Atomic uint64_t begun_ns;
	_Atomic uint64_t due_ns;
} run;

/* Safety: system call; the clock where the kernel has no entropy yet. */
static uint64_t make_trace_id(void)
{
	uint64_t id = 0;

	if (sys_getrandom(&id, sizeof(id)) != sizeof(id))
		id = clock_monotonic_ns() * UINT64_C(0x9e3779b97f4a7c15) +
		     (uint64_t)sys_getpid();
	return id;
}

/* Safety: anywhere.  Return: events lost by this process. */
static uint64_t get_lost_count(void)
{
	return thread_lost_count() + chunk_lost_count();
}

/*
 * What no LOST chunk tells yet is told in the next piece, in its END too, and
 * in no other.
 *
 * Safety: anywhere.  Return: events lost of which the pieces tell up to now.
 */
static uint64_t get_told_count(void)
{
	return get_lost_count() - chunk_lost_pending();
}

/* Safety: see piece.h.  The file's first chunks.  Return: 0 or -errno. */
static int write_head(uint32_t index, uint64_t trace_id,
		      enum trace_piece_why why)
{
	struct record_piece piece = {
		.run_id = run.run_id,
		.previous_id = index ? run.trace_id : run.parent_id,
		.parent_run = run.parent_run,
		.index = index,
		.why = why,
		.has_gap = run.has_gap,
	};
	int err = chunk_write_preamble(index, trace_id);

	if (!err)
		err = record_process(index, live_has_file());
	if (!err)
		err = record_piece(&piece);
	return err;
}

/*
 * Makes the file of the next piece.  PATH.live is a new one, or the present
 * one by another name.
 *
 * The process may be killed at any moment.  memprof-record knows of the file
 * before it is there, and removes it, and its PATH.live, as long as it lacks
 * the chunk PIECE: no event goes to it before this function is done.
 *
 * Safety: see piece.h.  Return: 0 or -errno; then there is no file.
 */
static int open_piece(enum trace_piece_why why, bool goes_on)
{
	bool keep_existing = options.is_child || run.next || run.parent_run ||
			     announce_has_others();
	uint64_t trace_id = make_trace_id();
	uint32_t index = run.next;
	int err = trace_file_open(index, keep_existing, trace_id);

	if (err)
		return err;
	if (!index)
		run.run_id = trace_id;
	if (!goes_on)
		live_create(trace_file_path(index), run.run_id);
	err = write_head(index, trace_id, why);
	if (!err && goes_on && !live_follow(trace_file_path(index)))
		err = -EACCES;
	if (err) {
		if (!goes_on)
			live_remove();
		trace_file_remove(index);
		return err;
	}
	run.trace_id = trace_id;
	run.next = index + 1;
	run.lost_count = get_told_count();
	run.begun_ns = run.due_ns = clock_monotonic_ns();
	modules_begin_piece(index);
	thread_write_starts(index);
	if (!index)
		include_keep();
	log_line(LOG_INFO, "tracing to", trace_file_path(index), 0);
	return 0;
}

/* Safety: see piece.h.  Threads that found no stream have told nobody yet. */
static void write_unrecorded(void)
{
	uint64_t unrecorded = thread_take_unrecorded();

	if (unrecorded &&
	    chunk_write_lost(unrecorded, TRACE_LOST_MEMORY, 0) == 0)
		live_set_lost(TRACE_LOST_MEMORY, 0);
}

/* Safety: see piece.h.  Writes END into @piece.  Return: 0 or -errno. */
static int write_end(uint32_t piece, enum trace_end_how how, int status,
		      const char *program, uint64_t lost_count)
{
	struct record_end end = {
		.how = how,
		.status = status,
		.program = program,
		.event_count = chunk_event_count(piece),
		.lost_count = lost_count,
	};

	thread_write_names(piece);
	return record_end(piece, &end);
}

void piece_end(enum trace_end_how how, int status, const char *program)
{
	write_unrecorded();
	write_end(piece_now, how, status, program,
		  get_lost_count() - run.lost_count);
}

/* Safety: see piece.h.  All chunks of @piece but the last are written.
   Return: 0, or -errno where that could not be. */
static int close_piece(uint32_t piece, enum trace_end_how how,
		       uint64_t lost_count)
{
	int err = write_end(piece, how, -1, NULL, lost_count);

	chunk_drop_piece(piece);
	trace_file_close(piece);
	return err;
}

void piece_note_gap(void)
{
	run.has_gap = true;
}

/* The helper looks at the time even when threads have nothing to write.
   Safety: see piece.h. */
static void watch_time(void)
{
	if (options.rotate.ns)
		helper_start();
}

int piece_begin(enum trace_piece_why why)
{
	int err = open_piece(why, false);

	if (err) {
		log_line(LOG_ERROR, "not traced, cannot create",
			 trace_file_path(run.next), -err);
		return err;
	}
	thread_cut_all(run.next - 1);
	watch_time();
	return 0;
}

/*
 * There is no helper meanwhile: it has one file only.  PATH.live has both
 * names while buffers of either piece are in it.
 */
int piece_cut(enum trace_piece_why why)
{
	uint64_t lost_count = run.lost_count;
	uint32_t old = piece_now;
	int err;

	run.has_gap = false;
	write_unrecorded();
	helper_stop();
	err = open_piece(why, true);
	if (err) {
		if (!run.has_failed)
			log_line(LOG_WARN, "the trace goes on, cannot create",
				 trace_file_path(run.next), -err);
		run.due_ns = clock_monotonic_ns() +
			     UINT64_C(1000000000) * RETRY_S;
	} else {
		lost_count = run.lost_count - lost_count;
		thread_cut_all(old + 1);
		queue_drain_piece(old);
		close_piece(old, TRACE_END_CONTINUED, lost_count);
		live_leave();
	}
	run.has_failed = err != 0;
	helper_allow();
	watch_time();
	return err;
}

/* Under a filter it takes the helper to write. */
void piece_stop(void)
{
	bool needs_helper = filters_hinder;
	uint32_t old = piece_now;

	write_unrecorded();
	if (!needs_helper)
		helper_stop();
	jit_keep(false);
	thread_cut_all(PIECE_NONE);
	queue_drain_piece(old);
	if (close_piece(old, TRACE_END_STOPPED,
			get_lost_count() - run.lost_count) == 0)
		chunk_forget_pending(); /* END tells of it */
	if (needs_helper)
		helper_stop();
	live_remove();
	run.has_gap = true;
	helper_allow();
}

void piece_leave_parent(void)
{
	uint32_t parents = piece_now;

	trace_file_close(0);
	trace_file_close(1);
	live_detach_child();
	heap_forget_lock();
	smaps_forget();
	jit_forget_lock();
	buffer_forget_all();
	queue_forget_all();
	chunk_forget_all();
	helper_forget();
	piece_now = PIECE_NONE;
	thread_forget_all();
	run.parent_run = run.run_id;
	run.parent_id = parents == PIECE_NONE ? 0 : run.trace_id;
	run.run_id = run.trace_id = 0;
	run.next = 0;
	run.has_gap = parents == PIECE_NONE;
}

bool piece_is_due(void)
{
	uint64_t now_ns;

	if (!options.rotate.bytes && !options.rotate.ns)
		return false;
	if (piece_now == PIECE_NONE || filters_hinder)
		return false;
	now_ns = clock_monotonic_ns();
	if (now_ns < run.due_ns)
		return false;
	if (options.rotate.ns && now_ns - run.begun_ns >= options.rotate.ns)
		return true;
	return options.rotate.bytes &&
	       trace_file_bytes(piece_now) >= options.rotate.bytes;
}
