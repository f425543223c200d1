/* SPDX-License-Identifier: MIT */
/*
 * Run with counting.so preloaded behind the tracer: what reaches it between
 * two points is exactly what the program asked for.
 */
#include <pthread.h>

#include "truth.h"

extern long counting_calls(void) __attribute__((weak));

static void *churn(void *arg)
{
	long rounds = (long)arg;

	for (long i = 0; i < rounds; i++) {
		void *p = malloc(10 + (size_t)i % 500);

		TRUTH_KEEP(p);
		free(p);
	}
	return NULL;
}

int main(void)
{
	long before, after;

	if (!counting_calls)
		return 3;
	churn((void *)10);
	before = counting_calls();
	churn((void *)100000);
	after = counting_calls();
	printf("calls %ld\n", after - before);
	return 0;
}
