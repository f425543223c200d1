/* SPDX-License-Identifier: MIT */
#include "report/engine/moments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/engine/lane.h"
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

static int by_end(const void *a, const void *b, void *context)
{
	const struct run_mark *marks = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (marks[x].end_tick != marks[y].end_tick)
		return marks[x].end_tick < marks[y].end_tick ? -1 : 1;
	return (x > y) - (x < y);
}

static void fill_ends(struct moments *moments, const struct run *run)
{
	for (size_t i = 0; i < run->mark_count; i++)
		if (run->marks[i].kind == RUN_MARK_PHASE)
			moments->ends[moments->end_count++] = (uint32_t)i;
	qsort_r(moments->ends, moments->end_count, sizeof(*moments->ends),
		by_end, run->marks);
}

int moments_begin(struct moments *moments, const struct run *run)
{
	size_t room = 2 * run->mark_count + 1;

	moments_done(moments);
	moments->run = run;
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
	moments->own = calloc(run->mark_count, sizeof(*moments->own));
	moments->ends = calloc(run->mark_count, sizeof(*moments->ends));
	if (!moments->bytes || !moments->allocations || !moments->highest ||
	    !moments->own || !moments->ends) {
		moments_done(moments);
		return -ENOMEM;
	}
	fill_ends(moments, run);
	moments->next_tick = moments->ticks[0];
	return 0;
}

void moments_done(struct moments *moments)
{
	free(moments->ticks);
	free(moments->bytes);
	free(moments->allocations);
	free(moments->highest);
	free(moments->own);
	free(moments->ends);
	*moments = (struct moments){
		.next_tick = UINT64_MAX,
		.level = UINT64_MAX,
	};
}

static uint64_t made_by(const struct moments_now *now, uint32_t thread)
{
	return now->lanes && thread ? lanes_made_by(now->lanes, thread) : 0;
}

/* Marks and phases that begin at @tick, then phases that end at it.  Return: how
   many are no phases. */
static uint64_t pass_marks(struct moments *moments, uint64_t tick,
			   const struct moments_now *now)
{
	const struct run *run = moments->run;
	const struct run_mark *marks = run->marks;
	uint64_t count = 0;

	for (; moments->mark < run->mark_count &&
	       marks[moments->mark].tick <= tick;
	     moments->mark++) {
		size_t i = moments->mark;

		count += marks[i].kind != RUN_MARK_PHASE;
		if (marks[i].kind == RUN_MARK_PHASE)
			moments->own[i] = made_by(now, marks[i].thread);
	}
	for (; moments->ended < moments->end_count; moments->ended++) {
		size_t i = moments->ends[moments->ended];

		if (marks[i].end_tick > tick)
			break;
		moments->own[i] = made_by(now, marks[i].thread) -
				  moments->own[i];
	}
	return count;
}

/* The next moment is over. */
static uint64_t pass_one(struct moments *moments,
			 const struct moments_now *now)
{
	size_t i = moments->passed++;

	if (i)
		moments->highest[moments->count + i - 1] = moments->level;
	moments->bytes[i] = now->bytes;
	moments->allocations[i] = now->allocations;
	moments->level = now->bytes;
	moments->next_tick = i + 1 < moments->count ? moments->ticks[i + 1]
						    : UINT64_MAX;
	return pass_marks(moments, moments->ticks[i], now);
}

uint64_t moments_pass(struct moments *moments, uint64_t tick,
		      const struct moments_now *now)
{
	uint64_t marks = 0;

	while (tick >= moments->next_tick && moments->next_tick != UINT64_MAX)
		marks += pass_one(moments, now);
	return marks;
}

/* What the thread of a phase made itself. */
static void add_own(struct moments *moments,
		    const struct moments_earlier *earlier)
{
	const struct run_mark *marks = moments->run->marks;

	/* Before phases that have begun and go on. */
	for (size_t i = moments->mark;
	     i > 0 && marks[i - 1].tick > earlier->to; i--) {
		const struct run_mark *mark = &marks[i - 1];
		bool is_over = moments->passed &&
			       mark->end_tick <=
				       moments->ticks[moments->passed - 1];

		if (mark->kind == RUN_MARK_PHASE && !is_over &&
		    mark->thread == earlier->thread)
			moments->own[i - 1] += earlier->count;
	}
	/* Within phases that are over. */
	for (size_t k = moments->ended; k > 0; k--) {
		const struct run_mark *mark = &marks[moments->ends[k - 1]];

		if (mark->end_tick <= earlier->to)
			break;
		if (mark->tick <= earlier->from &&
		    mark->thread == earlier->thread)
			moments->own[moments->ends[k - 1]] += earlier->count;
	}
}

bool moments_add_earlier(struct moments *moments,
			 const struct moments_earlier *earlier)
{
	size_t i = moments->passed;

	if (!moments->count)
		return true;
	while (i > 0 && moments->ticks[i - 1] > earlier->to)
		moments->allocations[--i] += earlier->count;
	add_own(moments, earlier);
	return i == 0 || moments->ticks[i - 1] <= earlier->from;
}

uint64_t moments_finish(struct moments *moments,
			const struct moments_now *now)
{
	size_t count = moments->count;
	uint64_t marks = 0;

	if (!count)
		return 0;
	while (moments->passed < count)
		marks += pass_one(moments, now);
	moments->highest[2 * count - 1] = now->bytes;
	for (size_t i = count; i-- > 1;)
		moments->highest[i] = higher(moments->highest[2 * i],
					     moments->highest[2 * i + 1]);
	return marks;
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

uint64_t moments_own(const struct moments *moments, size_t mark)
{
	const struct run_mark *of = &moments->run->marks[mark];

	return moments->own && of->end_tick >= of->tick ? moments->own[mark]
							: 0;
}
