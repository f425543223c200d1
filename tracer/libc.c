/* SPDX-License-Identifier: MIT */
#include "tracer/libc.h"

#include <dlfcn.h>
#include <errno.h>

#include "tracer/elf_symbol.h"

/**
 * struct libc - the functions, NULL where not found
 * @map: the C library in the loader's list
 */
static struct {
	bool resolved;
	const struct link_map *map;
	int (*dl_iterate_phdr)(int (*)(struct dl_phdr_info *, size_t, void *),
			       void *);
	void *(*dlopen)(const char *, int);
	int (*dlclose)(void *);
	char *(*dlerror)(void);
	int (*pthread_key_create)(pthread_key_t *, void (*)(void *));
	int (*pthread_setspecific)(pthread_key_t, const void *);
	int (*on_exit)(void (*)(int, void *), void *);
} libc;

/* Not dladdr(), which looks at all symbols of the object. */
const struct link_map *libc_map_of(const void *p, const void **ret_base)
{
	struct dl_find_object found;

	if (!p || _dl_find_object((void *)(uintptr_t)p, &found) != 0)
		return NULL;
	if (ret_base)
		*ret_base = found.dlfo_map_start;
	return found.dlfo_link_map;
}

/*
 * The program would take the message for one of its own.  The first call asks
 * for it, the second one gives its memory back.
 *
 * Safety: inside the guard.  Return: @p, what a dl function has returned.
 */
static void *check_found(void *p)
{
	if (!p && libc.dlerror && libc.dlerror())
		libc.dlerror();
	return p;
}

uintptr_t libc_function(const char *name)
{
	if (!libc.map) /* a function that nobody else has */
		libc.map = libc_map_of(
		    dlsym(RTLD_NEXT, "gnu_get_libc_version"), NULL);
	return libc.map ? elf_symbol_find_function(libc.map, name) : 0;
}

void *libc_find(const char *name)
{
	void *p = (void *)libc_function(name);

	return p ? p : libc_dlsym(RTLD_NEXT, name);
}

bool libc_has(const void *p)
{
	return libc.map && libc_map_of(p, NULL) == libc.map;
}

#define FIND(name) (*(void **)(void *)&libc.name = libc_find(#name))

void libc_resolve(void)
{
	FIND(dlerror);
	FIND(dl_iterate_phdr);
	FIND(dlopen);
	FIND(dlclose);
	FIND(pthread_key_create);
	FIND(pthread_setspecific);
	FIND(on_exit);
	libc.resolved = true;
}

/* Safety: as libc_resolve(). */
static void need(void)
{
	if (!libc.resolved)
		libc_resolve();
}

int libc_dl_iterate_phdr(int (*visit)(struct dl_phdr_info *, size_t, void *),
			 void *arg)
{
	need();
	return libc.dl_iterate_phdr ? libc.dl_iterate_phdr(visit, arg) : 0;
}

void *libc_dlopen(const char *file, int flags)
{
	need();
	return check_found(libc.dlopen ? libc.dlopen(file, flags) : NULL);
}

void *libc_dlsym(void *handle, const char *name)
{
	return check_found(dlsym(handle, name));
}

void *libc_dlvsym(void *handle, const char *name, const char *version)
{
	return check_found(dlvsym(handle, name, version));
}

int libc_dlclose(void *handle)
{
	need();
	return libc.dlclose ? libc.dlclose(handle) : -1;
}

int libc_pthread_key_create(pthread_key_t *ret, void (*done)(void *))
{
	need();
	return libc.pthread_key_create ? libc.pthread_key_create(ret, done)
				       : ENOSYS;
}

int libc_pthread_setspecific(pthread_key_t key, const void *value)
{
	need();
	return libc.pthread_setspecific ? libc.pthread_setspecific(key, value)
					: ENOSYS;
}

int libc_on_exit(void (*run)(int status, void *arg), void *arg)
{
	need();
	return libc.on_exit ? libc.on_exit(run, arg) : -1;
}
