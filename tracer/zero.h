/* SPDX-License-Identifier: MIT */
/* MEMORY_PROFILER_ZERO_MEMORY: the program gets memory that is zero. */
#ifndef TRACER_ZERO_H
#define TRACER_ZERO_H

#include <stddef.h>

/*
 * Puts functions that zero in the place of the real ones (real.h), so that
 * it costs nothing where it is not wanted.  What malloc and its family return
 * is zero, and so is what realloc adds, as far as the allocator tells the
 * sizes of its blocks.
 *
 * Safety: once, when @real is ready, before a second thread.
 */
void zero_install(void);

/*
 * Has another function called in the place of a real one, by those that zero as
 * well.  @offset is its member's of struct real.
 *
 * Safety: as zero_install().
 */
void zero_replace_real(size_t offset, void *function);

#endif /* TRACER_ZERO_H */
