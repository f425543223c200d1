/* SPDX-License-Identifier: MIT */
/*
 * random_ops SEED OPERATIONS - a random sequence of calls of every allocation
 * function, with the sums that a profiler should find, as JSON on descriptor 3.
 *
 * Nothing else in the process allocates: no stdio, one thread.
 */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = 1000 };

static struct {
	void *block;
	size_t size;
} slots[SLOTS];

static struct {
	uint64_t allocations, allocated_bytes, frees, reallocs, temporary;
	uint64_t live_bytes, live_blocks, peak_bytes, peak_blocks;
	void *last; /* what the previous call allocated */
} truth;

static uint64_t state;

static uint64_t random_next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void note_alloc(void *block, size_t size)
{
	truth.allocations++;
	truth.allocated_bytes += size;
	truth.live_blocks++;
	truth.live_bytes += size;
	truth.last = block;
	if (truth.live_bytes > truth.peak_bytes) {
		truth.peak_bytes = truth.live_bytes;
		truth.peak_blocks = truth.live_blocks;
	}
}

static void note_free(void *block, size_t size)
{
	truth.frees++;
	truth.temporary += block == truth.last;
	truth.live_blocks--;
	truth.live_bytes -= size;
	truth.last = NULL;
}

static void *allocate(unsigned how, size_t size)
{
	void *block = NULL;

	switch (how % 8) {
	case 0:
		return calloc(1, size);
	case 1:
		return posix_memalign(&block, 64, size) ? NULL : block;
	case 2:
		return aligned_alloc(32, size);
	case 3:
		return memalign(4096, size);
	case 4:
		return valloc(size);
	case 5:
		return reallocarray(NULL, 1, size);
	default:
		return malloc(size);
	}
}

static void step(unsigned slot)
{
	uint64_t r = random_next();
	size_t size = r % 50 == 0 ? r % 300000 : 1 + r % 700;
	void *block = slots[slot].block;

	if (!block) {
		block = allocate((unsigned)(r >> 32), size);
		note_alloc(block, size);
	} else if (r >> 60 < 5) {
		void *moved;

		note_free(block, slots[slot].size);
		moved = (r >> 59) & 1 ? realloc(block, size)
				      : reallocarray(block, size, 1);
		block = moved;
		if (moved) { /* NULL: of no size, the block is freed */
			truth.reallocs++;
			note_alloc(moved, size);
		}
	} else {
		note_free(block, slots[slot].size);
		free(block);
		block = NULL;
	}
	slots[slot].block = block;
	slots[slot].size = block ? size : 0;
}

int main(int argc, char **argv)
{
	char text[512];
	long operations = argc > 2 ? atol(argv[2]) : 10000;
	int len;

	state = argc > 1 ? strtoull(argv[1], NULL, 10) * 2654435761u + 1 : 1;
	for (long i = 0; i < operations; i++) {
		unsigned slot = (unsigned)(random_next() % SLOTS);

		step(slot);
		if (random_next() % 4 == 0)
			step(slot);
	}
	free(NULL);
	len = snprintf(text, sizeof(text),
		       "{\"allocations\": %lu, \"allocated_bytes\": %lu, "
		       "\"frees\": %lu, \"reallocs\": %lu, \"temporary\": %lu, "
		       "\"leaked_bytes\": %lu, \"leaked_count\": %lu, "
		       "\"peak_bytes\": %lu, \"peak_blocks\": %lu}\n",
		       truth.allocations, truth.allocated_bytes, truth.frees,
		       truth.reallocs, truth.temporary, truth.live_bytes,
		       truth.live_blocks, truth.peak_bytes, truth.peak_blocks);
	return write(3, text, (size_t)len) == len ? 0 : 1;
}
