/* SPDX-License-Identifier: MIT */
/*
 * Levels over time: live bytes, live blocks and resident memory in equal bins,
 * and how many blocks came and went in each.
 *
 * Layer: engine.
 */
#ifndef REPORT_ENGINE_LEVELS_H
#define REPORT_ENGINE_LEVELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LEVELS_BINS = 1000 };

/**
 * struct levels
 * @bytes, @blocks: highest level within each bin, the level that was carried
 *         in included; so an idle bin shows the level that held, and the
 *         highest value of all bins is the peak
 * @allocations, @deallocations: blocks that came to be and that ended within
 *         the bin; their difference is the change of the level from one bin's
 *         end to the next
 * @rss:   last sample at or before the end of the bin; 0 before the first
 * @bin_start: tick at which bin @bin begins; the next begins at @bin_end
 */
struct levels {
	uint64_t bytes[LEVELS_BINS];
	uint64_t blocks[LEVELS_BINS];
	uint64_t allocations[LEVELS_BINS];
	uint64_t deallocations[LEVELS_BINS];
	uint64_t rss[LEVELS_BINS];
	size_t bin_count;
	uint64_t first_tick;
	uint64_t last_tick;
	size_t bin;
	uint64_t bin_end;
	uint64_t last_bytes;
	uint64_t last_blocks;
	uint64_t last_rss;
};

/* Bins of equal width over first_tick … last_tick, both included. */
void levels_init(struct levels *levels, uint64_t first_tick, uint64_t last_tick);

/* Return: first tick of bin @bin; for bin_count, one past the last. */
uint64_t levels_bin_tick(const struct levels *levels, size_t bin);

/* Return: the bin that @tick is in; the first or last for others. */
size_t levels_bin_of(const struct levels *levels, uint64_t tick);

/* Moves on to the bin of @tick; ticks must not fall (those that do count into
   the current bin). */
void levels_advance(struct levels *levels, uint64_t tick);

/* The level from now on. */
static inline void levels_set(struct levels *levels, uint64_t tick,
			      uint64_t bytes, uint64_t blocks)
{
	if (tick >= levels->bin_end)
		levels_advance(levels, tick);
	levels->last_bytes = bytes;
	levels->last_blocks = blocks;
	if (bytes > levels->bytes[levels->bin])
		levels->bytes[levels->bin] = bytes;
	if (blocks > levels->blocks[levels->bin])
		levels->blocks[levels->bin] = blocks;
}

/* A higher level than before, within the current bin.  Return: whether no level
   of the bin had as many bytes. */
static inline bool levels_rise(struct levels *levels, uint64_t bytes,
			       uint64_t blocks)
{
	size_t bin = levels->bin;

	if (blocks > levels->blocks[bin])
		levels->blocks[bin] = blocks;
	if (bytes <= levels->bytes[bin])
		return false;
	levels->bytes[bin] = bytes;
	return true;
}

/* Blocks that came and went to reach the level last set. */
static inline void levels_count(struct levels *levels, uint64_t allocations,
				uint64_t deallocations)
{
	levels->allocations[levels->bin] += allocations;
	levels->deallocations[levels->bin] += deallocations;
}

/* @count blocks came and went at times unknown from @from to @to, which may be
   in bins that are over: counted in equal parts. */
void levels_spread(struct levels *levels, uint64_t from, uint64_t to,
		   uint64_t count);

void levels_set_rss(struct levels *levels, uint64_t tick, uint64_t rss);

/* Carries the last level to the end. */
void levels_finish(struct levels *levels);

#endif /* REPORT_ENGINE_LEVELS_H */
