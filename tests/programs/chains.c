/* SPDX-License-Identifier: MIT */
/*
 * chains - blocks that realloc grows, shrinks and hands on between threads;
 * some freed at once, some at the end, some never.  For tests/oracle: little
 * happens, but much of it with the same size, from the same place.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 3, TURNS = 60, SHELVES = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *shelf[SHELVES]; /* blocks that any thread may take */
static void *kept;           /* a list: never freed, still reachable */

static void *swap(size_t at, void *block)
{
	pthread_mutex_lock(&lock);
	void *old = shelf[at];

	shelf[at] = block;
	pthread_mutex_unlock(&lock);
	return old;
}

/* Compilers know what malloc is for and leave it out when they can. */
__attribute__((noinline)) static void *use(void *block)
{
	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

static inline void *grow(void *block, size_t size)
{
	return use(realloc(block, size));
}

/* From as many callers as @depth says. */
__attribute__((noinline)) static void at_once(size_t size, unsigned depth)
{
	if (depth)
		at_once(size, depth - 1);
	else
		free(use(calloc(1, size)));
	use(NULL);
}

static void keep(size_t size)
{
	void **block = use(malloc(size));

	pthread_mutex_lock(&lock);
	*block = kept;
	kept = block;
	pthread_mutex_unlock(&lock);
}

static void *work(void *argument)
{
	unsigned number = (unsigned)(size_t)argument;
	char name[] = "worker 0";

	name[sizeof(name) - 2] += (char)number;
	pthread_setname_np(pthread_self(), name);
	for (unsigned turn = 0; turn < TURNS; turn++) {
		size_t at = (turn * 7 + number) % SHELVES;
		void *block = swap(at, NULL);

		if (turn % 5 == 4) {
			free(block);
			continue;
		}
		for (unsigned step = 0; step < turn % 4; step++)
			block = grow(block, 64 << (step + number) % 5);
		at_once(turn % 3 ? 24 : 4096, turn % 7);
		if (turn % 6 == 0)
			keep(16 + 8 * (turn % 2));
		free(swap(at, block ? block : use(malloc(100))));
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (size_t at = 0; at < SHELVES; at += 2)
		free(swap(at, NULL));
	return kept ? 0 : 1;
}
