/* SPDX-License-Identifier: MIT */
/*
 * Tries to execute what does not exist, again and again, while threads
 * allocate.  Truth: "failures N".
 */
#include <pthread.h>

#include "truth.h"

enum {
	FAILURES = 20,
};

static void *churn(void *arg)
{
	for (size_t i = 0;; i++) {
		if (i % 500 == 0)
			usleep(100);
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
		if (execv("/nonexistent", argv) != -1)
			return 3;
		usleep(1000);
	}
	truth("failures %d\n", FAILURES);
	return 0;
}
