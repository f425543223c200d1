/* SPDX-License-Identifier: MIT */
/*
 * One allocation from beginning to end, as offered to views when its block is
 * freed, or at the end of the trace.
 *
 * Layer: engine.
 */
#ifndef REPORT_ENGINE_RECORD_H
#define REPORT_ENGINE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#define RECORD_NEVER UINT64_MAX /* free_tick, free_order of a leaked block */

/**
 * struct record
 * @id:          number of the allocation in the order of time, from 0
 * @alloc_tick:  when the allocating call returned
 * @free_tick:   when the freeing call began, or RECORD_NEVER
 * @alloc_order, @free_order: number of the event among all events, in the
 *               order of time; unlike ticks never equal
 * @size:        requested bytes
 * @usable:      bytes the allocator set aside, >= @size where known
 * @stack, @free_stack: nodes in struct stacks; @free_stack 0 if unknown
 * @group:       number of the allocation's backtrace, dense from 0
 * @thread, @free_thread: numbers as in the trace
 * @call, @free_call: enum event_call
 * @marker:      how many markers came before it
 * @chain:       number of its chain (records joined by realloc) in the order
 *               in which chains became one by their first realloc, from 1; 0
 *               if realloc did not touch the block.  Such a record is a chain
 *               of its own in what follows
 * @chain_position: how many reallocs led here, 0 for a first block
 * @chain_first_size, @chain_first_tick: of the first record of its chain
 * @chain_length: records in its chain; 0 if not known yet, as @chain_last_size
 *               and @chain_end_tick then: engine_keep_chains()
 * @chain_last_size: of the last record of its chain
 * @chain_end_tick: @free_tick of the last record of its chain
 * @is_temporary: freed by the very next allocation-related call of the
 *               allocating thread
 *
 * Filters take a call of mmap as a record, too: @free_tick and @free_stack are of
 * the call that unmapped the last of it, @call is its protection (PROT_READ, …),
 * and there is nothing in members about groups and chains.
 */
struct record {
	uint64_t id;
	uint64_t alloc_tick;
	uint64_t free_tick;
	uint64_t alloc_order;
	uint64_t free_order;
	uint64_t addr;
	uint64_t size;
	uint64_t usable;
	uint32_t stack;
	uint32_t free_stack;
	uint32_t group;
	uint32_t thread;
	uint32_t free_thread;
	uint32_t marker;
	uint32_t chain;
	uint32_t chain_position;
	uint32_t chain_length;
	uint64_t chain_first_size;
	uint64_t chain_first_tick;
	uint64_t chain_last_size;
	uint64_t chain_end_tick;
	uint8_t call;
	uint8_t free_call;
	bool is_temporary;
};

/**
 * struct culled - allocations that the trace has only in sums, all alike
 * @record:     what is the same for all of them; they were freed, and realloc
 *              did not touch them.  Its @id, ticks, orders, @addr, @free_stack
 *              and @free_call say nothing
 * @count:      how many
 * @first_tick, @last_tick: when the first and the last were made
 * @shortest, @longest: ticks that they lived
 * @last_marker: of the last one, as @record.marker of the first
 */
struct culled {
	struct record record;
	uint64_t count;
	uint64_t first_tick;
	uint64_t last_tick;
	uint64_t shortest;
	uint64_t longest;
	uint32_t last_marker;
};

static inline bool record_is_leaked(const struct record *record)
{
	return record->free_order == RECORD_NEVER;
}

#endif /* REPORT_ENGINE_RECORD_H */
