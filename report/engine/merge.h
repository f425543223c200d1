/* SPDX-License-Identifier: MIT */
/*
 * All lanes of a trace as one sequence in the order of time.
 *
 * Layer: engine.  Includes input/input.h: the engine pulls from lanes.
 */
#ifndef REPORT_ENGINE_MERGE_H
#define REPORT_ENGINE_MERGE_H

#include <stddef.h>
#include <stdint.h>

struct diag;
struct event;
struct event_batch;
struct input;

/* @count events of lane @lane that no event of another lane precedes; @known are
   there, those after the first @count come soon.  Return: 0 to go on, negative
   errno to stop. */
typedef int (*merge_span_fn)(void *context, const struct event *events,
			     size_t count, size_t known, size_t lane);

/**
 * struct merge_taker - who takes the events
 * @spent: all events of a batch that are to be shown have been: whoever still
 *         wants to look at them takes its memory, and may leave other memory
 *         for another batch.  Return: 0, or as @span, with nothing taken; NULL
 *         where @span has looked at all it wants to see
 */
struct merge_taker {
	void *context;
	merge_span_fn span;
	int (*spent)(void *context, struct event_batch *batch);
};

/**
 * struct merge_times - what reading took
 * @read_ns:     in the input: loading, decoding, interning stacks
 * @read_cpu_ns: CPU time of the thread that read, 0 if it did other things too
 * @waited_ns:   that the taker of the events waited for them
 */
struct merge_times {
	uint64_t read_ns;
	uint64_t read_cpu_ns;
	uint64_t waited_ns;
};

/**
 * merge_run() - read all lanes from their start
 *
 * Equal ticks are ordered by lane; within a lane the lane's order holds, also
 * where its ticks do not rise.  Memory: one batch a lane that has begun and not
 * ended.  Cost: O(log lanes) a span.  *@times is added to.
 *
 * Return: 0, what @taker returned, or negative errno from reading.
 */
int merge_run(struct input *input, const struct merge_taker *taker,
	      struct merge_times *times, struct diag *diag);

#endif /* REPORT_ENGINE_MERGE_H */
