/* SPDX-License-Identifier: MIT */
/*
 * Telling memprof-record of traces: what the file named by
 * MEMORY_PROFILER_NAME_FILE holds.
 *
 * For every name that a tracer tries for a trace it appends, with one write: a
 * zero byte, the trace_id as 16 hexadecimal digits, the absolute path, a zero
 * byte.  It does so before it makes the file, so that whenever it is killed
 * memprof-record knows of the file.  A file of that name is the tracer's if it
 * begins with that trace_id; if it is empty, only the last name announced for
 * the trace_id can be.  The zero in front ends an entry that was cut off.
 */
#ifndef TRACER_ANNOUNCE_H
#define TRACER_ANNOUNCE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	ANNOUNCE_ID_DIGITS = 16,
};

/* What memprof-record calls the file where that is memory: a name in /proc, of
   which nothing but this tells whether it still leads there. */
#define ANNOUNCE_MEMORY "memprof-record"

/*
 * Appends an entry, where there is somebody to be told.
 *
 * Safety: one thread at a time; system calls.  Allocates, locks: none.
 *         errno: untouched.
 */
void announce_trace(uint64_t trace_id, const char *path);

/*
 * Whether a tracer has told of a trace before: the program that memprof-record
 * has started may not be traced itself (statically linked), and what it starts
 * does then not know that it is one of several.
 *
 * Safety: system call.  Allocates, locks: none.  errno: untouched.
 */
bool announce_has_others(void);

#endif /* TRACER_ANNOUNCE_H */
