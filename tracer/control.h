/* SPDX-License-Identifier: MIT */
/*
 * Recording switched on and off while the program runs.
 *
 * Each start writes a new file, a piece of the run (docs/trace-format.md,
 * PIECE).  While recording is off nothing is written and nothing remembered.
 *
 * Safety (all of them): any thread, after start-up; signal handlers, also one
 * that interrupted the tracer; not in the helper.  After fork: in a child that
 * is not traced they do nothing.  Allocates: mmap.  Locks: the tracer's, with
 * signals blocked; waits for other threads that are at work in the tracer.
 * errno: preserved.
 */
#ifndef TRACER_CONTROL_H
#define TRACER_CONTROL_H

#include <stdbool.h>

#include "tracer/trace_format.h"

/**
 * control_start() - record from now on, into a new file
 * @why: TRACE_PIECE_SIGNAL or TRACE_PIECE_API
 *
 * Return: whether recording is on now; it may have been before, and nothing
 * has changed then.
 */
bool control_start(enum trace_piece_why why);

/*
 * Records no more: the present file is complete when this returns.
 * Return: whether recording was on.
 */
bool control_stop(void);

/* Stops when recording is on, else starts.  Return: whether it is on now. */
bool control_toggle(enum trace_piece_why why);

/* What was recorded before the call is in the file when this returns. */
void control_flush(void);

#endif /* TRACER_CONTROL_H */
