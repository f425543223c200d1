/* SPDX-License-Identifier: MIT */
/*
 * The stack tree with one node for each function below the same callers, where
 * it has one for each return address.  It is made once for all trees of a
 * report: each of these shows a part of it.
 *
 * There are two such trees, one in the other: of lines (function, module, file
 * and line decide) and of functions (function and module), which is made of the
 * first.  A node of lines knows its node of functions then.  In both a child's
 * number is greater than its parent's, and 0 is the root.
 *
 * Layer: aggregate.
 */
#ifndef REPORT_AGGREGATE_MERGED_H
#define REPORT_AGGREGATE_MERGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/core/arena.h"

struct figure_frame;
struct stacks;
struct symbol_frame;
struct symbols;

/**
 * struct merged_link - where a node is in its tree
 * @key:   of a node of lines the id of the frame, of one of functions the number
 *         of the function
 * @child: the first one below it, 0 for none
 */
struct merged_link {
	uint32_t parent;
	uint32_t key;
	uint32_t child;
};

/**
 * struct merged_line
 * @function: its node of functions, after merged_functions()
 * @frame:    as figures show it; inlined if all calls are
 */
struct merged_line {
	struct merged_link link; /* first, as a node of functions is only this */
	uint32_t function;
	const struct figure_frame *frame;
};

/**
 * struct merged_frame - what frames of one id have in common
 * @function: number + 1 of the function
 * @shown:    as figures show it, not inlined and inlined; NULL until needed
 */
struct merged_frame {
	uint32_t function;
	const struct figure_frame *shown[2];
};

/* Children that are not the first of their parents.  Open addressing by (parent,
   key): hash << 32 | node, 0 is free; @count of them. */
struct merged_table {
	uint64_t *slots;
	uint32_t mask;
	uint32_t count;
};

/**
 * struct merged - zero-initialised is empty
 * @named:    the last node of lines that knows its node of functions
 * @of_stack: node of lines + 1 by node of the stack tree, 0 for not known yet;
 *            @stack_count of them
 * @frames:   by id
 * @first:    first frame of each function; @by_name finds it
 */
struct merged {
	struct {
		struct merged_line *items;
		size_t count, capacity;
	} lines;
	struct {
		struct merged_link *items;
		size_t count, capacity;
	} functions;
	size_t named;
	struct merged_table line_table;
	struct merged_table function_table;
	uint32_t *of_stack;
	size_t stack_count;
	struct {
		uint32_t *items;
		size_t count, capacity;
	} path;
	struct {
		struct merged_frame *items;
		size_t count, capacity;
	} frames;
	struct {
		const struct symbol_frame **items;
		size_t count, capacity;
	} first;
	uint32_t *by_name;
	uint32_t by_name_mask;
	struct arena arena;
};

/* What nothing is found for when out of memory. */
#define MERGED_NONE UINT32_MAX

void merged_done(struct merged *merged);

/* Return: the node of lines for @frame, at @pc_key, below @parent; MERGED_NONE
   when out of memory. */
uint32_t merged_child(struct merged *merged, uint32_t parent,
		      const struct symbol_frame *frame, uint64_t pc_key);

/* Return: the node of lines of the stack @stack, whose callers come first;
   MERGED_NONE when out of memory.  Cost: once for each node of the stack tree,
   which is symbolised then. */
uint32_t merged_stack(struct merged *merged, const struct stacks *stacks,
		      struct symbols *symbols, uint32_t stack);

/* Adds the nodes of functions of the nodes of lines there are.  Needs no names,
   so that any thread may do it.  Return: whether there was memory. */
bool merged_functions(struct merged *merged);

#endif /* REPORT_AGGREGATE_MERGED_H */
