/* SPDX-License-Identifier: MIT */
#include "tracer/unwind_hot.h"

#include "tracer/compiler.h"
#include "tracer/rules.h"
#include "tracer/unwind_cfi.h"

_Atomic uint64_t unwind_hot[UNWIND_HOT_LEN];

/* The rules.epoch that it belongs to. */
static _Atomic uint32_t hot_epoch;

void unwind_hot_enter(uintptr_t pc, uint32_t rule, uint64_t era)
{
	uintptr_t saved = (rule_slot(rule) - RULE_SLOT_NONE) * sizeof(pc);

	if (rule_kind(rule) != RULE_RSP || !unwind_is_pc(pc) ||
	    rule_offset(rule) > UNWIND_HOT_OFFSET_MASK ||
	    saved > UNWIND_HOT_SAVED_MASK)
		return;
	atomic_store_explicit(unwind_hot_place(pc),
			      unwind_hot_tag(pc, era) << UNWIND_HOT_TAG_SHIFT |
				  saved << UNWIND_HOT_SAVED_SHIFT |
				  rule_offset(rule),
			      memory_order_relaxed);
}

COLD uint32_t unwind_hot_renew(void)
{
	uint32_t epoch = rules.epoch;

	if (hot_epoch == epoch)
		return epoch;
	for (size_t i = 0; i < UNWIND_HOT_LEN; i++)
		atomic_store_explicit(&unwind_hot[i], 0, memory_order_relaxed);
	hot_epoch = epoch;
	return epoch;
}
