/* SPDX-License-Identifier: MIT */
/*
 * What aggregations work on, and the small makers they share.
 *
 * Layer: aggregate.
 */
#ifndef REPORT_AGGREGATE_SCOPE_H
#define REPORT_AGGREGATE_SCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/core/arena.h"
#include "report/figure/figure.h"

struct engine;
struct levels;
struct merged;
struct run;
struct stacks;
struct symbol_frame;
struct symbols;

/**
 * struct scope_stacks - backtraces as figures, each made once
 * @of_node:     by stack node, NULL until asked for; @node_count of them
 * @frames_left: how many frames they may still hold.  Beyond it stacks are cut
 *               to their innermost frames and marked as truncated, so that a
 *               small trace of deep stacks cannot become gigabytes
 */
struct scope_stacks {
	const struct figure_stack **of_node;
	size_t node_count;
	uint64_t frames_left;
};

/* What site_frame() knows of frames, by their ids; zero-initialised. */
struct scope_frames {
	uint8_t *items; /* enum site_kind */
	size_t count, capacity;
};

/**
 * struct scope - one finished trace; everything borrowed
 * @arena:  owns all figures
 * @shown:  scope_stacks_init() before, scope_stacks_done() after use
 * @frames: vec_done() after use
 * @merged: of all trees with callers first
 */
struct scope {
	const struct run *run;
	const struct stacks *stacks;
	const struct engine *engine;
	struct symbols *symbols;
	struct arena *arena;
	struct scope_stacks *shown;
	struct scope_frames *frames;
	struct merged *merged;
};

/* What a report starts with, and what is left of a stack beyond it. */
enum { SCOPE_FRAMES_MAX = 1000000, SCOPE_CUT_FRAMES = 100 };

void scope_stacks_init(struct scope_stacks *shown);
void scope_stacks_done(struct scope_stacks *shown);

/* Return: the frames of node @stack, outermost first, inlined functions as
   frames of their own; its id is the number of the node, which is the same
   whatever a report asks for.  NULL when out of memory.  No stack may be added
   to the tree once this was called. */
const struct figure_stack *scope_stack(const struct scope *scope,
				       uint32_t stack);

/* *@ret becomes @frame as figures show it. */
void scope_frame_fill(struct figure_frame *ret,
		      const struct symbol_frame *frame, uint64_t pc_key);

/* Return: @frame as figures show it, owned by @scope->arena, or NULL. */
struct figure_frame *scope_frame(const struct scope *scope,
				 const struct symbol_frame *frame,
				 uint64_t pc_key);

/* Return: the ends of the bins of @levels, where charts draw them, owned by
   @scope->arena; NULL when out of memory. */
const double *scope_bin_seconds(const struct scope *scope,
				const struct levels *levels);

/* Return: part / whole; 0 when there is no whole. */
double scope_ratio(uint64_t part, uint64_t whole);

/* Return: a SCALARS figure that owns a copy of @items, or NULL. */
const struct figure *scope_scalars(const struct scope *scope, const char *id,
				   const char *title,
				   const struct figure_scalar *items,
				   size_t count);

/* Return: a GROUP of copies of the pointers in @children; NULL ones are left
   out. */
struct figure *scope_group(const struct scope *scope, const char *id,
			   const char *title,
			   const struct figure *const *children, size_t count);

/* Return: a NOTE figure, or NULL. */
const struct figure *scope_note(const struct scope *scope, const char *id,
				enum figure_severity severity,
				const char *text);

/**
 * struct table_maker - a TABLE figure filled row by row
 *
 * Cells are added in the order of the columns; a short row is filled up with
 * empty cells by the next table_row().
 */
struct table_maker {
	const struct figure_column *columns; /* static, or owned by the arena */
	size_t column_count;
	struct {
		struct cell *items;
		size_t count;
		size_t capacity;
	} cells;
	bool failed;
};

void table_init(struct table_maker *table, const struct figure_column *columns,
		size_t column_count);
void table_row(struct table_maker *table);
void table_add(struct table_maker *table, struct cell cell);

/* Return: the figure (rows copied to the arena), NULL when memory ran out
   anywhere.  @table is done with. */
struct figure *table_finish(struct table_maker *table,
			    const struct scope *scope, const char *id,
			    const char *title);

/* Return: whether the trace may have allocations only in sums; figures of other
   traces do not speak of them. */
bool scope_is_culled(const struct scope *scope);

#endif /* REPORT_AGGREGATE_SCOPE_H */
