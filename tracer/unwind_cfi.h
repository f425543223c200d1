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
 * struct unwind_frame - what is known of a frame besides its return address
 * @rbp:   in it
 * @saved: where it left its caller's rbp: bytes below the next frame's return
 *         address; of a walk in progress only
 * @use:   enum unwind_use
 *
 * The latter are copied as one @word, which must have been stored as one.
 */
struct unwind_frame {
	uintptr_t rbp;
	union {
		struct {
			uint32_t saved;
			uint32_t use;
		};
		uint64_t word;
	};
};

/**
 * struct unwind_walked - a frame as it was found
 * @at: where its pc was read: right below its sp, but for an interrupted one
 */
struct unwind_walked {
	struct unwind_frame frame;
	uintptr_t at;
	uintptr_t pc;
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
 * Return: frames walked; 0 when no rule can express one of them and
 *         libunwind can take the stack.  Without it the stack ends there,
 *         truncated: libgcc reads addresses without trying them.
 */
size_t unwind_plain(struct unwind_stack *stack, struct unwind_state state,
		    bool *ret_truncated);

/*
 * Of a stack of @len frames, deeper than can be handed over, the innermost
 * are.  Where that window begins changes seldom, so that the frames in it stay
 * comparable from one event to the next.
 *
 * Safety: pure.  Return: the record's frames to leave out.
 */
size_t unwind_base(const struct unwind_stack *stack, size_t len);

/* Return: frame @i of the walk; 0 is the innermost.  Safety: owner. */
static inline struct unwind_walked *
unwind_walked(const struct unwind_stack *stack, size_t i)
{
	return stack->walked_end - 1 - i;
}

/*
 * Makes room for more frames; keeps the first of the walk and of @read.
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
