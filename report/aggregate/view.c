/* SPDX-License-Identifier: MIT */
#include "report/aggregate/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/aggregate/view_data.h"
#include "report/core/vec.h"
#include "report/engine/groups.h"
#include "report/filter/filter.h"

uint64_t view_rows_kept(const struct view_options *options)
{
	uint64_t rows;

	if (__builtin_add_overflow(options->rows, options->skip, &rows))
		return SORT_NO_COUNT;
	return rows;
}

struct view *view_new(const struct view_options *options, struct filter *filter)
{
	struct view *view = calloc(1, sizeof(*view));

	if (!view)
		return NULL;
	view->options = *options;
	view->filter = filter;
	view->wanted = filter_wanted(filter);
	view->has_timeline = options->keep_timeline;
	rows_init(&view->rows, options->sort_by,
		  options->has_order ? options->order : SORT_ASCENDING,
		  options->keep_records ? view_rows_kept(options) : 0,
		  options->rows_bytes, options->directory);
	view->rows.run = options->run;
	if (options->keep_histogram)
		histogram_prepare(&view->histogram, options->run);
	return view;
}

void view_free(struct view *view)
{
	if (!view)
		return;
	rows_done(&view->rows);
	vec_done(&view->row.cells);
	timeline_done(&view->timeline);
	history_free(view->history);
	vec_done(&view->groups);
	free(view);
}

/* Return: whether there are sums for as many groups. */
static bool groups_cover(struct view *view, uint32_t group)
{
	size_t count = view->groups.count, need = (size_t)group + 1;

	if (need <= count)
		return true;
	if (!vec_reserve(&view->groups, need))
		return false;
	memset(&view->groups.items[count], 0,
	       (need - count) * sizeof(*view->groups.items));
	view->groups.count = need;
	return true;
}

/* The first of @group. */
static void group_begin(struct view *view, struct view_group *group,
			const struct record *record)
{
	view->totals.groups++;
	group->stack = record->stack;
	group->first_tick = UINT64_MAX;
	group->min_size = UINT64_MAX;
}

/* Takes in allocations of @size bytes from @first_tick to @last_tick. */
static inline void group_cover(struct view_group *group, uint64_t size,
			       uint64_t first_tick, uint64_t last_tick)
{
	if (first_tick < group->first_tick)
		group->first_tick = first_tick;
	if (last_tick > group->last_tick)
		group->last_tick = last_tick;
	if (size < group->min_size)
		group->min_size = size;
	if (size > group->max_size)
		group->max_size = size;
}

static void group_add(struct view *view, struct view_group *group,
		      const struct record *record)
{
	uint64_t leaked = record_is_leaked(record);
	uint64_t temporary = record->is_temporary;

	if (!group->count)
		group_begin(view, group, record);
	group->count++;
	group->bytes += record->size;
	group->usable += record->usable;
	group_cover(group, record->size, record->alloc_tick,
		    record->alloc_tick);
	group->temporary_count += temporary;
	group->temporary_bytes += temporary * record->size;
	group->leaked_count += leaked;
	group->leaked_bytes += leaked * record->size;
	view->totals.count++;
	view->totals.bytes += record->size;
	view->totals.leaked_count += leaked;
	view->totals.leaked_bytes += leaked * record->size;
}

/* Adds records[of[0 … count - 1]] to the sums.  Return: 0 or -ENOMEM. */
static int groups_add(struct view *view, const struct record *records,
		      const filter_place *of, size_t count)
{
	enum { AHEAD = 4 };

	for (size_t i = 0; i < count; i++) {
		const struct record *record = &records[of[i]];

		if (!groups_cover(view, record->group))
			return -ENOMEM;
		if (i + AHEAD < count) {
			uint32_t next = records[of[i + AHEAD]].group;

			if (next < view->groups.count)
				__builtin_prefetch(&view->groups.items[next]);
		}
		group_add(view, &view->groups.items[record->group], record);
	}
	return 0;
}

static void group_add_culled(struct view *view, struct view_group *group,
			     const struct culled *culled)
{
	const struct record *record = &culled->record;
	uint64_t count = culled->count, bytes = count * record->size;

	if (!group->count)
		group_begin(view, group, record);
	group->count += count;
	group->bytes += bytes;
	group->usable += count * record->usable;
	group_cover(group, record->size, culled->first_tick,
		    culled->last_tick);
	if (record->is_temporary) {
		group->temporary_count += count;
		group->temporary_bytes += bytes;
	}
	view->totals.count += count;
	view->totals.bytes += bytes;
}

/* Whether view_settle() will take the sums from the engine. */
static bool has_sums(const struct view *view)
{
	return view->wanted == FILTER_ALL || view->wanted == FILTER_FREED;
}

int view_add_culled(void *context, const struct culled *culled)
{
	struct view *view = context;
	uint64_t bytes = culled->count * culled->record.size;
	int status = 0;

	switch (filter_decide(view->filter, culled)) {
	case VERDICT_NO:
		return 0;
	case VERDICT_UNKNOWN:
		view->totals.undecided_count += culled->count;
		view->totals.undecided_bytes += bytes;
		return 0;
	case VERDICT_YES:
		break;
	}
	view->totals.culled_count += culled->count;
	view->totals.culled_bytes += bytes;
	if (!groups_cover(view, culled->record.group))
		return -ENOMEM;
	if (!has_sums(view))
		group_add_culled(view,
				 &view->groups.items[culled->record.group],
				 culled);
	if (view->options.keep_histogram)
		histogram_add_culled(&view->histogram, view->options.run,
				     culled);
	if (view->has_timeline)
		status = timeline_add_culled(&view->timeline,
					     view->options.run, culled);
	return status;
}

struct view_group view_group_of(const struct group *from,
				enum filter_wanted wanted)
{
	bool is_all = wanted == FILTER_ALL;
	const struct group_extent *extent = is_all ? &from->all : &from->freed;
	struct view_group group = {
		.stack = from->stack,
		.count = from->freed_count,
		.bytes = from->freed_bytes,
		.usable = extent->usable_bytes,
		.temporary_count = from->temporary_count,
		.temporary_bytes = from->temporary_bytes,
		.first_tick = extent->first_tick,
		.last_tick = extent->last_tick,
		.min_size = extent->min_size,
		.max_size = extent->max_size,
	};

	if (is_all) {
		group.leaked_count = from->allocated_count - from->freed_count;
		group.leaked_bytes = from->allocated_bytes - from->freed_bytes;
		group.count = from->allocated_count;
		group.bytes = from->allocated_bytes;
	}
	return group;
}

int view_settle(struct view *view, const struct groups *groups)
{
	struct view_sums *totals = &view->totals;

	if (!has_sums(view))
		return 0;
	if (groups->count && !groups_cover(view, (uint32_t)groups->count - 1))
		return -ENOMEM;
	totals->count = totals->bytes = totals->groups = 0;
	totals->leaked_count = totals->leaked_bytes = 0;
	for (size_t i = 0; i < groups->count; i++) {
		struct view_group *to = &view->groups.items[i];

		if (view->wanted == FILTER_FREED &&
		    !groups->items[i].freed_count)
			continue;
		*to = view_group_of(&groups->items[i], view->wanted);
		totals->count += to->count;
		totals->bytes += to->bytes;
		totals->leaked_count += to->leaked_count;
		totals->leaked_bytes += to->leaked_bytes;
		totals->groups++;
	}
	return 0;
}

/* Adds records[of[0 … count - 1]]. */
static int view_take(struct view *view, const struct record *records,
		     const filter_place *of, size_t count)
{
	int status = 0;

	if (!has_sums(view))
		status = groups_add(view, records, of, count);
	for (size_t i = 0; view->options.keep_histogram && i < count; i++)
		histogram_add(&view->histogram, view->options.run,
			      &records[of[i]], 1);
	for (size_t i = 0; status == 0 && view->has_timeline && i < count; i++)
		status = timeline_mark(&view->timeline, &records[of[i]]);
	for (size_t i = 0; status == 0 && i < count; i++)
		status = rows_add(&view->rows, &records[of[i]]);
	return status;
}

/* The same of all records, where view_settle() will have the sums. */
static int view_take_all(struct view *view, const struct record *records,
			 size_t count)
{
	int status = 0;

	if (view->options.keep_histogram)
		histogram_add(&view->histogram, view->options.run, records,
			      count);
	for (size_t i = 0; status == 0 && view->has_timeline && i < count; i++)
		status = timeline_mark(&view->timeline, &records[i]);
	for (size_t i = 0; status == 0 && view->rows.limit && i < count; i++)
		status = rows_add(&view->rows, &records[i]);
	return status;
}

int view_add(void *context, const struct record *records, size_t count)
{
	struct view *view = context;
	/* Those that were never freed come last. */
	bool all_freed = count && !record_is_leaked(&records[count - 1]);
	filter_place passing[FILTER_SELECT_MAX];
	int status = 0;

	if (view->wanted == FILTER_ALL ||
	    (view->wanted == FILTER_FREED && all_freed))
		return view_take_all(view, records, count);
	if (view->wanted == FILTER_LEAKED && all_freed) {
		filter_reject(view->filter, count);
		return 0;
	}
	while (status == 0 && count) {
		size_t some = count < FILTER_SELECT_MAX ? count
							: FILTER_SELECT_MAX;
		size_t left = filter_select(view->filter, records, some,
					    passing);

		status = view_take(view, records, passing, left);
		records += some;
		count -= some;
	}
	return status;
}

int view_explain(const struct view *view, int status, struct diag *diag)
{
	return runs_explain(&view->rows.runs, status, diag);
}

bool view_is_empty(const struct view *view)
{
	return !view->totals.count;
}

void view_set_peak(struct view *view, uint64_t order)
{
	view->peak_order = order;
}

int view_add_peak(void *context, const struct record *record)
{
	struct view *view = context;
	struct view_group *group;

	/* The filter counts what it removes: not twice. */
	if (view_is_empty(view) || record->alloc_order > view->peak_order ||
	    record->free_order <= view->peak_order ||
	    !filter_match(view->filter, record))
		return 0;
	group = &view->groups.items[record->group];
	group->peak_count++;
	group->peak_bytes += record->size;
	if (view->options.keep_histogram)
		histogram_add_peak(&view->histogram, view->options.run, record);
	return 0;
}

struct timeline *view_timeline(struct view *view)
{
	return view->has_timeline ? &view->timeline : NULL;
}

int view_take_history(struct view *view, const struct scope *scope,
		      struct history **ret)
{
	if (view->options.keep_history && !view->history) {
		view->history = history_new(
			scope,
			view->wanted == FILTER_ALL ? NULL : &view->timeline,
			view->options.directory);
		if (!view->history)
			return -ENOMEM;
	}
	*ret = view->history;
	return 0;
}

struct view_sums view_sums(const struct view *view)
{
	return view->totals;
}
