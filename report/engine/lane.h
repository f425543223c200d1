/* SPDX-License-Identifier: MIT */
/*
 * What the engine remembers of each lane: a thread's part of the trace.
 *
 * Layer: engine.
 */
#ifndef REPORT_ENGINE_LANE_H
#define REPORT_ENGINE_LANE_H

#include <stddef.h>
#include <stdint.h>

#include "report/engine/record.h"

struct input;

/**
 * struct engine_lane - what must be remembered between two events of a thread
 * @last_alloc:   address that the previous event allocated, 0 if it was
 *                something else: a free of it now makes it temporary
 * @chain:        slot + 1 of the chain that the realloc under way continues, 0
 *                for none
 * @made:         allocations so far
 * @culled_most:  bytes that were alive at most of what is only in sums
 * @culled:       as far as CULLED_TIMES has said
 */
struct engine_lane {
	uint64_t last_alloc;
	uint32_t thread;
	uint32_t chain;
	uint64_t made;
	uint64_t culled_most;
	struct culled culled;
};

/**
 * struct engine_lanes
 * @items:     @count of them, numbered as the input numbers them
 * @by_thread: their numbers in the order of their threads: of a run in pieces, a
 *             thread has several
 */
struct engine_lanes {
	struct engine_lane *items;
	size_t count;
	uint32_t *by_thread;
};

/* Return: 0 or -ENOMEM; @lanes must be done with all the same. */
int lanes_init(struct engine_lanes *lanes, struct input *input);
void lanes_done(struct engine_lanes *lanes);

/* Before a pass over @input, which may have learnt the threads of its lanes. */
void lanes_begin(struct engine_lanes *lanes, struct input *input);

/* Return: allocations that the thread called @thread made so far in this pass.
   Cost: logarithm of the number of lanes. */
uint64_t lanes_made_by(const struct engine_lanes *lanes, uint32_t thread);

#endif /* REPORT_ENGINE_LANE_H */
