/* SPDX-License-Identifier: MIT */
/*
 * What is inside one unit of debug information: functions with their ranges,
 * calls inlined into them, and the scopes that functions are named in.
 *
 * Layer: symbol.  Knows libdw.
 */
#ifndef REPORT_SYMBOL_DWARF_UNIT_H
#define REPORT_SYMBOL_DWARF_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "report/symbol/range_table.h"

#define SCOPE_NONE UINT32_MAX

/**
 * struct unit_inline - a call that was inlined
 * @skip:        index of the first entry that is not inside of this one
 * @first_range: in the function's list of ranges
 * @name:        NULL before it was asked for
 */
struct unit_inline {
	Dwarf_Die die;
	const char *name;
	uint32_t skip;
	uint32_t first_range;
	uint32_t range_count;
};

struct unit_range {
	uint64_t start;
	uint64_t end;
};

/**
 * struct unit_function - one function with code
 * @inlines: in file order: a call comes before those inside of it
 */
struct unit_function {
	Dwarf_Die die;
	const char *name; /* NULL before it was asked for */
	bool loaded;
	struct {
		struct unit_inline *items;
		size_t count;
		size_t capacity;
	} inlines;
	struct {
		struct unit_range *items;
		size_t count;
		size_t capacity;
	} ranges;
};

/* A namespace, class or function that others are named in. */
struct unit_scope {
	Dwarf_Die die;
	uint32_t parent; /* index, SCOPE_NONE at the top */
};

/* In which scope the function at @offset is. */
struct unit_member {
	uint64_t offset;
	uint32_t scope;
};

/**
 * struct dwarf_unit
 * @lines: the entry that lines belong to
 * @code:  the entry that functions are below: differs for split units
 * @end:   end of the bytes of @code's unit
 */
struct dwarf_unit {
	Dwarf_Die lines;
	Dwarf_Die code;
	const unsigned char *end;
	uint64_t start_off;
	uint64_t end_off;
	bool loaded;
	struct {
		struct unit_function *items;
		size_t count;
		size_t capacity;
	} functions;
	struct range_table ranges;
	struct {
		struct unit_scope *items;
		size_t count;
		size_t capacity;
	} scopes;
	struct {
		struct unit_member *items; /* sorted by @offset */
		size_t count;
		size_t capacity;
	} members;
};

/* Reads the functions of @unit unless that is done.  Return: 0, -ENOMEM. */
int dwarf_unit_load(struct dwarf_unit *unit, uint64_t code_start);
void dwarf_unit_done(struct dwarf_unit *unit);

/* Return: the function that covers @addr, NULL if none;
   its inlined calls are loaded.  Valid as long as @unit. */
struct unit_function *dwarf_unit_find(struct dwarf_unit *unit, uint64_t addr);

/**
 * unit_function_chain() - calls inlined at @addr, outermost first
 * @chain: room for @max
 *
 * Return: how many were written.
 */
size_t unit_function_chain(const struct unit_function *function, uint64_t addr,
			   struct unit_inline **chain, size_t max);

/* Return: scope of the function at @offset, SCOPE_NONE if at the top. */
uint32_t dwarf_unit_scope(const struct dwarf_unit *unit, uint64_t offset);

#endif /* REPORT_SYMBOL_DWARF_UNIT_H */
