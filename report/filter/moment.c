/* SPDX-License-Identifier: MIT */
#include "report/filter/moment.h"

#include <math.h>
#include <string.h>

#include "report/event/run.h"

/*
 * A value that names a tick must find it, although it was rounded on its way
 * through decimals and doubles: hence the tolerance, a few units in the last
 * place or a millionth of a tick.
 *
 * Seconds are compared to the nanosecond, @ns_ticks ticks, since that is as far
 * as people and reports write them: a time stands for all that rounds to it.
 */
static uint64_t whole_ticks(double ticks, double ns_ticks,
			    enum rounding rounding)
{
	const double tolerance =
		fmax(ns_ticks / 2, fabs(ticks) * 1e-14 + 1e-6);
	const double whole = rounding == ROUND_UP ? ceil(ticks - tolerance)
						  : floor(ticks + tolerance);

	if (whole <= 0)
		return 0;
	if (whole >= (double)UINT64_MAX)
		return UINT64_MAX;
	return (uint64_t)whole;
}

static uint64_t seconds_ticks(const struct run *run, double seconds,
			      enum rounding rounding)
{
	/* Without a clock every time and duration is 0. */
	if (run->tick_ns <= 0)
		return seconds > 0 && rounding == ROUND_UP;
	return whole_ticks(seconds * 1e9 / run->tick_ns, 1 / run->tick_ns,
			   rounding);
}

static uint64_t share_ticks(const struct run *run, double share,
			    enum rounding rounding)
{
	uint64_t span = run->last_tick > run->first_tick
				? run->last_tick - run->first_tick
				: 0;

	if (share == 1)
		return span;
	return whole_ticks(share * (double)span, 0, rounding);
}

uint64_t moment_share_ticks(const struct time_point *share,
			    const struct run *run, enum rounding rounding)
{
	return share_ticks(run, share->value, rounding);
}

uint64_t moment_duration_ns(const struct time_point *duration)
{
	double ns = round(duration->value * 1e9);

	return ns < (double)UINT64_MAX ? (uint64_t)ns : UINT64_MAX;
}

static uint64_t after_start(const struct run *run, uint64_t ticks)
{
	return ticks > UINT64_MAX - run->first_tick ? UINT64_MAX
						    : run->first_tick + ticks;
}

const struct run_mark *moment_mark(const struct time_point *point,
				   const struct run *run)
{
	for (size_t i = 0; i < run->mark_count; i++) {
		const struct run_mark *mark = &run->marks[i];
		bool is_phase = mark->kind == RUN_MARK_PHASE;

		if (is_phase == (point->kind == TIME_PHASE) &&
		    strcmp(mark->text, point->name) == 0)
			return mark;
	}
	return NULL;
}

/* Of a mark that is not there nothing is asked. */
static uint64_t mark_tick(const struct time_point *point, const struct run *run,
			  enum rounding rounding)
{
	const struct run_mark *mark = moment_mark(point, run);

	if (!mark)
		return run->last_tick;
	return point->kind == TIME_PHASE && rounding == ROUND_DOWN
		       ? mark->end_tick
		       : mark->tick;
}

struct moment moment_make(const struct time_point *point,
			  const struct filter_context *context,
			  enum rounding rounding)
{
	const struct run *run = context->run;
	struct moment moment = { .is_set = true };

	switch (point->kind) {
	case TIME_UNSET:
		moment.is_set = false;
		break;
	case TIME_PEAK:
		moment.is_order = true;
		moment.value = context->peak_order;
		break;
	case TIME_SHARE:
		moment.value = after_start(
			run, share_ticks(run, point->value, rounding));
		break;
	case TIME_MARK:
	case TIME_PHASE:
		moment.value = mark_tick(point, run, rounding);
		break;
	case TIME_SECONDS:
		moment.value = run->first_tick;
		if (run->tick_ns > 0)
			moment.value = after_start(
				run, seconds_ticks(run, point->value,
						   rounding));
		break;
	}
	return moment;
}

struct moment moment_make_lower(const struct time_point *point,
				const struct filter_context *context)
{
	struct moment moment = moment_make(point, context, ROUND_UP);

	if (!moment.is_order && moment.value <= context->run->first_tick)
		moment.value = 0;
	return moment;
}

struct moment moment_make_upper(const struct time_point *point,
				const struct filter_context *context)
{
	struct moment moment = moment_make(point, context, ROUND_DOWN);

	if (!moment.is_order && moment.value >= context->run->last_tick)
		moment.value = UINT64_MAX;
	return moment;
}
