/* SPDX-License-Identifier: MIT */
/*
 * Blocks for calls that the tracer itself causes.
 *
 * dlsym, dlopen and thread-local storage of an opened library allocate through
 * the hooks.  Such blocks never come from the program's allocator, so its heap
 * looks as it does without us, and free() tells them by their address, however
 * late and from wherever they are given back.
 */
#ifndef TRACER_HEAP_H
#define TRACER_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct heap_region - address space that blocks are cut from
 * @base:  0 before the first block
 * @bytes: reserved
 * @used:  bytes that have been cut into blocks
 *
 * The first is enough for nearly every program.  The second serves thousands
 * of threads whose thread-local storage is made inside the tracer: the loader
 * ends the program when it gets none.
 */
struct heap_region {
	uintptr_t base;
	size_t bytes;
	size_t used;
};

extern struct heap_region heap_regions[2];

/**
 * heap_alloc() - obtain a zeroed block
 * @align: power of two up to a page, or 0 for 16
 *
 * Safety: before start-up: yes.  Signal handler: yes.  After fork: yes, in
 *         the child's own copy.  Allocates: mmap.  Locks: its own, with
 *         signals blocked.  errno: ENOMEM when the result is NULL.
 *
 * Return: the block, for heap_free(); NULL when there is no room.
 */
void *heap_alloc(size_t size, size_t align);

/* Gives a block back.  Safety: as heap_alloc(); errno: untouched. */
void heap_free(void *p);

/* Return: bytes asked for with heap_alloc().  Safety: anywhere. */
size_t heap_size(const void *p);

/* Safety: anywhere. */
static inline bool heap_is_in(const struct heap_region *region, const void *p)
{
	return __builtin_expect(
		   (uintptr_t)p - region->base < region->bytes, 0) &&
	       region->base;
}

/* Return: whether heap_alloc() made @p.  Safety: anywhere. */
static inline bool heap_owns(const void *p)
{
	return heap_is_in(&heap_regions[0], p) ||
	       heap_is_in(&heap_regions[1], p);
}

/* No thread is at work on it.  Safety: a forked child's only thread. */
void heap_forget_lock(void);

#endif /* TRACER_HEAP_H */
