/* SPDX-License-Identifier: MIT */
/*
 * A library that allocates whenever a library can: its constructor runs before
 * a preloaded library's, and what that registers runs after everything else.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>

#include "truth.h"

#ifndef EARLY_SIZE
#define EARLY_SIZE 41000
#endif

static pthread_key_t key;
static int rounds;

static void once(size_t size)
{
	void *p = malloc(size);

	truth("has %zu 1\n", size);
	TRUTH_KEEP(p);
	free(p);
}

static void at_exit(void)
{
	once(EARLY_SIZE + 2);
}

/* Made before the tracer's own key, so called before it in every round. */
static void at_thread_end(void *arg)
{
	void *p = malloc(EARLY_SIZE + 9);

	TRUTH_KEEP(p);
	free(p);
	if (++rounds % PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(key, arg);
}

__attribute__((constructor)) static void constructor(void)
{
	once(EARLY_SIZE + 1);
	atexit(at_exit);
	pthread_key_create(&key, at_thread_end);
}

__attribute__((destructor)) static void destructor(void)
{
	once(EARLY_SIZE + 3);
}

void early_mark_thread(void);

void early_mark_thread(void)
{
	pthread_setspecific(key, &key);
	truth("has %d %d\n", EARLY_SIZE + 9, PTHREAD_DESTRUCTOR_ITERATIONS);
}
