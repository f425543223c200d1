/* SPDX-License-Identifier: MIT */
#include "report/filter/condition.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "report/core/vec.h"
#include "report/event/run.h"
#include "report/event/stacks.h"
#include "report/filter/stack_regex.h"
#include "report/symbol/symbol.h"

void condition_done(struct condition *condition)
{
	free(condition->list);
	free(condition->groups);
	free(condition->maps);
	stack_regex_free(condition->frames);
	for (size_t i = 0; i < condition->filter_count; i++)
		filter_free(condition->filters[i]);
	free(condition->filters);
	vec_done(&condition->depths);
	memset(condition, 0, sizeof(*condition));
}

uint64_t condition_failures(const struct condition *condition)
{
	uint64_t failures = 0;

	if (condition->frames)
		failures += stack_regex_failures(condition->frames);
	for (size_t i = 0; i < condition->filter_count; i++)
		failures += filter_regex_failures(condition->filters[i]);
	return failures;
}

/* --- depth --- */

static uint32_t depth_known(const struct condition *condition, uint32_t node)
{
	if (node == STACKS_ROOT)
		return 1;
	return node < condition->depths.count ? condition->depths.items[node]
					      : 0;
}

/* Out of memory only means that the depth will be worked out again. */
static void depth_set(struct condition *condition, uint32_t node,
		      uint32_t depth)
{
	size_t count = condition->depths.count;

	if (node >= count) {
		if (!vec_reserve(&condition->depths, (size_t)node + 1))
			return;
		memset(condition->depths.items + count, 0,
		       (condition->depths.capacity - count) *
			       sizeof(*condition->depths.items));
		condition->depths.count = condition->depths.capacity;
	}
	condition->depths.items[node] = depth;
}

/* Frames that were inlined count, so each frame needs its name once. */
static uint32_t frames_at(const struct filter_context *context, uint32_t node)
{
	size_t count;

	symbols_resolve(context->symbols, context->stacks->nodes[node].pc_key,
			&count);
	return (uint32_t)count;
}

/* Adds up from @stack to the nearest node whose depth is known, then walks the
   same way again to note what each node on it has. */
static uint64_t depth_of(struct condition *condition,
			 const struct filter_context *context, uint32_t stack)
{
	const struct stacks_node *nodes = context->stacks->nodes;
	uint32_t node = stack, depth = 0, left;

	if (stack >= context->stacks->count)
		return 0;
	while (!depth_known(condition, node)) {
		depth += frames_at(context, node);
		node = nodes[node].parent;
	}
	depth += depth_known(condition, node);
	left = depth;
	for (uint32_t i = stack; i != node; i = nodes[i].parent) {
		depth_set(condition, i, left);
		left -= frames_at(context, i);
	}
	return depth - 1;
}

/* --- values of a record --- */

/* In nanoseconds, as reports write it.  What was never freed lived until the end
   of the run. */
static uint64_t lived(const struct run *run, uint64_t from, uint64_t to)
{
	return run_span_ns(run, from, to == RECORD_NEVER ? run->last_tick : to);
}

static enum filter_arena arena_of(const struct condition *condition,
				  const struct record *record)
{
	switch (chunk_of(record)) {
	case CHUNK_FOREIGN:
		return ARENA_OTHER;
	case CHUNK_MAPPED: /* without the flag of an arena */
		return ARENA_MAIN;
	case CHUNK_OF_ARENA:
		break;
	}
	return chunk_area_has(&condition->mapped, record->addr)
		       ? ARENA_NON_MAIN
		       : ARENA_MAIN;
}

static enum filter_permission permission(const struct record *record, int bit)
{
	return (record->call & bit) != 0 ? PERMISSION_YES : PERMISSION_NO;
}

static uint64_t subject_value(struct condition *condition,
			      const struct filter_context *context,
			      const struct record *record)
{
	switch (condition->subject) {
	case SUBJECT_LIFETIME_WORD:
		return record_is_leaked(record);
	case SUBJECT_TEMPORARY:
		return record->is_temporary;
	case SUBJECT_SIZE:
		return record->size;
	case SUBJECT_READABLE:
		return permission(record, PROT_READ);
	case SUBJECT_WRITABLE:
		return permission(record, PROT_WRITE);
	case SUBJECT_EXECUTABLE:
		return permission(record, PROT_EXEC);
	case SUBJECT_USABLE_SIZE:
		return record->usable;
	case SUBJECT_ADDRESS:
		return record->addr;
	case SUBJECT_MMAPED:
		return chunk_of(record);
	case SUBJECT_ARENA:
		return arena_of(condition, record);
	case SUBJECT_LIFETIME:
		return lived(context->run, record->alloc_tick,
			     record->free_tick);
	case SUBJECT_THREAD:
	case SUBJECT_THREAD_NAME:
		return record->thread;
	case SUBJECT_MARKER:
		return record->marker;
	case SUBJECT_BACKTRACE:
		return record->stack;
	case SUBJECT_FREE_BACKTRACE:
		return record->free_stack ? record->free_stack : UINT64_MAX;
	case SUBJECT_POSITION_IN_CHAIN:
		return record->chain_position;
	case SUBJECT_FIRST_SIZE:
		return record->chain_first_size;
	case SUBJECT_LAST_SIZE:
		return record->chain_last_size;
	case SUBJECT_CHAIN_LENGTH:
		return record->chain_length;
	case SUBJECT_CHAIN_LIFETIME:
		return lived(context->run, record->chain_first_tick,
			     record->chain_end_tick);
	case SUBJECT_DEPTH:
		return depth_of(condition, context, record->stack);
	case SUBJECT_FROM:
	case SUBJECT_TO:
	case SUBJECT_ALIVE_AT:
	case SUBJECT_MAP:
	case SUBJECT_GROUP_ALLOCATIONS:
	case SUBJECT_GROUP_LEAKED:
	case SUBJECT_GROUP_INTERVAL:
	case SUBJECT_GROUP_MAX_USAGE:
	case SUBJECT_FILTER:
	case SUBJECT_FUNCTION:
	case SUBJECT_SOURCE:
	case SUBJECT_LIBRARY:
		break;
	}
	return 0;
}

bool condition_list_has(const struct condition *condition, uint64_t value)
{
	size_t low = 0, high = condition->list_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (condition->list[middle] == value)
			return true;
		if (condition->list[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* --- moments --- */

static uint64_t alloc_at(const struct record *record,
			 const struct moment *moment)
{
	return moment->is_order ? record->alloc_order : record->alloc_tick;
}

static uint64_t free_at(const struct record *record,
			const struct moment *moment)
{
	return moment->is_order ? record->free_order : record->free_tick;
}

static bool is_alive_at(const struct record *record,
			const struct moment *moment)
{
	return alloc_at(record, moment) <= moment->value &&
	       (record_is_leaked(record) ||
		free_at(record, moment) > moment->value);
}

static bool is_freed_within(const struct record *record,
			    const struct moment *from, const struct moment *to)
{
	if (record_is_leaked(record) ||
	    (from->is_set && free_at(record, from) < from->value))
		return false;
	return !to->is_set || free_at(record, to) <= to->value;
}

static bool some_filter_matches(struct condition *condition,
				const struct record *record)
{
	for (size_t i = 0; i < condition->filter_count; i++)
		if (filter_match(condition->filters[i], record))
			return true;
	return false;
}

static bool is_met(struct condition *condition,
		   const struct filter_context *context,
		   const struct record *record)
{
	const struct moment *moment = &condition->moment;
	uint64_t value;

	switch (condition->kind) {
	case CONDITION_RANGE:
		value = subject_value(condition, context, record);
		return value >= condition->min && value <= condition->max;
	case CONDITION_LIST:
		return condition_list_has(
		    condition, subject_value(condition, context, record));
	case CONDITION_FROM:
		return alloc_at(record, moment) >= moment->value;
	case CONDITION_TO:
		return alloc_at(record, moment) <= moment->value;
	case CONDITION_ALIVE:
		return is_alive_at(record, moment);
	case CONDITION_FREED:
		return is_freed_within(record, moment, &condition->until);
	case CONDITION_CHAIN_LEAKED:
		return record->chain_end_tick == RECORD_NEVER;
	case CONDITION_GROUPS:
		return record->group < condition->group_count &&
		       condition->groups[record->group];
	case CONDITION_MAPS:
		return condition_match_maps(condition, record);
	case CONDITION_FRAMES:
		return stack_regex_match(condition->frames, record->stack);
	case CONDITION_FILTERS:
		return some_filter_matches(condition, record);
	}
	return false;
}

bool condition_match(struct condition *condition,
		     const struct filter_context *context,
		     const struct record *record)
{
	return is_met(condition, context, record) != condition->is_negated;
}

/* Only the bounds are looked at anew for each record. */
static size_t select_range(const struct condition *condition,
			   const struct record *records, filter_place *of,
			   size_t count)
{
	uint64_t span = condition->max - condition->min;
	bool is_word = condition->subject == SUBJECT_LIFETIME_WORD;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		const struct record *record = &records[of[i]];
		uint64_t value =
			is_word ? record_is_leaked(record) : record->size;
		bool in_range = value - condition->min <= span;

		of[kept] = of[i];
		kept += in_range != condition->is_negated;
	}
	return kept;
}

size_t condition_select(struct condition *condition,
			const struct filter_context *context,
			const struct record *records, filter_place *of,
			size_t count)
{
	size_t kept = 0;

	if (condition->kind == CONDITION_RANGE &&
	    condition->min <= condition->max &&
	    (condition->subject == SUBJECT_LIFETIME_WORD ||
	     condition->subject == SUBJECT_SIZE))
		return select_range(condition, records, of, count);
	for (size_t i = 0; i < count; i++) {
		of[kept] = of[i];
		kept += condition_match(condition, context, &records[of[i]]);
	}
	return kept;
}
