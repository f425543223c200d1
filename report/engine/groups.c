/* SPDX-License-Identifier: MIT */
#include "report/engine/groups.h"

#include <stdlib.h>
#include <string.h>

#include "report/core/vec.h"

_Static_assert(sizeof(struct group) == 3 * LINE_BYTES,
	       "what allocations, frees and both look at");

enum { GROUPS_INITIAL = 8 };

void groups_done(struct groups *groups)
{
	lines_done(&groups->lines);
	free(groups->of_stack);
	memset(groups, 0, sizeof(*groups));
}

static int groups_cover(struct groups *groups, size_t stack_count)
{
	size_t capacity = groups->of_stack_count;
	uint32_t *grown;

	grown = vec_grow(groups->of_stack, &capacity, stack_count,
			 sizeof(*grown));
	if (!grown)
		return -1;
	memset(grown + groups->of_stack_count, 0,
	       (capacity - groups->of_stack_count) * sizeof(*grown));
	groups->of_stack = grown;
	groups->of_stack_count = capacity;
	return 0;
}

/* Return: room for another group, zeroed; NULL when out of memory. */
static struct group *groups_push(struct groups *groups)
{
	size_t capacity = groups->capacity ? 2 * groups->capacity
					   : GROUPS_INITIAL;
	size_t size = sizeof(*groups->items);

	if (groups->count == groups->capacity) {
		if (lines_grow(&groups->lines, groups->count * size,
			       capacity * size))
			return NULL;
		groups->items = groups->lines.items;
		groups->capacity = capacity;
	}
	return memset(&groups->items[groups->count++], 0, size);
}

uint32_t groups_make(struct groups *groups, uint32_t stack,
		     uint32_t stack_count)
{
	struct group *group;

	if (stack >= groups->of_stack_count &&
	    groups_cover(groups, stack_count))
		return GROUPS_NONE;
	if (groups->of_stack[stack])
		return groups->of_stack[stack] - 1;
	group = groups_push(groups);
	if (!group)
		return GROUPS_NONE;
	group->stack = stack;
	group->all.first_tick = group->freed.first_tick = UINT64_MAX;
	group->all.min_size = group->freed.min_size = UINT64_MAX;
	groups->of_stack[stack] = (uint32_t)groups->count;
	return (uint32_t)groups->count - 1;
}

void groups_settle_peak(struct groups *groups, uint64_t epoch)
{
	for (size_t i = 0; i < groups->count; i++)
		group_note_peak(&groups->items[i], epoch);
}
