/* SPDX-License-Identifier: MIT */
#include "tracer/unwind.h"

#include <errno.h>
#include <string.h>

#include "tracer/compiler.h"
#include "tracer/log.h"
#include "tracer/options.h"
#include "tracer/pool.h"
#include "tracer/rules.h"
#include "tracer/unwind_cfi.h"
#include "tracer/unwind_hot.h"
#include "tracer/unwind_verify.h"

enum {
	CAP_FIRST = 128,
	CAP_GROWTH = 8,
	CAP_MAX = CAP_FIRST * CAP_GROWTH * CAP_GROWTH * CAP_GROWTH * CAP_GROWTH,
	FIRST_PLACE = 64, /* of the arrays, in their mapping: a cache line */
};

#if defined(__x86_64__)
#define HAVE_RULES 1
#else
#define HAVE_RULES 0
#endif

/* Events whose stack our own unwinder could not take. */
static atomic_uint_fast64_t fallback_count;

/* Safety: as unwind_capture().  Return: frames found, our own included. */
static size_t fill(uintptr_t *buffer, bool libgcc)
{
	int n;

	if (libgcc || !unwind_libunwind)
		return unwind_libgcc(buffer, UNWIND_BUFFER);
	n = unwind_libunwind((void **)buffer, UNWIND_BUFFER);
	return n < 0 ? 0 : (size_t)n;
}

/*
 * How many frames the tracer itself has on the stack depends on inlining and
 * on the unwinder, so the caller's address is searched rather than counted.
 */
size_t unwind_by_library(uintptr_t *buffer, uintptr_t caller, bool libgcc,
			 uintptr_t **ret)
{
	size_t n = fill(buffer, libgcc);
	size_t skip = 0;

	while (skip < n && skip < UNWIND_OWN_FRAMES && buffer[skip] != caller)
		skip++;
	if (skip == n || buffer[skip] != caller)
		return 0;
	*ret = buffer + skip;
	n -= skip;
	while (n > 1 && (*ret)[n - 1] < UNWIND_PC_MIN)
		n--;
	return n;
}

/**
 * struct layout - where the arrays of a stack lie in one mapping
 *
 * Those that every event uses come first: while stacks are not deep they share
 * few pages.  Before the first frame's place is one that ends every search.
 */
struct layout {
	size_t record_at;
	size_t record_pcs;
	size_t frames;
	size_t walked;
	size_t words;
	size_t read;
	size_t other;
	size_t buffer;
	size_t bytes;
};

/* Safety: pure.  The mapping for @cap frames. */
static struct layout get_layout(size_t cap)
{
	size_t words_bytes =
	    cap * UNWIND_WORDS_PER_FRAME * sizeof(struct unwind_word);
	struct layout l = {.record_at = FIRST_PLACE};

	l.record_pcs = l.record_at + cap * sizeof(uintptr_t);
	l.frames = l.record_pcs + cap * sizeof(uintptr_t);
	l.walked = l.frames + cap * sizeof(struct unwind_frame);
	l.words = l.walked + cap * sizeof(struct unwind_walked);
	l.read = l.words + words_bytes;
	l.other = l.read + words_bytes;
	l.buffer = l.other + UNWIND_BUFFER * sizeof(uintptr_t);
	l.bytes = l.buffer + UNWIND_BUFFER * sizeof(uintptr_t);
	return l;
}

/* Safety: allocates: mmap.  Gives @stack empty arrays of @cap frames. */
static bool map_arrays(struct unwind_stack *stack, size_t cap)
{
	struct layout l = get_layout(cap);
	char *p = pool_map(l.bytes);

	if (!p)
		return false;
	stack->cap = (uint32_t)cap;
	stack->window = cap < UNWIND_WINDOW_MAX ? cap : UNWIND_WINDOW_MAX;
	stack->record_at = (void *)(p + l.record_at);
	stack->record_at[-1] = UINTPTR_MAX;
	stack->record_pcs = (void *)(p + l.record_pcs);
	stack->frames = (void *)(p + l.frames);
	stack->walked = (void *)(p + l.walked);
	stack->walked_end = stack->walked + cap;
	stack->words = (void *)(p + l.words);
	stack->read = (void *)(p + l.read);
	stack->other = (void *)(p + l.other);
	stack->buffer = (void *)(p + l.buffer);
	return true;
}

bool unwind_grow(struct unwind_stack *stack, size_t walked_len,
		 size_t read_len)
{
	struct unwind_stack old = *stack;
	bool is_other = old.pcs == old.other;

	if (old.cap >= CAP_MAX ||
	    !map_arrays(stack, (size_t)old.cap * CAP_GROWTH))
		return false;
	memcpy(stack->record_at, old.record_at,
	       old.record_len * sizeof(*old.record_at));
	memcpy(stack->record_pcs, old.record_pcs,
	       old.record_len * sizeof(*old.record_pcs));
	memcpy(stack->frames, old.frames, old.record_len * sizeof(*old.frames));
	memcpy(stack->walked_end - walked_len, old.walked_end - walked_len,
	       walked_len * sizeof(*old.walked));
	memcpy(stack->words, old.words, old.words_len * sizeof(*old.words));
	memcpy(stack->read, old.read, read_len * sizeof(*old.read));
	memcpy(stack->other, old.other, old.other_len * sizeof(*old.other));
	stack->pcs =
	    is_other ? stack->other : stack->record_pcs + stack->record_base;
	pool_unmap((char *)old.record_at - FIRST_PLACE,
		   get_layout(old.cap).bytes);
	return true;
}

struct stack_bounds unwind_bounds(void)
{
	if (HAVE_RULES && options.own_unwinder && rules_init())
		return stack_bounds_get();
	return (struct stack_bounds){0};
}

/* Safety: owner.  The record is to be of the present rules. */
static void set_epoch(struct unwind_stack *stack)
{
	stack->epoch = unwind_hot_renew();
	stack->era = unwind_hot_era(stack->epoch);
}

bool unwind_stack_init(struct unwind_stack *stack,
		       const struct stack_bounds *bounds)
{
	if (!stack->cap && !map_arrays(stack, CAP_FIRST))
		return false;
	unwind_stack_reset(stack);
	set_epoch(stack);
	stack->generation = modules_loader.generation - 1;
	stack->bounds = *bounds;
	stack->own = (struct stack_bounds){0};
	if (options.verify_unwind == VERIFY_NONE)
		stack->own = *bounds;
	return true;
}

void unwind_stack_reset(struct unwind_stack *stack)
{
	stack->record_len = 0;
	stack->record_base = 0;
	stack->words_len = 0;
	stack->other_len = 0;
	stack->pcs = stack->other;
	stack->len = 0;
	stack->keep = 0;
}

/* Safety: pure.  Return: leading elements in common. */
static size_t count_common(const uintptr_t *a, size_t a_len, const uintptr_t *b,
			   size_t b_len)
{
	size_t n = 0;

	while (n < a_len && n < b_len && a[n] == b[n])
		n++;
	return n;
}

void unwind_replace(struct unwind_stack *stack, const uintptr_t *frames,
		    size_t len, bool truncated)
{
	const uintptr_t *outermost;
	size_t keep = 0;

	if (len > UNWIND_WINDOW_MAX) {
		len = UNWIND_WINDOW_MAX;
		truncated = true;
	}
	outermost = frames + len - 1;
	while (keep < len && keep < stack->len &&
	       *(outermost - keep) == stack->pcs[keep])
		keep++;
	if (stack->pcs != stack->other)
		memcpy(stack->other, stack->pcs, keep * sizeof(*stack->pcs));
	for (size_t i = keep; i < len; i++)
		stack->other[i] = *(outermost - i);
	stack->other_len = len;
	stack->pcs = stack->other;
	stack->len = len;
	stack->keep = keep;
	stack->truncated = truncated;
}

COLD size_t unwind_base(const struct unwind_stack *stack, size_t len)
{
	size_t base = stack->record_base;

	if (base && len > base && len - base >= UNWIND_DEPTH_MAX &&
	    len - base <= UNWIND_WINDOW_MAX)
		return base;
	if (len <= UNWIND_WINDOW_MAX)
		return 0;
	return len - (UNWIND_DEPTH_MAX + UNWIND_WINDOW_MAX) / 2;
}

COLD void unwind_publish(struct unwind_stack *stack, size_t keep)
{
	const uintptr_t *old = stack->pcs;
	size_t old_len = stack->len;
	size_t base = unwind_base(stack, stack->record_len);

	stack->pcs = stack->record_pcs + base;
	stack->len = stack->record_len - base;
	stack->truncated = base > 0;
	stack->failed = false;
	if (old == stack->other)
		keep = count_common(old, old_len, stack->pcs, stack->len);
	else if (base != stack->record_base)
		keep = 0;
	else
		keep = keep > base ? keep - base : 0;
	stack->record_base = base;
	stack->keep = keep;
}

/* Safety: as unwind_capture().  By libunwind, or libgcc, which may set errno.
 */
static COLD void capture_by_library(struct unwind_stack *stack,
				    uintptr_t caller)
{
	uintptr_t *frames = &caller;
	int saved = errno;
	size_t len = unwind_by_library(stack->buffer, caller, false, &frames);

	errno = saved;
	stack->failed = len == 0;
	unwind_replace(stack, frames, len ? len : 1,
		       len && frames + len == stack->buffer + UNWIND_BUFFER);
}

/*
 * Safety: as unwind_capture().  Hands over what the plain walk finds.
 * Return: false when it needs the library.
 */
static COLD bool capture_plain(struct unwind_stack *stack,
			       const struct unwind_state *state)
{
	bool truncated;
	size_t len;

	len = unwind_plain(stack, *state, &truncated);
	if (!len)
		return false;
	stack->failed = false;
	if (len > UNWIND_WINDOW_MAX) {
		len = UNWIND_WINDOW_MAX;
		truncated = true;
	}
	for (size_t i = 0; i < len; i++)
		stack->buffer[i] = unwind_walked(stack, i)->pc;
	unwind_replace(stack, stack->buffer, len, truncated);
	return true;
}

COLD void unwind_other(struct unwind_stack *stack, uintptr_t pc, uintptr_t sp,
		       uintptr_t rbp, bool failed)
{
	const struct unwind_state state = {pc, sp, rbp, false};

	if (!HAVE_RULES || !rules.words || !options.own_unwinder) {
		capture_by_library(stack, pc);
		return;
	}
	if ((!failed || !unwind_libunwind) && capture_plain(stack, &state))
		return;
	fallback_count++;
	capture_by_library(stack, pc);
}

COLD void unwind_follow_loader(struct unwind_stack *stack, uintptr_t caller)
{
	uint32_t generation = modules_loader.generation;

	if (!modules_is_loader(caller)) {
		if (rules.words && rules_stale())
			rules_sync();
		if (rules.words)
			generation = rules.synced;
		if (!modules_loader.dirty)
			stack->generation = generation;
	}
	if (stack->epoch == rules.epoch)
		return;
	set_epoch(stack);
	if (stack->pcs != stack->other) {
		memcpy(stack->other, stack->pcs,
		       stack->len * sizeof(*stack->pcs));
		stack->other_len = stack->len;
		stack->pcs = stack->other;
	}
	stack->record_len = 0;
	stack->record_base = 0;
	stack->words_len = 0;
}

COLD void unwind_capture_any(struct unwind_stack *stack,
			     const struct frame_record *hook)
{
	uintptr_t pc = hook->ret, sp = (uintptr_t)(hook + 1), rbp = hook->next;
	int saved = errno;

	if (sp - stack->bounds.low < stack->bounds.high - stack->bounds.low)
		unwind_own(stack, pc, sp, rbp);
	else
		unwind_other(stack, pc, sp, rbp, false);
	if (options.verify_unwind != VERIFY_NONE)
		unwind_verify(stack, pc);
	errno = saved;
}

void unwind_report(void)
{
	if (fallback_count)
		log_number(LOG_INFO, "stacks left to libunwind:",
			   (long long)fallback_count);
	if (options.verify_unwind)
		unwind_verify_report();
}
