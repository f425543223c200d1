/* SPDX-License-Identifier: MIT */
/*
 * MEMORY_PROFILER_DURATION: recording that was started ends after that time.
 *
 * No thread waits for it: the helper process notices that the time has come,
 * and the next event of any thread ends the recording instead of being part of
 * it.  Where there is no helper, it is a full buffer that notices.
 *
 * Safety: anywhere.  Allocates, locks: none, but for duration_begin().  errno:
 * untouched.
 */
#ifndef TRACER_DURATION_H
#define TRACER_DURATION_H

#include <stdbool.h>

/* Recording begins.  Starts the helper, which keeps watch.  Safety: the
   process's own thread; as helper_start(), but that signals are blocked
   inside. */
void duration_begin(void);

/* Return: whether its time is over. */
bool duration_is_over(void);

/* Return: milliseconds until it is, at least 1 and at most @most. */
long duration_left_ms(long most);

#endif /* TRACER_DURATION_H */
