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
 * finish_trace() - make the trace at @path complete
 * @launched: how the process ended when it is the launched one; NULL for a
 *          descendant, of which that is not known
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
int finish_trace(const char *path, const struct launch_result *launched,
		 struct finish_result *ret);

#endif /* TRACER_RECORD_FINISH_H */
