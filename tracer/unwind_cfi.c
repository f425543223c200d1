/* SPDX-License-Identifier: MIT */
#include "tracer/unwind_cfi.h"

#include "tracer/compiler.h"
#include "tracer/rules.h"

enum {
	WORD = sizeof(uintptr_t),

	/* Parts of a word in unwind_hot. */
	HOT_OFFSET_MASK = 0xffff,
	HOT_SAVED_SHIFT = 16,
	HOT_SAVED_MASK = 0xff,
	HOT_TAG_SHIFT = 24,
};

_Atomic uint64_t unwind_hot[UNWIND_HOT_LEN];

/* The rules.epoch that it belongs to. */
static _Atomic uint32_t hot_epoch;

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
 * @len:   frames in stack->walked
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

/* Safety: @addr is mapped. */
static inline uintptr_t load(uintptr_t addr)
{
	return *(const volatile uintptr_t *)addr;
}

/* Safety: owner.  Frame @owner of the walk read the word at @addr. */
static inline void add_word(struct walk *walk, uintptr_t addr, uintptr_t value,
			    size_t owner)
{
	walk->stack->read[walk->words++] = (struct unwind_word){
	    .addr = addr, .value = value, .owner = owner};
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
		struct unwind_walked *frame = &walk->stack->walked[i];

		if (frame->saved == UNWIND_SAVED_KNOWN)
			return;
		if (frame->saved != UNWIND_SAVED_NONE) {
			add_word(walk, at - frame->saved, rbp, i);
			return;
		}
		frame->use |= UNWIND_RBP_LIVE;
		at = frame->at;
	}
}

/* Safety: owner.  As use_rbp(), for the frame walked last. */
static inline void use_last_rbp(struct walk *walk)
{
	struct unwind_walked *last = &walk->stack->walked[walk->len - 1];

	last->use |= UNWIND_RBP_LIVE;
	use_rbp(walk, walk->len - 1, last->at, last->rbp);
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
	struct unwind_walked *last = &walk->stack->walked[walk->len - 1];
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
		walk->rbp = load(cfa - saved_below);
	} else if (!by_rbp) {
		last->saved = UNWIND_SAVED_NONE;
	}
	walk->pc = load(cfa - WORD);
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
	cfa = load(slot);
	if (cfa > high || cfa <= rbp || cfa % WORD)
		return STEP_FOREIGN;
	walk->pc = load(cfa - WORD);
	walk->rbp = load(rbp);
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
	next = load(record);
	walk->rbp = unwind_link(record, next);
	walk->pc = load(record + WORD);
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
	sp = load(context + RULE_UCONTEXT_RSP);
	if (sp <= context || sp >= high)
		return STEP_FOREIGN;
	walk->pc = load(context + RULE_UCONTEXT_RIP);
	walk->rbp = load(context + RULE_UCONTEXT_RBP);
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
	stack->walked[walk->len++] =
	    (struct unwind_walked){.pc = walk->pc,
				   .at = context + RULE_UCONTEXT_RIP,
				   .rbp = walk->rbp,
				   .saved = UNWIND_SAVED_KNOWN,
				   .use = UNWIND_NEVER_EQUAL};
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

/* Safety: as count_frames().  Return: whether one of four frames changed. */
static inline bool is_changed(const uintptr_t *at, const uintptr_t *pcs)
{
	return ((load(at[0]) ^ pcs[0]) | (load(at[1]) ^ pcs[1]) |
		(load(at[2]) ^ pcs[2]) | (load(at[3]) ^ pcs[3])) != 0;
}

/*
 * Safety: all addresses lie above the present sp, in the thread's own stack.
 * Return: of @n frames, how many outer ones were found where they still are.
 */
static inline size_t count_frames(const uintptr_t *at, const uintptr_t *pcs,
				  size_t n)
{
	size_t i = 0;

	while (i + 4 <= n && !is_changed(at + i, pcs + i))
		i += 4;
	while (i < n && load(at[i]) == pcs[i])
		i++;
	return i;
}

/*
 * Safety: as count_frames().
 * Return: of @n frames, how many outer ones have not read a changed word.
 */
static inline size_t count_by_words(const struct unwind_word *words, size_t len,
				    size_t n)
{
	for (size_t i = 0; i < len; i++)
		if (UNLIKELY(load(words[i].addr) != words[i].value))
			return words[i].owner;
	return n;
}

/*
 * The outer part of the record that is still true.  Frames inside of @at are
 * gone, and their words may be too.
 *
 * Safety: owner.  Return: number of frames.
 */
static inline size_t count_intact(const struct unwind_stack *stack,
				  uintptr_t at)
{
	size_t n = stack->record_len;

	while (stack->record_at[n - 1] < at)
		n--;
	n = count_frames(stack->record_at, stack->record_pcs, n);
	if (n)
		n = count_by_words(stack->words, stack->frames[n - 1].words_end,
				   n);
	return n;
}

/*
 * Enters the words that the walk's frames have read, behind the @keep outer
 * frames.
 * Safety: owner.
 */
static NOINLINE void enter_words(struct walk *walk, size_t keep)
{
	struct unwind_stack *stack = walk->stack;
	const struct unwind_word *word = stack->read + walk->words;
	uint32_t end = keep ? stack->frames[keep - 1].words_end : 0;

	for (size_t i = walk->len; i-- > 0; keep++) {
		while (word > stack->read && word[-1].owner == i) {
			word--;
			stack->words[end] = *word;
			stack->words[end++].owner = keep;
		}
		stack->frames[keep].words_end = end;
	}
}

/*
 * Adds walked frames to the @keep outer ones, from the outside in.
 * Safety: owner.
 */
static inline void extend(struct walk *walk, size_t keep)
{
	struct unwind_stack *stack = walk->stack;
	const struct unwind_walked *walked = stack->walked;
	const struct unwind_walked *end = walked + walk->len;
	uintptr_t *at = stack->record_at + keep;
	uintptr_t *pcs = stack->record_pcs + keep;
	struct unwind_frame *frame = stack->frames + keep;
	uint32_t words_end = keep ? frame[-1].words_end : 0;

	stack->record_len = keep + walk->len;
	while (end-- > walked) {
		*at++ = end->at;
		*pcs++ = end->pc;
		frame->rbp = end->rbp;
		frame->words_end = words_end;
		frame->use = end->use;
		frame++;
	}
	if (UNLIKELY(walk->words))
		enter_words(walk, keep);
}

COLD uint32_t unwind_renew_hot(void)
{
	uint32_t epoch = rules.epoch;

	if (hot_epoch == epoch)
		return epoch;
	for (size_t i = 0; i < UNWIND_HOT_LEN; i++)
		atomic_store_explicit(&unwind_hot[i], 0, memory_order_relaxed);
	hot_epoch = epoch;
	return epoch;
}

/* Return: @pc's place in unwind_hot.  Safety: pure. */
static inline _Atomic uint64_t *get_hot(uintptr_t pc)
{
	return &unwind_hot[unwind_hot_index(pc)];
}

/*
 * The bits of @pc that its place does not say, so that a word that is no
 * address finds nothing: an empty place holds 0.
 *
 * Safety: pure.
 */
static inline uint64_t get_hot_tag(uintptr_t pc)
{
	return (uint64_t)(pc >> UNWIND_HOT_BITS) + 1;
}

/*
 * Enters a rule that was looked up in @epoch.  One that has been forgotten
 * since is taken out again: whoever empties the table does so in a later epoch.
 *
 * Safety: racing threads lose entries, never mix them up.
 */
static void enter_hot(uintptr_t pc, uint32_t rule, uint32_t epoch)
{
	uintptr_t saved = (rule_slot(rule) - RULE_SLOT_NONE) * WORD;

	if (rule_kind(rule) != RULE_RSP || !unwind_is_pc(pc) ||
	    rule_offset(rule) > HOT_OFFSET_MASK || saved > HOT_SAVED_MASK)
		return;
	atomic_store_explicit(get_hot(pc),
			      get_hot_tag(pc) << HOT_TAG_SHIFT |
				  saved << HOT_SAVED_SHIFT | rule_offset(rule),
			      memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	if (rules.epoch != epoch)
		atomic_store_explicit(get_hot(pc), 0, memory_order_relaxed);
}

/*
 * The rule of a frame that unwind_hot does not have.
 * Safety: as rules_get().
 */
static NOINLINE uint32_t get_rule(uintptr_t pc)
{
	uint32_t epoch = rules.epoch;
	uint32_t rule = rules_get(pc);

	enter_hot(pc, rule, epoch);
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
	stack->walked[walk->len++] =
	    (struct unwind_walked){.pc = walk->pc,
				   .at = walk->sp - WORD,
				   .rbp = walk->rbp,
				   .saved = UNWIND_SAVED_KNOWN};
	return step(walk, get_rule(walk->pc));
}

/* Safety: pure.  Return: whether @frame is as good with this @rbp. */
static inline bool is_equal(const struct unwind_frame *frame, uintptr_t rbp)
{
	return LIKELY(frame->use == 0) ||
	       (frame->use == UNWIND_RBP_LIVE && frame->rbp == rbp);
}

/*
 * Follows rules until the state is that of a frame below @n in the record, or
 * nothing follows.
 *
 * Safety: as unwind_own().  Return: STEP_ON when the record was met, in frame
 * *@ret_keep - 1.
 */
static inline enum step follow(struct walk *walk, uintptr_t pc, uintptr_t at,
			       uintptr_t rbp, size_t n, size_t *ret_keep)
{
	struct unwind_stack *stack = walk->stack;
	const uintptr_t last = stack->bounds.high - WORD;
	const uintptr_t *record_at = stack->record_at;
	const uintptr_t *record_pcs = stack->record_pcs;
	struct unwind_walked *frame = stack->walked;
	const struct unwind_walked *end = frame + stack->cap;
	enum step how = STEP_ON;

	for (;;) {
		uintptr_t next, saved;
		uint64_t hot;

		/* Before the first frame is one that no state is equal to. */
		while (record_at[n - 1] < at)
			n--;
		if (record_at[n - 1] == at && record_pcs[n - 1] == pc &&
		    is_equal(&stack->frames[n - 1], rbp))
			break;
		hot = atomic_load_explicit(get_hot(pc), memory_order_relaxed);
		next = at + (hot & HOT_OFFSET_MASK);
		if (UNLIKELY(hot >> HOT_TAG_SHIFT != get_hot_tag(pc) ||
			     next > last || frame == end)) {
			walk->pc = pc;
			walk->sp = at + WORD;
			walk->rbp = rbp;
			walk->len = (size_t)(frame - stack->walked);
			how = step_slowly(walk);
			pc = walk->pc;
			at = walk->sp - WORD;
			rbp = walk->rbp;
			record_at = stack->record_at;
			record_pcs = stack->record_pcs;
			frame = stack->walked + walk->len;
			end = stack->walked + stack->cap;
			if (UNLIKELY(how != STEP_ON))
				break;
			continue;
		}
		hot = hot >> HOT_SAVED_SHIFT & HOT_SAVED_MASK;
		frame->pc = pc;
		frame->at = at;
		frame->rbp = rbp;
		frame->saved = (uint32_t)hot;
		frame->use = 0;
		frame++;
		saved = load(next - hot);
		pc = load(next);
		at = next;
		if (hot != UNWIND_SAVED_NONE)
			rbp = saved;
	}
	walk->len = (size_t)(frame - stack->walked);
	if (how == STEP_ON && UNLIKELY(stack->frames[n - 1].use))
		use_rbp(walk, walk->len, at, rbp);
	*ret_keep = n;
	return how;
}

void unwind_own(struct unwind_stack *stack, uintptr_t pc, uintptr_t sp,
		uintptr_t rbp)
{
	struct walk walk;
	enum step how;
	size_t n;

	walk.stack = stack;
	walk.words = 0;
	n = count_intact(stack, sp - WORD);
	how = follow(&walk, pc, sp - WORD, rbp, n, &n);
	if (UNLIKELY(how >= STEP_FOREIGN)) {
		unwind_other(stack, pc, sp, rbp, how == STEP_FAIL);
		return;
	}
	if (UNLIKELY(how != STEP_ON))
		n = 0;
	while (UNLIKELY(n + walk.len > stack->cap)) {
		if (!unwind_grow(stack, walk.len, walk.words)) {
			unwind_other(stack, pc, sp, rbp, true);
			return;
		}
	}
	extend(&walk, n);
	if (UNLIKELY(stack->pcs != stack->record_pcs ||
		     stack->record_len > UNWIND_WINDOW_MAX)) {
		unwind_publish(stack, n);
		return;
	}
	stack->len = stack->record_len;
	stack->keep = n;
	stack->truncated = false;
	stack->failed = false;
}
