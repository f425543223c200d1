/* SPDX-License-Identifier: MIT */
/* Allocates below functions of debug_frame_middle.c.  Argument: rounds. */
#include "truth.h"

void *middle_outer(int n);
void *inner(int n);

TRUTH_NOINLINE void *inner(int n)
{
	void *p = malloc(100 + (size_t)n);

	TRUTH_KEEP(p);
	return p;
}

TRUTH_NOINLINE static void outer(int n)
{
	void *p = middle_outer(n);

	free(p);
	TRUTH_KEEP(n);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100;

	for (int i = 0; i < rounds; i++)
		outer(i % 50);
	return 0;
}
