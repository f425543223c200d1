/* SPDX-License-Identifier: MIT */
/*
 * Our own unwinder: rules, and what they found last time.
 *
 * A walk state is (pc, sp, rbp); one step is a function of the state, of the
 * pc's rule and of the words it reads.  So when a walk comes to a state it was
 * in at the thread's event before, and all words read from there on still hold
 * the same values, the rest of the stack is the same: docs/unwinding.md has
 * the proof.  The record keeps states and words; checking a word costs a tenth
 * of what following a rule does.
 */
#ifndef TRACER_UNWIND_CFI_H
#define TRACER_UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/unwind.h"

/**
 * enum unwind_use - what a state's rbp means for the frames outside of it
 */
enum unwind_use {
	UNWIND_RBP_LIVE = 1,    /* they depend on it */
	UNWIND_NEVER_EQUAL = 2, /* an interrupted frame: never reused */
};

/**
 * struct unwind_state - a walk between two steps
 * @pc:    return address, or interrupted instruction
 * @exact: it is the latter
 */
struct unwind_state {
	uintptr_t pc;
	uintptr_t sp;
	uintptr_t rbp;
	bool exact;
};

/**
 * struct unwind_walked - a frame as it was found
 * @exact: UNWIND_NEVER_EQUAL for an interrupted frame, else 0
 */
struct unwind_walked {
	uintptr_t pc;
	uintptr_t sp;
	uintptr_t rbp;
	uint32_t rule;
	uint32_t exact;
};

/**
 * struct unwind_frame - a frame in the record
 * @checks_end: of the record's checks, those of this frame and of the frames
 *              outside of it
 * @use:        enum unwind_use
 */
struct unwind_frame {
	uintptr_t sp;
	uintptr_t rbp;
	uint32_t checks_end;
	uint32_t use;
};

/**
 * struct unwind_check - a word that was read
 */
struct unwind_check {
	uintptr_t addr;
	uintptr_t value;
};

enum {
	UNWIND_CHECKS_PER_FRAME = 3,
	UNWIND_ADDRESS_BITS = 47,  /* of what programs may map */
	UNWIND_FAR = 64 << 10,     /* from sp to a guessed frame record */
	UNWIND_RBP_NONE = 0,       /* where the frame pointer is not known */
	UNWIND_JUMPS_MAX = 64,     /* between stacks, in one plain walk */
	UNWIND_GUESS_MAX = 0x4000, /* bytes between frames linked by rbp */
};

enum unwind_outcome {
	UNWIND_DONE,    /* the record is the stack */
	UNWIND_FOREIGN, /* another stack is involved: walk without the record */
	UNWIND_FAILED,  /* no rule can express some frame */
};

/**
 * unwind_own() - walk the thread's own stack, reusing the record
 * @start: the hook's caller; sp lies within the bounds
 *
 * On UNWIND_DONE the record is the present stack, and *@ret_keep of its outer
 * frames are as they were.  Otherwise it is as it was.
 *
 * Safety: as unwind_capture().  Reads only between sp and the stack's end.
 */
enum unwind_outcome unwind_own(struct unwind_stack *stack,
			       const struct unwind_state *start,
			       size_t *ret_keep);

/**
 * unwind_plain() - walk any stack, frame by frame
 *
 * Addresses that come from a frame pointer are tried before they are read.
 *
 * Safety: as unwind_capture().
 * Return: frames in stack->walked; 0 when no rule can express one of them and
 *         libunwind can take the stack.  Without it the stack ends there,
 *         truncated: libgcc reads addresses without trying them.
 */
size_t unwind_plain(struct unwind_stack *stack, struct unwind_state state,
		    bool *ret_truncated);

/*
 * Makes room for more frames.  Safety: allocates: mmap.
 * Return: false when there is no memory or the limit is reached.
 */
bool unwind_grow(struct unwind_stack *stack);

/* Return: whether @pc can be an address of code.  Safety: pure. */
static inline bool unwind_is_pc(uintptr_t pc)
{
	return pc - UNWIND_PC_MIN <
	       ((uintptr_t)1 << UNWIND_ADDRESS_BITS) - UNWIND_PC_MIN;
}

/*
 * The rbp of the frame that a frame record belongs to: @next, if that is the
 * record of a near frame further out.  Code without tables, generated at run
 * time or assembly, may use rbp for anything.
 *
 * Safety: pure.
 */
static inline uintptr_t unwind_link(uintptr_t record, uintptr_t next)
{
	return next - record - 1 < UNWIND_GUESS_MAX ? next : UNWIND_RBP_NONE;
}

#endif /* TRACER_UNWIND_CFI_H */
