/* SPDX-License-Identifier: MIT */
/*
 * What was live at the moments of a run's marks, and between them.
 *
 * Layer: engine.
 */
#ifndef REPORT_ENGINE_MOMENTS_H
#define REPORT_ENGINE_MOMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine_lanes;
struct run;

/**
 * struct moments - the times at which marks and phases begin and end
 * @ticks:       rising, each once; @count of them
 * @bytes:       requested bytes live when the moment came: events of its own
 *               tick come after it
 * @allocations: made before it
 * @highest:     a tree of maxima: [count + i] is the highest level from moment i
 *               on to the next, the level at i included; [i] is the higher one
 *               of [2i] and [2i + 1]
 * @passed:      how many of them are over
 * @next_tick:   of the first that is not, UINT64_MAX if there is none
 * @level:       highest level since the last one that is over, UINT64_MAX
 *               before the first: nothing is higher
 * @run:         its marks, @mark of which have come
 * @own:         by mark: allocations of its own thread before it, of a phase that
 *               is over those within it
 * @ends:        phases by the time of their end, @end_count of them; @ended are
 *               over
 *
 * Zero-initialised has nothing to free.
 */
struct moments {
	uint64_t *ticks;
	uint64_t *bytes;
	uint64_t *allocations;
	uint64_t *highest;
	size_t count;
	size_t passed;
	uint64_t next_tick;
	uint64_t level;
	const struct run *run;
	size_t mark;
	uint64_t *own;
	uint32_t *ends;
	size_t end_count;
	size_t ended;
};

/* Before the first event; what was there is freed.  @run: borrowed, its marks in
   the order of their times.  Cost: of sorting the ends of phases.  Return: 0 or
   -ENOMEM. */
int moments_begin(struct moments *moments, const struct run *run);
void moments_done(struct moments *moments);

/* How things stand: requested bytes that are live, allocations made; @lanes,
   which may be NULL, say by which threads. */
struct moments_now {
	uint64_t bytes;
	uint64_t allocations;
	const struct engine_lanes *lanes;
};

/* Moments up to @tick are over.  Return: how many marks and numbers, which phases
   are not, came by. */
uint64_t moments_pass(struct moments *moments, uint64_t tick,
		      const struct moments_now *now);

/* The same of those that no event came after, at the end. */
uint64_t moments_finish(struct moments *moments,
			const struct moments_now *now);

/**
 * struct moments_earlier - allocations that are told after their time
 * @count: of them, made by @thread
 * @from, @to: when the first and the last were made
 */
struct moments_earlier {
	uint64_t count;
	uint32_t thread;
	uint64_t from;
	uint64_t to;
};

/*
 * Adds them to what was made before moments and within phases that are over.
 * Where moments lie between the first and the last they count as made after
 * those.
 *
 * Return: whether none does.
 */
bool moments_add_earlier(struct moments *moments,
			 const struct moments_earlier *earlier);

/* The level from now on; ticks must not fall. */
static inline void moments_set(struct moments *moments, uint64_t bytes)
{
	if (bytes > moments->level)
		moments->level = bytes;
}

/* What moments_find() answers; bytes are requested. */
struct moments_between {
	uint64_t bytes;         /* live at the first of the two */
	uint64_t highest_bytes; /* at any time from there to the second */
	uint64_t allocations;   /* made between them */
};

/**
 * moments_find() - after moments_finish()
 * @from, @to: when a mark or phase of the run begins and ends; UINT64_MAX as
 *             @to: all that came
 *
 * Zeros where there are no such moments.  Cost: logarithm of their number.
 */
struct moments_between moments_find(const struct moments *moments,
				    uint64_t from, uint64_t to);

/* Return: allocations that the thread of phase number @mark of the run's marks made
   within it; 0 if it is not known which that was. */
uint64_t moments_own(const struct moments *moments, size_t mark);

#endif /* REPORT_ENGINE_MOMENTS_H */
