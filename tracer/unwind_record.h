/* SPDX-License-Identifier: MIT */
/*
 * The record: the stack before, and what it was found by.
 *
 * Frames and words are checked by reading them again where they were.  All
 * addresses must lie above the present sp, in the thread's own stack.
 *
 * Safety (all of them): owner; signal handler: inside the guard; after fork:
 * yes.  Allocates, locks: none.  errno: untouched.
 */
#ifndef TRACER_UNWIND_RECORD_H
#define TRACER_UNWIND_RECORD_H

#include "tracer/compiler.h"
#include "tracer/unwind_cfi.h"

/* Safety: @addr is mapped. */
static inline uintptr_t record_load(uintptr_t addr)
{
	return *(const volatile uintptr_t *)addr;
}

/* Return: of @n frames, how many outer ones were found where they still
   are. */
static inline __attribute__((always_inline)) size_t
record_count_frames(const uintptr_t *at, const uintptr_t *pcs, size_t n)
{
	size_t i = 0;

	for (; i + 4 <= n; i += 4) {
		if (UNLIKELY(record_load(at[i]) != pcs[i]))
			return i;
		if (UNLIKELY(record_load(at[i + 1]) != pcs[i + 1]))
			return i + 1;
		if (UNLIKELY(record_load(at[i + 2]) != pcs[i + 2]))
			return i + 2;
		if (UNLIKELY(record_load(at[i + 3]) != pcs[i + 3]))
			return i + 3;
	}
	while (i < n && record_load(at[i]) == pcs[i])
		i++;
	return i;
}

/* Return: whether four frames are as they were. */
static inline bool record_has_four(const uintptr_t *at, const uintptr_t *pcs)
{
	return record_load(at[0]) == pcs[0] && record_load(at[1]) == pcs[1] &&
	       record_load(at[2]) == pcs[2] && record_load(at[3]) == pcs[3];
}

/* Return: whether @n frames are as they were. */
static inline __attribute__((always_inline)) bool
record_has_frames(const uintptr_t *at, const uintptr_t *pcs, size_t n)
{
	const uintptr_t *last = at + n - 4;

	if (UNLIKELY(n < 4))
		return record_count_frames(at, pcs, n) == n;
	for (; at < last; at += 4, pcs += 4)
		if (UNLIKELY(!record_has_four(at, pcs)))
			return false;
	return record_has_four(last, pcs - (at - last));
}

/*
 * Adds walked frames, the outermost being @walked, to the @keep outer ones,
 * from the outside in.  Safety: there is room.
 */
static inline __attribute__((always_inline)) void
record_extend(struct unwind_stack *stack, const struct unwind_walked *walked,
	      size_t keep)
{
	const struct unwind_walked *end = stack->walked_end;
	uintptr_t *at = stack->record_at + keep;
	uintptr_t *pcs = stack->record_pcs + keep;
	struct unwind_frame *frame = stack->frames + keep;

	for (; walked < end; walked++) {
		*at++ = walked->at;
		*pcs++ = walked->pc;
		frame->rbp = walked->frame.rbp;
		frame->word = walked->frame.word;
		frame++;
	}
}

/* Forgets the words of all but @keep frames. */
void record_drop_words(struct unwind_stack *stack, size_t keep);

/* Return: whether all words of the outer @n frames are as they were; then the
   others are forgotten. */
bool record_keep_words(struct unwind_stack *stack, size_t n);

/* Enters the @read_len words that a walk of @walked_len frames has read, behind
   the @keep outer frames. */
void record_enter_words(struct unwind_stack *stack, size_t walked_len,
			size_t read_len, size_t keep);

/**
 * struct record_span - frames of the record found to be as they were, in this event
 * @from: the outermost
 * @to:   the one after the innermost
 */
struct record_span {
	size_t from;
	size_t to;
};

/**
 * record_confirms() - does the walk go on as the record says?
 * @walked_len: frames walked until a state was that of frame *@n - 1
 * @n:          if not, becomes how many frames are true
 * @intact:     of the same event; at first empty
 *
 * Frames that are too far out to be handed over are left alone.
 */
bool record_confirms(const struct unwind_stack *stack, size_t walked_len,
		     size_t *n, struct record_span *intact);

#endif /* TRACER_UNWIND_RECORD_H */
