/* SPDX-License-Identifier: MIT */
/* Completing the trace of a process that had no time to do so itself. */
#ifndef TRACER_RECORD_FINISH_H
#define TRACER_RECORD_FINISH_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/record/launch.h"

/**
 * struct finish_result - what became of a trace
 * @how:           enum trace_end_how of the last END, 0 when there was none
 * @damaged_bytes: of events that the program has written over
 */
struct finish_result {
	uint32_t how;
	uint64_t damaged_bytes;
};

/**
 * struct finish_head - which trace of which process it is
 * @pid:         of the process
 * @trace_id:    of the trace
 * @previous_id: of the piece before it, 0 for none
 */
struct finish_head {
	int pid;
	uint64_t trace_id;
	uint64_t previous_id;
};

/* Reads the beginning of the trace at @path.  Safety: single thread;
   allocates.  Return: 0, or -errno; @ret is zero then. */
int finish_read_head(const char *path, struct finish_head *ret);

/**
 * struct finish_end - how a trace without END ended
 * @launched:    how the process ended when it is the launched one; NULL for a
 *               descendant, of which that is not known
 * @is_followed: there is a piece after it
 */
struct finish_end {
	const struct launch_result *launched;
	bool is_followed;
};

/**
 * finish_trace() - make the trace at @path complete
 *
 * Where END is missing or PATH.live remains, the live buffers that are not in
 * the trace are appended as COLUMNS, then CLOCK and END, and PATH.live is
 * removed.  A trace whose process is still running is left alone.
 *
 * Safety: single thread; allocates.  Waits, at most two seconds, for the
 * process that writes what the program had still handed over.
 *
 * Return: 0, or -errno.
 */
int finish_trace(const char *path, const struct finish_end *end,
		 struct finish_result *ret);

#endif /* TRACER_RECORD_FINISH_H */
