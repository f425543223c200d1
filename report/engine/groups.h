/* SPDX-License-Identifier: MIT */
/*
 * Statistics of each backtrace ("group": all allocations made with it).
 *
 * Layer: engine.
 */
#ifndef REPORT_ENGINE_GROUPS_H
#define REPORT_ENGINE_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "report/core/lines.h"

/* Of some allocations: sum of what was usable, when the first and the last were
   made, the least and the greatest size. */
struct group_extent {
	uint64_t usable_bytes;
	uint64_t first_tick;
	uint64_t last_tick;
	uint64_t min_size;
	uint64_t max_size;
};

/**
 * struct group - what one backtrace allocated; sizes are requested bytes
 * @all:          of all its allocations
 * @stack:        its node
 * @freed_count, @freed_bytes: of these allocations, those that ended; @freed
 *                has more about them
 * @peak_bytes, @peak_count: alive at the moment of the run's peak; valid after
 *                groups_settle_peak()
 * @peak_epoch:   number of run peaks seen when @peak_bytes was taken
 * @max_live_bytes: most that was alive of it at one moment
 * @max_live_tick, @max_live_order: time and number of the event that first
 *                reached @max_live_bytes; 0 if that is 0
 *
 * leaked = allocated - freed = live at the end.
 */
struct group {
	/* What every event looks at. */
	uint64_t allocated_count;
	uint64_t allocated_bytes;
	uint64_t freed_count;
	uint64_t freed_bytes;
	uint64_t peak_epoch;
	uint64_t temporary_count;
	uint64_t temporary_bytes;
	uint32_t stack;
	/* What an allocation looks at. */
	struct group_extent all;
	uint64_t max_live_bytes;
	uint64_t max_live_tick;
	uint64_t max_live_order;
	/* What a free looks at, and what changes seldom. */
	struct group_extent freed;
	uint64_t peak_bytes;
	uint64_t peak_count;
} __attribute__((aligned(LINE_BYTES)));

/**
 * struct groups - dense, in the order of their first allocation
 * @items:    in @lines
 * @of_stack: group number + 1 by stack node, 0 for none
 */
struct groups {
	struct group *items;
	struct lines lines;
	size_t count;
	size_t capacity;
	uint32_t *of_stack;
	size_t of_stack_count;
};

#define GROUPS_NONE UINT32_MAX

void groups_done(struct groups *groups);

/* groups_get() of a stack that may have none. */
uint32_t groups_make(struct groups *groups, uint32_t stack,
		     uint32_t stack_count);

/* Return: number of the group of node @stack (there are @stack_count nodes by
   now), made if new; GROUPS_NONE when out of memory. */
static inline uint32_t groups_get(struct groups *groups, uint32_t stack,
				  uint32_t stack_count)
{
	if (__builtin_expect(stack < groups->of_stack_count &&
				     groups->of_stack[stack],
			     1))
		return groups->of_stack[stack] - 1;
	return groups_make(groups, stack, stack_count);
}

/**
 * group_note_peak() - call before the live bytes of @group change
 * @epoch: how often the run's live bytes have reached a new maximum
 *
 * The share of every group at the peak, without walking all of them at each
 * new maximum: what a group held at the last maximum is what it held until its
 * next change, so it is enough to look when it changes.
 */
static inline void group_note_peak(struct group *group, uint64_t epoch)
{
	if (group->peak_epoch == epoch)
		return;
	group->peak_epoch = epoch;
	group->peak_bytes = group->allocated_bytes - group->freed_bytes;
	group->peak_count = group->allocated_count - group->freed_count;
}

static inline void group_extend(struct group_extent *extent, uint64_t tick,
				uint64_t size, uint64_t usable)
{
	extent->usable_bytes += usable;
	if (tick < extent->first_tick)
		extent->first_tick = tick;
	if (tick > extent->last_tick)
		extent->last_tick = tick;
	if (size < extent->min_size)
		extent->min_size = size;
	if (size > extent->max_size)
		extent->max_size = size;
}

/* An allocation of @group is going to be noted. */
static inline void group_prefetch(const struct group *group)
{
	__builtin_prefetch(group);
	__builtin_prefetch(&group->all);
}

/* The same of a free. */
static inline void group_prefetch_freed(const struct group *group)
{
	__builtin_prefetch(group);
	__builtin_prefetch(&group->freed);
}

/* Call once at the end, with the final epoch. */
void groups_settle_peak(struct groups *groups, uint64_t epoch);

#endif /* REPORT_ENGINE_GROUPS_H */
