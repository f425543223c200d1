/* SPDX-License-Identifier: MIT */
/*
 * Adding to all sums what the trace has only in sums: allocations that were
 * made and freed, and never count as live.
 *
 * Layer: engine.
 */
#ifndef REPORT_ENGINE_CULLED_H
#define REPORT_ENGINE_CULLED_H

struct engine;
struct engine_lane;
struct event;

/* Takes an event of EVENT_CULLED_MOST or what follows that, which is no event
   at its time.  Return: 0 or negative errno. */
int culled_take(struct engine *engine, struct engine_lane *lane,
		const struct event *event);

#endif /* REPORT_ENGINE_CULLED_H */
