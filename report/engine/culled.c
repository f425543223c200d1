/* SPDX-License-Identifier: MIT */
#include "report/engine/culled.h"

#include "report/engine/engine.h"

static void add_group(struct group *group, const struct culled *culled,
		      uint64_t temporary)
{
	const struct record *record = &culled->record;
	uint64_t count = culled->count, bytes = count * record->size;

	group->allocated_count += count;
	group->allocated_bytes += bytes;
	group->usable_bytes += count * record->usable;
	group->freed_count += count;
	group->freed_bytes += bytes;
	group->temporary_count += temporary;
	group->temporary_bytes += temporary * record->size;
	if (culled->first_tick < group->first_tick)
		group->first_tick = culled->first_tick;
	if (culled->last_tick > group->last_tick)
		group->last_tick = culled->last_tick;
	if (record->size < group->min_size)
		group->min_size = record->size;
	if (record->size > group->max_size)
		group->max_size = record->size;
}

void culled_add(const struct culled_sums *to, const struct culled *culled,
		uint64_t temporary)
{
	struct engine_totals *totals = to->totals;
	uint64_t count = culled->count;
	const struct moments_earlier earlier = {
		.count = count,
		.thread = culled->record.thread,
		.from = culled->first_tick,
		.to = culled->last_tick,
	};

	group_note_peak(to->group, totals->peak_epoch);
	add_group(to->group, culled, temporary);
	totals->allocated_count += count;
	totals->allocated_bytes += count * culled->record.size;
	totals->freed_count += count;
	totals->temporary_count += temporary;
	totals->events += 2 * count;
	totals->culled_count += count;
	totals->culled_bytes += count * culled->record.size;
	levels_spread(to->levels, culled->first_tick, culled->last_tick, count);
	if (!moments_add_earlier(to->moments, &earlier))
		totals->culled_astride += count;
}
