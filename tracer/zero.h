/* SPDX-License-Identifier: MIT */
/* MEMORY_PROFILER_ZERO_MEMORY: the program gets memory that is zero. */
#ifndef TRACER_ZERO_H
#define TRACER_ZERO_H

/*
 * Puts functions that zero in the place of the real ones (real.h), so that
 * it costs nothing where it is not wanted.  What malloc and its family return
 * is zero, and so is what realloc adds, as far as the allocator tells the
 * sizes of its blocks.
 *
 * Safety: once, when @real is ready, before a second thread.
 */
void zero_install(void);

#endif /* TRACER_ZERO_H */
