/* SPDX-License-Identifier: MIT */
#include "tests/lib/figure_samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/arena.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

static const void *keep(struct arena *arena, const void *data, size_t size)
{
	return memcpy(must(arena_alloc(arena, size)), data, size);
}

static const struct figure_frame frames[] = {
	{ .function = "main",
	  .module = "prog",
	  .file = "/src/main.c",
	  .line = 12,
	  .address = 0x401136 },
	{ .function = "make",
	  .module = "prog",
	  .file = "/src/make.c",
	  .line = 7,
	  .address = 0x401200,
	  .is_inlined = true },
	{ .function = "libc.so.6+0x8a2c0",
	  .module = "libc.so.6",
	  .address = 0xffffffffff600000 },
};
static const struct figure_stack stack = { frames, COUNT(frames), 17, false, 0 };
static const struct figure_stack cut_stack = { frames + 1, 1, 9, true, 0 };

static struct figure *table(struct arena *arena, const char *name,
				  const struct figure_column *columns,
				  size_t column_count, const struct cell *cells,
				  size_t row_count)
{
	struct figure *figure = must(arena_alloc(arena, sizeof(*figure)));
	struct figure_scalar total = { "total_count", "Matched", NULL,
				       cell_count(row_count) };

	*figure = (struct figure){
		.kind = FIGURE_TABLE,
		.id = name,
		.schema = name,
		.title = name,
		.rows_key = name,
		.scalars = keep(arena, &total, sizeof(total)),
		.scalar_count = 1,
		.table = { .columns = columns,
			   .column_count = column_count,
			   .cells = keep(arena, cells,
					 column_count * row_count *
						 sizeof(*cells)),
			   .row_count = row_count },
	};
	return figure;
}

/* As figures whose rows have the same backtraces again and again. */
static const struct figure *shared(struct figure *figure)
{
	figure->schema_version = 2;
	figure->table.shares_stacks = true;
	return figure;
}

const struct figure *sample_allocations(struct arena *arena)
{
	static const struct figure_column columns[] = {
		{ "id", "", NULL, CELL_COUNT },
		{ "address", "", NULL, CELL_ADDRESS },
		{ "size", "", NULL, CELL_BYTES },
		{ "usable_size", "", NULL, CELL_BYTES },
		{ "timestamp", "", NULL, CELL_SECONDS },
		{ "timestamp_relative", "", NULL, CELL_RATIO },
		{ "thread", "", NULL, CELL_COUNT },
		{ "thread_name", "", NULL, CELL_TEXT },
		{ "call", "", NULL, CELL_TEXT },
		{ "deallocation_timestamp", "", NULL, CELL_SECONDS },
		{ "deallocation_thread", "", NULL, CELL_COUNT },
		{ "deallocation_call", "", NULL, CELL_TEXT },
		{ "lifetime", "", NULL, CELL_SECONDS },
		{ "temporary", "", NULL, CELL_FLAG },
		{ "chain_length", "", NULL, CELL_COUNT },
		{ "position_in_chain", "", NULL, CELL_COUNT },
		{ "backtrace", "", NULL, CELL_STACK },
		{ "deallocation_backtrace", "", NULL, CELL_STACK },
	};
	const struct cell cells[] = {
		cell_count(0),
		cell_address(0x7f0000001010),
		cell_bytes(100),
		cell_bytes(104),
		cell_seconds(0.1),
		cell_ratio(1.0 / 3),
		cell_count(1),
		cell_text("main"),
		cell_text("malloc"),
		cell_seconds(123456.789012345),
		cell_count(1),
		cell_text("free"),
		cell_seconds(123456.689012345),
		cell_flag(false),
		cell_count(1),
		cell_count(0),
		cell_stack(&stack),
		cell_stack(&cut_stack),
		cell_count(1),
		cell_address(0xffffffffff600000),
		cell_bytes(0),
		cell_bytes(24),
		cell_seconds(0),
		cell_ratio(1),
		cell_count(2),
		cell_none(),
		cell_text("realloc"),
		cell_none(),
		cell_none(),
		cell_none(),
		cell_none(),
		cell_none(),
		cell_count(2),
		cell_count(1),
		cell_stack(&cut_stack),
		cell_none(),
		cell_count(2),
		cell_address(0x7f0000002020),
		cell_bytes(1 << 20),
		cell_none(),
		cell_seconds(0.25),
		cell_ratio(0.5),
		cell_count(1),
		cell_text("=cmd|' /C calc'!A0"),
		cell_text("malloc"),
		cell_none(),
		cell_none(),
		cell_none(),
		cell_none(),
		cell_flag(true),
		cell_count(1),
		cell_count(0),
		cell_stack(&stack),
		cell_none(),
	};

	return shared(table(arena, "allocations", columns, COUNT(columns),
			    cells, 3));
}

#define GROUP_COLUMNS(prefix)                                       \
	{ prefix "size", "", NULL, CELL_BYTES },                    \
		{ prefix "usable_size", "", NULL, CELL_BYTES },     \
		{ prefix "min_timestamp", "", NULL, CELL_SECONDS }, \
		{ prefix "max_timestamp", "", NULL, CELL_SECONDS }, \
		{ prefix "interval", "", NULL, CELL_SECONDS },      \
		{ prefix "allocated_count", "", NULL, CELL_COUNT }, \
		{ prefix "leaked_count", "", NULL, CELL_COUNT },    \
		{ prefix "leaked_size", "", NULL, CELL_BYTES },     \
		{ prefix "temporary_count", "", NULL, CELL_COUNT }, \
		{ prefix "min_size", "", NULL, CELL_BYTES },        \
	{                                                           \
		prefix "max_size", "", NULL, CELL_BYTES             \
	}
#define GROUP_CELLS                                                \
	cell_bytes(300), cell_bytes(312), cell_seconds(0.5),       \
		cell_seconds(1.5), cell_seconds(1), cell_count(3), \
		cell_count(1), cell_bytes(100), cell_count(1),     \
		cell_bytes(100), cell_bytes(100)

const struct figure *sample_groups(struct arena *arena)
{
	static const struct figure_column columns[] = {
		{ "backtrace", "", NULL, CELL_STACK },
		GROUP_COLUMNS("all_"),
		{ "all_peak_size", "", NULL, CELL_BYTES },
		GROUP_COLUMNS("only_matched_"),
	};
	const struct cell cells[] = { cell_stack(&stack), GROUP_CELLS,
				      cell_bytes(200), GROUP_CELLS };

	return table(arena, "groups", columns, COUNT(columns), cells, 1);
}

static const struct figure *classes(struct figure *figure)
{
	static const struct figure_scalar view = {
		"view", "View", NULL, { .kind = CELL_TEXT, .text = "v" }
	};

	figure->scalars = &view;
	figure->rows_key = "classes";
	figure->title = "By size or <lifetime>";
	figure->table.is_histogram = true;
	return figure;
}

const struct figure *sample_sizes(struct arena *arena)
{
	static const struct figure_column columns[] = {
		{ "min", "From", NULL, CELL_BYTES },
		{ "max", "To", NULL, CELL_BYTES },
		{ "class", "Requested size", NULL, CELL_TEXT },
		{ "allocations", "Allocations", NULL, CELL_COUNT },
		{ "bytes", "Allocated bytes", NULL, CELL_BYTES },
		{ "peak_blocks", "Blocks at the peak", NULL, CELL_COUNT },
		{ "peak_bytes", "Bytes at the peak", NULL, CELL_BYTES },
		{ "leaked_count", "Leaked blocks", NULL, CELL_COUNT },
		{ "leaked_bytes", "Leaked bytes", NULL, CELL_BYTES },
	};
	enum { ROWS = 5, COLUMNS = COUNT(columns) };
	static const uint64_t counts[ROWS][3] = {
		{ 9000, 700, 3 }, { 4000, 900, 0 }, { 0, 0, 0 },
		{ 120, 60, 60 },  { 1, 1, 0 },
	};
	struct cell cells[ROWS * COLUMNS];

	for (size_t i = 0; i < ROWS; i++) {
		struct cell *row = cells + i * COLUMNS;
		uint64_t min = UINT64_C(64) << i;

		row[0] = cell_bytes(min);
		row[1] = cell_bytes(2 * min - 1);
		row[2] = cell_text(i ? "more" : "64 B to below 128 B");
		for (size_t k = 0; k < 3; k++) {
			row[3 + 2 * k] = cell_count(counts[i][k]);
			row[4 + 2 * k] = cell_bytes(counts[i][k] * min);
		}
	}
	return classes(table(arena, "sizes", columns, COLUMNS, cells, ROWS));
}

const struct figure *sample_lifetimes(struct arena *arena)
{
	static const struct figure_column columns[] = {
		{ "min", "From", NULL, CELL_SECONDS },
		{ "below", "To", NULL, CELL_SECONDS },
		{ "class", "Lifetime", NULL, CELL_TEXT },
		{ "allocations", "Allocations", NULL, CELL_COUNT },
		{ "bytes", "Allocated bytes", NULL, CELL_BYTES },
		{ "peak_blocks", "Blocks at the peak", NULL, CELL_COUNT },
		{ "peak_bytes", "Bytes at the peak", NULL, CELL_BYTES },
	};
	enum { ROWS = 31, COLUMNS = COUNT(columns) };
	static const double factors[] = { 1e-7, 2e-7, 5e-7 };
	struct cell cells[ROWS * COLUMNS];

	for (size_t i = 0; i < ROWS; i++) {
		struct cell *row = cells + i * COLUMNS;
		double power = pow(10, (double)(i / 3));

		row[0] = cell_seconds(factors[i % 3] * power);
		row[1] = cell_seconds(factors[(i + 1) % 3] *
				      (i % 3 == 2 ? power * 10 : power));
		row[2] = cell_text("some time");
		row[3] = cell_count(1000 + 37 * i * (ROWS - i));
		row[4] = cell_bytes(row[3].count * (5 + i));
		row[5] = cell_count(3 * i);
		row[6] = cell_bytes(300 * i);
	}
	cells[(ROWS - 1) * COLUMNS] = cell_none();
	cells[(ROWS - 1) * COLUMNS + 1] = cell_none();
	cells[(ROWS - 1) * COLUMNS + 2] = cell_text("never freed");
	return classes(table(arena, "lifetimes", columns, COLUMNS, cells,
			     ROWS));
}

const struct figure *sample_mmaps(struct arena *arena)
{
	static const struct figure_column columns[] = {
		{ "timestamp", "", NULL, CELL_SECONDS },
		{ "thread", "", NULL, CELL_COUNT },
		{ "call", "", NULL, CELL_TEXT },
		{ "address", "", NULL, CELL_ADDRESS },
		{ "length", "", NULL, CELL_BYTES },
		{ "unmapped", "", NULL, CELL_SECONDS },
		{ "backtrace", "", NULL, CELL_STACK },
	};
	const struct cell cells[] = {
		cell_seconds(0.25), cell_count(1),
		cell_text("mmap"),  cell_address(0x7f0000000000),
		cell_bytes(4096),   cell_seconds(0.5),
		cell_stack(&stack)
	};

	return shared(table(arena, "mmaps", columns, COUNT(columns), cells, 1));
}

const struct figure *sample_mallopts(struct arena *arena)
{
	static const struct figure_column columns[] = {
		{ "timestamp", "", NULL, CELL_SECONDS },
		{ "thread", "", NULL, CELL_COUNT },
		{ "param", "", NULL, CELL_TEXT },
		{ "raw_param", "", NULL, CELL_SIGNED },
		{ "value", "", NULL, CELL_SIGNED },
		{ "result", "", NULL, CELL_SIGNED },
		{ "backtrace", "", NULL, CELL_STACK },
	};
	const struct cell cells[] = { cell_seconds(0.25),       cell_count(1),
				      cell_text("M_ARENA_MAX"), cell_signed(-8),
				      cell_signed(1),           cell_signed(1),
				      cell_stack(&stack) };

	return shared(table(arena, "mallopts", columns, COUNT(columns), cells,
			    1));
}

const struct figure *sample_series(struct arena *arena, size_t points,
				   double seconds)
{
	struct figure *figure = must(arena_alloc(arena, sizeof(*figure)));
	struct figure_curve *curves =
		must(arena_array(arena, 5, sizeof(*curves)));
	struct figure_mark *mark = must(arena_alloc(arena, sizeof(*mark)));
	double *x = must(arena_array(arena, points + 1, sizeof(*x)));
	double *y[4];
	size_t peak = 0;

	for (size_t c = 0; c < 4; c++)
		y[c] = must(arena_array(arena, points + 1, sizeof(double)));
	for (size_t i = 0; i < points; i++) {
		double t = (double)(i + 1) / (double)points;
		double wave = fabs(sin(t * 9)) * t * (1.3 - t);

		x[i] = t * seconds;
		y[0][i] = floor(2e7 * wave + 3e6 * t + 1e6 * (i % 3 == 0));
		y[1][i] = floor(1.6e7 + 2e7 * fmin(t * 3, 1));
		y[2][i] = floor(4e4 * wave + 9000 * t);
		y[3][i] = y[2][i];
		if (y[0][i] > y[0][peak])
			peak = i;
	}
	curves[0] = (struct figure_curve){ "live_bytes", "Live bytes",
					   "live_bytes", CELL_BYTES, y[0], 0,
					   false };
	curves[1] = (struct figure_curve){ "rss", "Resident memory", "rss",
					   CELL_BYTES, y[1], 0,
					   false };
	curves[2] = (struct figure_curve){ "live_blocks", "Live blocks",
					   "live_blocks", CELL_COUNT, y[2], 0,
					   false };
	curves[3] = (struct figure_curve){ "allocations",     "Allocations",
					   "bin_allocations", CELL_COUNT,
					   y[3],              0,
					   true };
	curves[4] = curves[3];
	curves[4].key = "deallocations";
	*mark = (struct figure_mark){ points ? x[peak] : 0, "peak" };
	*figure = (struct figure){
		.kind = FIGURE_SERIES,
		.id = "timeline",
		.schema = "timeline",
		.title = "Memory over time",
		.caption = "The highest level within each bin.",
		.series = { x, points, curves, 5, mark, 1, NULL, 0 },
	};
	return figure;
}

const struct figure *sample_summary(struct arena *arena)
{
	struct figure *figures = must(arena_array(arena, 5, sizeof(*figures)));
	const struct figure **children =
		must(arena_array(arena, 5, sizeof(*children)));
	static const char *const words[] = { "prog", "--flag \"x\"" };
	static const struct figure_list list = { words, 2 };
	struct figure_scalar scalars[] = {
		{ "program", "Program", "program", cell_text("prog") },
		{ "arguments",
		  "Arguments",
		  "arguments",
		  { .kind = CELL_LIST, .list = &list } },
		{ "start",
		  "Start",
		  NULL,
		  { .kind = CELL_DATE, .count = 1763686923123456789 } },
		{ "peak_bytes", "Peak", "peak_bytes", cell_bytes(1234567) },
		{ "end", "End", "end", cell_none() },
	};

	figures[0] = (struct figure){
		.kind = FIGURE_SCALARS,
		.id = "head",
		.title = "",
		.scalars = keep(arena, scalars, sizeof(scalars)),
		.scalar_count = COUNT(scalars),
	};
	figures[1] = (struct figure){ .kind = FIGURE_NOTE,
				      .id = "note",
				      .title = "" };
	figures[1].note =
		(struct figure_note){ FIGURE_WARNING, "3 events were lost." };
	children[0] = &figures[0];
	children[1] = &figures[1];
	children[2] = sample_series(arena, 4, 2);
	figures[3] = *sample_mallopts(arena);
	figures[3].scalar_count = 0;
	figures[3].table.shares_stacks = false;
	children[3] = &figures[3];
	figures[4] = (struct figure){ .kind = FIGURE_GROUP,
				      .id = "summary",
				      .schema = "summary",
				      .title = "" };
	figures[4].children = children;
	figures[4].child_count = 4;
	return &figures[4];
}
