/* SPDX-License-Identifier: MIT */
#include "tracer/unwind_cfi.h"

#include "tracer/compiler.h"
#include "tracer/rules.h"
#include "tracer/unwind_hot.h"
#include "tracer/unwind_record.h"

enum { WORD = sizeof(uintptr_t) };

/**
 * enum step - how a step went
 */
enum step {
	STEP_ON,      /* the state is the caller's, if its pc is one */
	STEP_END,     /* this frame is the outermost */
	STEP_FOREIGN, /* it leads where the bounds say nothing */
	STEP_FAIL,    /* there is no rule */
};

/**
 * struct walk - a walk in progress
 * @pc, @sp, @rbp: its state, see struct unwind_state
 * @len:   frames walked
 * @words: in stack->read
 */
struct walk {
	struct unwind_stack *stack;
	uintptr_t pc;
	uintptr_t sp;
	uintptr_t rbp;
	size_t len;
	size_t words;
};

/* Safety: owner.  Frame @owner of the walk read the word at @addr. */
static inline void add_word(struct walk *walk, uintptr_t addr, uintptr_t value,
			    size_t owner)
{
	walk->stack->read[walk->words++] = (struct unwind_word){
	    .addr = addr, .value = value, .owner = owner};
}

/* Safety: owner; there is room.  The state is a frame, whose pc was read at
   @at.  What it reads besides is known by words of its own. */
static inline void add_frame(struct walk *walk, uintptr_t at, uint32_t use)
{
	*unwind_walked(walk->stack, walk->len++) = (struct unwind_walked){
	    .frame = {.rbp = walk->rbp,
		      .saved = UNWIND_SAVED_KNOWN,
		      .use = use},
	    .at = at,
	    .pc = walk->pc,
	};
}

/*
 * Frame @i of the walk, found at @at, depends on its @rbp: so do the frames
 * just inside of it that do not save rbp, and on the word that it was read
 * from the one before those.
 *
 * Safety: owner.
 */
static inline void use_rbp(struct walk *walk, size_t i, uintptr_t at,
			   uintptr_t rbp)
{
	while (i--) {
		struct unwind_walked *walked = unwind_walked(walk->stack, i);

		if (walked->frame.saved == UNWIND_SAVED_KNOWN)
			return;
		if (walked->frame.saved != UNWIND_SAVED_NONE) {
			add_word(walk, at - walked->frame.saved, rbp, i);
			return;
		}
		walked->frame.use |= UNWIND_RBP_LIVE;
		at = walked->at;
	}
}

/* Safety: owner.  As use_rbp(), for the frame walked last. */
static inline void use_last_rbp(struct walk *walk)
{
	size_t i = walk->len - 1;
	struct unwind_walked *last = unwind_walked(walk->stack, i);

	last->frame.use |= UNWIND_RBP_LIVE;
	use_rbp(walk, i, last->at, last->frame.rbp);
}

/*
 * A frame whose rule does not say where the next one is, or says so by an rbp
 * that is not known, is the outermost.
 *
 * Safety: owner.
 */
static enum step step_nowhere(struct walk *walk)
{
	if (walk->rbp != UNWIND_RBP_NONE)
		return STEP_FOREIGN;
	use_last_rbp(walk);
	return STEP_END;
}

/*
 * What a frame reads lies between its sp and its CFA.
 * Safety: reads inside [walk->sp, high) only.
 */
static enum step step_by_offset(struct walk *walk, uint32_t rule)
{
	struct unwind_frame *last =
	    &unwind_walked(walk->stack, walk->len - 1)->frame;
	bool by_rbp = rule_kind(rule) == RULE_RBP;
	uintptr_t cfa = (by_rbp ? walk->rbp : walk->sp) + rule_offset(rule);
	uintptr_t saved_below = rule_slot(rule) * WORD;
	uintptr_t size = cfa - walk->sp;

	if (size < saved_below || size > walk->stack->bounds.high - walk->sp)
		return step_nowhere(walk);
	if (by_rbp)
		use_last_rbp(walk);
	if (rule_slot(rule) != RULE_SLOT_NONE) {
		last->saved = (uint32_t)(saved_below - WORD);
		walk->rbp = record_load(cfa - saved_below);
	} else if (!by_rbp) {
		last->saved = UNWIND_SAVED_NONE;
	}
	walk->pc = record_load(cfa - WORD);
	walk->sp = cfa;
	return STEP_ON;
}

/* Safety: as step_by_offset(). */
static enum step step_realigned(struct walk *walk, uint32_t rule)
{
	uintptr_t high = walk->stack->bounds.high;
	uintptr_t rbp = walk->rbp;
	uintptr_t slot = rbp - rule_offset(rule);
	uintptr_t cfa;

	if (slot < walk->sp || slot > rbp || rbp > high - WORD)
		return STEP_FOREIGN;
	cfa = record_load(slot);
	if (cfa > high || cfa <= rbp || cfa % WORD)
		return STEP_FOREIGN;
	walk->pc = record_load(cfa - WORD);
	walk->rbp = record_load(rbp);
	walk->sp = cfa;
	use_last_rbp(walk);
	add_word(walk, slot, cfa, walk->len - 1);
	add_word(walk, rbp, walk->rbp, walk->len - 1);
	return STEP_ON;
}

/* Safety: as step_by_offset(). */
static enum step step_guess(struct walk *walk)
{
	uintptr_t record = walk->rbp;
	uintptr_t next;

	if (record < walk->sp ||
	    record > walk->stack->bounds.high - 2 * WORD || record % WORD) {
		use_last_rbp(walk);
		return STEP_END;
	}
	next = record_load(record);
	walk->rbp = unwind_link(record, next);
	walk->pc = record_load(record + WORD);
	walk->sp = record + 2 * WORD;
	use_last_rbp(walk);
	add_word(walk, record, next, walk->len - 1);
	return STEP_ON;
}

static enum step step(struct walk *walk, uint32_t rule);

/*
 * Through a signal trampoline, to what it interrupted and further.  That is
 * not a call: its rule has another key, its pc was not read below its sp, and
 * it is never taken for a frame of the record.  So it is stepped over here.
 *
 * Safety: as step_by_offset().
 */
static enum step step_signal(struct walk *walk)
{
	struct unwind_stack *stack = walk->stack;
	uintptr_t high = stack->bounds.high;
	uintptr_t context = walk->sp;
	uintptr_t sp;
	uint32_t rule;

	if (high - context < RULE_UCONTEXT_RIP + WORD)
		return STEP_FOREIGN;
	sp = record_load(context + RULE_UCONTEXT_RSP);
	if (sp <= context || sp >= high)
		return STEP_FOREIGN;
	walk->pc = record_load(context + RULE_UCONTEXT_RIP);
	walk->rbp = record_load(context + RULE_UCONTEXT_RBP);
	walk->sp = sp;
	add_word(walk, context + RULE_UCONTEXT_RIP, walk->pc, walk->len - 1);
	add_word(walk, context + RULE_UCONTEXT_RSP, sp, walk->len - 1);
	add_word(walk, context + RULE_UCONTEXT_RBP, walk->rbp, walk->len - 1);
	if (!unwind_is_pc(walk->pc))
		return STEP_END;
	if (walk->len == stack->cap &&
	    !unwind_grow(stack, walk->len, walk->words))
		return STEP_FAIL;
	rule = rules_get(walk->pc + 1);
	add_frame(walk, context + RULE_UCONTEXT_RIP, UNWIND_NEVER_EQUAL);
	return step(walk, rule);
}

/*
 * A step by @rule, that of the frame walked last.
 * Safety: as step_by_offset().
 */
static NOINLINE enum step step(struct walk *walk, uint32_t rule)
{
	switch (rule_kind(rule)) {
	case RULE_RSP:
	case RULE_RBP:
		return step_by_offset(walk, rule);
	case RULE_GUESS:
		return step_guess(walk);
	case RULE_END:
		return STEP_END;
	case RULE_SIGNAL:
		return step_signal(walk);
	case RULE_REALIGN:
		return step_realigned(walk, rule);
	case RULE_NONE:
	case RULE_FAIL:
	default:
		return STEP_FAIL;
	}
}

/*
 * The rule of a frame that unwind_hot does not have.
 * Safety: as rules_get().
 */
static inline uint32_t get_rule(uintptr_t pc, uint64_t era)
{
	uint32_t rule = rules_get(pc);

	unwind_hot_enter(pc, rule, era);
	return rule;
}

/*
 * One step of follow(), whatever there is to be done for it.
 *
 * Safety: as step_by_offset().
 */
static NOINLINE enum step step_slowly(struct walk *walk)
{
	struct unwind_stack *stack = walk->stack;

	if (walk->len && !unwind_is_pc(walk->pc)) {
		/* The frame before was the last one, for what it read. */
		add_word(walk, walk->sp - WORD, walk->pc, walk->len - 1);
		return STEP_END;
	}
	if (walk->len == stack->cap &&
	    !unwind_grow(stack, walk->len, walk->words))
		return STEP_FAIL;
	add_frame(walk, walk->sp - WORD, 0);
	return step(walk, get_rule(walk->pc, stack->era));
}

/* Safety: pure.  Return: whether @frame is as good with this @rbp. */
static inline bool is_equal(const struct unwind_frame *frame, uintptr_t rbp)
{
	return LIKELY(frame->use == 0) ||
	       (frame->use == UNWIND_RBP_LIVE && frame->rbp == rbp);
}

/**
 * struct state - a walk in registers
 * @at:     where @pc was read, right below its sp
 * @walked: the frame walked last
 * @n:      only frames of the record below it may still be met
 */
struct state {
	uintptr_t pc;
	uintptr_t at;
	uintptr_t rbp;
	struct unwind_walked *walked;
	size_t n;
};

/*
 * Follows the rules that unwind_hot has.
 *
 * Safety: as unwind_own().  Return: whether the record has the state's pc at
 * the same place, in its frame @n - 1; otherwise the next step is one for
 * step_slowly().
 */
static inline __attribute__((always_inline)) bool
follow_hot(const struct unwind_stack *stack, struct state *ret)
{
	const uintptr_t *record_at = stack->record_at;
	const uintptr_t *record_pcs = stack->record_pcs;
	struct state s = *ret;
	bool met = true;

	for (;;) {
		uintptr_t next, saved;
		uint64_t hot;

		/* Before the first frame is one that ends every search. */
		while (record_at[s.n - 1] < s.at)
			s.n--;
		if (record_at[s.n - 1] == s.at && record_pcs[s.n - 1] == s.pc)
			break;
		hot = atomic_load_explicit(unwind_hot_place(s.pc),
					   memory_order_relaxed);
		next = s.at + (hot & UNWIND_HOT_OFFSET_MASK);
		if (UNLIKELY(hot >> UNWIND_HOT_TAG_SHIFT !=
				 unwind_hot_tag(s.pc, stack->era) ||
			     next >= stack->bounds.high ||
			     s.walked == stack->walked)) {
			met = false;
			break;
		}
		s.walked--;
		hot = hot >> UNWIND_HOT_SAVED_SHIFT & UNWIND_HOT_SAVED_MASK;
		s.walked->frame.rbp = s.rbp;
		s.walked->frame.word = hot;
		s.walked->at = s.at;
		s.walked->pc = s.pc;
		saved = record_load(next - hot);
		s.pc = record_load(next);
		s.at = next;
		if (hot != UNWIND_SAVED_NONE)
			s.rbp = saved;
	}
	*ret = s;
	return met;
}

/*
 * Follows rules until the state is that of a frame below *@n in the record, or
 * nothing follows.
 *
 * Safety: as unwind_own().  Return: STEP_ON when the record was met, in frame
 * *@n - 1.
 */
static enum step follow(struct walk *walk, size_t *n)
{
	struct unwind_stack *stack = walk->stack;
	enum step how = STEP_ON;

	while (how == STEP_ON) {
		struct state s = {walk->pc, walk->sp - WORD, walk->rbp,
				  unwind_walked(stack, walk->len) + 1, *n};
		bool met = follow_hot(stack, &s);

		*n = s.n;
		walk->pc = s.pc;
		walk->sp = s.at + WORD;
		walk->rbp = s.rbp;
		walk->len = (size_t)(stack->walked_end - s.walked);
		if (met && is_equal(&stack->frames[s.n - 1], s.rbp))
			break;
		how = step_slowly(walk);
	}
	return how;
}

/*
 * Takes the rest of a stack; @n frames of the record may be true.
 *
 * Safety: as unwind_own().  Return: STEP_ON, or why there is none.
 */
static enum step finish(struct walk *walk, size_t n)
{
	struct unwind_stack *stack = walk->stack;
	struct record_span intact = {0, 0};
	enum step how;

	do
		how = follow(walk, &n);
	while (how == STEP_ON && !record_confirms(stack, walk->len, &n, &intact));
	if (how >= STEP_FOREIGN)
		return how;
	if (how != STEP_ON)
		n = 0;
	else if (stack->frames[n - 1].use)
		use_rbp(walk, walk->len, walk->sp - WORD, walk->rbp);
	while (n + walk->len > stack->cap)
		if (!unwind_grow(stack, walk->len, walk->words))
			return STEP_FAIL;
	record_drop_words(stack, n);
	record_extend(stack, stack->walked_end - walk->len, n);
	if (walk->words)
		record_enter_words(stack, walk->len, walk->words, n);
	stack->record_len = n + walk->len;
	unwind_publish(stack, n);
	return STEP_ON;
}

/* Goes on in @s with a walk for which unwind_own() is too simple.  Safety: as
   unwind_own(). */
static NOINLINE void go_on(struct unwind_stack *stack, struct state s)
{
	struct walk walk = {
	    .stack = stack,
	    .pc = s.pc,
	    .sp = s.at + WORD,
	    .rbp = s.rbp,
	    .len = (size_t)(stack->walked_end - s.walked),
	};
	enum step how = finish(&walk, s.n);
	struct unwind_walked inner;

	if (LIKELY(how == STEP_ON))
		return;
	inner = *unwind_walked(stack, 0);
	unwind_other(stack, inner.pc, inner.at + WORD, inner.frame.rbp,
		     how == STEP_FAIL);
}

/*
 * Most often the first frame that the walk and the record have in common is
 * true, as all outside of it are, no frame between depends on rbp, and all
 * rules are in unwind_hot.  That is done here; the frame met need not be read
 * again, for its address has just been.
 */
HOT void unwind_own(struct unwind_stack *stack, uintptr_t pc, uintptr_t sp,
		    uintptr_t rbp)
{
	struct state s = {pc, sp - WORD, rbp, stack->walked_end,
			  stack->record_len};
	bool met = follow_hot(stack, &s);
	size_t len = s.n + (size_t)(stack->walked_end - s.walked);

	if (UNLIKELY(!met || stack->frames[s.n - 1].use ||
		     len > stack->window || stack->pcs != stack->record_pcs ||
		     !record_has_frames(stack->record_at, stack->record_pcs,
				 s.n - 1) ||
		     (stack->words_len && !record_keep_words(stack, s.n)))) {
		go_on(stack, s);
		return;
	}
	record_extend(stack, s.walked, s.n);
	stack->record_len = len;
	stack->len = len;
	stack->keep = s.n;
	stack->marks = 0;
}
