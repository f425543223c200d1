/* SPDX-License-Identifier: MIT */
/* File names with placeholders, as MEMORY_PROFILER_OUTPUT has them. */
#ifndef TRACER_OUTPUT_NAME_H
#define TRACER_OUTPUT_NAME_H

#include <stddef.h>

/**
 * output_name_expand() - replace placeholders
 * @pattern: %p pid, %t Unix seconds, %e executable's base name, %n number of
 *           files opened by this process before this one (always 0 here),
 *           %% a percent sign; other letters vanish
 * @ret:     result, made absolute so that chdir() does not matter; cut to fit
 * @cap:     size of @ret
 *
 * Safety: while the trace is being started, by one thread.  Allocates, locks:
 *         none.  System calls: a few.  errno: untouched.
 */
void output_name_expand(const char *pattern, char *ret, size_t cap);

/*
 * Copies the executable's absolute path.
 *
 * Safety: anywhere.  Allocates, locks: none.  errno: untouched.
 */
void output_name_executable(char *ret, size_t cap);

#endif /* TRACER_OUTPUT_NAME_H */
