/* SPDX-License-Identifier: MIT */
/*
 * spare [kill] - makes blocks in four threads, which free what they made, but
 * for the last: thread t makes BLOCKS blocks of 1000 * (t + 1) + i % 1000
 * bytes.  The truth is the address space that it took at most, in KiB.
 * With "kill" it dies by SIGKILL in the end.
 */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "truth.h"

enum {
	THREADS = 4,
	BLOCKS = 3000,
	STACK_BYTES = 256 << 10,
};

TRUTH_NOINLINE static void *make(size_t size)
{
	void *p = malloc(size);

	TRUTH_KEEP(p);
	return p;
}

static void *work(void *arg)
{
	size_t base = 1000 * ((size_t)(uintptr_t)arg + 1);
	void *p = NULL;

	for (size_t i = 0; i < BLOCKS; i++) {
		free(p);
		p = make(base + i % 1000);
		if (!p)
			return arg;
	}
	return NULL;
}

static void tell_peak(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	unsigned long kib;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmPeak: %lu", &kib) == 1)
			truth("peak %lu\n", kib);
	if (file)
		fclose(file);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	pthread_attr_t attr;
	void *failed;
	int failures = 0;

	mallopt(M_ARENA_MAX, 1); /* others reserve space according to its size */
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], &attr, work, (void *)i) != 0)
			return 2;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &failed);
		failures += failed != NULL;
	}
	printf("%d threads ran out of memory\n", failures);
	fflush(stdout);
	tell_peak();
	if (argc > 1 && strcmp(argv[1], "kill") == 0)
		raise(SIGKILL);
	return 5;
}
