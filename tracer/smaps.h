/* SPDX-License-Identifier: MIT */
/*
 * What the process's memory is made of: samples of /proc/self/smaps, so that
 * a report can tell what the heap does not explain.
 *
 * The helper takes them: it has the program's memory for its own.  Where there
 * is none, a thread does that writes a chunk.  A sample costs time in
 * proportion to resident memory, and the next waits 250 times as long.
 */
#ifndef TRACER_SMAPS_H
#define TRACER_SMAPS_H

/*
 * Takes a sample, into an SMAPS chunk, unless another thread is at that.  None
 * where the kernel does not tell, or the user does not want any.
 *
 * Safety: signals blocked or the helper.  Allocates: mmap.  Locks: its own.
 *         errno: untouched.
 */
void smaps_take(void);

/* The same when one is due.  Safety: the same. */
void smaps_take_if_due(void);

/* Return: milliseconds until one is due, at most @max and at least 1.
   Safety: the same. */
long smaps_due_ms(long max);

/* No thread is at work on it, and the first sample is due.  Safety: a forked
   child's only thread. */
void smaps_forget(void);

#endif /* TRACER_SMAPS_H */
