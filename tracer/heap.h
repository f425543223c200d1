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

enum {
	HEAP_BYTES = 32 << 20, /* of address space, reserved at first use */
};

/* Start of the reservation, 0 before the first block. */
extern uintptr_t heap_base;

/**
 * heap_alloc() - obtain a zeroed block
 * @align: power of two up to a page, or 0 for 16
 *
 * Safety: before start-up: yes.  Signal handler: yes.  After fork: yes, in
 *         the child's own copy.  Allocates: mmap once.  Locks: its own, with
 *         signals blocked.  errno: ENOMEM when the result is NULL.
 *
 * Return: the block, for heap_free(); NULL when there is no room.
 */
void *heap_alloc(size_t size, size_t align);

/* Gives a block back.  Safety: as heap_alloc(); errno: untouched. */
void heap_free(void *p);

/* Return: bytes asked for with heap_alloc().  Safety: anywhere. */
size_t heap_size(const void *p);

/* Return: whether heap_alloc() made @p.  Safety: anywhere. */
static inline bool heap_owns(const void *p)
{
	return __builtin_expect((uintptr_t)p - heap_base < HEAP_BYTES, 0) &&
	       heap_base;
}

#endif /* TRACER_HEAP_H */
