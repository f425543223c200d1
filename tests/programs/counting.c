/* SPDX-License-Identifier: MIT */
/*
 * An allocator to be preloaded behind the tracer: it counts what reaches it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

void *malloc(size_t size);
void free(void *p);
void *calloc(size_t count, size_t size);
void *realloc(void *p, size_t size);
long counting_calls(void);

extern void *__libc_malloc(size_t size);
extern void __libc_free(void *p);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);

static atomic_long calls;

void *malloc(size_t size)
{
	calls++;
	return __libc_malloc(size);
}

void free(void *p)
{
	calls++;
	__libc_free(p);
}

void *calloc(size_t count, size_t size)
{
	calls++;
	return __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
	calls++;
	return __libc_realloc(p, size);
}

long counting_calls(void)
{
	return calls;
}
