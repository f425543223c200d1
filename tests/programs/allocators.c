/* SPDX-License-Identifier: MIT */
/*
 * Calls an allocator by names with a PREFIX of its own (empty by default): the
 * one that it was linked with.  -DJEMALLOC, -DMIMALLOC and -DTCMALLOC add what
 * only these have.  Truth as in basic.c; what is not linked is absent.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "truth.h"

#ifndef PREFIX
#define PREFIX
#endif
/* The two steps let the prefix be a macro. */
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define NAME(name) JOIN(PREFIX, name)

void *NAME(malloc)(size_t size);
void *NAME(calloc)(size_t count, size_t size);
void *NAME(realloc)(void *p, size_t size);
void NAME(free)(void *p);
int NAME(posix_memalign)(void **ret, size_t align, size_t size);
#ifdef TCMALLOC
#define aligned_alloc memalign
#endif
void *NAME(aligned_alloc)(size_t align, size_t size);

enum { THREADS = 3, ROUNDS = 500 };

static void *note(const char *kind, void *p, size_t size)
{
	if (!p)
		abort();
	memset(p, 0xa5, size);
	truth("%s %p %zu\n", kind, p, size);
	return p;
}

static void *note_change(void *old, void *p, size_t size)
{
	uintptr_t was = (uintptr_t)old;

	if (!p)
		abort();
	truth("realloc %#lx %p %zu\n", was, p, size);
	return p;
}

static void note_free(void *p)
{
	truth("free %p\n", p);
}

static void release(void *p)
{
	note_free(p);
	NAME(free)(p);
}

static void standard(void)
{
	void *p = note("malloc", NAME(malloc)(1001), 1001);

	p = note_change(p, NAME(realloc)(p, 2003), 2003);
	p = note_change(p, NAME(realloc)(p, 300007), 300007);
	release(p);
	release(note("calloc", NAME(calloc)(7, 1009), 7063));
	if (NAME(posix_memalign)(&p, 256, 3001) || (uintptr_t)p % 256)
		abort();
	release(note("memalign", p, 3001));
	release(note("memalign", NAME(aligned_alloc)(128, 1280), 1280));
	release(note("malloc", NAME(realloc)(NULL, 1013), 1013));
	NAME(free)(NULL);
	note("malloc", NAME(malloc)(777), 777); /* leaked */
}

#ifdef JEMALLOC
void *NAME(mallocx)(size_t size, int flags);
void *NAME(rallocx)(void *p, size_t size, int flags);
size_t NAME(xallocx)(void *p, size_t size, size_t extra, int flags);
void NAME(dallocx)(void *p, int flags);
void NAME(sdallocx)(void *p, size_t size, int flags);

static void special(void)
{
	void *p = note("malloc", NAME(mallocx)(5003, 0), 5003);

	p = note_change(p, NAME(rallocx)(p, 5009, 0), 5009);
	note_free(p);
	NAME(dallocx)(p, 0);
	p = note("memalign", NAME(mallocx)(5011, 9), 5011); /* 512 */
	if ((uintptr_t)p % 512)
		abort();
	note_free(p);
	NAME(sdallocx)(p, 5011, 9);
	p = note("malloc", NAME(mallocx)(2050, 0), 2050);
	if (NAME(xallocx)(p, 2500, 0, 0) < 2500)
		abort();
	note_change(p, p, 2500);
	if (NAME(xallocx)(p, 1 << 28, 0, 0) >= 1 << 28)
		abort();
	note_free(p);
	NAME(dallocx)(p, 0);
}
#elif defined(MIMALLOC)
void *mi_zalloc(size_t size);
void *mi_mallocn(size_t count, size_t size);
void *mi_reallocn(void *p, size_t count, size_t size);
void *mi_malloc_aligned(size_t size, size_t align);
void *mi_zalloc_aligned(size_t size, size_t align);
void *mi_heap_new(void);
void *mi_heap_malloc(void *heap, size_t size);
void *mi_heap_realloc(void *heap, void *p, size_t size);
char *mi_strdup(const char *s);
void mi_free_size(void *p, size_t size);
void mi_cfree(void *p);

static void special(void)
{
	void *heap = mi_heap_new();
	void *p = note("calloc", mi_zalloc(5003), 5003);

	note_free(p);
	mi_free_size(p, 5003);
	p = note("malloc", mi_mallocn(11, 501), 5511);
	p = note_change(p, mi_reallocn(p, 13, 1501), 19513);
	note_free(p);
	mi_cfree(p);
	release(note("memalign", mi_malloc_aligned(5021, 1024), 5021));
	release(note("memalign", mi_zalloc_aligned(5023, 1024), 5023));
	p = note("malloc", mi_heap_malloc(heap, 5039), 5039);
	p = note_change(p, mi_heap_realloc(heap, p, 50051), 50051);
	release(p);
	p = mi_strdup("five little words in here");
	truth("malloc %p 26\n", p);
	release(p);
}
#elif defined(TCMALLOC)
void *tc_new(size_t size);
void tc_delete(void *p);
void *tc_malloc_skip_new_handler(size_t size);
void tc_free_sized(void *p, size_t size);

static void special(void)
{
	void *p = tc_new(5003);

	truth("new %p 5003\n", p);
	truth("delete %p\n", p);
	tc_delete(p);
	p = note("malloc", tc_malloc_skip_new_handler(5009), 5009);
	note_free(p);
	tc_free_sized(p, 5009);
}
#else
static void special(void)
{
}
#endif

static void *churn(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		void *p = NAME(malloc)(333);

		TRUTH_KEEP(p);
		p = NAME(realloc)(p, 4444);
		TRUTH_KEEP(p);
		NAME(free)(p);
	}
	return arg;
}

int main(void)
{
	pthread_t threads[THREADS];

	standard();
	special();
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, churn, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	truth("churned %d\n", THREADS * ROUNDS);
	puts("as always");
	return 9;
}
