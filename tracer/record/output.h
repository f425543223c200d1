/* SPDX-License-Identifier: MIT */
/* Whether the trace can be made, before the program runs for nothing. */
#ifndef TRACER_RECORD_OUTPUT_H
#define TRACER_RECORD_OUTPUT_H

/**
 * output_check() - look at where the trace is to be
 * @pattern: as MEMORY_PROFILER_OUTPUT, NULL for the default
 *
 * What depends on placeholders is not looked at.  Nothing is created.
 *
 * Safety: single thread; system calls.
 *
 * Return: 0, or the errno for which the tracer could not make the file.
 */
int output_check(const char *pattern);

/**
 * output_make_absolute() - have a name not depend on where a program starts
 * @pattern: with placeholders
 *
 * Safety: single thread; allocates, system call.
 *
 * Return: the same for the working directory of this process, to be freed; or
 * NULL, and errno.
 */
char *output_make_absolute(const char *pattern);

#endif /* TRACER_RECORD_OUTPUT_H */
