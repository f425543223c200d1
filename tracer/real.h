/* SPDX-License-Identifier: MIT */
/*
 * The functions that the hooks stand in front of.
 *
 * Found with dlsym(RTLD_NEXT) at the first hooked call, which may come from
 * the dynamic loader before any constructor.  dlsym may itself allocate; such
 * calls are served from a small static arena, whose blocks free() and
 * realloc() recognise for ever.
 */
#ifndef TRACER_REAL_H
#define TRACER_REAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct real - next definitions behind the tracer's own
 *
 * All set once resolved is true, except those an old C library lacks.
 */
struct real {
	bool resolved;
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*reallocarray)(void *, size_t, size_t);
	void (*free)(void *);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	size_t (*usable_size)(void *); /* NULL: another allocator's, unusable */
	int (*mallopt)(int, int);
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, ...);
};

extern struct real real;

/*
 * Resolves @real when that has not been done.
 *
 * Safety: before start-up: yes.  Signal handler: only once resolved.
 *         Allocates: static arena.  Locks: the loader's.  errno: preserved.
 *
 * Return: false while another call on this thread is resolving: the caller
 *         must use the real_early_* functions.
 */
bool real_resolve(void);

/* Return: whether @real may be used.  Safety: anywhere. */
static inline bool real_ready(void)
{
	return __builtin_expect(real.resolved, 1) || real_resolve();
}

/*
 * Looks @name up behind the tracer.
 *
 * Safety: not in a signal handler.  Locks: the loader's.  errno: preserved.
 */
void *real_find(const char *name);

/* Memory while dlsym is at work.  Safety: one thread.  Return: or NULL. */
void *real_early_alloc(size_t size, size_t align);

/* Whether real_early_alloc() made @p.  Safety: anywhere. */
bool real_is_early(const void *p);

/* Usable bytes of a block that real_is_early().  Safety: anywhere. */
size_t real_early_size(const void *p);

#endif /* TRACER_REAL_H */
