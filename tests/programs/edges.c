/* SPDX-License-Identifier: MIT */
/*
 * The allocation functions where they fail, and at their limits: says what
 * they return and what errno is afterwards.  Argument: only that one, which
 * ends the program.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "truth.h"

static volatile size_t max = SIZE_MAX;
static volatile size_t zero;

static void show(const char *what, const void *p)
{
	printf("%s: %s, %s\n", what,
	       !p ? "NULL" : p == MAP_FAILED ? "failed" : "block",
	       errno ? strerrorname_np(errno) : "0");
	errno = 0;
}

#define SHOW(call)                  \
	do {                        \
		const void *p_;     \
                                    \
		errno = 0;          \
		p_ = (call);        \
		show(#call, p_);    \
	} while (0)

#define SHOW_NUMBER(call)                                             \
	do {                                                          \
		errno = 0;                                            \
		printf("%s: %ld\n", #call, (long)(call));             \
	} while (0)

static void sizes(void)
{
	SHOW(malloc(max));
	SHOW(malloc(max / 2 + 1));
	SHOW(malloc(zero));
	SHOW(calloc(max, max));
	SHOW(calloc(max / 2 + 2, 2));
	SHOW(calloc(zero, max));
	SHOW(calloc(max, zero));
	SHOW(realloc(NULL, max));
	SHOW(realloc(NULL, zero));
	SHOW(reallocarray(NULL, max / 2 + 2, 2));
	SHOW(reallocarray(NULL, zero, max));
}

static void alignments(void)
{
	void *p = &p;

	SHOW(memalign(3, 10));
	SHOW(memalign(zero, 10));
	SHOW(memalign(64, max));
	SHOW(memalign(max, 10));
	SHOW(memalign(1 << 20, 10));
	SHOW(aligned_alloc(3, 10));
	SHOW(aligned_alloc(64, 10));
	SHOW(aligned_alloc(zero, 10));
	SHOW(aligned_alloc(64, max));
	SHOW(valloc(max));
	SHOW(valloc(zero));
	SHOW(pvalloc(max));
	SHOW(pvalloc(zero));
	SHOW(pvalloc(4097));
	SHOW_NUMBER(posix_memalign(&p, 3, 10));
	SHOW_NUMBER(posix_memalign(&p, zero, 10));
	SHOW_NUMBER(posix_memalign(&p, 2, 10));
	SHOW_NUMBER(posix_memalign(&p, 64, max));
	printf("untouched: %d\n", p == &p);
}

/* A block that a failed change leaves as it was; one that is changed away. */
static void changes(void)
{
	char *p = malloc(45001);
	void *q = p;

	memset(p, 'x', 45001);
	SHOW(realloc(q, max));
	SHOW(reallocarray(q, max / 2 + 2, 2));
	printf("intact: %d\n", p[0] == 'x' && p[45000] == 'x');
	SHOW(realloc(p, zero));
	p = malloc(45002);
	SHOW(reallocarray(p, zero, 7));
	truth("has 45001 1\nhas 45002 1\n");
	errno = 33;
	free(NULL);
	printf("errno after free(NULL): %d\n", errno);
	p = malloc(1 << 20);
	errno = 34;
	free(p);
	printf("errno after free: %d\n", errno);
}

/* Everything up to malloc_usable_size() is the program's. */
static void slack(void)
{
	size_t total = 0;

	for (size_t size = 0; size < 5000; size += 7) {
		unsigned char *p = malloc(size);
		size_t usable = malloc_usable_size(p);

		memset(p, 0xee, usable);
		total += usable;
		p = realloc(p, usable + 1);
		for (size_t i = 0; i < size; i++)
			if (p[i] != 0xee)
				abort();
		free(p);
	}
	printf("usable: %zu, of nothing: %zu\n", total,
	       malloc_usable_size(NULL));
}

static void maps(void)
{
	char *p = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	void *hint = (void *)0x700000000000;

	SHOW(mmap(NULL, zero, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	SHOW(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, -1, 0));
	SHOW(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 1));
	SHOW(mmap((void *)1, 4096, PROT_READ,
		  MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	SHOW(mmap(NULL, max / 2, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		  0));
	SHOW(mremap(p, 4096, 4096, 0));
	SHOW(mremap(p, 8192, max / 2, MREMAP_MAYMOVE));
	SHOW(mremap((void *)1, 4096, 8192, 0));
	SHOW_NUMBER(munmap((void *)1, 4096));
	SHOW_NUMBER(munmap(p, zero));
	SHOW_NUMBER(munmap(p, 8192));
	printf("hint taken: %d\n",
	       mmap(hint, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0) == hint);
	SHOW_NUMBER(mallopt(12345, 1));
	SHOW_NUMBER(mallopt(M_MMAP_THRESHOLD, 1 << 20));
}

/* Blocks that are none: the C library ends the program. */
static void wrong(const char *what)
{
	static char mine[4096] __attribute__((aligned(16)));
	char *p = malloc(100);

	fflush(stdout);
	TRUTH_KEEP(p);
	if (strcmp(what, "foreign") == 0) {
		char *q = mine + 1024;

		TRUTH_KEEP(q);
		free(q);
	} else if (strcmp(what, "twice") == 0) {
		for (int i = 0; i < 2; i++) {
			free(p);
			TRUTH_KEEP(p);
		}
	} else if (strcmp(what, "inside") == 0) {
		p += 8;
		TRUTH_KEEP(p);
		free(p);
	} else if (strcmp(what, "realloc") == 0) {
		p += 8;
		TRUTH_KEEP(p);
		p = realloc(p, 1000);
		TRUTH_KEEP(p);
	} else if (strcmp(what, "smashed") == 0) {
		memset(p, 0xff, 200);
		free(p);
		p = malloc(5000);
		TRUTH_KEEP(p);
	}
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOFBF, BUFSIZ);
	if (argc > 1) {
		wrong(argv[1]);
		return 0;
	}
	sizes();
	alignments();
	changes();
	slack();
	maps();
	return 0;
}
