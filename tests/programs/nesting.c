/* SPDX-License-Identifier: MIT */
/*
 * A library with an allocator that allocates while it allocates, with a lock
 * held that does not nest, as hooks of old did: preloaded behind the tracer.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

enum { INNER = 49001 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread bool inside;

static void enter(void)
{
	void *p;

	if (inside)
		return;
	inside = true;
	pthread_mutex_lock(&lock);
	p = malloc(INNER); /* the program's malloc: whoever is first */
	__asm__ volatile("" : "+r"(p) : : "memory");
	free(p);
	pthread_mutex_unlock(&lock);
	inside = false;
}

/* dlsym() may call calloc(), which is what it is asked for. */
static void *find(const char *name)
{
	static char early[4096];
	static size_t used;
	static __thread bool looking;
	void *p;

	if (looking) {
		used += 1024;
		return early + used - 1024;
	}
	looking = true;
	p = dlsym(RTLD_NEXT, name);
	looking = false;
	return p;
}

void *malloc(size_t size)
{
	static void *(*next)(size_t);

	if (!next)
		*(void **)&next = find("malloc");
	enter();
	return next(size);
}

void free(void *p)
{
	static void (*next)(void *);

	if (!next)
		*(void **)&next = find("free");
	enter();
	next(p);
}
