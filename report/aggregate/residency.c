/* SPDX-License-Identifier: MIT */
#include "report/aggregate/residency.h"

#include <stdlib.h>
#include <string.h>

#include "report/aggregate/scope.h"
#include "report/core/units.h"
#include "report/engine/engine.h"
#include "report/engine/levels.h"
#include "report/event/run.h"

/* In the order of charts and tables.  @key: in JSON. */
static const struct kind {
	enum run_memory_kind kind;
	const char *key;
	const char *label;
} kinds[] = {
	{ RUN_MEMORY_HEAP, "heap", "Heap (brk)" },
	{ RUN_MEMORY_ANONYMOUS, "anonymous", "Other anonymous" },
	{ RUN_MEMORY_STACK, "stack", "Stacks" },
	{ RUN_MEMORY_CODE, "code", "Generated code" },
	{ RUN_MEMORY_FILE, "file", "Files" },
	{ RUN_MEMORY_SHARED, "shared", "Shared memory" },
	{ RUN_MEMORY_TRACER, "tracer", "memprof" },
	{ RUN_MEMORY_SPECIAL, "special", "Kernel's pages" },
	{ RUN_MEMORY_REST, "rest", "Not told apart" },
};

enum { KIND_COUNT = sizeof(kinds) / sizeof(kinds[0]) };

static const char *kind_key(enum run_memory_kind kind)
{
	for (size_t i = 0; i < KIND_COUNT; i++)
		if (kinds[i].kind == kind)
			return kinds[i].key;
	return "rest";
}

/* Whether a chart has a curve for @kind: the kernel's pages are but a few. */
static bool is_drawn(const struct run *run, enum run_memory_kind kind)
{
	if (kind == RUN_MEMORY_SPECIAL || kind == RUN_MEMORY_REST)
		return false;
	for (size_t i = 0; i < run->memory_count; i++)
		if (run->memory[i].resident[kind])
			return true;
	return false;
}

/* --- over time ------------------------------------------------------------ */

static uint64_t resident_of(const struct run_memory *sums,
			    enum run_memory_kind kind)
{
	return kind == RUN_MEMORY_COUNT ? sums->resident_all
					: sums->resident[kind];
}

/* Return: the values of @kind, of all when it is RUN_MEMORY_COUNT: in each bin
   that of the last sample up to its end. */
static const double *values(const struct scope *scope,
			    enum run_memory_kind kind)
{
	const struct levels *levels = engine_levels(scope->engine);
	const struct run *run = scope->run;
	double *values = arena_array(scope->arena, levels->bin_count,
				     sizeof(*values));
	uint64_t value = 0;
	size_t next = 0;

	for (size_t bin = 0; values && bin < levels->bin_count; bin++) {
		uint64_t end = levels_bin_tick(levels, bin + 1);

		for (; next < run->memory_count &&
		       run->memory[next].tick < end; next++)
			value = resident_of(&run->memory[next], kind);
		values[bin] = (double)value;
	}
	return values;
}

size_t residency_first_bin(const struct scope *scope)
{
	return levels_bin_of(engine_levels(scope->engine),
			     scope->run->memory[0].tick);
}

void residency_overlay(const struct scope *scope, double *rss)
{
	const struct levels *levels = engine_levels(scope->engine);
	const struct run *run = scope->run;
	double value = 0;
	size_t next = 0;

	for (size_t bin = 0; bin < levels->bin_count; bin++) {
		uint64_t end = levels_bin_tick(levels, bin + 1);

		/* An event of its own, or what the one before said. */
		if (bin == 0 || levels->rss[bin] != levels->rss[bin - 1])
			value = (double)levels->rss[bin];
		for (; next < run->memory_count &&
		       run->memory[next].tick < end; next++)
			value = (double)run->memory[next].resident_all;
		rss[bin] = value;
	}
}

/* What was before the first sample is not known. */
static bool add_curve(struct figure_series *series,
		      struct figure_curve *curves, const struct scope *scope,
		      const struct kind *kind)
{
	struct figure_curve *curve = &curves[series->curve_count++];

	*curve = (struct figure_curve){
		.key = kind->key,
		.label = kind->label,
		.definition = "rss",
		.kind = CELL_BYTES,
		.values = values(scope, kind->kind),
		.start = residency_first_bin(scope),
	};
	return curve->values;
}

/* What the chart is of, as the curve in the chart of live bytes is of more. */
static const char *series_caption(const struct scope *scope)
{
	char count[UNITS_TEXT_SIZE];

	units_format_count(count, sizeof(count), scope->run->memory_count);
	return arena_printf(scope->arena,
			    "%s sample%s of the kernel's list of mappings "
			    "(/proc/PID/smaps), each held until the next; the "
			    "curve in Memory over time is of more samples and "
			    "shows peaks that are not here",
			    count, scope->run->memory_count == 1 ? "" : "s");
}

const struct figure *residency_series(const struct scope *scope)
{
	static const struct kind all = { RUN_MEMORY_COUNT, "resident",
					 "Resident memory" };
	const struct levels *levels = engine_levels(scope->engine);
	struct figure *figure = arena_alloc(scope->arena, sizeof(*figure));
	struct figure_curve *curves =
		arena_array(scope->arena, KIND_COUNT + 1, sizeof(*curves));

	if (!figure || !curves)
		return NULL;
	figure->kind = FIGURE_SERIES;
	figure->schema = "residency";
	figure->id = "residency";
	figure->title = "Resident memory by kind";
	figure->series.seconds = scope_bin_seconds(scope, levels);
	figure->series.point_count = levels->bin_count;
	figure->series.curves = curves;
	if (!figure->series.seconds)
		return NULL;
	if (!scope->run->memory_count) {
		figure->caption = "The trace holds no sample of memory";
		return figure;
	}
	figure->caption = series_caption(scope);
	if (!figure->caption ||
	    !add_curve(&figure->series, curves, scope, &all))
		return NULL;
	for (size_t i = 0; i < KIND_COUNT; i++)
		if (is_drawn(scope->run, kinds[i].kind) &&
		    !add_curve(&figure->series, curves, scope, &kinds[i]))
			return NULL;
	return figure;
}

/* --- the heap and the rest ------------------------------------------------ */

/* Return: the highest live bytes in the bin that @tick is in. */
static uint64_t live_bytes_at(const struct scope *scope, uint64_t tick)
{
	const struct levels *levels = engine_levels(scope->engine);
	size_t bin = levels_bin_of(levels, tick);

	return levels->bin_count ? levels->bytes[bin] : 0;
}

static uint64_t allocator_bytes(const struct run_memory *sums)
{
	return sums->resident[RUN_MEMORY_HEAP] +
	       sums->resident[RUN_MEMORY_ANONYMOUS];
}

static void add_kind(struct table_maker *table, const char *label,
		     uint64_t highest, uint64_t last)
{
	table_row(table);
	table_add(table, cell_text(label));
	table_add(table, cell_bytes(highest));
	table_add(table, cell_bytes(last));
}

/* More may be live than is resident: pages that nobody has written to. */
static struct cell excess(uint64_t resident, uint64_t live)
{
	return cell_or_none(cell_bytes(resident - live), resident >= live);
}

static void add_explained(struct table_maker *table, const struct scope *scope)
{
	const struct run_memory *highest = &scope->run->mappings_highest.sums;
	const struct run_memory *last = &scope->run->mappings_last.sums;
	uint64_t live_highest = live_bytes_at(scope, highest->tick);
	uint64_t live_last = live_bytes_at(scope, last->tick);

	add_kind(table, "Heap and other anonymous memory",
		 allocator_bytes(highest), allocator_bytes(last));
	add_kind(table, "– live blocks as requested, written to or not", live_highest,
		 live_last);
	table_row(table);
	table_add(table,
		  cell_text("– the rest: allocator, free memory that it keeps, "
			    "other maps, stacks of threads that never allocate"));
	table_add(table, excess(allocator_bytes(highest), live_highest));
	table_add(table, excess(allocator_bytes(last), live_last));
}

/* Where no sample was taken when there was most. */
static void add_caption(const struct scope *scope, struct figure *figure)
{
	char text[UNITS_TEXT_SIZE];

	units_format_bytes(text, sizeof(text), scope->run->peak_rss_bytes);
	figure->caption = arena_printf(
		scope->arena,
		"No sample was taken when there was most: the kernel counted "
		"up to %s",
		text);
}

const struct figure *residency_table(const struct scope *scope)
{
	static const struct figure_column columns[] = {
		{ "what", "Memory", NULL, CELL_TEXT },
		{ "highest", "At the highest sample", "highest_sample",
		  CELL_BYTES },
		{ "last", "At the last sample", "last_sample", CELL_BYTES },
	};
	const struct run *run = scope->run;
	const struct run_memory *highest = &run->mappings_highest.sums;
	const struct run_memory *last = &run->mappings_last.sums;
	struct table_maker table;
	struct figure *figure;

	table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
	add_kind(&table, "Resident memory", highest->resident_all,
		 last->resident_all);
	add_explained(&table, scope);
	for (size_t i = 0; i < KIND_COUNT; i++) {
		enum run_memory_kind kind = kinds[i].kind;

		if (kind != RUN_MEMORY_HEAP && kind != RUN_MEMORY_ANONYMOUS &&
		    (highest->resident[kind] || last->resident[kind]))
			add_kind(&table, kinds[i].label,
				 highest->resident[kind], last->resident[kind]);
	}
	if (highest->swapped || last->swapped)
		add_kind(&table, "Swapped out, not resident",
			 highest->swapped, last->swapped);
	figure = table_finish(&table, scope, "resident",
			      "What resident memory is made of");
	if (figure && run->peak_rss_bytes / 10 > highest->resident_all / 9)
		add_caption(scope, figure);
	return figure;
}

/* --- by path -------------------------------------------------------------- */

/* One kind and name, in either sample or both. */
struct row {
	const struct run_mapping *highest;
	const struct run_mapping *last;
};

static const struct run_mapping *any(const struct row *row)
{
	return row->highest ? row->highest : row->last;
}

static int compare_names(const struct run_mapping *a,
			 const struct run_mapping *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return strcmp(a->name, b->name);
}

static int by_name(const void *a, const void *b)
{
	return compare_names(any(a), any(b));
}

static uint64_t resident(const struct run_mapping *mapping)
{
	return mapping ? mapping->resident : 0;
}

static int by_resident(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	uint64_t of_x = resident(x->highest), of_y = resident(y->highest);

	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	of_x = resident(x->last);
	of_y = resident(y->last);
	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	return by_name(a, b);
}

/* Brings the two halves of a row together.  Return: rows left. */
static size_t join(struct row *rows, size_t count)
{
	size_t kept = 0;

	qsort(rows, count, sizeof(*rows), by_name);
	for (size_t i = 0; i < count; i++) {
		struct row *before = kept ? &rows[kept - 1] : NULL;
		bool is_same = before && by_name(before, &rows[i]) == 0;

		if (is_same && !before->highest && rows[i].highest)
			before->highest = rows[i].highest;
		else if (is_same && !before->last && rows[i].last)
			before->last = rows[i].last;
		else
			rows[kept++] = rows[i];
	}
	qsort(rows, kept, sizeof(*rows), by_resident);
	return kept;
}

static const struct figure_column mapping_columns[] = {
	{ "name", "Path", NULL, CELL_TEXT },
	{ "resident", "Resident", "highest_sample", CELL_BYTES },
	{ "resident_last", "At the last sample", "last_sample", CELL_BYTES },
	{ "kind", "Kind", NULL, CELL_TEXT },
	{ "mappings", "Mappings", NULL, CELL_COUNT },
	{ "size", "Address space", NULL, CELL_BYTES },
	{ "anonymous", "Anonymous", "anonymous", CELL_BYTES },
	{ "clean", "Clean", NULL, CELL_BYTES },
	{ "dirty", "Dirty", NULL, CELL_BYTES },
	{ "swapped", "Swapped out", NULL, CELL_BYTES },
};

/* @unnamed: what is said of memory that has no path */
static void add_row(struct table_maker *table, const struct row *row,
		    const char *unnamed)
{
	const struct run_mapping *mapping = any(row);

	table_row(table);
	table_add(table, cell_text(*mapping->name ? mapping->name : unnamed));
	table_add(table, cell_bytes(resident(row->highest)));
	table_add(table, cell_bytes(resident(row->last)));
	table_add(table, cell_text(kind_key(mapping->kind)));
	table_add(table, cell_count(mapping->mappings));
	table_add(table, cell_bytes(mapping->size));
	table_add(table, cell_bytes(mapping->anonymous));
	table_add(table, cell_bytes(mapping->clean));
	table_add(table, cell_bytes(mapping->dirty));
	table_add(table, cell_bytes(mapping->swapped));
}

static const struct figure *samples_table(const struct scope *scope)
{
	const struct run *run = scope->run;
	struct figure_column columns[KIND_COUNT + 4] = {
		{ "timestamp", "Time", NULL, CELL_SECONDS },
		{ "resident", "Resident memory", "rss", CELL_BYTES },
		{ "swapped", "Swapped out", NULL, CELL_BYTES },
		{ "size", "Address space", NULL, CELL_BYTES },
	};
	struct figure_column *copy =
		arena_alloc(scope->arena, sizeof(columns));
	struct table_maker table;

	if (!copy)
		return NULL;
	for (size_t i = 0; i < KIND_COUNT; i++)
		columns[4 + i] = (struct figure_column){ kinds[i].key,
							 kinds[i].label, NULL,
							 CELL_BYTES };
	memcpy(copy, columns, sizeof(columns));
	table_init(&table, copy, KIND_COUNT + 4);
	for (size_t i = 0; i < run->memory_count; i++) {
		const struct run_memory *sums = &run->memory[i];

		table_row(&table);
		table_add(&table, cell_seconds(run_seconds(run, sums->tick)));
		table_add(&table, cell_bytes(sums->resident_all));
		table_add(&table, cell_bytes(sums->swapped));
		table_add(&table, cell_bytes(sums->size));
		for (size_t k = 0; k < KIND_COUNT; k++)
			table_add(&table,
				  cell_bytes(sums->resident[kinds[k].kind]));
	}
	return table_finish(&table, scope, "samples", "Samples");
}

/* Return: the joined rows, of the arena; NULL when out of memory. */
static struct row *make_rows(const struct scope *scope, size_t *ret_count)
{
	const struct run_mappings *highest = &scope->run->mappings_highest;
	const struct run_mappings *last = &scope->run->mappings_last;
	struct row *rows = arena_array(scope->arena,
				       highest->count + last->count,
				       sizeof(*rows));
	size_t count = 0;

	if (!rows)
		return NULL;
	for (size_t i = 0; i < highest->count; i++)
		rows[count++] = (struct row){ .highest = &highest->items[i] };
	for (size_t i = 0; i < last->count; i++)
		rows[count++] = (struct row){ .last = &last->items[i] };
	*ret_count = join(rows, count);
	return rows;
}

const struct figure *residency_mappings(const struct scope *scope,
					size_t limit)
{
	struct table_maker table;
	struct figure *figure;
	size_t count;
	const struct row *rows = make_rows(scope, &count);

	if (!rows)
		return NULL;
	table_init(&table, mapping_columns,
		   sizeof(mapping_columns) / sizeof(mapping_columns[0]));
	for (size_t i = 0; i < count && i < limit; i++)
		add_row(&table, &rows[i], limit < SIZE_MAX ? "(no file)" : "");
	figure = table_finish(&table, scope, "mappings", "Mappings");
	if (!figure)
		return NULL;
	if (limit < count)
		figure->caption = arena_printf(scope->arena,
					       "The largest %zu of %zu; "
					       "mappings.json has all",
					       limit, count);
	figure->schema = "mappings";
	figure->table.main_key = "resident";
	figure->more = limit < SIZE_MAX ? NULL : samples_table(scope);
	return limit < SIZE_MAX || figure->more ? figure : NULL;
}
