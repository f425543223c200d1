/* SPDX-License-Identifier: MIT */
#include "tracer/rules.h"

#include <link.h>

#include "tracer/cfi.h"
#include "tracer/cfi_debug.h"
#include "tracer/libc.h"
#include "tracer/pool.h"

enum {
	WORD = 8,
	TABLE_BYTES = RULE_SETS * RULE_WAYS * (int)sizeof(uint64_t),
};

struct rules rules;

/* The loader's counters that the table is right for. */
static _Atomic uint64_t synced_adds;
static _Atomic uint64_t synced_subs;

/* Threads that are forgetting rules just now. */
static atomic_uint forgetting;

bool rules_init(void)
{
	_Atomic uint64_t *expected = NULL;
	_Atomic uint64_t *words;

	if (rules.words)
		return true;
	if (!cfi_available())
		return false;
	words = pool_map(TABLE_BYTES);
	if (words &&
	    !__atomic_compare_exchange_n(&rules.words, &expected, words, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		pool_unmap((void *)(uintptr_t)words, TABLE_BYTES);
	return rules.words != NULL;
}

/* Safety: pure. */
static uint32_t make_rule(enum rule_kind kind, uintptr_t offset, uintptr_t slot)
{
	return (uint32_t)kind | (uint32_t)offset |
	       (uint32_t)(slot << RULE_SLOT_SHIFT);
}

/* Safety: pure.  Return: whether @offset fits a rule. */
static bool fits(int64_t offset)
{
	return offset >= 0 &&
	       ((uint64_t)offset & ~(uint64_t)RULE_OFFSET_MASK) == 0;
}

/* Safety: mapped expressions.  Return: a rule, or RULE_FAIL. */
static uint32_t compile_signal(const struct cfi_row *row)
{
	int64_t rsp, rbp, rip;

	if (row->cfa_is_expression && row->rbp.where == CFI_EXPRESSION &&
	    row->rip.where == CFI_EXPRESSION &&
	    cfi_match_memory(&row->cfa_expression, CFI_RSP, true, &rsp) &&
	    cfi_match_memory(&row->rbp.expression, CFI_RSP, false, &rbp) &&
	    cfi_match_memory(&row->rip.expression, CFI_RSP, false, &rip) &&
	    rsp == RULE_UCONTEXT_RSP && rbp == RULE_UCONTEXT_RBP &&
	    rip == RULE_UCONTEXT_RIP)
		return RULE_SIGNAL;
	return RULE_FAIL;
}

/* Safety: mapped expressions.  The CFA pushed by a re-aligning prologue. */
static uint32_t compile_realigned(const struct cfi_row *row)
{
	int64_t cfa, rbp;

	if (row->rbp.where == CFI_EXPRESSION &&
	    cfi_match_memory(&row->cfa_expression, CFI_RBP, true, &cfa) &&
	    cfi_match_memory(&row->rbp.expression, CFI_RBP, false, &rbp) &&
	    rbp == 0 && cfa < 0 && cfa >= -(int64_t)RULE_OFFSET_MASK &&
	    fits(-cfa))
		return make_rule(RULE_REALIGN, (uintptr_t)-cfa, 0);
	return RULE_FAIL;
}

/*
 * Where the caller's rbp is: its distance from the CFA in words.
 * Safety: pure.  Return: 0 when no rule can say it.
 */
static uintptr_t get_slot(const struct cfi_row *row)
{
	int64_t offset = row->rbp.offset;

	if (row->rbp.where == CFI_SAME)
		return RULE_SLOT_NONE;
	if (row->rbp.where != CFI_OFFSET || offset % WORD ||
	    offset >= -RULE_SLOT_NONE * WORD || offset < -RULE_SLOT_MAX * WORD)
		return 0;
	return (uintptr_t)(-offset / WORD);
}

/* Safety: mapped expressions.  Return: the rule @row amounts to. */
static uint32_t compile(const struct cfi_row *row, uintptr_t pc)
{
	enum rule_kind kind = RULE_RSP;
	int64_t offset = row->cfa_offset;
	uintptr_t slot = get_slot(row);

	if (row->is_signal)
		return compile_signal(row);
	if (row->rip.where == CFI_UNDEFINED)
		return RULE_END;
	if (row->rip.where != CFI_OFFSET || row->rip.offset != -WORD)
		return RULE_FAIL;
	if (row->cfa_is_expression &&
	    !cfi_fold_rsp(&row->cfa_expression, pc, &offset))
		return compile_realigned(row);
	if (!row->cfa_is_expression && row->cfa_register != CFI_RSP)
		kind = RULE_RBP;
	if (kind == RULE_RBP && row->cfa_register != CFI_RBP)
		return RULE_FAIL;
	if (!slot || !fits(offset) || offset < WORD)
		return RULE_FAIL;
	/* What a frame reads lies inside it: nothing below rsp is trusted. */
	if (kind == RULE_RSP && slot * WORD > (uintptr_t)offset &&
	    slot != RULE_SLOT_NONE)
		return RULE_FAIL;
	return make_rule(kind, (uintptr_t)offset, slot);
}

/*
 * The newest rule takes the first way and the one it displaces the second.
 * Safety: racing threads lose entries, never mix them up.
 */
static void enter(uintptr_t key, uint32_t rule)
{
	_Atomic uint64_t *set = rules_set(key);
	uint64_t tag = rules_tag(key);
	uint64_t old = atomic_load_explicit(set, memory_order_relaxed);

	if (key >> 47)
		return;
	if (old)
		atomic_store_explicit(set + 1, old, memory_order_relaxed);
	atomic_store_explicit(set, tag << 32 | rule, memory_order_relaxed);
}

/* Safety: as enter(). */
static void clear(_Atomic uint64_t *set)
{
	for (int way = 0; way < RULE_WAYS; way++)
		atomic_store_explicit(set + way, 0, memory_order_relaxed);
}

/* Safety: as rules_build().  Return: the rule that the tables amount to. */
static uint32_t look_up(uintptr_t pc)
{
	struct cfi_row row;

	switch (cfi_find(pc, &row)) {
	case CFI_FOUND:
		return compile(&row, pc);
	case CFI_NONE:
		return RULE_GUESS;
	case CFI_BAD:
	default:
		return RULE_FAIL;
	}
}

/*
 * A rule that was looked up before rules were forgotten must not be entered
 * after it, nor one that was displaced by it be kept: so whoever forgets says
 * so before and after.
 */
COLD uint32_t rules_build(uintptr_t key)
{
	unsigned changes = atomic_load(&forgetting);
	uint32_t epoch = atomic_load(&rules.epoch);
	uint32_t rule = look_up(key - 1);

	if (changes)
		return rule;
	enter(key, rule);
	atomic_thread_fence(memory_order_seq_cst);
	if (forgetting || rules.epoch != epoch)
		clear(rules_set(key));
	return rule;
}

/* Safety: as rules_forget(), which has emptied the table. */
static void begin_epoch(void)
{
	rules.epoch++;
	modules_loader.generation++;
}

/* Safety: as rules_forget(). */
static void forget_all(void)
{
	atomic_fetch_add(&forgetting, 1);
	sys_madvise((void *)(uintptr_t)rules.words, TABLE_BYTES, MADV_DONTNEED);
	begin_epoch();
	atomic_fetch_sub(&forgetting, 1);
}

COLD void rules_forget(uintptr_t start, uintptr_t end)
{
	if (!rules.words)
		return;
	if ((end - start) >> RULE_LOW_BITS >= RULE_SETS) {
		forget_all();
		return;
	}
	atomic_fetch_add(&forgetting, 1);
	for (uintptr_t at = start >> RULE_LOW_BITS; at <= end >> RULE_LOW_BITS;
	     at++)
		clear(rules_set(at << RULE_LOW_BITS));
	begin_epoch();
	atomic_fetch_sub(&forgetting, 1);
}

/* Safety: the loader's list is locked.  Takes the first module's word. */
static int read_counters(struct dl_phdr_info *info, size_t size, void *arg)
{
	uint64_t *counters = arg;

	(void)size;
	counters[0] = info->dlpi_adds;
	counters[1] = info->dlpi_subs;
	return 1;
}

/*
 * Dropping the pages is what empties the table: another thread reads an old
 * word or zero.  Its own stack cannot lead into the module that is gone, and
 * before it can get into the new one it has to come through here.
 */
COLD void rules_sync(void)
{
	uint32_t generation = modules_loader.generation;
	uint64_t counters[2] = {0};

	libc_dl_iterate_phdr(read_counters, counters);
	if (counters[0] != synced_adds || counters[1] != synced_subs) {
		cfi_debug_forget();
		forget_all();
		synced_adds = counters[0];
		synced_subs = counters[1];
	}
	atomic_store_explicit(&rules.synced, generation, memory_order_release);
}
