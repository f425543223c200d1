/* SPDX-License-Identifier: MIT */
/*
 * Threads that live at the same time.  Argument: how many.  Truth: "first N",
 * nanoseconds that the quickest first allocation took, and the mean.
 */
#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "truth.h"

enum {
	THREADS_MAX = 4000,
	ALLOCATIONS = 50,
};

static long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000L + ts.tv_nsec;
}

static void *run(void *arg)
{
	long before = now_ns();
	void *first = malloc(100);
	long took = now_ns() - before;

	(void)arg;
	TRUTH_KEEP(first);
	for (size_t i = 0; i < ALLOCATIONS; i++) {
		void *p = malloc(i + 1);

		TRUTH_KEEP(p);
		free(p);
	}
	free(first);
	return (void *)(intptr_t)took;
}

int main(int argc, char **argv)
{
	static pthread_t threads[THREADS_MAX];
	int count = argc > 1 ? atoi(argv[1]) : 100;
	long least = -1, sum = 0;

	if (count < 1 || count > THREADS_MAX)
		return 2;
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, run, NULL) != 0)
			return 3;
	for (int i = 0; i < count; i++) {
		void *took;

		pthread_join(threads[i], &took);
		sum += (long)(intptr_t)took;
		if (least < 0 || (long)(intptr_t)took < least)
			least = (long)(intptr_t)took;
	}
	truth("first %ld %ld\n", least, sum / count);
	return 0;
}
