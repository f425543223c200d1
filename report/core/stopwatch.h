/* SPDX-License-Identifier: MIT */
/*
 * What time things take, for --timings only: nothing of it reaches a report.
 *
 * Layer: core.
 */
#ifndef REPORT_CORE_STOPWATCH_H
#define REPORT_CORE_STOPWATCH_H

#include <stdint.h>
#include <time.h>

static inline uint64_t stopwatch_read(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) +
	       (uint64_t)now.tv_nsec;
}

/* Return: nanoseconds since some moment.  Cost: a few dozen instructions, no
   system call. */
static inline uint64_t stopwatch_ns(void)
{
	return stopwatch_read(CLOCK_MONOTONIC);
}

#endif /* REPORT_CORE_STOPWATCH_H */
