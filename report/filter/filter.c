/* SPDX-License-Identifier: MIT */
#include "report/filter/filter.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "report/core/diag.h"
#include "report/event/run.h"
#include "report/filter/stack_regex.h"

/* A moment: an event's number at the peak, else a tick. */
struct moment {
	bool is_set;
	bool is_order;
	uint64_t value;
};

struct filter {
	enum filter_lifetime lifetime;
	struct moment from;
	struct moment to;
	struct moment alive_at;
	uint64_t size_min;
	uint64_t size_max;
	struct stack_regex *positive; /* NULL if not asked for */
	struct stack_regex *negative;
};

enum rounding { ROUND_DOWN, ROUND_UP };

/*
 * Ticks from the start of the run to a tick.  A value that names a tick must
 * find it, although it was rounded on its way through decimals and doubles:
 * hence the tolerance, a few units in the last place or a millionth of a tick.
 *
 * Seconds are compared to the nanosecond, @ns_ticks ticks, since that is as far
 * as people and reports write them: a time stands for all that rounds to it.
 */
static uint64_t tick_after(const struct run *run, double ticks, double ns_ticks,
			   enum rounding rounding)
{
	const double tolerance =
		fmax(ns_ticks / 2, fabs(ticks) * 1e-14 + 1e-6);
	const double whole = rounding == ROUND_UP ? ceil(ticks - tolerance)
						  : floor(ticks + tolerance);

	if (whole <= 0)
		return run->first_tick;
	if (whole >= (double)(UINT64_MAX - run->first_tick))
		return UINT64_MAX;
	return run->first_tick + (uint64_t)whole;
}

static uint64_t share_tick(const struct run *run, double share,
			   enum rounding rounding)
{
	uint64_t span = run->last_tick > run->first_tick
				? run->last_tick - run->first_tick
				: 0;

	if (share == 1)
		return run->first_tick + span;
	return tick_after(run, share * (double)span, 0, rounding);
}

static struct moment moment_make(const struct time_point *point,
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
		moment.value = share_tick(run, point->value, rounding);
		break;
	case TIME_SECONDS:
		moment.value = run->first_tick;
		if (run->tick_ns > 0)
			moment.value = tick_after(
				run, point->value * 1e9 / run->tick_ns,
				1 / run->tick_ns, rounding);
		break;
	}
	return moment;
}

/* Events before the start or after the end of the run belong to its edges. */
static void range_widen(struct filter *filter, const struct run *run)
{
	if (!filter->from.is_order && filter->from.value <= run->first_tick)
		filter->from.value = 0;
	if (!filter->to.is_order && filter->to.value >= run->last_tick)
		filter->to.value = UINT64_MAX;
}

/* Return: whether there is what was asked for. */
static bool regex_make(struct stack_regex **ret, const char *pattern,
		       const struct filter_context *context, struct diag *diag)
{
	if (pattern)
		*ret = stack_regex_new(pattern, context->stacks,
				       context->symbols, diag);
	return !pattern || *ret;
}

struct filter *filter_new(const struct filter_spec *spec,
			  const struct filter_context *context,
			  struct diag *diag)
{
	struct filter *filter = calloc(1, sizeof(*filter));

	if (!filter) {
		diag_set(diag, -ENOMEM, NULL, DIAG_NO_OFFSET, "out of memory");
		return NULL;
	}
	filter->lifetime = spec->lifetime;
	filter->from = moment_make(&spec->from, context, ROUND_UP);
	filter->to = moment_make(&spec->to, context, ROUND_DOWN);
	filter->alive_at = moment_make(&spec->alive_at, context, ROUND_DOWN);
	range_widen(filter, context->run);
	filter->size_min = spec->has_size_min ? spec->size_min : 0;
	filter->size_max = spec->has_size_max ? spec->size_max : UINT64_MAX;
	if (!regex_make(&filter->positive, spec->function_regex, context,
			diag) ||
	    !regex_make(&filter->negative, spec->negative_function_regex,
			context, diag)) {
		filter_free(filter);
		return NULL;
	}
	return filter;
}

void filter_free(struct filter *filter)
{
	if (!filter)
		return;
	stack_regex_free(filter->positive);
	stack_regex_free(filter->negative);
	free(filter);
}

static bool lifetime_matches(enum filter_lifetime lifetime,
			     const struct record *record)
{
	switch (lifetime) {
	case LIFETIME_ALL:
		return true;
	case LIFETIME_ONLY_LEAKED:
		return record_is_leaked(record);
	case LIFETIME_ONLY_TEMPORARY:
		return !record_is_leaked(record);
	}
	return false;
}

static uint64_t alloc_at(const struct record *record,
			 const struct moment *moment)
{
	return moment->is_order ? record->alloc_order : record->alloc_tick;
}

static bool is_freed_by(const struct record *record,
			const struct moment *moment)
{
	if (record_is_leaked(record))
		return false;
	return (moment->is_order ? record->free_order : record->free_tick) <=
	       moment->value;
}

static bool times_match(const struct filter *filter,
			const struct record *record)
{
	const struct moment *alive_at = &filter->alive_at;

	if (filter->from.is_set &&
	    alloc_at(record, &filter->from) < filter->from.value)
		return false;
	if (filter->to.is_set &&
	    alloc_at(record, &filter->to) > filter->to.value)
		return false;
	if (!alive_at->is_set)
		return true;
	return alloc_at(record, alive_at) <= alive_at->value &&
	       !is_freed_by(record, alive_at);
}

bool filter_match(struct filter *filter, const struct record *record)
{
	if (!lifetime_matches(filter->lifetime, record) ||
	    record->size < filter->size_min ||
	    record->size > filter->size_max ||
	    !times_match(filter, record))
		return false;
	if (filter->positive &&
	    !stack_regex_match(filter->positive, record->stack))
		return false;
	return !filter->negative ||
	       !stack_regex_match(filter->negative, record->stack);
}

uint64_t filter_regex_failures(const struct filter *filter)
{
	uint64_t failures = 0;

	if (filter->positive)
		failures += stack_regex_failures(filter->positive);
	if (filter->negative)
		failures += stack_regex_failures(filter->negative);
	return failures;
}
