/* SPDX-License-Identifier: MIT */
#include "report/aggregate/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/aggregate/marks.h"
#include "report/aggregate/residency.h"
#include "report/aggregate/scope.h"
#include "report/core/vec.h"
#include "report/engine/engine.h"
#include "report/event/run.h"

enum { WORD_BITS = 64, CURVES_MAX = 5 };

void timeline_done(struct timeline *timeline)
{
	free(timeline->marked);
	free(timeline->culled);
	memset(timeline, 0, sizeof(*timeline));
}

int timeline_mark(struct timeline *timeline, const struct record *record)
{
	uint64_t word = record->id / WORD_BITS;
	size_t capacity = timeline->capacity;

	if (word >= capacity) {
		uint64_t *grown = vec_grow(timeline->marked, &capacity,
					   (size_t)word + 1, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		memset(grown + timeline->capacity, 0,
		       (capacity - timeline->capacity) * sizeof(*grown));
		timeline->marked = grown;
		timeline->capacity = capacity;
	}
	timeline->marked[word] |= UINT64_C(1) << record->id % WORD_BITS;
	return 0;
}

bool timeline_has(const struct timeline *timeline, uint64_t id)
{
	uint64_t word = id / WORD_BITS;

	return word < timeline->capacity &&
	       timeline->marked[word] >> id % WORD_BITS & 1;
}

void timeline_start(struct timeline *timeline, const struct run *run)
{
	levels_init(&timeline->levels, run->first_tick, run->last_tick);
	timeline->bytes = 0;
	timeline->blocks = 0;
	timeline->highest_bytes = 0;
	timeline->highest_tick = run->first_tick;
}

int timeline_begun(void *context, const struct live_block *block)
{
	struct timeline *timeline = context;

	if (!timeline_has(timeline, block->id))
		return 0;
	timeline->bytes += live_block_size(block);
	timeline->blocks++;
	levels_set(&timeline->levels, block->alloc_tick, timeline->bytes,
		   timeline->blocks);
	levels_count(&timeline->levels, 1, 0);
	if (timeline->bytes > timeline->highest_bytes) {
		timeline->highest_bytes = timeline->bytes;
		timeline->highest_tick = block->alloc_tick;
	}
	return 0;
}

int timeline_record(void *context, const struct record *record)
{
	struct timeline *timeline = context;

	if (record_is_leaked(record) || !timeline_has(timeline, record->id))
		return 0;
	timeline->bytes -= record->size;
	timeline->blocks--;
	levels_set(&timeline->levels, record->free_tick, timeline->bytes,
		   timeline->blocks);
	levels_count(&timeline->levels, 0, 1);
	return 0;
}

int timeline_add_culled(struct timeline *timeline, const struct run *run,
			const struct culled *culled)
{
	if (!timeline->culled) {
		timeline->culled = malloc(sizeof(*timeline->culled));
		if (!timeline->culled)
			return -ENOMEM;
		levels_init(timeline->culled, run->first_tick, run->last_tick);
	}
	levels_spread(timeline->culled, culled->first_tick, culled->last_tick,
		      culled->count);
	return 0;
}

void timeline_finish(struct timeline *timeline)
{
	struct levels *levels = &timeline->levels;

	levels_finish(levels);
	for (size_t i = 0; timeline->culled && i < levels->bin_count; i++) {
		levels->allocations[i] += timeline->culled->allocations[i];
		levels->deallocations[i] += timeline->culled->deallocations[i];
	}
}

/* --- figures --- */

static const double *values(const struct scope *scope, const uint64_t *levels,
			    size_t count)
{
	double *values = arena_array(scope->arena, count, sizeof(*values));

	for (size_t i = 0; values && i < count; i++)
		values[i] = (double)levels[i];
	return values;
}

/* Samples of mappings say it too. */
static const double *resident(const struct scope *scope,
			      const struct levels *levels)
{
	size_t count = levels->bin_count;
	double *rss = arena_array(scope->arena, count, sizeof(*rss));

	for (size_t i = 0; rss && i < count; i++)
		rss[i] = (double)levels->rss[i];
	if (rss && scope->run->memory_count)
		residency_overlay(scope, rss);
	return rss;
}

static bool curves_fill(struct figure_series *series, const struct scope *scope,
			const struct levels *levels, bool has_rss)
{
	struct figure_curve all[CURVES_MAX] = {
		{ "live_bytes", "Live bytes", "live_bytes", CELL_BYTES, NULL, 0,
		  false },
		{ "live_blocks", "Live blocks", "live_blocks", CELL_COUNT, NULL,
		  0, false },
		{ "rss", "Resident memory", "rss", CELL_BYTES, NULL, 0, false },
		{ "allocations", "Allocations", "bin_allocations", CELL_COUNT,
		  NULL, 0, true },
		{ "deallocations", "Blocks ended", "bin_deallocations",
		  CELL_COUNT, NULL, 0, true },
	};
	const uint64_t *const from[CURVES_MAX] = { levels->bytes,
						   levels->blocks, levels->rss,
						   levels->allocations,
						   levels->deallocations };
	size_t count = levels->bin_count;
	struct figure_curve *curves =
		arena_array(scope->arena, CURVES_MAX, sizeof(*curves));

	for (size_t i = 0; curves && i < CURVES_MAX; i++) {
		bool is_rss = from[i] == levels->rss;

		if (is_rss && !has_rss)
			continue;
		all[i].values = is_rss ? resident(scope, levels)
				       : values(scope, from[i], count);
		if (!all[i].values)
			return false;
		while (is_rss && all[i].start < count &&
		       all[i].values[all[i].start] <= 0)
			all[i].start++;
		curves[series->curve_count++] = all[i];
	}
	series->curves = curves;
	return curves != NULL;
}

/* @mark: of bytes, where the level was highest; none if there were no bytes. */
static struct figure *series_figure(const struct scope *scope,
				    const struct levels *levels, bool has_rss,
				    const struct figure_mark *mark,
				    bool has_mark)
{
	struct figure *figure = arena_alloc(scope->arena, sizeof(*figure));
	struct figure_mark *copy = arena_alloc(scope->arena, sizeof(*copy));
	const double *seconds = scope_bin_seconds(scope, levels);

	if (!figure || !copy || !seconds ||
	    !curves_fill(&figure->series, scope, levels, has_rss))
		return NULL;
	*copy = *mark;
	figure->kind = FIGURE_SERIES;
	figure->schema = "timeline";
	figure->series.seconds = seconds;
	figure->series.point_count = levels->bin_count;
	figure->series.marks = copy;
	figure->series.mark_count = has_mark ? 1 : 0;
	return figure;
}

const struct figure *timeline_of_run(const struct scope *scope)
{
	const struct engine_totals *totals = engine_totals(scope->engine);
	const struct figure_mark mark = {
		.seconds = run_seconds(scope->run, totals->peak_tick),
		.label = "peak",
	};
	struct figure *figure =
		series_figure(scope, engine_levels(scope->engine),
			      totals->peak_rss || scope->run->memory_count,
			      &mark,
			      totals->peak_bytes != 0);

	if (!figure || marks_add_spans(scope, &figure->series))
		return NULL;
	figure->id = "timeline";
	figure->title = "Memory over time";
	if (totals->peak_rss || scope->run->memory_count)
		figure->caption = "Live bytes and blocks are computed from "
				  "every event; resident memory is sampled "
				  "now and then";
	return figure;
}

struct figure *timeline_of_view(const struct timeline *timeline,
				const struct scope *scope, const char *id,
				const char *title)
{
	const struct figure_mark mark = {
		.seconds = run_seconds(scope->run, timeline->highest_tick),
		.label = "highest",
	};
	struct figure *figure =
		series_figure(scope, &timeline->levels, false, &mark,
			      timeline->highest_bytes != 0);

	if (!figure || !id)
		return NULL;
	figure->id = id;
	figure->title = title;
	return figure;
}
