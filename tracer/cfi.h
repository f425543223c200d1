/* SPDX-License-Identifier: MIT */
/*
 * Call frame information: what `.eh_frame` says about one instruction.
 *
 * Only what leads to the caller's pc, sp and frame pointer is kept.  The
 * sections are mapped and reached through the loader's lock-free index; of
 * `.debug_frame`, which is not loaded, nothing is known.  Everything read is
 * checked against the segment it lies in, so damaged tables give CFI_BAD and
 * never a fault.
 *
 * Safety (all of them): before start-up: yes.  Signal handler: yes.  After
 * fork: yes.  Allocates, locks, system calls: none.  errno: untouched.
 */
#ifndef TRACER_CFI_H
#define TRACER_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* DWARF's numbers of the registers we follow, x86-64. */
enum cfi_register {
	CFI_RBP = 6,
	CFI_RSP = 7,
	CFI_RIP = 16,
};

enum cfi_status {
	CFI_FOUND,
	CFI_NONE, /* no table covers the address */
	CFI_BAD,  /* the table is damaged, or of a kind we do not read */
};

enum cfi_where {
	CFI_SAME,       /* the caller's value is still in the register */
	CFI_UNDEFINED,  /* there is no caller's value */
	CFI_OFFSET,     /* in memory at CFA + offset */
	CFI_EXPRESSION, /* in memory where the expression says */
	CFI_OTHER,      /* any other way */
};

/**
 * struct cfi_expression - DWARF operations in mapped memory
 */
struct cfi_expression {
	const uint8_t *start;
	const uint8_t *end;
};

/**
 * struct cfi_saved - where the caller's value of one register is
 * @offset:     for CFI_OFFSET
 * @expression: for CFI_EXPRESSION
 */
struct cfi_saved {
	enum cfi_where where;
	int64_t offset;
	struct cfi_expression expression;
};

/**
 * struct cfi_row - the rules that hold at one instruction
 * @cfa_is_expression: the CFA is @cfa_expression; else @cfa_register plus
 *                     @cfa_offset
 * @is_signal:         frame of a signal trampoline: what called it is an
 *                     interrupted instruction and not a call
 */
struct cfi_row {
	bool cfa_is_expression;
	bool is_signal;
	uint64_t cfa_register;
	int64_t cfa_offset;
	struct cfi_expression cfa_expression;
	struct cfi_saved rbp;
	struct cfi_saved rip;
};

/* Return: whether the loader has the index we need (glibc 2.35). */
bool cfi_available(void);

struct dl_find_object;

/* Makes one module known that the loader has not in its list.  Constructor:
   once.  It stays mapped, and so do its link map and its name. */
void cfi_add_unlisted(const struct dl_find_object *object);

/* Looks the instruction at @pc up.  *@ret is written when it is found. */
enum cfi_status cfi_find(uintptr_t pc, struct cfi_row *ret);

/**
 * cfi_match_memory() - is this expression one constant offset from a register?
 * @deref: whether the value is then loaded from there
 *
 * True for breg N and, with @deref, breg N, deref.
 */
bool cfi_match_memory(const struct cfi_expression *expression,
		      uint64_t register_number, bool deref,
		      int64_t *ret_offset);

/**
 * cfi_fold_rsp() - reduce an expression of rsp and rip to rsp + constant
 * @pc: rip
 *
 * As the PLT's, whose push may or may not have been executed.
 *
 * Return: false when it is anything else.
 */
bool cfi_fold_rsp(const struct cfi_expression *expression, uintptr_t pc,
		  int64_t *ret_offset);

#endif /* TRACER_CFI_H */
