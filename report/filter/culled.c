/* SPDX-License-Identifier: MIT */
/*
 * Conditions on allocations that the trace has only in sums.  What is the same
 * for all of them is asked as of any other; of their times and lifetimes the
 * least and the greatest are known; their addresses and who freed them are not.
 */
#include "report/event/run.h"
#include "report/filter/condition.h"

static enum filter_verdict verdict_of(bool holds)
{
	return holds ? VERDICT_YES : VERDICT_NO;
}

static enum filter_verdict opposite_of(enum filter_verdict verdict)
{
	if (verdict == VERDICT_UNKNOWN)
		return verdict;
	return verdict == VERDICT_YES ? VERDICT_NO : VERDICT_YES;
}

/* Of values from @low to @high. */
static enum filter_verdict decide_range(const struct condition *condition,
					uint64_t low, uint64_t high)
{
	if (low >= condition->min && high <= condition->max)
		return VERDICT_YES;
	if (high < condition->min || low > condition->max)
		return VERDICT_NO;
	return VERDICT_UNKNOWN;
}

/* Lifetimes are differences of times that are rounded to nanoseconds. */
static enum filter_verdict decide_lifetime(const struct condition *condition,
					   const struct run *run,
					   const struct culled *culled)
{
	double low = (double)culled->shortest * run->tick_ns - 1;
	double high = (double)culled->longest * run->tick_ns + 1;

	return decide_range(condition, low > 0 ? (uint64_t)low : 0,
			    high < 9e18 ? (uint64_t)high + 1 : UINT64_MAX);
}

/**
 * struct span - when something was, for all of some allocations
 * @after, @before: not before, not after these ticks
 */
struct span {
	uint64_t after;
	uint64_t before;
};

/* The moment of the peak is a place among the events of one tick, and none of
   these allocations is an event. */
static uint64_t tick_of(const struct moment *moment,
			const struct filter_context *context)
{
	return moment->is_order ? context->peak_tick : moment->value;
}

/* Whether it was at @moment or later. */
static enum filter_verdict since(const struct span *span,
				 const struct moment *moment,
				 const struct filter_context *context)
{
	uint64_t tick = tick_of(moment, context);

	if (span->after >= tick && (span->after > tick || !moment->is_order))
		return VERDICT_YES;
	return span->before < tick ? VERDICT_NO : VERDICT_UNKNOWN;
}

/* Whether it was at @moment or earlier. */
static enum filter_verdict until(const struct span *span,
				 const struct moment *moment,
				 const struct filter_context *context)
{
	uint64_t tick = tick_of(moment, context);

	if (span->before <= tick && (span->before < tick || !moment->is_order))
		return VERDICT_YES;
	return span->after > tick ? VERDICT_NO : VERDICT_UNKNOWN;
}

static enum filter_verdict both(enum filter_verdict a, enum filter_verdict b)
{
	if (a == VERDICT_NO || b == VERDICT_NO)
		return VERDICT_NO;
	return a == VERDICT_YES ? b : a;
}

/* No level and no peak has any of them, so none is surely among what was alive;
   @made, @freed: by @moment. */
static enum filter_verdict decide_alive(const struct moment *moment,
					enum filter_verdict made,
					enum filter_verdict freed)
{
	if (moment->is_order || made == VERDICT_NO || freed == VERDICT_YES)
		return VERDICT_NO;
	return VERDICT_UNKNOWN;
}

static enum filter_verdict decide_times(const struct condition *condition,
					const struct filter_context *context,
					const struct culled *culled)
{
	const struct moment *moment = &condition->moment;
	const struct span made = { culled->first_tick, culled->last_tick };
	struct span freed = made;
	enum filter_verdict verdict = VERDICT_YES;

	if (__builtin_add_overflow(made.after, culled->shortest, &freed.after))
		freed.after = UINT64_MAX;
	if (__builtin_add_overflow(made.before, culled->longest, &freed.before))
		freed.before = UINT64_MAX;
	if (condition->kind == CONDITION_FROM)
		return since(&made, moment, context);
	if (condition->kind == CONDITION_TO)
		return until(&made, moment, context);
	if (condition->kind == CONDITION_ALIVE)
		return decide_alive(moment, until(&made, moment, context),
				    until(&freed, moment, context));
	if (moment->is_set)
		verdict = since(&freed, moment, context);
	if (condition->until.is_set)
		verdict = both(verdict,
			       until(&freed, &condition->until, context));
	return verdict;
}

static enum filter_verdict decide_filters(struct condition *condition,
					  const struct culled *culled)
{
	enum filter_verdict best = VERDICT_NO;

	for (size_t i = 0; i < condition->filter_count; i++) {
		enum filter_verdict verdict =
			filter_decide(condition->filters[i], culled);

		if (verdict == VERDICT_YES)
			return verdict;
		if (verdict == VERDICT_UNKNOWN)
			best = verdict;
	}
	return best;
}

/* Of what is the same for all. */
static enum filter_verdict decide_same(struct condition *condition,
				       const struct filter_context *context,
				       const struct culled *culled)
{
	bool holds = condition_match(condition, context, &culled->record);

	return verdict_of(holds != condition->is_negated);
}

static enum filter_verdict decide_value(struct condition *condition,
					const struct filter_context *context,
					const struct culled *culled)
{
	enum filter_subject subject = condition->subject;

	if (subject == SUBJECT_ADDRESS || subject == SUBJECT_MMAPED ||
	    subject == SUBJECT_ARENA || subject == SUBJECT_FREE_BACKTRACE)
		return VERDICT_UNKNOWN;
	if (subject == SUBJECT_LIFETIME || subject == SUBJECT_CHAIN_LIFETIME)
		return decide_lifetime(condition, context->run, culled);
	if (subject == SUBJECT_MARKER &&
	    culled->record.marker != culled->last_marker)
		return VERDICT_UNKNOWN;
	return decide_same(condition, context, culled);
}

static enum filter_verdict decide(struct condition *condition,
				  const struct filter_context *context,
				  const struct culled *culled)
{
	switch (condition->kind) {
	case CONDITION_RANGE:
	case CONDITION_LIST:
		return decide_value(condition, context, culled);
	case CONDITION_FROM:
	case CONDITION_TO:
	case CONDITION_ALIVE:
	case CONDITION_FREED:
		return decide_times(condition, context, culled);
	case CONDITION_FILTERS:
		return decide_filters(condition, culled);
	case CONDITION_MAPS: /* by their addresses */
		return VERDICT_UNKNOWN;
	case CONDITION_CHAIN_LEAKED:
	case CONDITION_GROUPS:
	case CONDITION_FRAMES:
		break;
	}
	return decide_same(condition, context, culled);
}

enum filter_verdict condition_decide(struct condition *condition,
				     const struct filter_context *context,
				     const struct culled *culled)
{
	enum filter_verdict verdict = decide(condition, context, culled);

	return condition->is_negated ? opposite_of(verdict) : verdict;
}
