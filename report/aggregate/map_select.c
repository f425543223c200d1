/* SPDX-License-Identifier: MIT */
#include "report/aggregate/map_select.h"

#include <errno.h>
#include <stdlib.h>

#include "report/aggregate/maps.h"
#include "report/core/vec.h"
#include "report/engine/record.h"
#include "report/event/run.h"
#include "report/filter/filter.h"

/* The peak is known by the number of its event, calls of mmap by their time. */
static uint64_t order_of(const struct map_question *question, uint64_t tick)
{
	if (tick == RECORD_NEVER)
		return RECORD_NEVER;
	if (tick > question->peak_tick)
		return RECORD_NEVER - 1;
	return tick == question->peak_tick ? question->peak_order : 0;
}

static struct record record_of(const struct map_question *question,
			       const struct maps *maps,
			       const struct map_call *call, size_t owner)
{
	const struct event *event = &call->event;
	uint64_t end = map_ranges_end(&maps->ranges, owner);
	bool has_ended = end != MAP_RANGES_NOT_ENDED;
	uint64_t free_tick = has_ended ? end : RECORD_NEVER;

	return (struct record){
		.id = owner,
		.alloc_tick = event->tick,
		.free_tick = free_tick,
		.alloc_order = order_of(question, event->tick),
		.free_order = order_of(question, free_tick),
		.addr = event->addr,
		.size = event->size,
		.stack = event->stack,
		.free_stack = has_ended ? map_ranges_end_stack(&maps->ranges,
							       owner)
					: 0,
		.thread = call->thread,
		.call = (uint8_t)event->a,
	};
}

static uint64_t key_of(const struct map_question *question,
		       const struct record *record)
{
	const struct run *run = question->run;

	if (question->sort_by == SORT_ADDRESS)
		return record->addr;
	if (question->sort_by == SORT_SIZE)
		return record->size;
	if (question->sort_by == SORT_LIFETIME)
		return run_span_ns(run, record->alloc_tick,
				   record_is_leaked(record)
					   ? run->last_tick
					   : record->free_tick);
	return run_span_ns(run, run->first_tick, record->alloc_tick);
}

static int compare_rows(const void *a, const void *b, void *order)
{
	const struct map_row *x = a, *y = b;
	bool rises = *(const enum sort_order *)order == SORT_ASCENDING;

	if (x->key != y->key)
		return (x->key < y->key) == rises ? -1 : 1;
	return (x->owner > y->owner) - (x->owner < y->owner);
}

/* Which of the rows are shown. */
static void cut(struct maps *maps, uint64_t skip, uint64_t rows)
{
	size_t count = maps->selected.count;

	maps->first = skip < count ? (size_t)skip : count;
	maps->last = rows < count - maps->first ? maps->first + (size_t)rows
						: count;
}

int map_select(struct maps *maps, const struct map_question *question)
{
	enum sort_order order = question->order;
	uint32_t owner = 0;

	if (maps->maps.total > maps->maps.count)
		return -E2BIG;
	maps->is_selected = true;
	for (size_t i = 0; i < maps->maps.count; i++) {
		const struct map_call *call = &maps->maps.items[i];
		struct map_row *row;
		struct record record;

		if (call->event.kind != EVENT_MMAP)
			continue;
		record = record_of(question, maps, call, owner++);
		if (!filter_match(question->filter, &record))
			continue;
		row = vec_push(&maps->selected);
		if (!row)
			return -ENOMEM;
		*row = (struct map_row){ .key = key_of(question, &record),
					 .call = (uint32_t)i,
					 .owner = owner - 1 };
	}
	if (maps->selected.count)
		qsort_r(maps->selected.items, maps->selected.count,
			sizeof(*maps->selected.items), compare_rows, &order);
	cut(maps, question->skip, question->rows);
	return 0;
}
