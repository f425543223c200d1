/* SPDX-License-Identifier: MIT */
/*
 * Opens and closes the libraries given, in turn; usually they come to lie at
 * the same address.  Truth: "at PATH ADDR-OF-FUNCTION".
 */
#include <dlfcn.h>
#include <stdint.h>

#include "truth.h"

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		void *library = dlopen(argv[i], RTLD_NOW);
		void *(*allocate)(void);

		if (!library)
			return 3;
		*(void **)(void *)&allocate = dlsym(library, "plugin_allocate");
		truth("at %s %p\n", argv[i], (void *)(uintptr_t)allocate);
		free(allocate());
		dlclose(library);
	}
	free(malloc(55555));
	return 0;
}
