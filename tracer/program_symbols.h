/* SPDX-License-Identifier: MIT */
/*
 * Functions inside the program's file, those too that it does not export.
 */
#ifndef TRACER_PROGRAM_SYMBOLS_H
#define TRACER_PROGRAM_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct program_symbol - one function
 * @name: in the file, mapped during the call only
 * @addr: in memory, in the program's code
 * @len:  of it
 */
struct program_symbol {
	const char *name;
	uintptr_t addr;
	size_t len;
};

/*
 * Calls @visit for each function of the program's symbol table, or of its
 * table of exported symbols where it was stripped.
 *
 * Safety: at the start.  Allocates: mmap.  Locks: the loader's list.  errno:
 *         untouched.
 */
void program_symbols_visit(void (*visit)(const struct program_symbol *));

#endif /* TRACER_PROGRAM_SYMBOLS_H */
