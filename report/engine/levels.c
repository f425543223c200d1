/* SPDX-License-Identifier: MIT */
#include "report/engine/levels.h"

#include <string.h>

__extension__ typedef unsigned __int128 wide;

void levels_init(struct levels *levels, uint64_t first_tick, uint64_t last_tick)
{
	uint64_t span = last_tick > first_tick ? last_tick - first_tick : 0;

	memset(levels, 0, sizeof(*levels));
	levels->first_tick = first_tick;
	levels->last_tick = first_tick + span;
	levels->bin_count =
		span < LEVELS_BINS ? (size_t)span + 1 : LEVELS_BINS;
	levels->bin_end = levels_bin_tick(levels, 1);
}

uint64_t levels_bin_tick(const struct levels *levels, size_t bin)
{
	uint64_t span = levels->last_tick - levels->first_tick;
	wide offset;

	/* Ceiling, so that the bins differ by at most one tick. */
	offset = ((wide)span + 1) * bin + levels->bin_count - 1;
	return levels->first_tick + (uint64_t)(offset / levels->bin_count);
}

static void levels_next_bin(struct levels *levels)
{
	levels->bin++;
	levels->bytes[levels->bin] = levels->last_bytes;
	levels->blocks[levels->bin] = levels->last_blocks;
	levels->rss[levels->bin] = levels->last_rss;
	levels->bin_end = levels_bin_tick(levels, levels->bin + 1);
}

size_t levels_bin_of(const struct levels *levels, uint64_t tick)
{
	size_t low = 0, high = levels->bin_count;

	while (low + 1 < high) {
		size_t middle = low + (high - low) / 2;

		if (levels_bin_tick(levels, middle) <= tick)
			low = middle;
		else
			high = middle;
	}
	return low;
}

void levels_advance(struct levels *levels, uint64_t tick)
{
	while (tick >= levels->bin_end && levels->bin + 1 < levels->bin_count)
		levels_next_bin(levels);
	if (levels->bin + 1 == levels->bin_count)
		levels->bin_end = UINT64_MAX;
}

void levels_spread(struct levels *levels, uint64_t from, uint64_t to,
		   uint64_t count)
{
	size_t first = levels_bin_of(levels, from);
	size_t bins = levels_bin_of(levels, to) - first + 1;

	for (size_t i = 0; i < bins; i++) {
		uint64_t part = count * (i + 1) / bins - count * i / bins;

		levels->allocations[first + i] += part;
		levels->deallocations[first + i] += part;
	}
}

void levels_set_rss(struct levels *levels, uint64_t tick, uint64_t rss)
{
	if (tick >= levels->bin_end)
		levels_advance(levels, tick);
	levels->last_rss = rss;
	levels->rss[levels->bin] = rss;
}

void levels_finish(struct levels *levels)
{
	levels_advance(levels, UINT64_MAX);
}
