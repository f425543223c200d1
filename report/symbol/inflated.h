/* SPDX-License-Identifier: MIT */
/*
 * Sections that are in their file compressed, in memory as they were.
 *
 * libdw decompresses by itself, with zlib, which takes three times as long as
 * libdeflate: up to a tenth of a report.
 *
 * Layer: symbol.  Knows libelf and libdeflate.
 */
#ifndef REPORT_SYMBOL_INFLATED_H
#define REPORT_SYMBOL_INFLATED_H

#include <stddef.h>

#include <libelf.h>

/* Zero-initialised is none. */
struct inflated {
	void **items;
	size_t count, capacity;
};

/* Decompresses the sections of @elf that libdw is asked for, in place: as if
   they had never been compressed.  One that cannot be is left as it is, for
   libelf to say why.  Hidden are what nobody asks for, what has the name of one
   before, and what would make more of the file than debug information does.
   *@inflated: must outlive @elf, whose class is 64. */
void inflated_add(struct inflated *inflated, Elf *elf);

void inflated_done(struct inflated *inflated);

#endif /* REPORT_SYMBOL_INFLATED_H */
