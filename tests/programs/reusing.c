/* SPDX-License-Identifier: MIT */
/*
 * An allocator to be preloaded behind the tracer: a block that realloc() gives
 * up is what the next malloc() of its size returns, be that in another thread
 * and before realloc() has returned.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

void *malloc(size_t size);
void *realloc(void *p, size_t size);

extern void *__libc_malloc(size_t size);
extern void *__libc_realloc(void *p, size_t size);

/* Called by a realloc() that has given a block up; the program sets it. */
void (*reusing_meanwhile)(void);

static void *_Atomic given_up;

void *malloc(size_t size)
{
	void *p = given_up;

	if (p && size <= malloc_usable_size(p) &&
	    size + 64 > malloc_usable_size(p) &&
	    atomic_compare_exchange_strong(&given_up, &p, NULL))
		return p;
	return __libc_malloc(size);
}

void *realloc(void *p, size_t size)
{
	void *moved = NULL;

	if (!p || !reusing_meanwhile)
		return __libc_realloc(p, size);
	if (size) {
		moved = __libc_malloc(size);
		if (!moved)
			return NULL;
		memcpy(moved, p, size < malloc_usable_size(p)
					 ? size : malloc_usable_size(p));
	}
	given_up = p;
	reusing_meanwhile();
	return moved;
}
