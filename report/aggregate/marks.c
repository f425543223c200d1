/* SPDX-License-Identifier: MIT */
#include "report/aggregate/marks.h"

#include <errno.h>
#include <inttypes.h>

#include "report/aggregate/scope.h"
#include "report/core/units.h"
#include "report/engine/engine.h"
#include "report/engine/moments.h"
#include "report/event/run.h"

enum { SPANS_MAX = 500 };

static const struct figure_column columns[] = {
	{ "kind", "What", NULL, CELL_TEXT },
	{ "name", "Name", NULL, CELL_TEXT },
	{ "start", "Time", NULL, CELL_SECONDS },
	{ "end", "Until", NULL, CELL_SECONDS },
	{ "duration", "Duration", NULL, CELL_SECONDS },
	{ "value", "Number", NULL, CELL_COUNT },
	{ "live_bytes", "Live bytes", "mark_live", CELL_BYTES },
	{ "highest_bytes", "Highest", "phase_highest", CELL_BYTES },
	{ "allocations", "Allocations", "phase_allocations", CELL_COUNT },
	{ "own_allocations", "Of its thread", "phase_own", CELL_COUNT },
	{ "thread", "Thread", NULL, CELL_ID },
};

enum { COLUMN_COUNT = sizeof(columns) / sizeof(columns[0]) };

static const char *kind_name(enum run_mark_kind kind)
{
	switch (kind) {
	case RUN_MARK_TEXT:
		return "mark";
	case RUN_MARK_NUMBER:
		return "number";
	case RUN_MARK_PHASE:
		return "phase";
	}
	return "";
}

/* Where a phase ends, the run's end where it does not; that of a mark is its
   own time. */
static uint64_t end_tick(const struct run *run, const struct run_mark *mark)
{
	if (mark->kind != RUN_MARK_PHASE)
		return mark->tick;
	return mark->end_tick < run->last_tick ? mark->end_tick
					       : run->last_tick;
}

/* @number: of the run's marks. */
static void add_row(struct table_maker *table, const struct scope *scope,
		    size_t number)
{
	const struct run *run = scope->run;
	const struct run_mark *mark = &run->marks[number];
	const struct moments *moments = engine_moments(scope->engine);
	uint64_t end = end_tick(run, mark);
	bool is_phase = mark->kind == RUN_MARK_PHASE;
	bool has_end = is_phase && mark->end_tick != UINT64_MAX;
	struct moments_between sums =
		moments_find(moments, mark->tick,
			     is_phase ? mark->end_tick : mark->tick);

	table_row(table);
	table_add(table, cell_text(kind_name(mark->kind)));
	table_add(table, cell_text(mark->text));
	table_add(table, cell_seconds(run_seconds(run, mark->tick)));
	table_add(table, cell_or_none(cell_seconds(run_seconds(run, end)),
				      has_end));
	table_add(table, cell_or_none(cell_seconds(run_span(run, mark->tick,
							    end)),
				      is_phase));
	/* As large as JSON can tell it. */
	table_add(table, cell_or_none(cell_count(mark->value < INT64_MAX
							 ? mark->value
							 : INT64_MAX),
				      mark->kind == RUN_MARK_NUMBER));
	table_add(table, cell_bytes(sums.bytes));
	table_add(table, cell_or_none(cell_bytes(sums.highest_bytes),
				      is_phase));
	table_add(table, cell_or_none(cell_count(sums.allocations), is_phase));
	table_add(table, cell_or_none(cell_count(moments_own(moments, number)),
				      is_phase && mark->thread != 0));
	table_add(table, cell_or_none(cell_id(mark->thread),
				      mark->thread != 0));
}

const struct figure *marks_table(const struct scope *scope, size_t limit)
{
	const struct run *run = scope->run;
	size_t count = run->mark_count < limit ? run->mark_count : limit;
	struct table_maker table;
	struct figure *figure;

	table_init(&table, columns, COLUMN_COUNT);
	for (size_t i = 0; i < count; i++)
		add_row(&table, scope, i);
	figure = table_finish(&table, scope, "markers", "Marks and phases");
	if (figure && count < run->mark_count)
		figure->caption = arena_printf(scope->arena,
					       "The first %zu of %zu; "
					       "markers.json has all",
					       count, run->mark_count);
	return figure;
}

/* Where nothing was recorded.  Return: how many spans. */
static size_t add_gaps(const struct run *run, struct figure_span *spans)
{
	size_t count = 0;

	for (size_t i = 1; i < run->piece_count && i <= SPANS_MAX; i++) {
		const struct run_piece *before = &run->pieces[i - 1];

		if (!run_piece_has_gap(run, i) || !before->end_tick)
			continue;
		spans[count++] = (struct figure_span){
			.start = run_seconds(run, before->end_tick),
			.end = run_seconds(run, run->pieces[i].start_tick),
			.label = run_piece_missing(run, i) ? "piece missing"
							   : "not recorded",
		};
	}
	return count;
}

int marks_add_spans(const struct scope *scope, struct figure_series *series)
{
	const struct run *run = scope->run;
	struct figure_span *all =
		arena_array(scope->arena, 2 * SPANS_MAX, sizeof(*all));
	struct figure_span *spans = all;

	if (!all)
		return -ENOMEM;
	spans += add_gaps(run, all);
	for (size_t i = 0; i < run->mark_count && i < SPANS_MAX; i++) {
		const struct run_mark *mark = &run->marks[i];

		*spans++ = (struct figure_span){
			.start = run_seconds(run, mark->tick),
			.end = run_seconds(run, end_tick(run, mark)),
			.label = mark->text,
			.is_moment = mark->kind != RUN_MARK_PHASE,
		};
	}
	series->spans = all;
	series->span_count = (size_t)(spans - all);
	return 0;
}
