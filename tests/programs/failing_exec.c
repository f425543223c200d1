/* SPDX-License-Identifier: MIT */
/*
 * Tries to execute what does not exist, again and again, while threads
 * allocate: so many blocks at each attempt, however long it takes.  Truth:
 * "failures N".
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "truth.h"

enum {
	FAILURES = 20,
	BLOCKS = 3000, /* of a thread, at each attempt */
};

static atomic_size_t allowed;

static void *churn(void *arg)
{
	for (size_t i = 0;; i++) {
		while (i >= allowed)
			sched_yield();
		void *p = malloc(16 + i % 300);

		TRUTH_KEEP(p);
		free(p);
	}
	return arg;
}

int main(void)
{
	char *argv[] = { "x", NULL };
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, churn, NULL);
	for (int i = 0; i < FAILURES; i++) {
		void *p = malloc(77777);

		TRUTH_KEEP(p);
		free(p);
		allowed += BLOCKS;
		if (execv("/nonexistent", argv) != -1)
			return 3;
		usleep(1000);
	}
	truth("failures %d\n", FAILURES);
	allowed = SIZE_MAX;
	return 0;
}
