/* SPDX-License-Identifier: MIT */
/*
 * pairs COUNT - COUNT times a free and a malloc, the way programs make them:
 * some twenty frames deep, of which the inner two to five differ from one call
 * to the next.  The same calls in every run.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))

static void *blocks[256];
static uint32_t seed = 1;

static uint32_t next_random(void)
{
	seed = seed * 1664525u + 1013904223u;
	return seed >> 16;
}

NOINLINE static void exchange(uint32_t random)
{
	void **block = &blocks[random % 256];

	free(*block);
	*block = malloc(16 + random % 128);
}

/* The barriers keep the calls from becoming jumps. */
#define BARRIER() __asm__ volatile("")

NOINLINE static void append(uint32_t random)
{
	exchange(random);
	BARRIER();
}

NOINLINE static void insert(uint32_t random)
{
	if (random & 1)
		append(random >> 1);
	else
		exchange(random >> 1);
	BARRIER();
}

NOINLINE static void step(uint32_t random)
{
	if (random & 3)
		insert(random >> 2);
	else
		append(random >> 2);
	BARRIER();
}

static long left;

/* Goes down to @depth, makes some exchanges there and comes back. */
NOINLINE static void descend(unsigned depth)
{
	if (depth) {
		descend(depth - 1);
		BARRIER();
		return;
	}
	for (int i = 0; i < 50 && left > 0; i++, left--)
		step(next_random());
}

int main(int argc, char **argv)
{
	left = argc > 1 ? atol(argv[1]) : 1000;
	while (left > 0)
		descend(12 + next_random() % 6);
	for (int i = 0; i < 256; i++)
		free(blocks[i]);
	printf("%ld left\n", left);
	return 0;
}
