/* SPDX-License-Identifier: MIT */
/* A C program that opens a C++ library privately, twice, and says what dlerror()
   has to tell. */
#include <dlfcn.h>

#include "truth.h"

static void say_error(void)
{
	const char *error = dlerror();

	puts(error ? error : "no error");
}

int main(int argc, char **argv)
{
	say_error();
	for (int i = 0; i < 2 && argc > 1; i++) {
		void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
		int (*run)(int);

		if (!library)
			return 3;
		*(void **)(void *)&run = dlsym(library, "plugin_run");
		printf("caught %d\n", run(400));
		say_error();
		dlclose(library);
	}
	return 0;
}
