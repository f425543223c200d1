/* SPDX-License-Identifier: MIT */
/*
 * Alternates two libraries at one address, each called at several depths.
 * Arguments: rounds, first, second.  Truth: "collisions N", rounds in which
 * the call was at the address of the round before.
 */
#include <dlfcn.h>
#include <stdint.h>

#include "truth.h"

static void between(void)
{
	void *p = malloc(4003);

	TRUTH_KEEP(p);
	free(p);
}

TRUTH_NOINLINE static void call_at(int depth,
				   void *(*allocate)(void (*)(void)))
{
	if (depth > 0)
		call_at(depth - 1, allocate);
	else
		allocate(between);
	free(malloc(4005));
}

int main(int argc, char **argv)
{
	long rounds = argc > 3 ? atol(argv[1]) : 0;
	void *(*before)(void (*)(void)) = NULL;
	long collisions = 0;

	for (long i = 0; i < rounds; i++) {
		void *library = dlopen(argv[2 + i % 2], RTLD_NOW);
		void *(*allocate)(void (*)(void));

		if (!library)
			return 3;
		*(void **)(void *)&allocate = dlsym(library, "plugin_allocate");
		collisions += allocate == before;
		before = allocate;
		for (int depth = 0; depth < 8; depth++)
			call_at(depth, allocate);
		dlclose(library);
	}
	truth("collisions %ld\n", collisions);
	return 0;
}
