/* SPDX-License-Identifier: MIT */
/*
 * Conditions on a whole group.  They look at every allocation of the group in
 * the whole trace, never at what other conditions leave of it, so they are
 * answered for all groups before the first record is tested.
 */
#include <errno.h>
#include <stdlib.h>

#include "report/engine/groups.h"
#include "report/event/run.h"
#include "report/filter/condition.h"

__extension__ typedef unsigned __int128 wide;

/* Order of @count to the limit: < 0, 0, > 0.  A percentage of @all is compared
   as it is, not rounded to whole allocations: half of 3 is 1.5. */
static int compare_quota(uint64_t count, uint64_t all,
			 const struct filter_value *limit)
{
	wide left = count, right = limit->number;

	if (limit->is_share) {
		left *= 100;
		for (unsigned i = 0; i < limit->share.places; i++)
			left *= 10;
		right = (wide)limit->share.digits * all;
	}
	return (left > right) - (left < right);
}

static bool quota_holds(uint64_t count, uint64_t all,
			const struct filter_term *term)
{
	int order = compare_quota(count, all, &term->value);

	return term->key->test == TEST_MIN ? order >= 0 : order <= 0;
}

static bool interval_holds(const struct group *group,
			   const struct filter_term *term,
			   const struct run *run)
{
	const struct time_point *time = &term->value.time;
	bool is_min = term->key->test == TEST_MIN;
	uint64_t interval, limit;

	if (time->kind == TIME_SHARE) {
		interval = group->all.last_tick - group->all.first_tick;
		limit = moment_share_ticks(time, run,
					   is_min ? ROUND_UP : ROUND_DOWN);
	} else {
		interval = run_span_ns(run, group->all.first_tick,
				       group->all.last_tick);
		limit = moment_duration_ns(time);
	}
	return is_min ? interval >= limit : interval <= limit;
}

/* A group of blocks without bytes has held its most since the start. */
static bool max_usage_holds(const struct group *group,
			    const struct filter_term *term,
			    const struct filter_context *context)
{
	bool is_min = term->key->test == TEST_MIN;
	struct moment limit =
		is_min ? moment_make_lower(&term->value.time, context)
		       : moment_make_upper(&term->value.time, context);
	uint64_t at = limit.is_order	       ? group->max_live_order
		      : group->max_live_bytes ? group->max_live_tick
					      : context->run->first_tick;

	return is_min ? at >= limit.value : at <= limit.value;
}

static bool group_holds(const struct group *group,
			const struct filter_term *term,
			const struct filter_context *context)
{
	enum filter_subject subject = term->key->subject;
	uint64_t all = group->allocated_count;

	if (subject == SUBJECT_GROUP_ALLOCATIONS)
		return quota_holds(all, all, term);
	if (subject == SUBJECT_GROUP_LEAKED)
		return quota_holds(all - group->freed_count, all, term);
	if (subject == SUBJECT_GROUP_INTERVAL)
		return interval_holds(group, term, context->run);
	if (subject == SUBJECT_GROUP_MAX_USAGE)
		return max_usage_holds(group, term, context);
	return group->freed_count == 0; /* LIFETIME_WHOLE_GROUP_LEAKED */
}

int condition_select_groups(struct condition *condition,
			    const struct filter_term *term,
			    const struct filter_context *context)
{
	const struct groups *groups = context->groups;
	size_t count = groups ? groups->count : 0;

	condition->groups = calloc(count + 1, 1);
	if (!condition->groups)
		return -ENOMEM;
	condition->group_count = count;
	for (size_t i = 0; i < count; i++)
		condition->groups[i] =
			group_holds(&groups->items[i], term, context);
	return 0;
}
