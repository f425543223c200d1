/* SPDX-License-Identifier: MIT */
/*
 * Memory for the tracer itself.
 *
 * The traced program may be inside its allocator, holding its locks, when a
 * hook runs, so nothing here may call malloc or wait for a lock that the
 * program can hold.  Memory comes from mmap only.
 */
#ifndef TRACER_POOL_H
#define TRACER_POOL_H

#include <stdbool.h>
#include <stddef.h>

/**
 * pool_map() - obtain zeroed pages
 * @bytes: rounded up to whole pages
 *
 * Named [anon:memprof] where the kernel can; not inherited counters, not
 * recorded as a mapping of the program.
 *
 * Safety: before start-up: yes.  Signal handler: yes.  After fork: yes.
 *         Allocates: mmap.  Locks: none.  errno: preserved.
 *
 * Return: page-aligned memory owned by the caller until pool_unmap(), or NULL.
 */
void *pool_map(size_t bytes);

/* Safety: as pool_map().  @p may be NULL; @bytes as given to pool_map(). */
void pool_unmap(void *p, size_t bytes);

/*
 * The program may use so little address space (RLIMIT_AS) that the tracer, too,
 * has to do with little: it is slower then, and the trace longer.
 */
extern bool pool_is_scarce;

/* Settles that.  Safety: once, before start-up completes; system call. */
void pool_init(void);

#endif /* TRACER_POOL_H */
