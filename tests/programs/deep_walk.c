/* SPDX-License-Identifier: MIT */
/*
 * deep_walk LOW HIGH EVENTS - goes down to HIGH frames and then up and down
 * between LOW and HIGH at random, a step at a time and now and then thousands,
 * allocating on the way.  Which function a level is may change each time, and
 * nearly all frames have one size: inner frames are often as they were where
 * outer ones are not.  The same calls in every run.
 */
#include <stdint.h>

#include "truth.h"

static long low, high, left;
static uint32_t seed = 1;
static long target; /* the depth that a jump goes to; 0: none */

static uint32_t next_random(void)
{
	seed = seed * 1664525u + 1013904223u;
	return seed >> 8;
}

static void event(uint32_t random)
{
	void *p = malloc(16 + random % 64);

	TRUTH_KEEP(p);
	free(p);
	left--;
}

static void even(long depth);
static void odd(long depth);
static void wide(long depth);

static void go_down(long depth)
{
	uint32_t random = next_random() % 4096;

	if (random == 0)
		wide(depth);
	else if (random % 64 == 1)
		odd(depth);
	else
		even(depth);
}

/* Return: whether the calling level ends. */
static int move(long depth)
{
	uint32_t random = next_random();

	if (target == depth)
		target = 0;
	if (!target && random % 16 == 0)
		target = low + (long)(next_random() % (uint32_t)(high - low));
	if (!target)
		event(random);
	if (depth < low || (target ? target > depth
				   : random % 3 && depth < high)) {
		go_down(depth + 1);
		return 0;
	}
	return target ? target < depth : random % 2 && depth > low;
}

#define WALK(depth)                               \
	do {                                      \
		while (left > 0 && !move(depth))  \
			;                         \
		__asm__ volatile("" : : : "memory"); \
	} while (0)

TRUTH_NOINLINE static void even(long depth)
{
	WALK(depth);
}

TRUTH_NOINLINE static void odd(long depth)
{
	WALK(depth);
}

TRUTH_NOINLINE static void wide(long depth)
{
	char text[100];

	TRUTH_KEEP(depth);
	__asm__ volatile("" : : "r"(text) : "memory");
	WALK(depth);
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	low = atol(argv[1]);
	high = atol(argv[2]);
	left = atol(argv[3]);
	target = high;
	go_down(1);
	return 0;
}
