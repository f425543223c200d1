/* SPDX-License-Identifier: MIT */
/*
 * Says for each way to get memory whether it was zero, although the same
 * memory has been used and given back before.
 */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "truth.h"

static const size_t sizes[] = {1, 24, 1000, 1032, 70000, 300000};

enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), TIMES = 3 };

static int is_zero(const unsigned char *p, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (p[i])
			return 0;
	return 1;
}

static void *get_memalign(size_t size)
{
	void *p = NULL;

	return posix_memalign(&p, 64, size) == 0 ? p : NULL;
}

static void *get_aligned(size_t size)
{
	return aligned_alloc(64, (size + 63) & ~(size_t)63);
}

/* Asks for half, uses it, and then for all of it. */
static void *get_grown(size_t size)
{
	unsigned char *p = malloc(size / 2 + 1);
	int good = is_zero(p, 0, size / 2 + 1);

	memset(p, 0xaa, size / 2 + 1);
	p = realloc(p, size + 1);
	good &= is_zero(p, size / 2 + 1, size + 1);
	memset(p, !good, size / 2 + 1);
	return p;
}

/* Uses a block, shrinks it and lets it grow again. */
static void *get_shrunk(size_t size)
{
	unsigned char *p = malloc(size + 64);

	memset(p, 0xaa, size + 64);
	p = realloc(p, 1);
	p[0] = 0;
	return reallocarray(p, size + 64, 1);
}

static const struct {
	const char *name;
	void *(*get)(size_t size);
} ways[] = {
    {"malloc", malloc},        {"memalign", get_memalign},
    {"aligned", get_aligned},  {"valloc", valloc},
    {"realloc", get_grown},    {"shrunk", get_shrunk},
};

int main(void)
{
	for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
		int good = 1;

		for (int i = 0; i < SIZES * TIMES; i++) {
			size_t size = sizes[i % SIZES];
			unsigned char *p = ways[w].get(size);

			good &= is_zero(p, 0, size);
			memset(p, 0xaa, size);
			free(p);
		}
		printf("%s %s\n", ways[w].name, good ? "zero" : "used");
	}
	return 0;
}
