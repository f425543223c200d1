/* SPDX-License-Identifier: MIT */
/*
 * Which thread was the last to allocate a block at an address.
 *
 * The events that are at hand do not tell whether a block that is freed is the one
 * last seen to be allocated there: a thread whose events are not at hand may have
 * freed that one, and allocated and handed over another.  So every allocation
 * leaves a stamp under its address, and a free says whose it finds.  Whatever
 * another thread did with the address before is seen: the block came here by
 * way of something that orders the two threads.
 *
 * A place is shared by many addresses.  Its word says exactly which one it is
 * of; the stamp of one that shares it only makes a free not know, which costs a
 * pair that could have been culled.
 */
#ifndef TRACER_CULL_STAMPS_H
#define TRACER_CULL_STAMPS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	CULL_ADDR_BITS = 48,  /* addresses beyond are left alone */
	CULL_ALIGN_BITS = 3,  /* and so are those of less alignment */
	CULL_KEY_BITS = CULL_ADDR_BITS - CULL_ALIGN_BITS,
	CULL_PLACE_BITS = 17,
	CULL_REST_BITS = CULL_KEY_BITS - CULL_PLACE_BITS,
};

_Static_assert(CULL_REST_BITS <= 32, "an address and a thread fit in a word");

/* One word for each place; NULL: nothing is culled. */
extern uint64_t *cull_stamps;

/* Makes the table if options.cull.  Safety: once, at the start. */
void cull_stamps_init(void);

/* Safety: pure.  Return: whether @addr can have a stamp; *@ret_rest and the
   place, *@ret_place, are then its alone: the factor is odd. */
static inline bool cull_find_place(uintptr_t addr, uint32_t *ret_place,
				   uint64_t *ret_rest)
{
	uint64_t key = addr >> CULL_ALIGN_BITS;
	uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15) &
			((UINT64_C(1) << CULL_KEY_BITS) - 1);

	*ret_place = (uint32_t)(hash >> CULL_REST_BITS);
	*ret_rest = hash & ((UINT64_C(1) << CULL_REST_BITS) - 1);
	return !(key >> CULL_KEY_BITS) &&
	       !(addr & ((1u << CULL_ALIGN_BITS) - 1));
}

/* The block at @addr is @thread's, a thread number; 0: nobody knows whose.
   Safety: there is a table. */
static inline void cull_stamp(uintptr_t addr, uint32_t thread)
{
	uint64_t rest;
	uint32_t place;

	if (cull_find_place(addr, &place, &rest))
		__atomic_store_n(&cull_stamps[place], rest << 32 | thread,
				 __ATOMIC_RELAXED);
}

/* Return: the thread that was the last to allocate at @addr; 0: that is not known
   for sure.  Safety: there is a table. */
static inline uint32_t cull_find_maker(uintptr_t addr)
{
	uint64_t rest, word;
	uint32_t place;

	if (!cull_find_place(addr, &place, &rest))
		return 0;
	word = __atomic_load_n(&cull_stamps[place], __ATOMIC_RELAXED);
	return word >> 32 == rest ? (uint32_t)word : 0;
}

#endif /* TRACER_CULL_STAMPS_H */
