/* SPDX-License-Identifier: MIT */
/*
 * Threads that can be killed at any moment: thread t allocates blocks of
 * 1000 (t + 1) + i % 1000 bytes, i from 0, and frees each at once.
 * Arguments: a file, threads, blocks of each, microseconds between blocks (0 if
 * left out).  The file says how many blocks each thread has, as a u64.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

#include "truth.h"

enum {
	THREADS_MAX = 64,
};

static volatile uint64_t *progress;
static long blocks;
static unsigned pause_us;

static void *run(void *arg)
{
	intptr_t t = (intptr_t)arg;

	for (long i = 0; i < blocks; i++) {
		void *p = malloc(1000 * ((size_t)t + 1) + (size_t)i % 1000);

		TRUTH_KEEP(p);
		progress[t] = (uint64_t)i + 1;
		free(p);
		if (pause_us)
			usleep(pause_us);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];
	int fd, count = argc > 2 ? atoi(argv[2]) : 0;
	size_t len = THREADS_MAX * sizeof(*progress);

	if (argc < 4 || count < 1 || count > THREADS_MAX)
		return 2;
	fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)len) != 0)
		return 3;
	progress =
	    mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (progress == MAP_FAILED)
		return 4;
	blocks = atol(argv[3]);
	pause_us = argc > 4 ? (unsigned)atoi(argv[4]) : 0;
	for (intptr_t t = 0; t < count; t++)
		pthread_create(&threads[t], NULL, run, (void *)t);
	for (int t = 0; t < count; t++)
		pthread_join(threads[t], NULL);
	return 0;
}
