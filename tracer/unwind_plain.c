/* SPDX-License-Identifier: MIT */
/*
 * The walk over a stack that nothing is known about: an alternate signal
 * stack, a coroutine's, or several in one trace.
 *
 * As long as every step follows the tables it reads what the program itself
 * will read when it returns.  A step by the frame pointer is a guess, and
 * after it every page is tried before it is read.
 */
#include "tracer/unwind_cfi.h"

#include "tracer/compiler.h"
#include "tracer/rules.h"

/**
 * struct plain - a walk in progress
 * @guessed: addresses have to be tried
 * @page:    the last one that could be read
 * @jumps:   steps that led to a lower address, on another stack
 */
struct plain {
	struct unwind_state state;
	bool guessed;
	uintptr_t page;
	unsigned jumps;
};

/* Safety: anywhere.  Return: whether the word at @addr was read. */
static bool load(struct plain *walk, uintptr_t addr, uintptr_t *ret)
{
	uintptr_t page = addr & ~(uintptr_t)4095;

	if (addr % sizeof(uintptr_t))
		return false;
	if (walk->guessed && page != walk->page) {
		if (!sys_can_read((const void *)addr))
			return false;
		walk->page = page;
	}
	*ret = *(const volatile uintptr_t *)addr;
	return true;
}

/* Safety: as load(). */
static bool step_by_offset(struct plain *walk, uint32_t rule)
{
	struct unwind_state *state = &walk->state;
	uintptr_t base = rule_kind(rule) == RULE_RSP ? state->sp : state->rbp;
	uintptr_t cfa = base + rule_offset(rule);
	uintptr_t slot = rule_slot(rule);

	if (cfa <= state->sp && ++walk->jumps > UNWIND_JUMPS_MAX)
		return false;
	if (!load(walk, cfa - sizeof(uintptr_t), &state->pc))
		return false;
	if (slot != RULE_SLOT_NONE &&
	    !load(walk, cfa - slot * sizeof(uintptr_t), &state->rbp))
		return false;
	state->sp = cfa;
	return true;
}

/* Safety: as load(). */
static bool step_realigned(struct plain *walk, uint32_t rule)
{
	struct unwind_state *state = &walk->state;
	uintptr_t cfa;

	if (!load(walk, state->rbp - rule_offset(rule), &cfa) ||
	    cfa <= state->sp ||
	    !load(walk, cfa - sizeof(uintptr_t), &state->pc) ||
	    !load(walk, state->rbp, &state->rbp))
		return false;
	state->sp = cfa;
	return true;
}

/* Safety: as load().  The interrupted stack may lie anywhere. */
static bool step_signal(struct plain *walk)
{
	struct unwind_state *state = &walk->state;
	uintptr_t context = state->sp;

	if (!load(walk, context + RULE_UCONTEXT_RIP, &state->pc) ||
	    !load(walk, context + RULE_UCONTEXT_RBP, &state->rbp) ||
	    !load(walk, context + RULE_UCONTEXT_RSP, &state->sp))
		return false;
	state->exact = true;
	return ++walk->jumps <= UNWIND_JUMPS_MAX;
}

/*
 * At the start of a coroutine rbp is what it was in its creator, on another
 * stack: a record is looked for near the stack pointer only.
 *
 * Safety: as load().
 */
static bool step_guess(struct plain *walk)
{
	struct unwind_state *state = &walk->state;
	uintptr_t record = state->rbp;

	walk->guessed = true;
	if (record - state->sp > UNWIND_FAR ||
	    !load(walk, record, &state->rbp) ||
	    !load(walk, record + sizeof(uintptr_t), &state->pc))
		return false;
	state->rbp = unwind_link(record, state->rbp);
	state->sp = record + 2 * sizeof(uintptr_t);
	return true;
}

/* Safety: as load().  Return: whether the state is the caller's now. */
static bool step(struct plain *walk, uint32_t rule)
{
	switch (rule_kind(rule)) {
	case RULE_RSP:
	case RULE_RBP:
		return step_by_offset(walk, rule);
	case RULE_REALIGN:
		return step_realigned(walk, rule);
	case RULE_SIGNAL:
		return step_signal(walk);
	case RULE_GUESS:
		return step_guess(walk);
	case RULE_NONE:
	case RULE_END:
	case RULE_FAIL:
	default:
		return false;
	}
}

size_t unwind_plain(struct unwind_stack *stack, struct unwind_state state,
		    bool *ret_truncated)
{
	struct plain walk = {.state = state};
	size_t len = 0;
	uint32_t rule;

	*ret_truncated = false;
	do {
		if (len == stack->cap && !unwind_grow(stack, len, 0)) {
			*ret_truncated = true;
			break;
		}
		rule = rules_get(walk.state.pc + walk.state.exact);
		if (rule_kind(rule) == RULE_FAIL) {
			if (unwind_libunwind)
				return 0;
			*ret_truncated = true;
		}
		unwind_walked(stack, len++)->pc = walk.state.pc;
		walk.state.exact = false;
	} while (step(&walk, rule) && unwind_is_pc(walk.state.pc));
	return len;
}
