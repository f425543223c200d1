/* SPDX-License-Identifier: MIT */
#include "report/engine/moments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/event/run.h"

static int by_tick(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t higher(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* UINT64_MAX, the end of a phase that did not end, is always the last: what is
   found of it is what came in all. */
static size_t fill_ticks(uint64_t *ticks, const struct run *run)
{
	size_t count = 0, distinct = 0;

	for (size_t i = 0; i < run->mark_count; i++) {
		ticks[count++] = run->marks[i].tick;
		if (run->marks[i].kind == RUN_MARK_PHASE)
			ticks[count++] = run->marks[i].end_tick;
	}
	ticks[count++] = UINT64_MAX;
	qsort(ticks, count, sizeof(*ticks), by_tick);
	for (size_t i = 0; i < count; i++)
		if (!distinct || ticks[distinct - 1] != ticks[i])
			ticks[distinct++] = ticks[i];
	return distinct;
}

int moments_begin(struct moments *moments, const struct run *run)
{
	size_t room = 2 * run->mark_count + 1;

	moments_done(moments);
	if (!run->mark_count)
		return 0;
	moments->ticks = calloc(room, sizeof(*moments->ticks));
	if (!moments->ticks)
		return -ENOMEM;
	moments->count = fill_ticks(moments->ticks, run);
	moments->bytes = calloc(moments->count, sizeof(*moments->bytes));
	moments->allocations =
		calloc(moments->count, sizeof(*moments->allocations));
	moments->highest = calloc(moments->count, 2 * sizeof(uint64_t));
	if (!moments->bytes || !moments->allocations || !moments->highest) {
		moments_done(moments);
		return -ENOMEM;
	}
	moments->next_tick = moments->ticks[0];
	return 0;
}

void moments_done(struct moments *moments)
{
	free(moments->ticks);
	free(moments->bytes);
	free(moments->allocations);
	free(moments->highest);
	*moments = (struct moments){
		.next_tick = UINT64_MAX,
		.level = UINT64_MAX,
	};
}

/* The next moment is over. */
static void pass_one(struct moments *moments, uint64_t bytes,
		     uint64_t allocations)
{
	size_t i = moments->passed++;

	if (i)
		moments->highest[moments->count + i - 1] = moments->level;
	moments->bytes[i] = bytes;
	moments->allocations[i] = allocations;
	moments->level = bytes;
	moments->next_tick = i + 1 < moments->count ? moments->ticks[i + 1]
						    : UINT64_MAX;
}

void moments_pass(struct moments *moments, uint64_t tick, uint64_t bytes,
		  uint64_t allocations)
{
	while (tick >= moments->next_tick && moments->next_tick != UINT64_MAX)
		pass_one(moments, bytes, allocations);
}

void moments_finish(struct moments *moments, uint64_t bytes,
		    uint64_t allocations)
{
	size_t count = moments->count;

	if (!count)
		return;
	while (moments->passed < count)
		pass_one(moments, bytes, allocations);
	moments->highest[2 * count - 1] = bytes;
	for (size_t i = count; i-- > 1;)
		moments->highest[i] = higher(moments->highest[2 * i],
					     moments->highest[2 * i + 1]);
}

/* Return: the highest level from moment @from on to moment @to. */
static uint64_t highest_between(const struct moments *moments, size_t from,
				size_t to)
{
	uint64_t highest = moments->bytes[from];

	from += moments->count;
	to += moments->count;
	for (; from < to; from /= 2, to /= 2) {
		if (from % 2)
			highest = higher(highest, moments->highest[from++]);
		if (to % 2)
			highest = higher(highest, moments->highest[--to]);
	}
	return highest;
}

static const uint64_t *find(const struct moments *moments, uint64_t tick)
{
	return moments->count
		       ? bsearch(&tick, moments->ticks, moments->count,
				 sizeof(tick), by_tick)
		       : NULL;
}

struct moments_between moments_find(const struct moments *moments,
				    uint64_t from, uint64_t to)
{
	const uint64_t *begin = find(moments, from);
	const uint64_t *end = find(moments, to);
	size_t first, last;

	if (!begin || !end || end < begin)
		return (struct moments_between){ 0 };
	first = (size_t)(begin - moments->ticks);
	last = (size_t)(end - moments->ticks);
	return (struct moments_between){
		.bytes = moments->bytes[first],
		.highest_bytes = highest_between(moments, first, last),
		.allocations = moments->allocations[last] -
			       moments->allocations[first],
	};
}
