/* SPDX-License-Identifier: MIT */
#include "report/engine/groups.h"

#include <stdlib.h>
#include <string.h>

#include "report/core/vec.h"

void groups_done(struct groups *groups)
{
	free(groups->items);
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

uint32_t groups_make(struct groups *groups, uint32_t stack,
		     uint32_t stack_count)
{
	struct group *group;

	if (stack >= groups->of_stack_count &&
	    groups_cover(groups, stack_count))
		return GROUPS_NONE;
	if (groups->of_stack[stack])
		return groups->of_stack[stack] - 1;
	group = vec_push(groups);
	if (!group)
		return GROUPS_NONE;
	group->stack = stack;
	group->min_size = UINT64_MAX;
	group->first_tick = UINT64_MAX;
	groups->of_stack[stack] = (uint32_t)groups->count;
	return (uint32_t)groups->count - 1;
}

void groups_settle_peak(struct groups *groups, uint64_t epoch)
{
	for (size_t i = 0; i < groups->count; i++)
		group_note_peak(&groups->items[i], epoch);
}
