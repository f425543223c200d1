/* SPDX-License-Identifier: MIT */
/*
 * Functions, inlined calls and lines by address from the debug information
 * of one file.
 *
 * Units are found by a table of their ranges, made once; what is inside a unit
 * is read when an address in it is asked for, and what is inside a function
 * when an address in that is.
 *
 * Layer: symbol.  Knows libdw.
 */
#ifndef REPORT_SYMBOL_DWARF_INDEX_H
#define REPORT_SYMBOL_DWARF_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

struct dwarf_index;
struct names;

/**
 * struct code_frame - one function at an address
 * @function: NULL if unknown
 * @file:     NULL if unknown
 * @is_inlined: into the next frame
 */
struct code_frame {
	const char *function;
	const char *file;
	uint32_t line;
	bool is_inlined;
};

struct code_frames {
	struct code_frame *items;
	size_t count;
	size_t capacity;
};

/**
 * dwarf_index_new() - index of @dwarf
 * @alt:   the file that @dwarf shares with others (dwz), NULL if none
 * @names: owner of all texts
 * @code_start: ranges that begin below are of functions the linker threw away
 *
 * All borrowed as long as the result.  Return: NULL when out of memory.
 */
struct dwarf_index *dwarf_index_new(Dwarf *dwarf, Dwarf *alt,
				    struct names *names, uint64_t code_start);
void dwarf_index_free(struct dwarf_index *index);

/**
 * dwarf_index_find() - frames at ELF virtual address @addr, innermost first
 * @ret: emptied first
 *
 * With a line but no function, one frame without @function comes back.
 *
 * Return: 0, also if nothing is known; -ENOMEM.
 */
int dwarf_index_find(struct dwarf_index *index, uint64_t addr,
		     struct code_frames *ret);

#endif /* REPORT_SYMBOL_DWARF_INDEX_H */
