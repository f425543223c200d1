/* SPDX-License-Identifier: MIT */
/* Completing the trace of a process that had no time to do so itself. */
#ifndef TRACER_RECORD_FINISH_H
#define TRACER_RECORD_FINISH_H

#include <stdbool.h>

#include "tracer/record/launch.h"

/**
 * finish_trace() - make the trace at @path complete
 * @result: how the process ended when it is the launched one; NULL for a
 *          descendant, of which that is not known
 * @ret_how: enum trace_end_how of the last END, 0 when there is none
 *
 * Where END is missing or PATH.live remains, the live buffers that are not in
 * the trace are appended as EVENTS, then CLOCK and END, and PATH.live is
 * removed.  A trace whose process is still running is left alone.
 *
 * Safety: single thread; allocates.
 *
 * Return: 0, or -errno.
 */
int finish_trace(const char *path, const struct launch_result *result,
		 uint32_t *ret_how);

#endif /* TRACER_RECORD_FINISH_H */
