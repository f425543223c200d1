/* SPDX-License-Identifier: MIT */
#include "tests/lib/sample_figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

const char sample_hostile_name[] =
	"<script>alert(1)</script>|`*_[x](javascript:alert(2))&amp;{{head}} "
	"@octocat #1 \"'--></style>";

struct place {
	const char *function;
	const char *location;
	const char *module;
};

static const struct place places[] = {
	{ "sqlite3MemMalloc", "sqlite3.c:27173", "libsqlite3.so.0.8.6" },
	{ "pcache1AllocPage", "sqlite3.c:54721", "libsqlite3.so.0.8.6" },
	{ "sqlite3MemRealloc", "sqlite3.c:27209", "libsqlite3.so.0.8.6" },
	{ "std::__detail::_Hashtable_alloc<std::allocator<std::__detail::"
	  "_Hash_node<std::pair<std::__cxx11::basic_string<char, "
	  "std::char_traits<char>, std::allocator<char> > const, "
	  "std::vector<std::shared_ptr<engine::Shape<float, 3u>>, "
	  "std::allocator<std::shared_ptr<engine::Shape<float, 3u>> > > >, "
	  "true> > >::_M_allocate_buckets(unsigned long)",
	  "/usr/include/c++/12/bits/hashtable_policy.h:2044",
	  "libengine.so.4.12" },
	{ sample_hostile_name, "a|b.c:1", "x`y``z.so" },
	{ "core::ptr::drop_in_place<alloc::vec::Vec<(alloc::string::String, "
	  "serde_json::value::Value)>>",
	  "library/core/src/ptr/mod.rs:497", "demo" },
	{ "shell_exec", "shell.c:18733", "sqlite3" },
	{ "_IO_file_doallocate", "filedoalloc.c:101", "libc.so.6" },
	{ "do_one_line", "shell.c:22811", "sqlite3" },
	{ "libtinfo.so.6.4+0x12f3a", NULL, "libtinfo.so.6.4" },
	{ "openDatabase", "sqlite3.c:180023", "libsqlite3.so.0.8.6" },
	{ "sqlite3VdbeMemGrow", "sqlite3.c:82114", "libsqlite3.so.0.8.6" },
};

static void *need(void *pointer)
{
	if (!pointer)
		abort();
	return pointer;
}

static struct figure *figure_make(struct arena *arena, enum figure_kind kind,
				  const char *id, const char *title)
{
	struct figure *figure = need(arena_alloc(arena, sizeof(*figure)));

	figure->kind = kind;
	figure->id = id;
	figure->title = title;
	return figure;
}

static const struct figure *head_make(struct arena *arena,
				      enum sample_kind kind)
{
	bool empty = kind == SAMPLE_EMPTY;
	struct figure *figure =
		figure_make(arena, FIGURE_SCALARS, "head", "The run");
	const struct figure_scalar scalars[] = {
		{ "program", "Program", "program",
		  cell_text("/usr/bin/sqlite3") },
		{ "arguments", "Arguments", "arguments",
		  cell_text("sqlite3 -batch :memory: \".read "
			    "sqlite.sql\" <b>@octocat</b>") },
		{ "end", "End of the run", "end",
		  cell_text(kind == SAMPLE_DAMAGED
				    ? "unknown: the trace has no end record"
				    : "exited with status 0") },
		{ "date", "Started", NULL,
		  { .kind = CELL_DATE, .count = 1763687105123456789u } },
		{ "run_time", "Run time", "run_time",
		  cell_seconds(empty ? 0.000812 : 1.9482733) },
		{ "peak_bytes", "Peak", "peak_bytes",
		  cell_bytes(empty ? 0 : 9182344) },
		{ "peak_time", "Time of the peak", "peak_time",
		  empty ? cell_none() : cell_seconds(1.2031) },
		{ "leaked_bytes", "Leaked", "leaked",
		  cell_bytes(empty ? 0 : 74040) },
		{ "leaked_count", "Leaked blocks", "leaked",
		  cell_count(empty ? 0 : 19) },
		{ "allocations", "Allocations", "allocations",
		  cell_count(empty ? 0 : 412870) },
		{ "frees", "Frees", "frees", cell_count(empty ? 0 : 412851) },
		{ "allocated_bytes", "Allocated", "allocated_bytes",
		  cell_bytes(empty ? 0 : 181733921) },
		{ "temporary", "Temporary", "temporary",
		  cell_count(empty ? 0 : 201177) },
		{ "threads", "Threads", "threads", cell_count(empty ? 0 : 3) },
		{ "trace_path", "Trace", NULL,
		  cell_text("memory-profiling_sqlite3_1763687105_4242.dat") },
		{ "trace_bytes", "Trace size", "trace_bytes",
		  cell_bytes(1268432) },
	};
	struct figure_scalar *copy =
		need(arena_alloc(arena, sizeof(scalars)));

	memcpy(copy, scalars, sizeof(scalars));
	figure->scalars = copy;
	figure->scalar_count = COUNT(scalars);
	return figure;
}

static const struct figure *group_make(struct arena *arena, const char *id,
				       const struct figure *const *children,
				       size_t count)
{
	struct figure *figure = figure_make(arena, FIGURE_GROUP, id, "");
	const struct figure **copy =
		need(arena_array(arena, count, sizeof(*copy)));

	memcpy(copy, children, count * sizeof(*copy));
	figure->children = copy;
	figure->child_count = count;
	return figure;
}

static const struct figure *note_make(struct arena *arena, const char *id,
				      enum figure_severity severity,
				      const char *text)
{
	struct figure *figure = figure_make(arena, FIGURE_NOTE, id, "");

	figure->note.severity = severity;
	figure->note.text = text;
	return figure;
}

static const struct figure *completeness_make(struct arena *arena,
					      enum sample_kind kind)
{
	const struct figure *notes[3];

	if (kind != SAMPLE_DAMAGED) {
		notes[0] = note_make(
			arena, "completeness.0", FIGURE_INFO,
			"Complete: the trace has an end record, no event was "
			"lost and no part of the file is damaged.");
		return group_make(arena, "completeness", notes, 1);
	}
	notes[0] = note_make(arena, "completeness.0", FIGURE_ERROR,
			     "Damaged: a chunk at offset 524,288 does not "
			     "match its checksum; 4,096 events are missing.");
	notes[1] = note_make(arena, "completeness.1", FIGURE_WARNING,
			     "The trace has no end record: the program may "
			     "have run on after the last event at 1.95 s.");
	notes[2] = note_make(arena, "completeness.2", FIGURE_INFO,
			     "12 frees are of blocks allocated before tracing "
			     "began.");
	return group_make(arena, "completeness", notes, 3);
}

static const struct figure *quality_make(struct arena *arena)
{
	struct figure *figure = figure_make(arena, FIGURE_SCALARS,
					    "symbol_quality", "Symbols");
	static const struct figure_scalar scalars[] = {
		{ "function_and_line", "Function and line", "symbol_quality",
		  { .kind = CELL_RATIO, .number = 0.9714 } },
		{ "function_only", "Function only", NULL,
		  { .kind = CELL_RATIO, .number = 0.0243 } },
		{ "module_only", "Module only", NULL,
		  { .kind = CELL_RATIO, .number = 0.0043 } },
	};

	figure->scalars = scalars;
	figure->scalar_count = COUNT(scalars);
	return figure;
}

static const struct figure *table_make(struct arena *arena, const char *id,
				       const char *title,
				       const struct figure_column *columns,
				       size_t column_count,
				       const struct cell *cells,
				       size_t row_count)
{
	struct figure *figure = figure_make(arena, FIGURE_TABLE, id, title);

	figure->table.columns = columns;
	figure->table.column_count = column_count;
	figure->table.cells = cells;
	figure->table.row_count = row_count;
	return figure;
}

/* @cost: number of the column that the table is sorted by. */
static const struct figure *top_make(struct arena *arena, const char *id,
				     const char *title, size_t cost,
				     size_t rows)
{
	static const struct figure_column columns[] = {
		{ "function", "Function", "call_site", CELL_TEXT },
		{ "location", "Location", NULL, CELL_TEXT },
		{ "module", "Module", NULL, CELL_TEXT },
		{ "peak_bytes", "At the peak", "peak_share", CELL_BYTES },
		{ "leaked_bytes", "Leaked", "leaked", CELL_BYTES },
		{ "allocated_bytes", "Allocated", "allocated_bytes",
		  CELL_BYTES },
		{ "allocations", "Allocations", "allocations", CELL_COUNT },
		{ "temporary", "Temporary", "temporary", CELL_COUNT },
		{ "share", "Share", NULL, CELL_RATIO },
		{ "backtraces", "Backtraces", "backtrace", CELL_COUNT },
	};
	static const double wholes[] = { 0,         0,      0,	    9182344,
					 74040, 181733921, 412870, 201177 };
	struct cell *cells = need(arena_array(arena, rows * COUNT(columns) + 1,
					      sizeof(*cells)));
	struct figure *figure = figure_make(arena, FIGURE_TABLE, id, title);

	for (size_t row = 0; row < rows; row++) {
		const struct place *place = &places[row % COUNT(places)];
		struct cell *cell = &cells[row * COUNT(columns)];
		double share = 0.62 * pow(0.55, (double)row);

		cell[0] = cell_text(place->function);
		cell[1] = cell_text(place->location);
		cell[2] = cell_text(place->module);
		for (size_t i = 3; i <= 7; i++) {
			double part = i == cost ? share
						: 0.3 / (double)(2 + row * i % 7);

			cell[i] = cell_bytes((uint64_t)(wholes[i] * part));
			cell[i].kind = columns[i].kind;
		}
		cell[8] = cell_ratio((double)cell[cost].count / wholes[cost]);
		cell[9] = cell_count(rows - row);
	}
	figure->table.columns = columns;
	figure->table.column_count = COUNT(columns);
	figure->table.cells = cells;
	figure->table.row_count = rows;
	figure->table.main_key = columns[cost].key;
	figure->table.share_key = "share";
	if (rows)
		figure->caption = need(arena_printf(
			arena, "%zu of 1,234 call sites.", rows));
	return figure;
}

static const struct figure *modules_make(struct arena *arena)
{
	static const struct figure_column columns[] = {
		{ "module", "Module", NULL, CELL_TEXT },
		{ "bytes", "Allocated", "allocated_bytes", CELL_BYTES },
		{ "share", "Share", NULL, CELL_RATIO },
		{ "build_id", "Build ID", NULL, CELL_TEXT },
	};
	static const struct cell cells[] = {
		{ .kind = CELL_TEXT,
		  .text = "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0.8.6" },
		{ .kind = CELL_BYTES, .count = 171002333 },
		{ .kind = CELL_RATIO, .number = 0.9409 },
		{ .kind = CELL_TEXT,
		  .text = "1ab0837be1d7ad82c7f9e1f9b25b29a0dd0a4a54" },
		{ .kind = CELL_TEXT, .text = "/usr/bin/sqlite3" },
		{ .kind = CELL_BYTES, .count = 10731588 },
		{ .kind = CELL_RATIO, .number = 0.0591 },
		{ .kind = CELL_NONE },
	};

	return table_make(arena, "modules", "Modules", columns, COUNT(columns),
			  cells, 2);
}

static const struct figure *threads_make(struct arena *arena)
{
	static const struct figure_column columns[] = {
		{ "thread", "Thread", NULL, CELL_COUNT },
		{ "name", "Name", NULL, CELL_TEXT },
		{ "events", "Events", "events", CELL_COUNT },
		{ "start", "Started", NULL, CELL_SECONDS },
		{ "main", "Main", NULL, CELL_FLAG },
	};
	static const struct cell cells[] = {
		{ .kind = CELL_COUNT, .count = 4242 },
		{ .kind = CELL_TEXT, .text = "sqlite3" },
		{ .kind = CELL_COUNT, .count = 825713 },
		{ .kind = CELL_SECONDS, .number = 0 },
		{ .kind = CELL_FLAG, .flag = true },
		{ .kind = CELL_COUNT, .count = 4243 },
		{ .kind = CELL_TEXT, .text = "work|er <1>" },
		{ .kind = CELL_COUNT, .count = 8 },
		{ .kind = CELL_SECONDS, .number = 0.31 },
		{ .kind = CELL_FLAG, .flag = false },
	};

	return table_make(arena, "threads", "Threads", columns, COUNT(columns),
			  cells, 2);
}

static const struct figure *timeline_make(struct arena *arena)
{
	enum { POINTS = 300 };
	struct figure *figure = figure_make(arena, FIGURE_SERIES, "timeline",
					    "Memory over time");
	double *seconds = need(arena_array(arena, POINTS, sizeof(double)));
	double *bytes = need(arena_array(arena, POINTS, sizeof(double)));
	double *blocks = need(arena_array(arena, POINTS, sizeof(double)));
	struct figure_curve *curves =
		need(arena_array(arena, 2, sizeof(*curves)));
	static const struct figure_mark marks[] = { { 1.2031, "peak" } };

	for (size_t i = 0; i < POINTS; i++) {
		double x = (double)i / (POINTS - 1);

		seconds[i] = 1.9482733 * (double)(i + 1) / POINTS;
		bytes[i] = 9182344 * (0.15 + 0.85 * exp(-20 * (x - 0.617) *
							(x - 0.617))) *
			   (i % 9 ? 1 : 0.96);
		blocks[i] = 2100 * (0.2 + 0.8 * x * (1.4 - x));
	}
	curves[0] = (struct figure_curve){ "live_bytes", "Live bytes",
					   "live_bytes", CELL_BYTES, bytes, 0,
					   false };
	curves[1] = (struct figure_curve){ "live_blocks", "Live blocks",
					   "live_blocks", CELL_COUNT, blocks, 0,
					   false };
	figure->series.seconds = seconds;
	figure->series.point_count = POINTS;
	figure->series.curves = curves;
	figure->series.curve_count = 2;
	figure->series.marks = marks;
	figure->series.mark_count = 1;
	return figure;
}

struct tree_row {
	uint32_t depth;
	uint32_t place;
	uint64_t self_bytes;
};

static const struct tree_row tree_rows[] = {
	{ 1, 6, 0 },      { 2, 8, 4096 },   { 3, 10, 81234 }, { 4, 0, 400123 },
	{ 5, 2, 120031 }, { 4, 11, 90412 }, { 3, 1, 310222 }, { 4, 0, 201000 },
	{ 2, 3, 240111 }, { 3, 5, 99120 },  { 2, 4, 50123 },  { 1, 7, 72704 },
	{ 1, 9, 30112 },
};

static const struct figure *tree_make(struct arena *arena, const char *id,
				      const char *title, unsigned divisor)
{
	size_t count = COUNT(tree_rows) + 1;
	struct figure *figure = figure_make(arena, FIGURE_TREE, id, title);
	struct figure_node *nodes =
		need(arena_array(arena, count, sizeof(*nodes)));
	struct figure_frame *frames =
		need(arena_array(arena, count, sizeof(*frames)));
	uint32_t parent[16] = { 0 };
	uint32_t last[16];

	memset(last, 0xff, sizeof(last));
	nodes[0].first_child = nodes[0].next_sibling = FIGURE_NO_NODE;
	for (uint32_t i = 1; i < count; i++) {
		const struct tree_row *row = &tree_rows[i - 1];
		struct figure_node *node = &nodes[i];
		uint64_t self_bytes = row->self_bytes / divisor;

		frames[i].function = places[row->place].function;
		frames[i].module = places[row->place].module;
		frames[i].file = places[row->place].location ? "sqlite3.c"
							      : NULL;
		frames[i].line = 100 + i;
		frames[i].address = 0x55550000 + 64 * i;
		node->frame = &frames[i];
		node->first_child = node->next_sibling = FIGURE_NO_NODE;
		if (last[row->depth] == FIGURE_NO_NODE)
			nodes[parent[row->depth - 1]].first_child = i;
		else
			nodes[last[row->depth]].next_sibling = i;
		last[row->depth] = parent[row->depth] = i;
		last[row->depth + 1] = FIGURE_NO_NODE;
		for (uint32_t d = 0; d <= row->depth; d++) {
			nodes[parent[d]].total_bytes += self_bytes;
			nodes[parent[d]].total_count += self_bytes / 700;
		}
	}
	figure->tree.nodes = nodes;
	figure->tree.node_count = (uint32_t)count;
	figure->tree.cost_label = title;
	return figure;
}

static const struct figure *groups_make(struct arena *arena, const char *id)
{
	static const struct figure_column columns[] = {
		{ "backtrace", "Backtrace", "backtrace", CELL_STACK },
		{ "bytes", "Leaked", "leaked", CELL_BYTES },
		{ "count", "Blocks", NULL, CELL_COUNT },
		{ "lifetime", "Lifetime", "lifetime", CELL_SECONDS },
	};
	enum { ROWS = 4, DEPTH = 5 };
	struct cell *cells = need(arena_array(arena, ROWS * COUNT(columns),
					      sizeof(*cells)));

	for (size_t row = 0; row < ROWS; row++) {
		struct figure_frame *frames =
			need(arena_array(arena, DEPTH, sizeof(*frames)));
		struct figure_stack *stack =
			need(arena_alloc(arena, sizeof(*stack)));

		for (size_t i = 0; i < DEPTH; i++) {
			const struct place *place =
				&places[(row + 2 * i) % COUNT(places)];

			frames[i].function = place->function;
			frames[i].module = place->module;
			frames[i].file = place->location ? "sqlite3.c" : NULL;
			frames[i].line = (uint32_t)(100 * row + i);
			frames[i].is_inlined = i == 3;
		}
		stack->frames = frames;
		stack->count = DEPTH;
		stack->truncated = row == 1;
		stack->plumbing = row == 2 ? 2 : 0;
		cells[4 * row] = cell_stack(stack);
		cells[4 * row + 1] = cell_bytes(72704 >> row);
		cells[4 * row + 2] = cell_count(12 >> row);
		cells[4 * row + 3] = cell_seconds(1.5 / (double)(row + 1));
	}
	return table_make(arena, id, "Groups", columns, COUNT(columns), cells,
			  ROWS);
}

static const struct figure *summary_make(struct arena *arena, const char *id)
{
	struct figure *figure =
		figure_make(arena, FIGURE_SCALARS, id, "Selection");
	static const struct figure_scalar scalars[] = {
		{ "matched_count", "Allocations", "allocations",
		  { .kind = CELL_COUNT, .count = 19 } },
		{ "matched_bytes", "Allocated", "allocated_bytes",
		  { .kind = CELL_BYTES, .count = 74040 } },
		{ "matched_leaked_count", "Blocks never freed", "leaked",
		  { .kind = CELL_COUNT, .count = 19 } },
		{ "matched_leaked_bytes", "Bytes never freed", "leaked",
		  { .kind = CELL_BYTES, .count = 74040 } },
		{ "matched_groups", "Backtraces", "group",
		  { .kind = CELL_COUNT, .count = 7 } },
	};

	figure->scalars = scalars;
	figure->scalar_count = COUNT(scalars);
	return figure;
}

static const struct page_link links[] = {
	{ "leaks", "flamegraph", "Never freed", "leaks.flamegraph.svg" },
	{ "leaks", "folded", "Never freed", "leaks.folded" },
	{ "leaks", "tree", "Never freed", "leaks.tree.txt" },
	{ "leaks", "groups", "Never freed", "leaks.groups.json" },
	{ "peak", "flamegraph", "Alive at the peak <#1>",
	  "peak.flamegraph.svg" },
	{ "peak", "tree", "Alive at the peak <#1>", "peak.tree.txt" },
	{ "", "summary", "", "summary.json" },
	{ "", "mmaps", "", "mmaps.json" },
	{ "", "mallopts", "", "mallopts.json" },
};

static void figures_fill(struct arena *arena, enum sample_kind kind,
			 const struct figure **figures, size_t *count)
{
	size_t rows = kind == SAMPLE_EMPTY ? 0 : COUNT(places);
	size_t n = 0;

	figures[n++] = head_make(arena, kind);
	figures[n++] = completeness_make(arena, kind);
	figures[n++] = note_make(arena, "unnamed", FIGURE_WARNING,
				 "3 of 4 call sites have no function name: "
				 "libx.so (build ID "
				 "289ee39f8c07bd4fa48102dfeeb7e6f9c76158b4)");
	figures[n++] = top_make(arena, "top.peak", "Peak", 3, rows);
	figures[n++] = top_make(arena, "top.leaked", "Leaked", 4, rows / 3);
	figures[n++] = top_make(arena, "top.allocated", "Allocated", 5, rows);
	figures[n++] = top_make(arena, "top.count", "Count", 6, rows);
	figures[n++] = top_make(arena, "top.temporary", "Temporary", 7, rows);
	if (kind != SAMPLE_EMPTY) {
		figures[n++] = quality_make(arena);
		figures[n++] = timeline_make(arena);
		figures[n++] = modules_make(arena);
		figures[n++] = threads_make(arena);
		figures[n++] = summary_make(arena, "view.leaks.summary");
		figures[n++] = tree_make(arena, "view.leaks.tree",
					 "bytes allocated and never freed", 20);
		figures[n++] = groups_make(arena, "view.leaks.groups");
		figures[n++] = tree_make(arena, "view.peak.tree",
					 "bytes alive at the peak", 1);
	}
	*count = n;
}

const struct page *sample_page(struct arena *arena, enum sample_kind kind)
{
	struct page *page = need(arena_alloc(arena, sizeof(*page)));
	const struct figure **figures =
		need(arena_array(arena, 32, sizeof(*figures)));

	page->title = "sqlite3";
	page->figures = figures;
	if (kind != SAMPLE_BARE)
		figures_fill(arena, kind, figures, &page->figure_count);
	if (kind == SAMPLE_FULL || kind == SAMPLE_DAMAGED) {
		page->links = links;
		page->link_count = COUNT(links);
	}
	return page;
}
