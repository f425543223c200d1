/* SPDX-License-Identifier: MIT */
/* A C program that opens a C++ library privately, twice. */
#include <dlfcn.h>

#include "truth.h"

int main(int argc, char **argv)
{
	for (int i = 0; i < 2 && argc > 1; i++) {
		void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
		int (*run)(int);

		if (!library)
			return 3;
		*(void **)(void *)&run = dlsym(library, "plugin_run");
		printf("caught %d\n", run(400));
		dlclose(library);
	}
	return 0;
}
