/* SPDX-License-Identifier: MIT */
/* The names that a program gave to the code it generated. */
#ifndef TRACER_RECORD_PERF_MAP_H
#define TRACER_RECORD_PERF_MAP_H

/* To be called before any program is started: older files are of others.
   Safety: single thread. */
void perf_map_init(void);

struct summary;

/**
 * perf_map_append() - keep /tmp/perf-PID.map in the trace
 * @fd, @sum: the trace, and what it says
 *
 * Only a regular file of this user or root (root: of anybody, as programs drop
 * privileges) that was written to since perf_map_init().  No more than
 * KEPT_BYTES_MAX of it: what is beyond is left out and said on standard error.
 *
 * Safety: single thread; allocates.  Return: 0, also when there is none; or
 * -errno from writing.
 */
int perf_map_append(int fd, const struct summary *sum);

#endif /* TRACER_RECORD_PERF_MAP_H */
