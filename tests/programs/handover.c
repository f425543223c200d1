/* SPDX-License-Identifier: MIT */
/*
 * Threads hand blocks to each other through mailboxes and free or grow what
 * they find there, so the same addresses change hands as fast as possible.
 * Arguments: threads, rounds.  Truth: "blocks N" allocated and freed.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "truth.h"

enum {
	BOXES = 16,
};

static void *_Atomic boxes[BOXES];
static atomic_long blocks;
static long rounds;

static void *work(void *arg)
{
	uint64_t x = (uintptr_t)arg * UINT64_C(0x9e3779b97f4a7c15) + 1;
	long made = 0;

	for (long i = 0; i < rounds; i++) {
		void *p;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		p = malloc(16 + x % 3 * 8);
		made++;
		p = atomic_exchange(&boxes[x >> 8 & (BOXES - 1)], p);
		if (p && x % 5 == 0)
			p = realloc(p, 16 + (x >> 16) % 200);
		free(p);
	}
	blocks += made;
	return NULL;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 4;
	pthread_t threads[64];

	rounds = argc > 2 ? atol(argv[2]) : 10000;
	if (count > 64)
		return 2;
	for (long i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, work, (void *)(i + 1));
	for (long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < BOXES; i++)
		free(atomic_exchange(&boxes[i], NULL));
	truth("blocks %ld\n", (long)blocks);
	return 0;
}
