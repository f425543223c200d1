/* SPDX-License-Identifier: MIT */
#include "tracer/unwind_cfi.h"

#include "tracer/compiler.h"
#include "tracer/rules.h"

/**
 * enum step - how a step went
 */
enum step {
	STEP_ON,      /* the state is the caller's */
	STEP_END,     /* outermost frame; a matter of the state alone */
	STEP_NULL,    /* outermost frame; what was read is no caller's state */
	STEP_FOREIGN, /* it leads where the bounds say nothing */
	STEP_FAIL,    /* there is no rule */
};

/* Safety: @addr is mapped. */
static inline uintptr_t load(uintptr_t addr)
{
	return *(const volatile uintptr_t *)addr;
}

/*
 * What a frame with a plain rule reads lies between its sp and its CFA.
 * Safety: reads inside [state->sp, high) only.
 */
static inline enum step step_by_offset(struct unwind_state *state,
				       uintptr_t high, uint32_t rule)
{
	uintptr_t base = rule_kind(rule) == RULE_RSP ? state->sp : state->rbp;
	uintptr_t cfa = base + rule_offset(rule);
	uintptr_t saved_below = rule_slot(rule) * sizeof(uintptr_t);
	uintptr_t size = cfa - state->sp;
	uintptr_t saved;

	if (UNLIKELY(size < saved_below || size > high - state->sp))
		return state->rbp == UNWIND_RBP_NONE ? STEP_END : STEP_FOREIGN;
	saved = load(cfa - saved_below);
	state->pc = load(cfa - sizeof(uintptr_t));
	if (rule_slot(rule) != RULE_SLOT_NONE)
		state->rbp = saved;
	state->sp = cfa;
	return LIKELY(unwind_is_pc(state->pc)) ? STEP_ON : STEP_NULL;
}

/* Safety: as step_by_offset(). */
static enum step step_realigned(struct unwind_state *state, uintptr_t high,
				uint32_t rule)
{
	uintptr_t slot = state->rbp - rule_offset(rule);
	uintptr_t cfa;

	if (slot < state->sp || slot > state->rbp ||
	    state->rbp > high - sizeof(uintptr_t))
		return STEP_FOREIGN;
	cfa = load(slot);
	if (cfa > high || cfa <= state->rbp || cfa % sizeof(uintptr_t))
		return STEP_FOREIGN;
	state->pc = load(cfa - sizeof(uintptr_t));
	state->rbp = load(state->rbp);
	state->sp = cfa;
	return unwind_is_pc(state->pc) ? STEP_ON : STEP_NULL;
}

/* Safety: as step_by_offset(). */
static enum step step_signal(struct unwind_state *state, uintptr_t high)
{
	uintptr_t context = state->sp;
	uintptr_t sp;

	if (high - context < RULE_UCONTEXT_RIP + sizeof(uintptr_t))
		return STEP_FOREIGN;
	sp = load(context + RULE_UCONTEXT_RSP);
	if (sp <= context || sp >= high)
		return STEP_FOREIGN;
	state->pc = load(context + RULE_UCONTEXT_RIP);
	state->rbp = load(context + RULE_UCONTEXT_RBP);
	state->sp = sp;
	return unwind_is_pc(state->pc) ? STEP_ON : STEP_NULL;
}

/* Safety: as step_by_offset(). */
static enum step step_guess(struct unwind_state *state, uintptr_t high)
{
	uintptr_t record = state->rbp;

	if (record < state->sp || record > high - 2 * sizeof(uintptr_t) ||
	    record % sizeof(uintptr_t))
		return STEP_END;
	state->rbp = unwind_link(record, load(record));
	state->pc = load(record + sizeof(uintptr_t));
	state->sp = record + 2 * sizeof(uintptr_t);
	return unwind_is_pc(state->pc) ? STEP_ON : STEP_NULL;
}

static enum step step_special(struct unwind_stack *stack,
			      struct unwind_state *state, size_t *len);

/*
 * An interrupted frame is not a call's: its rule has another key, and it is
 * never taken for a frame of the record.  So it is stepped over here.
 *
 * Safety: as step_by_offset().
 */
static enum step step_interrupted(struct unwind_stack *stack,
				  struct unwind_state *state, size_t *len)
{
	struct unwind_walked *frame;

	if (*len == stack->cap && !unwind_grow(stack))
		return STEP_FAIL;
	frame = &stack->walked[(*len)++];
	*frame = (struct unwind_walked){.pc = state->pc,
					.sp = state->sp,
					.rbp = state->rbp,
					.exact = UNWIND_NEVER_EQUAL,
					.rule = rules_get(state->pc + 1)};
	if (rule_kind(frame->rule) <= RULE_RBP)
		return step_by_offset(state, stack->bounds.high, frame->rule);
	return step_special(stack, state, len);
}

/*
 * A step by a rule of another kind, that of the frame walked last.
 * Safety: as step_by_offset().
 */
static NOINLINE enum step step_special(struct unwind_stack *stack,
				       struct unwind_state *state, size_t *len)
{
	uint32_t rule = stack->walked[*len - 1].rule;
	uintptr_t high = stack->bounds.high;
	enum step how;

	switch (rule_kind(rule)) {
	case RULE_GUESS:
		return step_guess(state, high);
	case RULE_END:
		return STEP_END;
	case RULE_SIGNAL:
		how = step_signal(state, high);
		return how == STEP_ON ? step_interrupted(stack, state, len)
				      : how;
	case RULE_REALIGN:
		return step_realigned(state, high, rule);
	case RULE_NONE:
	case RULE_RSP:
	case RULE_RBP:
	case RULE_FAIL:
	default:
		return STEP_FAIL;
	}
}

/*
 * Safety: all addresses lie above the present sp, in the thread's own stack.
 * Return: how many leading checks hold.
 */
static inline size_t verify(const struct unwind_check *checks, size_t len)
{
	size_t i = 0;

	for (; i + 4 <= len; i += 4) {
		const struct unwind_check *c = checks + i;
		uintptr_t wrong = (load(c[0].addr) ^ c[0].value) |
				  (load(c[1].addr) ^ c[1].value) |
				  (load(c[2].addr) ^ c[2].value) |
				  (load(c[3].addr) ^ c[3].value);

		if (wrong)
			break;
	}
	while (i < len && load(checks[i].addr) == checks[i].value)
		i++;
	return i;
}

/*
 * The outer part of the record that is still true.  Frames inside of the
 * present sp are gone, and their words may be too.
 *
 * Safety: owner.  Return: number of frames.
 */
static inline size_t count_intact(const struct unwind_stack *stack,
				  uintptr_t sp)
{
	const struct unwind_frame *frames = stack->frames;
	size_t n = stack->record_len;
	size_t checks, intact;

	while (frames[n - 1].sp < sp)
		n--;
	if (!n)
		return 0;
	checks = frames[n - 1].checks_end;
	intact = verify(stack->checks, checks);
	if (intact < checks)
		while (n && frames[n - 1].checks_end > intact)
			n--;
	return n;
}

/*
 * Whether frame @i of the record is the state, a call's.  There may be no such
 * frame: the one before the first has an sp that no state has.
 *
 * Safety: pure.
 */
static inline bool is_equal(const struct unwind_stack *stack, size_t i,
			    const struct unwind_state *state)
{
	const struct unwind_frame *frame = &stack->frames[i];

	if (frame->sp != state->sp || stack->record_pcs[i] != state->pc)
		return false;
	return frame->use == 0 ||
	       (frame->use == UNWIND_RBP_LIVE && frame->rbp == state->rbp);
}

/*
 * The words that lead from @frame to @outer, by a rule of another kind.
 * Safety: pure.  Return: the next free check.
 */
static NOINLINE struct unwind_check *
add_special(struct unwind_check *check, const struct unwind_walked *frame,
	    const struct unwind_state *outer)
{
	uintptr_t context = frame->sp;

	if (rule_kind(frame->rule) == RULE_SIGNAL) {
		check[0].addr = context + RULE_UCONTEXT_RIP;
		check[1].addr = context + RULE_UCONTEXT_RSP;
		check[2].addr = context + RULE_UCONTEXT_RBP;
	} else {
		check[0].addr = outer->sp - sizeof(uintptr_t);
		check[1].addr = frame->rbp;
		check[2].addr = frame->rbp;
		if (rule_kind(frame->rule) == RULE_REALIGN)
			check[2].addr -= rule_offset(frame->rule);
	}
	for (int i = 0; i < 3; i++)
		check[i].value = load(check[i].addr);
	return check + 3;
}

/**
 * struct outer - the frame that the next one is entered inside of
 * @use: what its rbp is to it and those outside, enum unwind_use
 */
struct outer {
	struct unwind_state state;
	uint32_t use;
};

/*
 * Adds walked frames to the @keep outer ones, from the outside in, with the
 * words that lead from each to the one before.  An rbp that no frame outside
 * depends on may change.
 *
 * Safety: owner.
 */
static inline void extend(struct unwind_stack *stack, size_t keep,
			  const struct unwind_walked *frame,
			  struct unwind_check *check, struct outer outer)
{
	uintptr_t sp = outer.state.sp;
	uintptr_t pc = outer.state.pc;
	uintptr_t rbp = outer.state.rbp;
	uint32_t live = outer.use & UNWIND_RBP_LIVE;
	size_t i = keep;

	while (frame-- > stack->walked) {
		enum rule_kind kind = rule_kind(frame->rule);
		uintptr_t slot = rule_slot(frame->rule);

		if (LIKELY(kind <= RULE_RBP)) {
			check->addr = sp - sizeof(uintptr_t);
			check->value = pc;
			check++;
			if (slot != RULE_SLOT_NONE) {
				check->addr = sp - slot * sizeof(uintptr_t);
				check->value = rbp;
				check += live;
				live = 0;
			}
			live |= kind == RULE_RBP;
		} else {
			struct unwind_state caller = {pc, sp, rbp, false};

			check = add_special(check, frame, &caller);
			live = kind != RULE_SIGNAL;
		}
		pc = frame->pc;
		sp = frame->sp;
		rbp = frame->rbp;
		stack->record_pcs[i] = pc;
		stack->frames[i].sp = sp;
		stack->frames[i].rbp = rbp;
		stack->frames[i].checks_end = (uint32_t)(check - stack->checks);
		stack->frames[i].use = live | frame->exact;
		i++;
	}
	stack->record_len = i;
}

/* Safety: owner.  The walk met frame @keep - 1 of the record. */
static inline void extend_kept(struct unwind_stack *stack, size_t keep,
			       size_t len)
{
	const struct unwind_frame *kept = &stack->frames[keep - 1];
	struct outer outer = {.use = kept->use};

	outer.state.pc = stack->record_pcs[keep - 1];
	outer.state.sp = kept->sp;
	outer.state.rbp = kept->rbp;
	extend(stack, keep, stack->walked + len,
	       stack->checks + kept->checks_end, outer);
}

/*
 * The walk came to an end.  The outermost frame ended it for its own state,
 * or for the words that make up @null.
 *
 * Safety: owner.
 */
static COLD void extend_root(struct unwind_stack *stack, size_t len,
			     const struct unwind_state *null)
{
	const struct unwind_walked *root = &stack->walked[len - 1];
	struct outer outer = {0};

	if (null) {
		outer.state = *null;
		extend(stack, 0, stack->walked + len, stack->checks, outer);
		return;
	}
	outer.state =
	    (struct unwind_state){root->pc, root->sp, root->rbp, false};
	outer.use = rule_kind(root->rule) == RULE_END ? 0 : UNWIND_RBP_LIVE;
	stack->record_pcs[0] = root->pc;
	stack->frames[0] = (struct unwind_frame){
	    .sp = root->sp, .rbp = root->rbp, .use = outer.use | root->exact};
	extend(stack, 1, root, stack->checks, outer);
}

/*
 * Follows rules from *@state on until it is that of a frame below @n in the
 * record, or nothing follows.
 *
 * Safety: as unwind_own().  Return: STEP_ON when the record was met, in frame
 * *@ret_keep - 1.
 */
static inline enum step walk(struct unwind_stack *stack,
			     struct unwind_state *state, size_t n,
			     size_t *ret_keep, size_t *ret_len)
{
	struct unwind_state at = *state, copy;
	uintptr_t high = stack->bounds.high;
	enum step how = STEP_ON;
	size_t len = 0;

	for (;;) {
		struct unwind_walked *frame;

		while (stack->frames[n - 1].sp < at.sp)
			n--;
		if (is_equal(stack, n - 1, &at))
			break;
		if (UNLIKELY(len == stack->cap) && !unwind_grow(stack)) {
			how = STEP_FAIL;
			break;
		}
		frame = &stack->walked[len++];
		frame->pc = at.pc;
		frame->sp = at.sp;
		frame->rbp = at.rbp;
		frame->exact = 0;
		frame->rule = rules_get(at.pc);
		if (LIKELY(rule_kind(frame->rule) <= RULE_RBP)) {
			how = step_by_offset(&at, high, frame->rule);
		} else {
			copy = at;
			how = step_special(stack, &copy, &len);
			at = copy;
		}
		if (UNLIKELY(how != STEP_ON))
			break;
	}
	*state = at;
	*ret_keep = n;
	*ret_len = len;
	return how;
}

enum unwind_outcome unwind_own(struct unwind_stack *stack,
			       const struct unwind_state *start,
			       size_t *ret_keep)
{
	struct unwind_state state = *start;
	size_t n = count_intact(stack, state.sp);
	size_t len;
	enum step how = walk(stack, &state, n, &n, &len);

	if (UNLIKELY(how >= STEP_FOREIGN))
		return how == STEP_FAIL ? UNWIND_FAILED : UNWIND_FOREIGN;
	if (UNLIKELY(how != STEP_ON))
		n = 0;
	while (UNLIKELY(n + len > stack->cap))
		if (!unwind_grow(stack))
			return UNWIND_FAILED;
	if (LIKELY(how == STEP_ON))
		extend_kept(stack, n, len);
	else
		extend_root(stack, len, how == STEP_NULL ? &state : NULL);
	*ret_keep = n;
	return UNWIND_DONE;
}
