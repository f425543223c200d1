/* SPDX-License-Identifier: MIT */
/* Recursion, allocating every 1000 frames.  Argument: depth. */
#include "truth.h"

TRUTH_NOINLINE static long dive(long depth)
{
	volatile long result = depth;

	if (depth % 1000 == 0) {
		void *p = malloc(500 + (size_t)(depth % 97));

		TRUTH_KEEP(p);
		free(p);
	}
	if (depth > 0)
		result += dive(depth - 1);
	return result;
}

int main(int argc, char **argv)
{
	long depth = argc > 1 ? atol(argv[1]) : 1000;

	printf("%ld\n", dive(depth));
	return 0;
}
