/* SPDX-License-Identifier: MIT */
/*
 * The one interface to stack unwinding.
 *
 * A stack is handed over as what changed: how many outer frames are as they
 * were in the thread's stack before, and the frames after them.  Three
 * unwinders stand behind it: our own rules (rules.h, unwind_cfi.h), which
 * serve nearly every event; libunwind, enclosed in this library, for the
 * frames that no rule can express and where our own is switched off; the
 * compiler's, linked in, where libunwind is not to be had.
 */
#ifndef TRACER_UNWIND_H
#define TRACER_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/compiler.h"
#include "tracer/rules.h"
#include "tracer/stack_bounds.h"

enum {
	UNWIND_DEPTH_MAX = 4096,  /* frames handed over for sure, inner ones */
	UNWIND_WINDOW_MAX = 6144, /* frames handed over at most */
	UNWIND_OWN_FRAMES = 16,   /* most frames between hook and unwinder */
	UNWIND_BUFFER = UNWIND_WINDOW_MAX + UNWIND_OWN_FRAMES,
	UNWIND_PC_MIN = 0x4000, /* return addresses below end a stack */
};

/**
 * struct frame_record - what a function built with frame pointers leaves
 * @next: the caller's rbp
 * @ret:  address it returns to
 *
 * Its own address plus 16 is the caller's stack pointer after the return.
 */
struct frame_record {
	uintptr_t next;
	uintptr_t ret;
};

struct unwind_frame;
struct unwind_word;
struct unwind_walked;

/**
 * struct unwind_stack - a thread's previous stack, and how to check it
 * @pcs:       return addresses, outermost first
 * @len:       of them, at least 1 once there was an event
 * @keep:      leading ones that equal those of the stack before
 * @truncated: further frames outside of pcs[0] are missing
 * @failed:    the unwinder did not find the caller; only that is recorded
 * @marks:     both
 * @generation: modules_loader.generation that the rules were checked for
 * @epoch:     rules.epoch that the record belongs to
 * @era:       of @epoch, see unwind_hot_era()
 * @bounds:    the thread's own stack; empty without rules
 * @own:       where unwind_own() is all there is to do: @bounds or nothing
 * @record_len: frames of the record, 0: there is none
 * @record_base: leading ones not handed over, being too many
 * @record_at: where their return addresses were read, outermost first
 * @record_pcs: these
 * @frames:    what else is known of them
 * @words:     other words they were found by
 * @words_len: of them
 * @walked:    frames of a walk in progress, outermost first
 * @walked_end: behind the innermost, the first one walked
 * @read:      words of a walk in progress
 * @window:    frames of a record that can be handed over, and has room
 * @cap:       frames the arrays have room for
 * @other:     a stack that is not the record's, outermost first
 * @other_len: of it
 * @buffer:    UNWIND_BUFFER elements, for the other unwinders
 *
 * @pcs is record_pcs + record_base or @other.
 */
struct unwind_stack {
	const uintptr_t *pcs;
	size_t len;
	size_t keep;
	union {
		struct {
			bool truncated;
			bool failed;
		};
		uint16_t marks;
	};
	uint32_t generation;
	uint32_t epoch;
	uint64_t era;
	struct stack_bounds own;
	struct stack_bounds bounds;
	size_t record_len;
	size_t record_base;
	uintptr_t *record_at;
	uintptr_t *record_pcs;
	struct unwind_frame *frames;
	struct unwind_word *words;
	size_t words_len;
	struct unwind_walked *walked;
	struct unwind_walked *walked_end;
	struct unwind_word *read;
	size_t window;
	uint32_t cap;
	uintptr_t *other;
	size_t other_len;
	uintptr_t *buffer;
};

/*
 * What the unwinder has to know of the calling thread's own stack.
 *
 * Safety: as stack_bounds_get().  Allocates: mmap the first time.
 */
struct stack_bounds unwind_bounds(void);

/*
 * Prepares @stack, zeroed or used by another thread before, for the thread
 * that @bounds are of.
 *
 * Safety: anywhere.  Allocates: mmap.  Return: false when there is no memory.
 */
bool unwind_stack_init(struct unwind_stack *stack,
		       const struct stack_bounds *bounds);

/* Forgets the stack before: a capture was abandoned.  Safety: owner. */
void unwind_stack_reset(struct unwind_stack *stack);

/*
 * Checks the rules against a change of modules.  To be called before a stack
 * is taken whenever @stack->generation is not the loader's; it stays so as
 * long as that has to be repeated.
 *
 * Safety: as unwind_capture().
 */
void unwind_follow_loader(struct unwind_stack *stack, uintptr_t caller);

/* As unwind_capture(), for any stack and with the comparison that was asked
   for.  Safety: the same. */
void unwind_capture_any(struct unwind_stack *stack,
			const struct frame_record *hook);

/**
 * unwind_own() - take the thread's own stack, reusing the record
 * @pc, @sp, @rbp: the hook's caller's; @sp lies within the bounds
 *
 * Safety: as unwind_capture().  Reads only between sp and the stack's end.
 */
void unwind_own(struct unwind_stack *stack, uintptr_t pc, uintptr_t sp,
		uintptr_t rbp);

/**
 * unwind_capture() - the stack of the hook that is running
 * @stack: the thread's; members up to @failed are the result
 * @hook:  the hook's frame; its return address becomes the innermost frame
 *
 * Safety: before start-up: yes.  Signal handler: inside the guard.  After
 *         fork: yes.  Allocates: mmap when deeper than ever; libunwind maps
 *         memory for its cache.  Locks: the loader's list after it has been
 *         at work; libunwind's on a cache miss.  errno: preserved.
 */
static inline void unwind_capture(struct unwind_stack *stack,
				  const struct frame_record *hook)
{
	uintptr_t sp = (uintptr_t)(hook + 1);

	if (LIKELY(sp - stack->own.low < stack->own.high - stack->own.low))
		unwind_own(stack, hook->ret, sp, hook->next);
	else
		unwind_capture_any(stack, hook);
}

/**
 * unwind_replace() - make another unwinder's stack the thread's
 * @frames: innermost first; not in @stack->other
 * @len:    at least 1
 *
 * Safety: pure.
 */
void unwind_replace(struct unwind_stack *stack, const uintptr_t *frames,
		    size_t len, bool truncated);

/*
 * Brings libunwind into memory.
 *
 * Safety: once, from the constructor, inside the internal guard.
 */
void unwind_init(void);

/* Says what the unwinders could not do.  Safety: at the end, in the guard. */
void unwind_report(void);

/* libunwind's: fills @buffer as unw_backtrace() does; NULL when not there. */
extern int (*unwind_libunwind)(void **buffer, int size);

/* The compiler's.  Safety: as unwind_capture(), but locks nothing. */
size_t unwind_libgcc(uintptr_t *buffer, size_t cap);

/**
 * unwind_by_library() - the whole stack by libunwind or libgcc
 * @buffer: UNWIND_BUFFER elements
 * @libgcc: that one, even if the other is there
 * @ret:    start of the frames inside @buffer, innermost first
 *
 * Safety: as unwind_capture().
 * Return: number of frames, 0 when @caller is not among the inner ones.
 */
size_t unwind_by_library(uintptr_t *buffer, uintptr_t caller, bool libgcc,
			 uintptr_t **ret);

#endif /* TRACER_UNWIND_H */
