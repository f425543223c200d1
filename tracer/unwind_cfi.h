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
 * @at:   where its pc was read: right below its sp, but for an interrupted one
 * @saved: where it left its caller's rbp: bytes below the next frame's @at
 * @use:  enum unwind_use
 */
struct unwind_walked {
	uintptr_t pc;
	uintptr_t at;
	uintptr_t rbp;
	uint32_t saved;
	uint32_t use;
};

/**
 * struct unwind_frame - a frame in the record
 * @words_end: of the record's words, those of this frame and of the frames
 *             outside of it
 * @use:       enum unwind_use
 */
struct unwind_frame {
	uintptr_t rbp;
	uint32_t words_end;
	uint32_t use;
};

/**
 * struct unwind_word - a word that was read, other than a frame's pc
 * @owner: frame that read it to find the one outside of it; in the record its
 *         index, in a walk its number
 */
struct unwind_word {
	uintptr_t addr;
	uintptr_t value;
	size_t owner;
};

enum {
	UNWIND_WORDS_PER_FRAME = 4,
	UNWIND_SAVED_NONE = 0,   /* nowhere: rbp is as it was */
	UNWIND_ADDRESS_BITS = 47,  /* of what programs may map */
	UNWIND_FAR = 64 << 10,     /* from sp to a guessed frame record */
	UNWIND_RBP_NONE = 0,       /* where the frame pointer is not known */
	UNWIND_JUMPS_MAX = 64,     /* between stacks, in one plain walk */
	UNWIND_GUESS_MAX = 0x4000, /* bytes between frames linked by rbp */
};

/* Depends on rbp, and words that say so were added. */
#define UNWIND_SAVED_KNOWN UINT32_MAX

/**
 * unwind_own() - take the thread's own stack, reusing the record
 * @pc, @sp, @rbp: the hook's caller's; @sp lies within the bounds
 *
 * Leaves to unwind_other() what the record cannot serve.
 *
 * Safety: as unwind_capture().  Reads only between sp and the stack's end.
 */
void unwind_own(struct unwind_stack *stack, uintptr_t pc, uintptr_t sp,
		uintptr_t rbp);

/*
 * Takes a stack without the record: no rule can express some frame, @failed,
 * or it is not the thread's own.  Safety: as unwind_capture().
 */
void unwind_other(struct unwind_stack *stack, uintptr_t pc, uintptr_t sp,
		  uintptr_t rbp, bool failed);

/*
 * Hands the record over, @keep of whose frames are old, where the stack before
 * was not the record or the record is too deep.  Safety: owner.
 */
void unwind_publish(struct unwind_stack *stack, size_t keep);

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
 * Empties unwind_hot if rules were forgotten since.
 *
 * Safety: anywhere.  Return: the epoch it is of.
 */
uint32_t unwind_renew_hot(void);

/*
 * Makes room for more frames; keeps the first of @walked and @read.
 *
 * Safety: allocates: mmap.
 * Return: false when there is no memory or the limit is reached.
 */
bool unwind_grow(struct unwind_stack *stack, size_t walked_len,
		 size_t read_len);

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
