/* SPDX-License-Identifier: MIT */
/*
 * threads THREADS EVENTS - threads that allocate and free at the same time,
 * EVENTS calls each, 3 to 10 frames below the thread's start.  One block in 16
 * goes to the next thread, which frees it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "random.h"

enum {
	THREADS_MAX = 64,
	SLOTS = 512,
	DEPTH_MAX = 8,
};

/* mailbox: one block on its way to this thread, NULL when it is empty; on a
   cache line of its own, as it is what the threads share. */
static struct worker {
	_Alignas(64) void *_Atomic mailbox;
	_Alignas(64) pthread_t thread;
	struct worker *next;
	uint64_t random;
	long events;
	void *slots[SLOTS];
} workers[THREADS_MAX];

static long events_each;

/* Into an empty slot, or out of a full one: to free() or to the next thread. */
static void step(struct worker *self, uint64_t random)
{
	void **slot = &self->slots[(random >> 16) % SLOTS];

	self->events++;
	if (!*slot) {
		*slot = malloc(random_size(random >> 32));
		KEEP(*slot);
		return;
	}
	if ((random >> 28) % 16 == 0) {
		void *passed = atomic_exchange(&self->next->mailbox, *slot);

		*slot = atomic_exchange(&self->mailbox, NULL);
		free(passed);
	}
	free(*slot);
	*slot = NULL;
}

static FRAME void dive(struct worker *self, uint64_t random, unsigned depth)
{
	if (depth > 0)
		dive(self, random, depth - 1);
	else
		step(self, random);
	KEEP(self);
}

static void *run(void *arg)
{
	struct worker *self = arg;

	while (self->events < events_each) {
		uint64_t random = random_next(&self->random);

		dive(self, random, (unsigned)(random >> 12) % DEPTH_MAX);
	}
	return NULL;
}

/* Blocks that are left: the program ends without a leak. */
static void release(struct worker *worker)
{
	free(atomic_load(&worker->mailbox));
	for (size_t i = 0; i < SLOTS; i++)
		free(worker->slots[i]);
}

int main(int argc, char **argv)
{
	long count = argc > 2 ? atol(argv[1]) : 0;
	long events = 0;

	events_each = argc > 2 ? atol(argv[2]) : 0;
	if (count < 1 || count > THREADS_MAX || events_each < 1) {
		fprintf(stderr, "usage: threads THREADS EVENTS\n");
		return 2;
	}
	for (long i = 0; i < count; i++) {
		workers[i].next = &workers[(i + 1) % count];
		workers[i].random = (uint64_t)(i + 1) * 0x9e3779b97f4a7c15u;
		if (pthread_create(&workers[i].thread, NULL, run,
				   &workers[i]) != 0)
			return 1;
	}
	for (long i = 0; i < count; i++) {
		pthread_join(workers[i].thread, NULL);
		events += workers[i].events;
	}
	for (long i = 0; i < count; i++)
		release(&workers[i]);
	printf("%ld\n", events);
	return 0;
}
