/* SPDX-License-Identifier: MIT */
/*
 * Opens and closes libraries where that is unusual: from several threads at
 * once, in link namespaces of their own, one at the address of another, by the
 * address of a function of a library that is gone.  Arguments: two libraries
 * made of early.c, and one for namespaces.  Truth: "has SIZE COUNT".
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "truth.h"

enum { THREADS = 4, ROUNDS = 30, NAMESPACES = 5 };

static const char *const *paths;

static void *open_and_close(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		void *p = malloc(48001);
		void *library = dlopen(paths[i % 2], RTLD_NOW | RTLD_LOCAL);

		if (!library || !dlsym(library, "early_mark_thread"))
			abort();
		dlclose(library);
		TRUTH_KEEP(p);
		free(p);
	}
	return arg;
}

/* A namespace has a C library of its own, whose malloc() is its own affair. */
static void open_namespaces(const char *path)
{
	void *libraries[NAMESPACES];

	for (int i = 0; i < NAMESPACES; i++) {
		Lmid_t id = 0;
		char *(*duplicate)(const char *);
		char *(*own)(const char *);

		libraries[i] = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
		if (!libraries[i])
			abort();
		*(void **)&own = dlsym(libraries[i], "strdup");
		*(void **)&duplicate = dlsym(RTLD_DEFAULT, "strdup");
		if (dlinfo(libraries[i], RTLD_DI_LMID, &id) || id == 0)
			abort();
		if (own && own != duplicate && strcmp(own("text"), "text"))
			abort();
	}
	for (int i = 0; i < NAMESPACES; i++)
		dlclose(libraries[i]);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	if (argc < 4)
		return 2;
	paths = (const char *const *)argv + 1;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, open_and_close, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	truth("has 48001 %d\n", THREADS * ROUNDS);
	open_namespaces(argv[3]);
	open_and_close(NULL);
	truth("has 48001 %d\n", ROUNDS);
	puts(dlopen("/nonexistent.so", RTLD_NOW) ? "?" : dlerror());
	puts(dlerror() ? "?" : "no error");
	return 0;
}
