/* SPDX-License-Identifier: MIT */
/*
 * How to step from a frame to its caller: one 32-bit rule for each return
 * address, compiled from `.eh_frame` at first sight and kept in a table that
 * all threads share without a lock.
 *
 * A table word holds rule and tag together.  The index is 16 of the key's bits
 * and the tag all others, so a word identifies its key exactly, one load cannot
 * be torn, and threads that write the same word write the same value.  The
 * lowest three bits belong to the tag: calls in one function then share cache
 * lines, and more than two calls seldom end within eight bytes.
 *
 * The key of a call is its return address; the instruction looked up is the
 * byte before.  An interrupted instruction at p has the key p + 1, for that
 * denotes the same instruction.
 *
 * Safety (all of them, unless stated): before start-up: yes.  Signal handler:
 * inside the guard.  After fork: yes.  Allocates, locks: none.  errno:
 * untouched.
 */
#ifndef TRACER_RULES_H
#define TRACER_RULES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/compiler.h"
#include "tracer/modules.h"

enum rule_kind {
	RULE_NONE,    /* not in the table */
	RULE_RSP,     /* CFA = rsp + offset */
	RULE_RBP,     /* CFA = rbp + offset */
	RULE_REALIGN, /* CFA in memory at rbp - offset, caller's rbp at rbp */
	RULE_SIGNAL,  /* signal trampoline: registers in the ucontext at rsp */
	RULE_END,     /* outermost frame */
	RULE_GUESS,   /* no information: try the frame pointer */
	RULE_FAIL,    /* information that no rule can express */
};

/* Kind in bits 0-2, offset in place in bits 3-19, rbp's slot above. */
#define RULE_KIND_MASK 0x7u
#define RULE_OFFSET_MASK 0xffff8u
#define RULE_SLOT_SHIFT 20

enum {
	RULE_SLOT_MAX = 0xfff,
	RULE_SLOT_NONE = 1, /* rbp is not saved; the return address's slot */

	/* Offsets from the ucontext that a signal trampoline has at rsp. */
	RULE_UCONTEXT_RBP = 120,
	RULE_UCONTEXT_RSP = 160,
	RULE_UCONTEXT_RIP = 168,

	RULE_SETS = 65536,
	RULE_WAYS = 2,
	RULE_LOW_BITS = 3,  /* of the key, below the index */
	RULE_HIGH_BIT = 19, /* the lowest above the index */
};

/**
 * struct rules - the table
 * @words:  RULE_SETS times RULE_WAYS; NULL before rules_init()
 * @synced: modules_loader.generation that the table is known to be right for
 * @epoch:  grows whenever rules were forgotten
 */
struct rules {
	_Atomic uint64_t *words;
	_Atomic uint32_t synced;
	_Atomic uint32_t epoch;
};

extern struct rules rules;

static inline enum rule_kind rule_kind(uint32_t rule)
{
	return (enum rule_kind)(rule & RULE_KIND_MASK);
}

static inline uintptr_t rule_offset(uint32_t rule)
{
	return rule & RULE_OFFSET_MASK;
}

/* Return: the caller's rbp is saved at CFA - 8 times this. */
static inline uintptr_t rule_slot(uint32_t rule)
{
	return rule >> RULE_SLOT_SHIFT;
}

/*
 * Makes the table.  Safety: any number of times.  Allocates: mmap.
 * Return: false when there is no memory or no loader index.
 */
bool rules_init(void);

/* Return: the rule of @key, compiled and entered.  Never RULE_NONE. */
uint32_t rules_build(uintptr_t key);

/* Return: the two words that may hold @key's rule. */
static inline _Atomic uint64_t *rules_set(uintptr_t key)
{
	return &rules.words[(key >> RULE_LOW_BITS & (RULE_SETS - 1)) *
			    RULE_WAYS];
}

/* Return: the bits of @key outside of the index; never 0. */
static inline uint32_t rules_tag(uintptr_t key)
{
	return (uint32_t)(key >> RULE_HIGH_BIT << RULE_LOW_BITS) |
	       (uint32_t)(key & ((1u << RULE_LOW_BITS) - 1)) |
	       UINT32_C(0x80000000);
}

/* Return: the rule of @key.  Needs rules_init(). */
static inline uint32_t rules_get(uintptr_t key)
{
	const _Atomic uint64_t *set = rules_set(key);
	uint32_t tag = rules_tag(key);
	uint64_t word = atomic_load_explicit(set, memory_order_relaxed);

	if (LIKELY((uint32_t)(word >> 32) == tag))
		return (uint32_t)word;
	word = atomic_load_explicit(set + 1, memory_order_relaxed);
	if (LIKELY((uint32_t)(word >> 32) == tag))
		return (uint32_t)word;
	return rules_build(key);
}

/* Return: whether the loader has been at work since the table was checked. */
static inline bool rules_stale(void)
{
	return atomic_load_explicit(&rules.synced, memory_order_acquire) !=
	       atomic_load_explicit(&modules_loader.generation,
				    memory_order_relaxed);
}

/*
 * Forgets all rules when modules were loaded or unloaded since the last time.
 *
 * Safety: not while the caller is the loader.  Locks: the loader's list, as
 *         modules_scan().
 */
void rules_sync(void);

/*
 * Forgets the rules of code from @start to before @end: other call frame
 * information holds from now on.
 *
 * Safety: anywhere.
 */
void rules_forget(uintptr_t start, uintptr_t end);

#endif /* TRACER_RULES_H */
