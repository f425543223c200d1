/* SPDX-License-Identifier: MIT */
/*
 * chunks [GLIBC] - threads that live at the same time allocate blocks of all
 * sizes in all ways.  With GLIBC, which says that they are glibc's, aligned ones,
 * too, and the truth as JSON on descriptor 3: what their headers say of the blocks
 * of the functions named truth_*.  Another allocator may have nothing before a
 * block.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 4, BLOCKS = 600, MMAPED = 2, NON_MAIN = 4 };

static pthread_barrier_t all_here;
static _Atomic long mmaped, unmapped, in_main, in_others;
static int is_glibc;

__attribute__((noinline)) void *truth_allocate(size_t size, unsigned way)
{
	void *block = NULL;

	switch (way % 4) {
	case 0:
		block = calloc(1, size);
		break;
	case 1:
		block = realloc(malloc(size / 4 + 1), size + 1);
		break;
	case 2:
		if (is_glibc &&
		    posix_memalign(&block, (size_t)32 << way / 4 % 8, size))
			block = NULL;
		break;
	default:
		block = malloc(size);
	}
	return block ? block : malloc(size);
}

static void count(const void *block)
{
	size_t head = ((const size_t *)block)[-1];

	if (head & MMAPED)
		mmaped++;
	else
		unmapped++;
	if (head & NON_MAIN)
		in_others++;
	else
		in_main++;
}

static void *worker(void *argument)
{
	uint64_t state = (uintptr_t)argument + 1;

	pthread_barrier_wait(&all_here);
	for (int i = 0; i < BLOCKS; i++) {
		unsigned random;
		void *block;

		state = state * 6364136223846793005u + 1442695040888963407u;
		random = (unsigned)(state >> 33);
		block = truth_allocate(random >> (11 + random % 13),
				       random >> 3);
		if (!block)
			abort();
		if (is_glibc)
			count(block);
	}
	pthread_barrier_wait(&all_here);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	(void)argv;
	is_glibc = argc > 1;
	pthread_barrier_init(&all_here, NULL, THREADS + 1);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, worker, (void *)i);
	worker((void *)THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	dprintf(3, "{\"mmaped=yes\": %ld, \"mmaped=no\": %ld, "
		"\"arena=main\": %ld, \"arena=non_main\": %ld, "
		"\"arena=other\": 0}\n",
		(long)mmaped, (long)unmapped, (long)in_main, (long)in_others);
	return 0;
}
