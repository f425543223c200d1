/* SPDX-License-Identifier: MIT */
/*
 * One-line messages on standard error, as long as that is what it was at the
 * start, or in MEMORY_PROFILER_LOGFILE.
 */
#ifndef TRACER_LOG_H
#define TRACER_LOG_H

#include "tracer/options.h"

/*
 * Finds out where messages go.
 *
 * Safety: once, at the start.  Allocates, locks: none.  errno: untouched.
 */
void log_init(void);

/*
 * Writes "memprof[PID]: @text @detail[: name of @error]" when @level is
 * enabled.  @detail may be NULL, @error is a positive errno or 0.
 *
 * Safety: before start-up: yes.  Signal handler: yes.  After fork: yes.
 *         Allocates, locks: none.  System calls: fstat, writev.  errno: untouched.
 */
void log_line(enum log_level level, const char *text, const char *detail,
	      int error);

/* As log_line(), with @value printed after the text.  Safety: the same. */
void log_number(enum log_level level, const char *text, long long value);

#endif /* TRACER_LOG_H */
