/* SPDX-License-Identifier: MIT */
/*
 * The rules that are used most, ready for a step and in little memory.
 *
 * A word has the offset from one return address to the next, where rbp is
 * saved, and all bits of the address that the word's place does not say, so
 * that a word of a stack that is no address finds nothing.  It also says in
 * which epoch of the rules it was entered: a thread that is late with a rule
 * that has been forgotten meanwhile enters what nobody finds, and needs no
 * fence for that.
 *
 * Safety (all of them, unless stated): before start-up: yes.  Signal handler:
 * yes.  After fork: yes.  Allocates, locks: none.  errno: untouched.
 */
#ifndef TRACER_UNWIND_HOT_H
#define TRACER_UNWIND_HOT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
	UNWIND_HOT_BITS = 13,
	UNWIND_HOT_LEN = 1 << UNWIND_HOT_BITS,

	/* Parts of a word. */
	UNWIND_HOT_OFFSET_MASK = 0xffff,
	UNWIND_HOT_SAVED_SHIFT = 16,
	UNWIND_HOT_SAVED_MASK = 0xff,
	UNWIND_HOT_TAG_SHIFT = 24,

	/* Epochs in a tag, above the bits of an address; 0 is in none. */
	UNWIND_HOT_EPOCHS = 15,
	UNWIND_HOT_EPOCH_SHIFT = 47 - UNWIND_HOT_BITS,
};

_Static_assert(UNWIND_HOT_TAG_SHIFT + UNWIND_HOT_EPOCH_SHIFT + 4 <= 64,
	       "a word has room for its tag");

extern _Atomic uint64_t unwind_hot[UNWIND_HOT_LEN];

/* Return: the place of @pc's rule.  Safety: pure. */
static inline _Atomic uint64_t *unwind_hot_place(uintptr_t pc)
{
	return &unwind_hot[(pc ^ pc >> UNWIND_HOT_BITS) & (UNWIND_HOT_LEN - 1)];
}

/* Return: what tags of @epoch have above the address.  Safety: pure. */
static inline uint64_t unwind_hot_era(uint32_t epoch)
{
	return (uint64_t)(1 + epoch % UNWIND_HOT_EPOCHS)
	       << UNWIND_HOT_EPOCH_SHIFT;
}

/* Safety: pure. */
static inline uint64_t unwind_hot_tag(uintptr_t pc, uint64_t era)
{
	return (uint64_t)(pc >> UNWIND_HOT_BITS) + era;
}

/*
 * Says that a stack will be taken whose innermost return address is @caller:
 * its rule is fetched meanwhile.
 */
static inline void unwind_prefetch(uintptr_t caller)
{
	__builtin_prefetch((const void *)(uintptr_t)unwind_hot_place(caller));
}

/* Enters the rule of @pc that was looked up in the epoch that @era is of, if a
   word can express it. */
void unwind_hot_enter(uintptr_t pc, uint32_t rule, uint64_t era);

/*
 * Empties the table if rules were forgotten since it was emptied last.
 * Return: the epoch it is of.
 */
uint32_t unwind_hot_renew(void);

#endif /* TRACER_UNWIND_HOT_H */
