/* SPDX-License-Identifier: MIT */
/*
 * Figures: what aggregations answer and outputs draw.  Every cell is typed,
 * every column and scalar names its definition (report/figure/definition.h),
 * so N questions and M outputs cost N + M files.
 *
 * All text is sanitised.  A figure and all it points to belong to the arena it
 * was made in and are read-only for outputs.
 *
 * Layer: figure.  May include core/.
 */
#ifndef REPORT_FIGURE_FIGURE_H
#define REPORT_FIGURE_FIGURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cell_kind {
	CELL_NONE,    /* no value: a dash for people, absent in JSON */
	CELL_COUNT,   /* .count */
	CELL_BYTES,   /* .count */
	CELL_ID,      /* .count; a name more than a quantity: no separators */
	CELL_SIGNED,  /* .number_signed */
	CELL_SECONDS, /* .number, from the start of the run, or a duration */
	CELL_RATIO,   /* .number, 0 to 1; percent for people */
	CELL_ADDRESS, /* .count; "0x…" string in JSON */
	CELL_DATE,    /* .count, ns since 1970 UTC; RFC 3339 in JSON */
	CELL_FLAG,    /* .flag */
	CELL_TEXT,    /* .text */
	CELL_STACK,   /* .stack */
	CELL_LIST,    /* .list; list of texts */
	CELL_LINK,    /* .link; a page elsewhere, only its text but in HTML */
};

/* One function of a stack. @file is NULL if unknown, @module "" if unknown.
   @offset: of @address in the module, as addr2line takes it; only in stacks, 0 if
   unknown. */
struct figure_frame {
	const char *function;
	const char *module;
	const char *file;
	uint32_t line;
	bool is_inlined;  /* into the frame before it (its caller) */
	uint64_t address; /* return address at run time */
	uint64_t offset;
};

/**
 * struct figure_stack - one backtrace
 * @frames:    frames[0] is the outermost (process entry); @count of them
 * @plumbing:  how many of the innermost frames are allocators and wrappers that
 *             a short form begins behind; less than @count, or 0
 * @id:        its number in the trace; equal numbers, equal backtraces
 * @truncated: outer frames are missing
 */
struct figure_stack {
	const struct figure_frame *frames;
	size_t count;
	uint64_t id;
	bool truncated;
	size_t plumbing;
};

struct figure_list {
	const char *const *items;
	size_t count;
};

/* @path: from the page that has the link */
struct figure_link {
	const char *text;
	const char *path;
};

struct cell {
	enum cell_kind kind;
	union {
		uint64_t count;
		int64_t number_signed;
		double number;
		bool flag;
		const char *text;
		const struct figure_stack *stack;
		const struct figure_list *list;
		const struct figure_link *link;
	};
};

/**
 * struct figure_scalar - one named value
 * @key:        JSON member, [a-z0-9_]+
 * @label:      for people
 * @definition: id in the table of definitions, NULL where the label says all
 */
struct figure_scalar {
	const char *key;
	const char *label;
	const char *definition;
	struct cell value;
};

/* @key: "what" where its texts are words of ours: what a row is about */
struct figure_column {
	const char *key;
	const char *label;
	const char *definition;
	enum cell_kind kind; /* of its cells that are not CELL_NONE */
};

struct diag;

/**
 * struct figure_row_source - rows that are too many to be held at once
 *
 * Rows, and the backtraces in them, are made while they are read: from the one
 * thread that makes figures, and by one reader at a time.
 *
 * @rewind: begins with the first row; 0 or negative errno with @diag filled
 * @next:   1 with the next row, valid until the next call; 0 at the end;
 *          negative errno with @diag filled
 */
struct figure_row_source {
	void *context;
	int (*rewind)(void *context, struct diag *diag);
	int (*next)(void *context, const struct cell **ret_cells,
		    struct diag *diag);
};

/**
 * struct figure_table - report/figure/table_rows.h reads all kinds alike
 * @cells: row after row, column_count each; NULL where they come from @source
 * @source: NULL, or where rows come from one by one: single allocations, which
 *         are never part of a page
 * @main_key: key of the column that the table is about: rows are in the order of
 *         its values, falling unless @main_rises; NULL if there is none
 * @share_key: key of the column of ratios that are shares of the main column's
 *         whole, NULL if there is none
 * @shares_stacks: many rows have the same backtraces: where repeating them
 *         would take much room, rows give numbers and each backtrace stands
 *         once
 * @is_histogram: rows are classes in their order, drawn as columns.  The first
 *         two columns are the bounds, for programs (CELL_NONE: open); the third
 *         names the class in words; the rest are counts and bytes, the sum of
 *         each kind before its parts
 */
struct figure_table {
	const struct figure_column *columns;
	size_t column_count;
	const struct cell *cells;
	const struct figure_row_source *source;
	size_t row_count;
	const char *main_key;
	const char *share_key;
	bool main_rises;
	bool shares_stacks;
	bool is_histogram;
};

/* One curve.  @values: one a point of the x axis; those before number @start
   are not known.  @per_bin: not a level but how many there were within the bin:
   for programs, charts show levels. */
struct figure_curve {
	const char *key;
	const char *label;
	const char *definition;
	enum cell_kind kind; /* CELL_BYTES or CELL_COUNT */
	const double *values;
	size_t start;
	bool per_bin;
};

/* A moment worth a mark on the x axis ("peak"). */
struct figure_mark {
	double seconds;
	const char *label;
};

/* What the program was at, or what it said at a moment; charts show it. */
struct figure_span {
	double start;
	double end;
	const char *label;
	bool is_moment;
};

/**
 * struct figure_series - values over the run
 * @seconds: right ends of the bins, rising; @point_count of them
 * Each value of a curve of levels is the highest one inside its bin (the level
 * carried in included), so no peak is lost between points.
 */
struct figure_series {
	const double *seconds;
	size_t point_count;
	const struct figure_curve *curves;
	size_t curve_count;
	const struct figure_mark *marks;
	size_t mark_count;
	const struct figure_span *spans;
	size_t span_count;
};

#define FIGURE_NO_NODE UINT32_MAX

/**
 * struct figure_node - a function below its callers
 * @frame:        what it is; address of any one call; NULL for the root
 * @total_bytes, @total_count: here and in all callees; here alone is what the
 *                children leave of it
 * @first_child, @next_sibling: or FIGURE_NO_NODE; siblings by falling total
 *                of the tree's cost, ties by name, module, file, line
 *
 * total >= sum of the children's totals.  There can be millions: two of them fill
 * a cache line.
 */
struct figure_node {
	const struct figure_frame *frame;
	uint64_t total_bytes;
	uint64_t total_count;
	uint32_t first_child;
	uint32_t next_sibling;
};

/* What functions of @module cost, all together; one on top of another counts
   twice. */
struct figure_module_cost {
	const char *module;
	uint64_t cost;
};

/**
 * struct figure_left_out - of a tree of functions what it has no nodes for
 * @below:   of each node, how many were left out below it; NULL if none was
 * @count:   of all
 * @modules: what these cost, @module_count of them
 */
struct figure_left_out {
	const uint32_t *below;
	uint32_t count;
	const struct figure_module_cost *modules;
	size_t module_count;
};

/**
 * struct figure_tree
 * @nodes:     nodes[0] is the root; a child's number is greater than its
 *             parent's
 * @by_count:  the cost that decides widths and order is the count, else bytes
 * @callees_first: inverted: children are callers
 * @cost_label: what the cost is, "bytes allocated and never freed"
 * @least:     where it is not 0, nodes of a lower cost were left without their
 *             children
 * @left_out:  these, of a tree of functions
 */
struct figure_tree {
	const struct figure_node *nodes;
	uint32_t node_count;
	bool by_count;
	bool callees_first;
	const char *cost_label;
	uint64_t least;
	struct figure_left_out left_out;
};

/* Of a tree with more nodes nobody looks into those that cost less than one part
   in so many: of lines they are summed, of functions too narrow to be drawn. */
enum {
	FIGURE_TREE_WHOLE_NODES = 2000,
	FIGURE_TREE_PARTS = 2000,
	FIGURE_TREE_DRAWN_PARTS = 10000,
};

enum figure_severity { FIGURE_INFO, FIGURE_WARNING, FIGURE_ERROR };

enum figure_step_kind {
	FIGURE_STEP_ALLOCATED,
	FIGURE_STEP_FREED,
	FIGURE_STEP_RESIDENT, /* a sample of the process's resident memory */
};

/* @milliseconds: since the start of the run, never falling.  @call: that
   allocated it, also of what is freed; 0 if the backtrace is empty. */
struct figure_step {
	enum figure_step_kind kind;
	uint64_t milliseconds;
	uint64_t bytes;
	uint32_t call;
};

/**
 * struct figure_call - a node in the tree of calls
 * @caller: a smaller number; 0 if there is none
 * @place:  in the program; equal numbers, equal frames
 * @frames: @count of them, innermost first: all but the last are inlined
 */
struct figure_call {
	uint32_t caller;
	uint64_t place;
	const struct figure_frame *frames;
	size_t count;
};

/**
 * struct figure_history - what came and went, one after another
 *
 * Steps and calls are made while they are read, as struct figure_row_source says.
 *
 * @rewind: begins with the first step; 0 or negative errno with @diag filled
 * @next:   1 with the next step; 0 at the end; negative errno with @diag filled
 * @call:   call @number, from 1 and less than @call_count, valid until the next
 *          call of it; 0 or -ENOMEM
 * @end:    milliseconds from the start of the run to its end
 * @arguments: @argument_count of them: the program's command line
 * @left_out: how many allocations may be missing because the trace has them only
 *          in sums
 */
struct figure_history {
	void *context;
	int (*rewind)(void *context, struct diag *diag);
	int (*next)(void *context, struct figure_step *ret, struct diag *diag);
	int (*call)(void *context, uint32_t number, struct figure_call *ret);
	uint32_t call_count;
	uint64_t end;
	const char *const *arguments;
	size_t argument_count;
	uint64_t left_out;
};

/* A paragraph for people.  Plain text. */
struct figure_note {
	enum figure_severity severity;
	const char *text;
};

enum figure_kind {
	FIGURE_SCALARS, /* only its scalars */
	FIGURE_TABLE,
	FIGURE_SERIES,
	FIGURE_TREE,
	FIGURE_HISTORY, /* never part of a page */
	FIGURE_NOTE,
	FIGURE_GROUP, /* its children, in order */
};

/**
 * struct figure
 * @id:       [a-z0-9_.-]+, unique in a report; member name inside a group's
 *            JSON; the name templates use
 * @schema:   JSON documents: "memprof/SCHEMA/VERSION", NULL if never one by
 *            itself
 * @schema_version: 0 is 1
 * @title:    for people, may be ""
 * @caption:  one sentence below the title, may be NULL: what is shown, what
 *            was left out ("20 of 1,234 rows")
 * @rows_key: TABLE as a JSON document: member that holds the rows
 * @more:     TABLE as a JSON document: another table of it, may be NULL
 * @scalars:  SCALARS: the values; other kinds: facts beside the rows
 *            (total_count); @scalar_count of them
 */
struct figure {
	enum figure_kind kind;
	const char *id;
	const char *schema;
	unsigned schema_version;
	const char *title;
	const char *caption;
	const char *rows_key;
	const struct figure *more;
	const struct figure_scalar *scalars;
	size_t scalar_count;
	union {
		struct figure_table table;
		struct figure_series series;
		struct figure_tree tree;
		struct figure_history history;
		struct figure_note note;
		struct {
			const struct figure *const *children;
			size_t child_count;
		};
	};
};

/* Convenience makers of cells. */
static inline struct cell cell_none(void)
{
	return (struct cell){ .kind = CELL_NONE };
}
static inline struct cell cell_or_none(struct cell cell, bool is_known)
{
	return is_known ? cell : cell_none();
}
static inline struct cell cell_count(uint64_t n)
{
	return (struct cell){ .kind = CELL_COUNT, .count = n };
}
static inline struct cell cell_bytes(uint64_t n)
{
	return (struct cell){ .kind = CELL_BYTES, .count = n };
}
static inline struct cell cell_id(uint64_t n)
{
	return (struct cell){ .kind = CELL_ID, .count = n };
}
static inline struct cell cell_signed(int64_t n)
{
	return (struct cell){ .kind = CELL_SIGNED, .number_signed = n };
}
static inline struct cell cell_seconds(double s)
{
	return (struct cell){ .kind = CELL_SECONDS, .number = s };
}
static inline struct cell cell_ratio(double r)
{
	return (struct cell){ .kind = CELL_RATIO, .number = r };
}
static inline struct cell cell_address(uint64_t a)
{
	return (struct cell){ .kind = CELL_ADDRESS, .count = a };
}
static inline struct cell cell_flag(bool f)
{
	return (struct cell){ .kind = CELL_FLAG, .flag = f };
}
static inline struct cell cell_text(const char *t)
{
	return (struct cell){ .kind = t ? CELL_TEXT : CELL_NONE, .text = t };
}
static inline struct cell cell_stack(const struct figure_stack *s)
{
	return (struct cell){ .kind = s ? CELL_STACK : CELL_NONE, .stack = s };
}

#endif /* REPORT_FIGURE_FIGURE_H */
