/* SPDX-License-Identifier: MIT */
/*
 * The functions that the hooks stand in front of.
 *
 * Found with dlsym(RTLD_NEXT) at the first hooked call, which may come from
 * the dynamic loader before any constructor.  What dlsym itself allocates
 * comes from heap.h.
 */
#ifndef TRACER_REAL_H
#define TRACER_REAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <sys/types.h>
#include <sys/wait.h>

struct rusage;

/**
 * struct real - next definitions behind the tracer's own
 *
 * All set once resolved is true, except those an old C library lacks.  None is
 * looked up later: a forked child may find the loader's lock taken for ever.
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
	const void *malloc_base; /* of the file that malloc is in */
	size_t (*usable_size)(void *); /* NULL: another allocator's, unusable */
	bool has_glibc_chunks;    /* real_glibc_usable() says the same */
	unsigned chunks_to_check; /* before that is believed; 0: it is not */
	int (*mallopt)(int, int);
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, ...);
	void (*quick_exit)(int);
	void (*abort)(void);
	int (*execve)(const char *, char *const[], char *const[]);
	int (*execvpe)(const char *, char *const[], char *const[]);
	int (*fexecve)(int, char *const[], char *const[]);
	int (*execveat)(int, const char *, char *const[], char *const[], int);
	int (*pthread_setname)(pthread_t, const char *);
	int (*setuid)(uid_t);
	int (*setgid)(gid_t);
	int (*seteuid)(uid_t);
	int (*setegid)(gid_t);
	int (*setreuid)(uid_t, uid_t);
	int (*setregid)(gid_t, gid_t);
	int (*setresuid)(uid_t, uid_t, uid_t);
	int (*setresgid)(gid_t, gid_t, gid_t);
	int (*setgroups)(size_t, const gid_t *);
	int (*initgroups)(const char *, gid_t);
	int (*chroot)(const char *);
	int (*unshare)(int);
	int (*setns)(int, int);
	int (*capset)(void *, const void *);
	pid_t (*waitpid)(pid_t, int *, int);
	pid_t (*wait4)(pid_t, int *, int, struct rusage *);
	int (*waitid)(idtype_t, id_t, siginfo_t *, int);
	int (*prctl)(int, ...);
	long (*syscall)(long, ...);
};

extern struct real real;

/*
 * Resolves @real when that has not been done.
 *
 * Safety: before start-up: yes.  Signal handler: only once resolved.
 *         Allocates: heap.h.  Locks: the loader's.  errno: preserved.
 *
 * Return: false while this is still going on: the caller must use heap.h.
 */
bool real_resolve(void);

/* Return: whether @real may be used.  Safety: anywhere. */
static inline bool real_ready(void)
{
	return __builtin_expect(real.resolved, 1) || real_resolve();
}

/* The word before a block of glibc's: its chunk's size and these bits. */
enum {
	GLIBC_MMAPPED = 2,
	GLIBC_FLAGS = 7,
};

/*
 * What glibc's malloc_usable_size() says of a block in use.  That one also
 * looks whether it is, which is written behind the block: one cache miss more.
 *
 * Safety: @p is a block of glibc's.
 */
static inline size_t real_glibc_usable(const void *p)
{
	size_t word = ((const size_t *)p)[-1];
	size_t head = word & GLIBC_MMAPPED ? 2 * sizeof(word) : sizeof(word);

	return (word & ~(size_t)GLIBC_FLAGS) - head;
}

/* Asks the allocator, and compares.  Safety: as real_usable(). */
size_t real_ask_usable(void *p);

/* Return: usable bytes of @p, which @real.malloc or a sibling just returned;
   0 where not known.  Safety: @real is ready. */
static inline size_t real_usable(void *p)
{
	if (__builtin_expect(real.has_glibc_chunks, 1))
		return real_glibc_usable(p);
	return real_ask_usable(p);
}

/*
 * Looks @name up behind the tracer.
 *
 * Safety: not in a signal handler.  Locks: the loader's.  errno: preserved.
 */
void *real_find(const char *name);

#endif /* TRACER_REAL_H */
