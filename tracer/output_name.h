/* SPDX-License-Identifier: MIT */
/* File names with placeholders, as MEMORY_PROFILER_OUTPUT has them. */
#ifndef TRACER_OUTPUT_NAME_H
#define TRACER_OUTPUT_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * output_name_init() - settle what relative names are relative to
 * @base: absolute path of a directory, borrowed; NULL: the working directory
 *
 * Safety: once, before the others.  System call.  Allocates, locks: none.
 *         errno: untouched.
 */
void output_name_init(const char *base);

/* Return: that directory, with a slash at the end; empty where there is none.
   Safety: anywhere. */
const char *output_name_directory(void);

/* Whether there is a placeholder in @pattern, which %% is not.  Safety: pure. */
bool output_name_varies(const char *pattern);

/**
 * output_name_expand() - replace placeholders
 * @pattern: %p pid, %t Unix seconds, %e executable's base name, %n @number,
 *           %% a percent sign; other letters vanish
 * @number:  of traces that this process had before
 * @ret:     result, absolute, whatever chdir() was called; cut to fit
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
