/* SPDX-License-Identifier: MIT */
/*
 * A program that is linked with libunwind itself and takes its own stacks with
 * it, in threads, between allocations.  Output: how many frames the stacks of
 * each thread have.  Truth: "maps N", how many files by the name of libunwind
 * are mapped: the program's own.
 */
#include "truth.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

enum { DEPTH = 20, ROUNDS = 500, FRAMES = 64, THREADS = 3 };

int unw_backtrace(void **buffer, int size);

/* Frames of the stacks that this thread took. */
static __thread unsigned long sum;

static TRUTH_NOINLINE void descend(int depth)
{
	void *p = malloc((size_t)depth * 10 + 1);

	TRUTH_KEEP(p);
	if (depth) {
		descend(depth - 1);
	} else {
		void *frames[FRAMES];
		int n = unw_backtrace(frames, FRAMES);

		for (int i = 0; i < n; i++)
			sum += frames[i] != NULL;
	}
	free(p);
}

static void *run(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		descend(i % DEPTH);
	(void)arg;
	return (void *)sum;
}

static int count_maps(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512], last[512] = "";
	int n = 0;

	while (maps && fgets(line, sizeof(line), maps)) {
		const char *path = strchr(line, '/');

		if (!path || !strstr(path, name) || strcmp(path, last) == 0)
			continue;
		snprintf(last, sizeof(last), "%s", path);
		n++;
	}
	if (maps)
		fclose(maps);
	return n;
}

int main(void)
{
	pthread_t threads[THREADS];
	void *sums[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, NULL) != 0)
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], &sums[i]);
	run(NULL);
	printf("%lu %lu %lu %lu\n", sum, (uintptr_t)sums[0], (uintptr_t)sums[1],
	       (uintptr_t)sums[2]);
	truth("maps %d\n", count_maps("/libunwind.so"));
	return 0;
}
