/* SPDX-License-Identifier: MIT */
/*
 * A thread's first event is a release that is known only after the call: a
 * realloc that moves the block, or one to no bytes ("release").  Before that
 * call returns another thread gets the address.  reusing.so, preloaded behind
 * the tracer, hands it on.  Truth: "same 1".
 */
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include "truth.h"

enum { SIZE = 4321, MOVED = 9876 };

/* What the thread that calls realloc() does before that returns. */
extern void (*reusing_meanwhile)(void) __attribute__((weak));

static sem_t released;
static sem_t reused;
static void *block;
static void *other;
static size_t new_size = MOVED;

static void wait_for_reuse(void)
{
	sem_post(&released);
	sem_wait(&reused);
}

static void *reuse(void *arg)
{
	sem_wait(&released);
	other = malloc(SIZE);
	sem_post(&reused);
	return arg;
}

static void *change(void *arg)
{
	void *moved = realloc(block, new_size);

	if (new_size)
		free(moved);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	if (!&reusing_meanwhile)
		return 2;
	if (argc > 1 && strcmp(argv[1], "release") == 0)
		new_size = 0;
	reusing_meanwhile = wait_for_reuse;
	block = malloc(SIZE);
	pthread_create(&threads[0], NULL, reuse, NULL);
	pthread_create(&threads[1], NULL, change, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	truth("same %d\n", block == other);
	return 0;
}
