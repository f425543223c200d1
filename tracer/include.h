/* SPDX-License-Identifier: MIT */
/* Files that the user wishes to have in the trace. */
#ifndef TRACER_INCLUDE_H
#define TRACER_INCLUDE_H

/*
 * Writes the files that MEMORY_PROFILER_INCLUDE_FILE names into the trace, as
 * they are now.
 *
 * Safety: signals blocked, by one thread, once the trace is open.  Allocates:
 *         mmap.  Locks: a chunk's.  errno: untouched.
 */
void include_keep(void);

#endif /* TRACER_INCLUDE_H */
