/* SPDX-License-Identifier: MIT */
/* File names with placeholders, as MEMORY_PROFILER_OUTPUT has them. */
#ifndef TRACER_OUTPUT_NAME_H
#define TRACER_OUTPUT_NAME_H

#include <stddef.h>
#include <stdint.h>

/**
 * output_name_expand() - replace placeholders
 * @pattern: %p pid, %t Unix seconds, %e executable's base name, %n @number,
 *           %% a percent sign; other letters vanish
 * @number:  of traces that this process had before
 * @ret:     result, made absolute by the directory of the first call, so that
 *           chdir() does not matter; cut to fit
 * @cap:     size of @ret
 *
 * Safety: one thread at a time.  Allocates, locks: none.  System calls: a few.
 *         errno: untouched.
 */
void output_name_expand(const char *pattern, uint32_t number, char *ret,
			size_t cap);

/*
 * Copies the executable's absolute path.
 *
 * Safety: anywhere.  Allocates, locks: none.  errno: untouched.
 */
void output_name_executable(char *ret, size_t cap);

#endif /* TRACER_OUTPUT_NAME_H */
