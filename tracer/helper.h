/* SPDX-License-Identifier: MIT */
/*
 * The helper: a process that shares our memory and writes the trace, so that
 * the traced threads need not.
 *
 * It is no thread: a program that counts its threads, forbids itself more, or
 * needs to be single-threaded, is not disturbed; nor does a wait() find it,
 * since its end sends no signal.  It has descriptors, working directory and
 * signal handlers of its own, keeps none of the program's files open, and
 * blocks all signals but the one that says that the program is gone.
 */
#ifndef TRACER_HELPER_H
#define TRACER_HELPER_H

#include <stdbool.h>

/**
 * helper_start() - make sure that there is a helper
 *
 * It is not started where there is but one processor for the program or the
 * user forbade it, and not again once that failed or it was killed.
 *
 * Safety: signals blocked.  Allocates: mmap.  errno: preserved.
 *
 * Return: whether there is one.
 */
bool helper_start(void);

/* One is needed even where there is but one processor: outside of a filter
   that the program is about to install.  Safety: as helper_start(). */
void helper_insist(void);

/**
 * helper_call() - have the helper do what a thread may not
 * @work: called by the helper with @arg, while the caller waits
 *
 * Safety: signals blocked; no lock held that the helper takes: the queue's or
 *         the buffers'.  errno: untouched.
 *
 * Return: whether it was done; not where there is no helper, or in it.
 */
bool helper_call(void (*work)(void *arg), void *arg);

/* Return: whether it was started, and is not known to have ended.  Safety:
   anywhere. */
bool helper_is_known(void);

/* Return: whether it runs, as far as can be known.  Safety: anywhere; a system
   call.  errno: untouched. */
bool helper_is_alive(void);

/*
 * Kills it: it was stopped, or hangs.  helper_is_alive() says no afterwards.
 *
 * Safety: as helper_is_alive(); waits.
 */
void helper_kill(void);

/* Ends the calling process when the program is no more.  Safety: the helper,
   which waits for a thread that may have died. */
void helper_leave_if_orphaned(void);

/*
 * Lets it end and waits for that; there is no other one before as many calls
 * of helper_allow(), so that none outlives an exec, or has more privileges
 * than the program.  What waited to be written is, afterwards.
 *
 * Safety: anywhere but in the helper.  Signals are blocked inside.
 */
void helper_stop(void);

/* Takes a helper_stop() back.  Safety: anywhere. */
void helper_allow(void);

/* There is none, and may be one.  Safety: a forked child's only thread. */
void helper_forget(void);

#endif /* TRACER_HELPER_H */
