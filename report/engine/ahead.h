/* SPDX-License-Identifier: MIT */
/*
 * Decoding in a thread of its own, some thousand events ahead of the engine.
 *
 * That thread decodes and merges just as merge_run() does, so the numbers that
 * it gives to stacks are the same, whatever the two threads' pace.
 *
 * Layer: engine.  Includes input/input.h, as merge.h does.
 */
#ifndef REPORT_ENGINE_AHEAD_H
#define REPORT_ENGINE_AHEAD_H

#include "report/engine/merge.h"

struct diag;
struct input;
struct stacks;

enum { AHEAD_NO_THREAD = 1 }; /* nothing was read: there can be no thread */

/**
 * ahead_run() - merge_run() with two threads
 * @stacks: that the lanes intern into; nobody else may touch it meanwhile
 * @seen:   what @taker may look at in its place: the same nodes, those of the
 *          events so far.  Only its nodes and count mean something
 * @taker:  its spent() is not called
 *
 * Memory: 1 MiB, and while it runs the arrays that @stacks grew out of.
 *
 * Return: as merge_run(); AHEAD_NO_THREAD.
 */
int ahead_run(struct input *input, struct stacks *stacks, struct stacks *seen,
	      const struct merge_taker *taker, struct merge_times *times,
	      struct diag *diag);

#endif /* REPORT_ENGINE_AHEAD_H */
