/* SPDX-License-Identifier: MIT */
/*
 * recursion EVENTS - allocations and frees about 200 frames deep, as in a
 * recursive descent or an interpreter: the stack goes up and down between
 * DEPTH_MIN and DEPTH_MAX frames at random.  Which function a level is, is
 * decided anew in one level of 16: some 1,500 distinct stacks.  With a new one
 * at every event heaptrack 1.4 runs out of memory.
 */
#include <stdio.h>
#include <stdlib.h>

#include "random.h"

enum {
	DEPTH_MIN = 160,
	DEPTH_MAX = 240,
	SLOTS = 1024,
};

static void *slots[SLOTS];
static uint64_t state = 88172645463325252u;
static long events_left;

static void step(uint64_t random)
{
	void **slot = &slots[(random >> 16) % SLOTS];

	events_left--;
	if (*slot) {
		free(*slot);
		*slot = NULL;
	} else {
		*slot = malloc(random_size(random >> 32));
		KEEP(*slot);
	}
}

static FRAME void walk_plain(unsigned depth);
static FRAME void walk_wide(unsigned depth);
static FRAME void walk_narrow(unsigned depth);

static void (*const walks[])(unsigned depth) = {
	walk_plain, walk_wide, walk_narrow, walk_plain
};

static inline __attribute__((always_inline)) void
call(unsigned depth, uint64_t random)
{
	walks[depth % 16 == 0 ? (random >> 40) % 4 : depth * 7 / 5 % 4](depth);
}

/* A call and a return are equally likely, four events to each of them. */
static inline __attribute__((always_inline)) void walk(unsigned depth)
{
	while (events_left > 0) {
		uint64_t random = random_next(&state);
		unsigned move = (unsigned)(random >> 8) % 10;

		if (depth < DEPTH_MIN || (move == 0 && depth < DEPTH_MAX))
			call(depth + 1, random);
		else if (move == 1 && depth > DEPTH_MIN)
			return;
		else
			step(random);
	}
}

static void walk_plain(unsigned depth)
{
	walk(depth);
	KEEP(&depth);
}

static void walk_wide(unsigned depth)
{
	char text[200];

	KEEP(text);
	walk(depth);
	KEEP(text);
}

static void walk_narrow(unsigned depth)
{
	char text[24];

	KEEP(text);
	walk(depth);
	KEEP(text);
}

int main(int argc, char **argv)
{
	events_left = argc > 1 ? atol(argv[1]) : 0;
	if (events_left < 1) {
		fprintf(stderr, "usage: recursion EVENTS\n");
		return 2;
	}
	walk(1);
	for (size_t i = 0; i < SLOTS; i++)
		free(slots[i]);
	return 0;
}
