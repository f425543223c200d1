/* SPDX-License-Identifier: MIT */
/* The life of a trace: when it starts, whether it is on, how it ends. */
#ifndef TRACER_STATE_H
#define TRACER_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tracer/trace_format.h"

/**
 * struct state_page - in a page that is zero in every forked child
 * @on:  events are recorded
 * @pid: of the process that may record
 *
 * fork() in any form, raw clone() included, so switches the child off before
 * it can run a single instruction; after a fork() it may begin its own run.
 * A vfork() child shares memory and sees 1; it may record, but must not end
 * the trace: compare @pid.
 */
struct state_page {
	atomic_bool on;
	int pid;
};

extern struct state_page *state_page;

/* Whether the first hooked call has set everything up, or failed to. */
extern atomic_bool state_settled;

/*
 * Sets everything up at the first hooked call.
 *
 * Safety: before constructors: yes, that is what it is for.  Not in a signal
 *         handler (nothing has been installed by then).  Allocates: mmap.
 *         Locks: the loader's list.  errno: preserved.
 *
 * Return: whether events are recorded now.
 */
bool state_start(void);

/* Return: whether events are recorded.  Safety: anywhere. */
static inline bool state_on(void)
{
	if (__builtin_expect(
		atomic_load_explicit(&state_page->on, memory_order_relaxed), 1))
		return true;
	return !atomic_load_explicit(&state_settled, memory_order_relaxed) &&
	       state_start();
}

/*
 * The calling process's id; where a filter keeps the kernel from saying that
 * and of which process the thread is, that of the process that the trace is of.
 *
 * Safety: anywhere.  System calls.  errno: untouched.
 */
int state_pid(void);

/*
 * Whether this is the process that the trace is of: false in a vfork()
 * child, and where tracing is off.  Safety: anywhere.  errno: untouched.
 */
bool state_is_owner(void);

/**
 * state_end() - make the trace complete
 * @how:     what is about to happen
 * @status:  exit status, signal number, or -1
 * @program: what is executed, or NULL
 *
 * Writes all buffers, thread names and END; then, unless the process may go
 * on (abort, exec among threads), removes PATH.live.  Does nothing when not
 * the owner.
 *
 * Safety: before start-up: yes.  Signal handler: yes, unless it interrupted
 *         the tracer itself.  After fork: does nothing.  errno: preserved.
 */
void state_end(enum trace_end_how how, int status, const char *program);

/*
 * Goes on after state_end() for an exec that failed: PATH.live is there again,
 * and a CLOCK chunk says so.  Safety: the same.
 */
void state_resume(void);

/*
 * Begin a piece (piece.h) and stop recording; state_rotate() when a piece is
 * due only.
 *
 * Safety: as control.h, which calls the first two; not in a vfork() child.
 * Return: whether recording is on; was on.
 */
bool state_begin(enum trace_piece_why why);
bool state_stop(void);
void state_rotate(void);

/* Writes all buffers out.  Safety: the same. */
void state_flush(void);

/* The status given to quick_exit(), for its handler.  Safety: anywhere. */
void state_set_quick_status(int status);

/* Arms the calling thread's end.  Safety: owner, inside the guard. */
void state_thread_started(void);

#endif /* TRACER_STATE_H */
