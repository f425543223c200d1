/* SPDX-License-Identifier: MIT */
/*
 * What a thread's first event costs in memory.  Arguments: threads, and 1 if
 * they stay until the last has begun.  Truth: "faults N", the pages that the
 * allocations of each new thread touched for the first time, least of all.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/resource.h>

#include "truth.h"

enum { THREADS_MAX = 1000 };

static sem_t measured, leave;

static long get_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_minflt;
}

TRUTH_NOINLINE static void allocate(int depth)
{
	void *p;

	if (depth > 0) {
		allocate(depth - 1);
		__asm__ volatile("");
		return;
	}
	p = malloc(100);
	TRUTH_KEEP(p);
	free(p);
}

/* The stack is touched before, the C library's own arena as well. */
static void *run(void *arg)
{
	char used[16384];
	long before;

	(void)arg;
	for (size_t i = 0; i < sizeof(used); i += 1024)
		((volatile char *)used)[i] = 1;
	before = get_faults();
	allocate(30);
	before = get_faults() - before;
	sem_post(&measured);
	sem_wait(&leave);
	return (void *)(intptr_t)before;
}

int main(int argc, char **argv)
{
	static pthread_t threads[THREADS_MAX];
	int count = argc > 1 ? atoi(argv[1]) : 20;
	int together = argc > 2 && atoi(argv[2]);
	long least = -1;

	if (count < 1 || count > THREADS_MAX)
		return 2;
	sem_init(&measured, 0, 0);
	sem_init(&leave, 0, 0);
	for (int i = 0; i < count; i++) {
		if (pthread_create(&threads[i], NULL, run, NULL) != 0)
			return 3;
		sem_wait(&measured);
		if (!together)
			sem_post(&leave);
	}
	for (int i = 0; together && i < count; i++)
		sem_post(&leave);
	for (int i = 0; i < count; i++) {
		void *faults;

		pthread_join(threads[i], &faults);
		if (least < 0 || (long)(intptr_t)faults < least)
			least = (long)(intptr_t)faults;
	}
	truth("faults %ld\n", least);
	return 0;
}
