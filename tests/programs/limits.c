/* SPDX-License-Identifier: MIT */
/*
 * Allocates far more events than the file may hold.  Argument: the limit in
 * bytes, set as RLIMIT_FSIZE; 0 sets none.
 */
#include <sys/resource.h>

#include "truth.h"

int main(int argc, char **argv)
{
	struct rlimit lim = {0};
	unsigned x = 1;

	lim.rlim_cur = lim.rlim_max = argc > 1 ? (rlim_t)atol(argv[1]) : 0;
	if (lim.rlim_cur)
		setrlimit(RLIMIT_FSIZE, &lim);
	for (int i = 0; i < 200000; i++) {
		void *p;

		x = x * 1664525 + 1013904223;
		p = malloc(x >> 20);
		TRUTH_KEEP(p);
		free(p);
	}
	puts("went on");
	return 0;
}
