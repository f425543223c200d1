/* SPDX-License-Identifier: MIT */
/*
 * All lanes of a trace as one sequence in the order of time.
 *
 * Layer: engine.  Includes input/input.h: the engine pulls from lanes.
 */
#ifndef REPORT_ENGINE_MERGE_H
#define REPORT_ENGINE_MERGE_H

#include <stddef.h>

struct diag;
struct event;
struct input;

/* @count events of lane @lane that no event of another lane precedes.
   Return: 0 to go on, negative errno to stop. */
typedef int (*merge_span_fn)(void *context, const struct event *events,
			     size_t count, size_t lane);

/**
 * merge_run() - read all lanes from their start
 *
 * Equal ticks are ordered by lane; within a lane the lane's order holds, also
 * where its ticks do not rise.  Memory: one batch a lane that has begun and not
 * ended.  Cost: O(log lanes) a span.
 *
 * Return: 0, what @span returned, or negative errno from reading.
 */
int merge_run(struct input *input, merge_span_fn span, void *context,
	      struct diag *diag);

#endif /* REPORT_ENGINE_MERGE_H */
