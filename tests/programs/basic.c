/* SPDX-License-Identifier: MIT */
/*
 * Every allocation function once, with sizes that occur nowhere else.
 * Truth: "KIND ADDR SIZE", "free ADDR", "realloc OLD NEW SIZE", in order.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "truth.h"

static volatile size_t huge = SIZE_MAX / 2;

TRUTH_NOINLINE static void *inner(size_t size)
{
	void *p = malloc(size);

	TRUTH_KEEP(p);
	return p;
}

TRUTH_NOINLINE static void *middle(size_t size)
{
	void *p = inner(size);

	TRUTH_KEEP(p);
	return p;
}

TRUTH_NOINLINE static void *outer(size_t size)
{
	void *p = middle(size);

	TRUTH_KEEP(p);
	return p;
}

TRUTH_NOINLINE static void release(void *p)
{
	truth("free %p\n", p);
	free(p);
}

static void *note(const char *kind, void *p, size_t size)
{
	truth("%s %p %zu\n", kind, p, size);
	return p;
}

TRUTH_NOINLINE static void plain(void)
{
	void *a = note("malloc", outer(10001), 10001);
	void *b = note("calloc", calloc(101, 103), 101 * 103);
	void *c = note("malloc", malloc(0), 0);

	TRUTH_KEEP(c);
	release(a);
	release(b);
	note("malloc", malloc(10007), 10007); /* leaked */
	release(c);
	free(NULL);
}

static void reallocs(void)
{
	void *a = note("malloc", realloc(NULL, 20001), 20001);
	uintptr_t old = (uintptr_t)a;

	a = realloc(a, 2000001);
	truth("realloc %#lx %p 2000001\n", old, a);
	old = (uintptr_t)a;
	errno = 0;
	if (realloc(a, huge) || errno != ENOMEM) /* leaves the block alone */
		abort();
	a = reallocarray(a, 3, 1001);
	truth("realloc %#lx %p 3003\n", old, a);
	errno = 0;
	if (reallocarray(a, huge, 16) || errno != ENOMEM)
		abort();
	truth("free %p\n", a);
	a = realloc(a, 0); /* glibc: frees */
	if (a)
		abort();
	a = note("malloc", reallocarray(NULL, 7, 1003), 7021);
	release(a);
	errno = 0;
	if (malloc(huge) || errno != ENOMEM || calloc(huge, 16))
		abort();
}

static void aligned(void)
{
	void *p = NULL;

	if (posix_memalign(&p, 4096, 30001) || (uintptr_t)p % 4096)
		abort();
	release(note("memalign", p, 30001));
	if (posix_memalign(&p, 3, 8) != EINVAL)
		abort();
	release(note("memalign", aligned_alloc(64, 30011), 30011));
	release(note("memalign", memalign(256, 30013), 30013));
	release(note("memalign", valloc(30029), 30029));
	release(note("memalign", pvalloc(30047), 30047));
}

static void maps(void)
{
	char *p = mmap(NULL, 5 * 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *q;

	truth("mmap %p %d\n", (void *)p, 5 * 4096);
	p[0] = 42;
	q = mremap(p, 5 * 4096, 9 * 4096, MREMAP_MAYMOVE);
	truth("mremap %p %p %d\n", (void *)p, (void *)q, 9 * 4096);
	if (q[0] != 42)
		abort();
	munmap(q, 9 * 4096);
	truth("munmap %p %d\n", (void *)q, 9 * 4096);
	errno = 0;
	if (mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
		MAP_FAILED ||
	    errno != EINVAL)
		abort();
	errno = 0;
	if (munmap((void *)1, 4096) != -1 || errno != EINVAL)
		abort();
	if (mmap64(NULL, 4096, PROT_READ, MAP_PRIVATE, 9999, 0) != MAP_FAILED ||
	    errno != EBADF)
		abort();
}

int main(void)
{
	size_t usable;
	void *p;

	plain();
	reallocs();
	aligned();
	maps();
	if (mallopt(M_MMAP_THRESHOLD, 1 << 20) != 1)
		abort();
	truth("mallopt %d %d 1\n", M_MMAP_THRESHOLD, 1 << 20);
	p = malloc(41);
	usable = malloc_usable_size(p);
	truth("usable %p 41 %zu\n", p, usable);
	truth("free %p\n", p);
	free(p);
	errno = 77;
	p = malloc(43);
	free(p);
	if (errno != 77)
		abort();
	puts("output as always");
	return 7;
}
