/* SPDX-License-Identifier: MIT */
/*
 * Call frame programs: the instructions of CIEs and FDEs.
 *
 * Every byte may be wrong.  Nothing outside of the cursors is read, and every
 * instruction takes at least one byte.
 *
 * Safety (all of them): pure.  errno: untouched.
 */
#ifndef TRACER_CFI_PROGRAM_H
#define TRACER_CFI_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/cfi.h"
#include "tracer/cfi_cursor.h"
#include "tracer/cfi_record.h"

/**
 * struct cfi_cie - what the FDEs of one kind have in common
 * @code_align, @data_align: factors of operands, the former in bytes of code
 * @encoding:  of addresses in the FDEs
 * @is_signal: their functions are called by the kernel, at any instruction
 * @program:   the instructions that come before the FDE's
 */
struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;
	bool has_augmentation_data;
	bool is_signal;
	struct cfi_cursor program;
};

/*
 * Runs the program of @cie, then @program, whose rows begin at @start, until
 * the row for @pc is complete.
 *
 * Return: whether both are in order that far; *@ret is undefined if not.
 */
bool cfi_run(const struct cfi_section *section, const struct cfi_cie *cie,
	     struct cfi_cursor program, uintptr_t start, uintptr_t pc,
	     struct cfi_row *ret);

#endif /* TRACER_CFI_PROGRAM_H */
