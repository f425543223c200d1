/* SPDX-License-Identifier: MIT */
/* Recursion that allocates on the way back at every level.  Argument: depth. */
#include "truth.h"

TRUTH_NOINLINE static long dive(long depth)
{
	volatile long result = depth;
	void *p;

	if (depth == 0)
		return 0;
	result += dive(depth - 1);
	p = malloc(10);
	TRUTH_KEEP(p);
	free(p);
	return result;
}

int main(int argc, char **argv)
{
	long depth = argc > 1 ? atol(argv[1]) : 1000;

	for (int i = 0; i < 5; i++)
		printf("%ld\n", dive(depth));
	return 0;
}
