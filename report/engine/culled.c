/* SPDX-License-Identifier: MIT */
#include "report/engine/culled.h"

#include <errno.h>

#include "report/engine/engine_data.h"
#include "report/event/event.h"
#include "report/event/run.h"

/* --- sums ----------------------------------------------------------------- */

static void extend(struct group_extent *extent, const struct culled *culled)
{
	const struct record *record = &culled->record;

	extent->usable_bytes += culled->count * record->usable;
	if (culled->first_tick < extent->first_tick)
		extent->first_tick = culled->first_tick;
	if (culled->last_tick > extent->last_tick)
		extent->last_tick = culled->last_tick;
	if (record->size < extent->min_size)
		extent->min_size = record->size;
	if (record->size > extent->max_size)
		extent->max_size = record->size;
}

static void add_group(struct group *group, const struct culled *culled,
		      uint64_t temporary)
{
	const struct record *record = &culled->record;
	uint64_t count = culled->count, bytes = count * record->size;

	group->allocated_count += count;
	group->allocated_bytes += bytes;
	group->freed_count += count;
	group->freed_bytes += bytes;
	group->temporary_count += temporary;
	group->temporary_bytes += temporary * record->size;
	extend(&group->all, culled);
	extend(&group->freed, culled);
}

/* Adds @culled, of which @temporary were freed by the thread's next event, to all
   sums, also those of @group. */
static void add_sums(struct engine *engine, struct group *group,
		     const struct culled *culled, uint64_t temporary)
{
	struct engine_totals *totals = &engine->totals;
	uint64_t count = culled->count;
	const struct moments_earlier earlier = {
		.count = count,
		.thread = culled->record.thread,
		.from = culled->first_tick,
		.to = culled->last_tick,
	};

	group_note_peak(group, totals->peak_epoch);
	add_group(group, culled, temporary);
	totals->allocated_count += count;
	totals->allocated_bytes += count * culled->record.size;
	totals->freed_count += count;
	totals->temporary_count += temporary;
	totals->events += 2 * count;
	totals->culled_count += count;
	totals->culled_bytes += count * culled->record.size;
	levels_spread(&engine->levels, culled->first_tick, culled->last_tick,
		      count);
	if (!moments_add_earlier(&engine->moments, &earlier))
		totals->culled_astride += count;
}

/* --- events --------------------------------------------------------------- */

/* Return: markers up to @tick, which may be over. */
static uint32_t markers_at(const struct engine *engine, uint64_t tick)
{
	const struct run_mark *marks = engine->run->marks;
	uint64_t count = engine->totals.markers;
	size_t i = engine->moments.mark;

	for (; i > 0 && marks[i - 1].tick > tick; i--)
		count -= marks[i - 1].kind != RUN_MARK_PHASE;
	for (; i < engine->run->mark_count && marks[i].tick <= tick; i++)
		count += marks[i].kind != RUN_MARK_PHASE;
	return (uint32_t)count;
}

static int observe_culled(struct engine *engine, struct culled *culled,
			  uint64_t count, bool is_temporary)
{
	int status = 0;

	culled->count = count;
	culled->record.is_temporary = is_temporary;
	for (size_t i = 0; status == 0 && count && i < engine->observer_count;
	     i++)
		if (engine->observers[i].culled)
			status = engine->observers[i].culled(
				engine->observers[i].context, culled);
	return status;
}

/* Some that are alike. */
static int take_row(struct engine *engine, struct engine_lane *lane,
		    const struct event *event)
{
	struct culled *culled = &lane->culled;
	uint32_t group = groups_get(&engine->groups, event->stack,
				    engine->seen.count);
	int status;

	if (group == GROUPS_NONE)
		return -ENOMEM;
	culled->record = (struct record){
		.size = event->size,
		.usable = event->size + event->a,
		.stack = event->stack,
		.group = group,
		.thread = lane->thread,
		.free_thread = lane->thread,
		.marker = markers_at(engine, culled->first_tick),
		.call = event->call,
		.chain_length = 1,
		.chain_first_size = event->size,
		.chain_last_size = event->size,
	};
	culled->last_marker = markers_at(engine, culled->last_tick);
	culled->count = event->b;
	lane->made += event->b;
	add_sums(engine, &engine->groups.items[group], culled, event->addr);
	status = observe_culled(engine, culled, event->addr, true);
	return status ? status
		      : observe_culled(engine, culled, event->b - event->addr,
				       false);
}

int culled_take(struct engine *engine, struct engine_lane *lane,
		const struct event *event)
{
	struct engine_totals *totals = &engine->totals;

	if (event->kind == EVENT_CULLED)
		return take_row(engine, lane, event);
	if (event->kind == EVENT_CULLED_TIMES) {
		lane->culled.first_tick = event->addr;
		lane->culled.last_tick = event->size;
		lane->culled.shortest = event->a;
		lane->culled.longest = event->b;
	} else if (event->size > lane->culled_most) {
		totals->culled_most += event->size - lane->culled_most;
		lane->culled_most = event->size;
	}
	return 0;
}
