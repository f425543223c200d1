/* SPDX-License-Identifier: MIT */
/*
 * short_threads THREADS - threads one after another, each with one allocation
 * and one free: what a thread's first event costs.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "random.h"

static void *run(void *arg)
{
	void *block = malloc(100);

	KEEP(block);
	free(block);
	return arg;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 0;

	if (count < 1) {
		fprintf(stderr, "usage: short_threads THREADS\n");
		return 2;
	}
	for (long i = 0; i < count; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, run, NULL) != 0)
			return 1;
		pthread_join(thread, NULL);
	}
	return 0;
}
