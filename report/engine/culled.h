/* SPDX-License-Identifier: MIT */
/*
 * Adding to all sums what the trace has only in sums: allocations that were
 * made and freed, and never count as live.
 *
 * Layer: engine.
 */
#ifndef REPORT_ENGINE_CULLED_H
#define REPORT_ENGINE_CULLED_H

#include <stdint.h>

struct culled;
struct engine_totals;
struct group;
struct levels;
struct moments;

/* What culled_add() adds to. */
struct culled_sums {
	struct engine_totals *totals;
	struct group *group;
	struct levels *levels;
	struct moments *moments;
};

/* Adds @culled, of which @temporary were freed by the thread's next event. */
void culled_add(const struct culled_sums *to, const struct culled *culled,
		uint64_t temporary);

#endif /* REPORT_ENGINE_CULLED_H */
