/* SPDX-License-Identifier: MIT */
/*
 * handover SEED THREADS BLOCKS - threads allocate, hand each block to the next
 * thread through a ring of slots, and free what they are handed; every tenth
 * block is kept for ever.  Truth as JSON on descriptor 3: only what the
 * functions named truth_* allocated, since creating a thread allocates too.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RING = 64, THREADS_MAX = 16 };

struct ring {
	_Atomic(void *) slots[RING];
};

static struct ring rings[THREADS_MAX];
static int threads = 4;
static long blocks = 20000;
static uint64_t seed = 1;
static _Atomic uint64_t allocations, bytes, leaked, leaked_bytes, freed;
static _Atomic int running;

__attribute__((noinline)) void *truth_allocate(size_t size)
{
	char *block = malloc(size);

	if (block)
		block[0] = 1;
	return block;
}

static void drain(int number)
{
	for (int i = 0; i < RING; i++) {
		void *block = atomic_exchange(&rings[number].slots[i], NULL);

		if (block) {
			free(block);
			freed++;
		}
	}
}

static void *worker(void *argument)
{
	int number = (int)(intptr_t)argument;
	uint64_t state = seed * 77 + (uint64_t)number + 1;
	struct ring *next = &rings[(number + 1) % threads];

	for (long i = 0; i < blocks; i++) {
		size_t size;
		void *block;
		int slot;

		state = state * 6364136223846793005u + 1442695040888963407u;
		size = 1 + (state >> 40) % 2000;
		block = truth_allocate(size);
		allocations++;
		bytes += size;
		if (i % 10 == 0) {
			leaked++;
			leaked_bytes += size;
			continue;
		}
		slot = (int)((state >> 20) % RING);
		block = atomic_exchange(&next->slots[slot], block);
		if (block) {
			free(block);
			freed++;
		}
		if (i % 50 == 0)
			drain(number);
	}
	running--;
	while (running)
		drain(number);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t ids[THREADS_MAX];
	char text[256];
	int len;

	if (argc > 1)
		seed = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		threads = atoi(argv[2]);
	if (argc > 3)
		blocks = atol(argv[3]);
	if (threads > THREADS_MAX)
		return 2;
	running = threads;
	for (int i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, worker, (void *)(intptr_t)i);
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	for (int i = 0; i < threads; i++)
		drain(i);
	len = snprintf(text, sizeof(text),
		       "{\"matched_count\": %lu, \"matched_bytes\": %lu, "
		       "\"matched_leaked_count\": %lu, "
		       "\"matched_leaked_bytes\": %lu}\n",
		       allocations, bytes, leaked, leaked_bytes);
	return write(3, text, (size_t)len) == len ? 0 : 1;
}
