/* SPDX-License-Identifier: MIT */
/*
 * CIEs and FDEs: the records that call frame information is made of.
 *
 * Every byte may be wrong.  Nothing outside of the section is read, and every
 * loop takes at least one byte of it a round.
 *
 * Safety (all of them): pure.  errno: untouched.
 */
#ifndef TRACER_CFI_RECORD_H
#define TRACER_CFI_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/cfi.h"
#include "tracer/cfi_cursor.h"

enum cfi_encoding {
	CFI_ENC_DATAREL_SDATA4 = 0x3b, /* what linkers write to search tables */
	CFI_ENC_OMIT = 0xff,
};

/**
 * struct cfi_section - bytes that hold records
 * @start:    of what can be read
 * @end:      the byte after
 * @shift:    where the bytes count as being minus where they are, for a copy;
 *            else 0
 * @bias:     what is added to addresses of code, for a file's; else 0
 * @is_debug: `.debug_frame`, whose records refer to CIEs in another way
 */
struct cfi_section {
	uintptr_t start;
	uintptr_t end;
	uintptr_t shift;
	uintptr_t bias;
	bool is_debug;
};

/**
 * struct cfi_range - what an FDE covers
 */
struct cfi_range {
	uintptr_t start;
	uintptr_t end;
};

/* Return: a cursor over what @section has from @addr on. */
struct cfi_cursor cfi_open(const struct cfi_section *section, uintptr_t addr);

/* Return: a pointer as @encoding says, one of enum DWARF's DW_EH_PE. */
uintptr_t cfi_encoded(const struct cfi_section *section, struct cfi_cursor *c,
		      uint8_t encoding);

/*
 * Reads the FDE at @addr and runs it up to @pc.  *@ret is written when found.
 * Return: CFI_NONE when it does not cover @pc.
 */
enum cfi_status cfi_read_fde(const struct cfi_section *section, uintptr_t addr,
			     uintptr_t pc, struct cfi_row *ret);

/**
 * cfi_next() - the record at *@addr, one after the other
 * @addr: moved to the record after it
 * @ret:  what it covers; empty for a CIE and for a damaged FDE
 *
 * Return: false at the end: a length of 0, or no whole record.
 */
bool cfi_next(const struct cfi_section *section, uintptr_t *addr,
	      struct cfi_range *ret);

/* Looks @pc up in the records from @addr on, one after the other. */
enum cfi_status cfi_scan(const struct cfi_section *section, uintptr_t addr,
			 uintptr_t pc, struct cfi_row *ret);

#endif /* TRACER_CFI_RECORD_H */
