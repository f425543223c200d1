/* SPDX-License-Identifier: MIT */
/*
 * Blocks of all lives, the same in every run: freed at once, in either order,
 * from a recursion, grown in between, by another thread, late, never.
 * Arguments: rounds; milliseconds that slow_block() lives.  Truth: "short N"
 * blocks that nothing keeps from being culled.
 */
#include <pthread.h>
#include <unistd.h>

#include "truth.h"

enum {
	SOME = 20,
	DEPTH = 30,
};

static long short_blocks;
static useconds_t pause_us;

static TRUTH_NOINLINE void *make(size_t size)
{
	void *p = malloc(size);

	TRUTH_KEEP(p);
	return p;
}

static TRUTH_NOINLINE void at_once(void)
{
	for (size_t i = 0; i < SOME; i++)
		free(make(100 + i % 3));
	short_blocks += SOME;
}

static TRUTH_NOINLINE void in_order(void)
{
	void *blocks[SOME];

	for (size_t i = 0; i < SOME; i++)
		blocks[i] = make(200 + i);
	for (size_t i = 0; i < SOME; i++)
		free(blocks[i]);
	short_blocks += SOME;
}

static TRUTH_NOINLINE void recurse(size_t depth)
{
	void *p = calloc(depth + 1, 3);

	TRUTH_KEEP(p);
	if (depth)
		recurse(depth - 1);
	short_blocks++;
	free(p);
}

/* Neither is temporary: a short block is in between, the first of which stays,
   since without it the realloc would come right after the allocation. */
static TRUTH_NOINLINE void grown(void)
{
	void *p = make(300);

	free(make(301));
	p = realloc(p, 5000);
	TRUTH_KEEP(p);
	free(make(302));
	free(p);
	short_blocks++;
}

static TRUTH_NOINLINE void aligned(void)
{
	void *p = NULL;

	if (posix_memalign(&p, 128, 400) != 0)
		exit(3);
	free(make(401));
	free(p);
	short_blocks += 2;
}

static TRUTH_NOINLINE void slow_block(void)
{
	void *p = make(501);

	free(make(502));
	short_blocks++;
	usleep(pause_us);
	free(p);
}

static void *release(void *p)
{
	free(p);
	return NULL;
}

static TRUTH_NOINLINE void handed_over(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, release, make(601)) != 0)
		exit(4);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1;

	pause_us = argc > 2 ? (useconds_t)atol(argv[2]) * 1000 : 0;
	for (long i = 0; i < rounds; i++) {
		void *leak = make(701);

		TRUTH_KEEP(leak);
		at_once();
		in_order();
		recurse(DEPTH);
		grown();
		aligned();
	}
	slow_block();
	handed_over();
	free(make(702)); /* the last event of a chunk stays */
	truth("short %ld\n", short_blocks);
	return 0;
}
