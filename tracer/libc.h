/* SPDX-License-Identifier: MIT */
/*
 * Functions of the C library that a program, or a sanitizer's library, may have
 * by the same names: called where they are in the C library itself, whatever
 * this library's own imports would be bound to.
 */
#ifndef TRACER_LIBC_H
#define TRACER_LIBC_H

#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * libc_resolve() - look them up
 *
 * Safety: before start-up: yes.  Not in a signal handler.  Inside the guard:
 *         dlsym() may allocate.  Locks: the loader's.  errno: may change.
 */
void libc_resolve(void);

/*
 * What of the loader's list @p is in, NULL: nothing; and where that begins,
 * written only then.  @p and @ret_base may be NULL.
 *
 * Safety: anywhere.  Allocates, locks: none.
 */
const struct link_map *libc_map_of(const void *p, const void **ret_base);

/*
 * Return: the address of the C library's function @name, in its newest version;
 * 0 where there is none, or several for different processors.
 *
 * Safety: as libc_resolve().
 */
uintptr_t libc_function(const char *name);

/*
 * Return: the C library's function @name, or what is next behind the tracer
 * where the C library is not found; NULL where there is none.
 *
 * Safety: as libc_resolve().
 */
void *libc_find(const char *name);

/* Whether @p is in the C library.  Safety: as libc_resolve(). */
bool libc_has(const void *p);

/* As the functions of <link.h>, <dlfcn.h>, <pthread.h> and <stdlib.h>.
   Safety: as those; libc_resolve() is called where that was not done. */
int libc_dl_iterate_phdr(int (*visit)(struct dl_phdr_info *, size_t, void *),
			 void *arg);
void *libc_dlopen(const char *file, int flags);
int libc_dlclose(void *handle);

/* As dlsym() and dlvsym(), for which @handle RTLD_NEXT is what comes behind the
   tracer; but a failure leaves nothing for dlerror() to tell, nor does that of
   libc_dlopen().  Safety: inside the guard; as those. */
void *libc_dlsym(void *handle, const char *name);
void *libc_dlvsym(void *handle, const char *name, const char *version);
int libc_pthread_key_create(pthread_key_t *ret, void (*done)(void *));
int libc_pthread_setspecific(pthread_key_t key, const void *value);
int libc_on_exit(void (*run)(int status, void *arg), void *arg);

#endif /* TRACER_LIBC_H */
