/* SPDX-License-Identifier: MIT */
#include "report/filter/filter.h"

#include <errno.h>
#include <stdlib.h>

#include "report/core/arena.h"
#include "report/core/diag.h"
#include "report/core/units.h"
#include "report/filter/compile.h"

struct filter *filter_new(const struct filter_spec *spec,
			  const struct filter_context *context,
			  struct diag *diag)
{
	struct filter *filter = calloc(1, sizeof(*filter));

	if (!filter) {
		diag_set(diag, -ENOMEM, NULL, DIAG_NO_OFFSET, "out of memory");
		return NULL;
	}
	filter->context = *context;
	if (filter_compile(filter, spec, diag)) {
		filter_free(filter);
		return NULL;
	}
	filter->context.groups = NULL;
	filter->context.maps = NULL;
	return filter;
}

void filter_free(struct filter *filter)
{
	if (!filter)
		return;
	for (size_t i = 0; i < filter->count; i++)
		condition_done(&filter->items[i]);
	free(filter->items);
	arena_done(&filter->arena);
	free(filter);
}

bool filter_match(struct filter *filter, const struct record *record)
{
	for (size_t i = 0; i < filter->count; i++) {
		if (condition_match(&filter->items[i], &filter->context,
				    record))
			continue;
		filter->items[i].removed++;
		return false;
	}
	return true;
}

enum filter_verdict filter_decide(struct filter *filter,
				  const struct culled *culled)
{
	enum filter_verdict verdict = VERDICT_YES;

	for (size_t i = 0; i < filter->count; i++) {
		switch (condition_decide(&filter->items[i], &filter->context,
					 culled)) {
		case VERDICT_NO:
			filter->items[i].removed += culled->count;
			return VERDICT_NO;
		case VERDICT_UNKNOWN:
			verdict = VERDICT_UNKNOWN;
			break;
		case VERDICT_YES:
			break;
		}
	}
	return verdict;
}

enum filter_wanted filter_wanted(const struct filter *filter)
{
	const struct condition *only = filter->items;
	bool leaked, freed;

	if (!filter->count)
		return FILTER_ALL;
	if (filter->count > 1 || only->kind != CONDITION_RANGE ||
	    only->subject != SUBJECT_LIFETIME_WORD)
		return FILTER_SOME;
	leaked = (only->min <= true && only->max >= true) != only->is_negated;
	freed = (only->min <= false) != only->is_negated;
	if (leaked == freed)
		return FILTER_SOME;
	return leaked ? FILTER_LEAKED : FILTER_FREED;
}

void filter_reject(struct filter *filter, size_t count)
{
	filter->items[0].removed += count;
}

size_t filter_select(struct filter *filter, const struct record *records,
		     size_t count, filter_place *ret)
{
	size_t left = count;

	for (size_t i = 0; i < count; i++)
		ret[i] = (filter_place)i;
	for (size_t i = 0; i < filter->count && left; i++) {
		size_t before = left;

		left = condition_select(&filter->items[i], &filter->context,
					records, ret, left);
		filter->items[i].removed += before - left;
	}
	return left;
}

uint64_t filter_regex_failures(const struct filter *filter)
{
	uint64_t failures = filter->failures;

	for (size_t i = 0; i < filter->count; i++)
		failures += condition_failures(&filter->items[i]);
	return failures;
}

bool filter_count_get(const struct filter *filter, size_t index,
		      struct filter_count *ret)
{
	if (index >= filter->count)
		return false;
	ret->text = filter->items[index].text;
	ret->removed = filter->items[index].removed;
	return true;
}

/* Return: the condition that removed most of those that removed less than
   @before, or as much and are later; NULL if there is none. */
static const struct condition *next_by_removed(const struct filter *filter,
					       const struct condition *before)
{
	const struct condition *best = NULL;

	for (size_t i = 0; i < filter->count; i++) {
		const struct condition *one = &filter->items[i];

		if (!one->removed ||
		    (before && (one->removed > before->removed ||
				(one->removed == before->removed &&
				 one <= before))))
			continue;
		if (!best || one->removed > best->removed)
			best = one;
	}
	return best;
}

const char *filter_explain(const struct filter *filter, struct arena *arena)
{
	char count[UNITS_TEXT_SIZE];
	const struct condition *condition = NULL;
	const char *text;
	uint64_t tested = 0;

	for (size_t i = 0; i < filter->count; i++)
		tested += filter->items[i].removed;
	if (!tested)
		return arena_printf(arena, "Nothing passed: the trace holds no "
					   "allocation");
	units_format_count(count, sizeof(count), tested);
	text = arena_printf(arena, "Nothing passed: of %s allocation%s", count,
			    tested == 1 ? "" : "s");
	while (text && (condition = next_by_removed(filter, condition))) {
		units_format_count(count, sizeof(count), condition->removed);
		text = arena_printf(arena, "%s, %s removed %s", text,
				    condition->text, count);
	}
	return text;
}
