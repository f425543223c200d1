/* SPDX-License-Identifier: MIT */
/*
 * What trees add up, and from which end of the stacks they begin.
 *
 * Layer: aggregate.
 */
#ifndef REPORT_AGGREGATE_COST_H
#define REPORT_AGGREGATE_COST_H

/* Of the allocations that passed a view's filter. */
enum cost {
	COST_BYTES,     /* requested bytes */
	COST_COUNT,     /* number of allocations */
	COST_TEMPORARY, /* of those, the ones that are temporary */
	COST_PEAK,      /* bytes alive at the peak of the run */
	COST_LEAKED,    /* bytes never freed */
	COST_KINDS,
};

enum direction {
	DIRECTION_CALLERS, /* the root's children are outermost callers */
	DIRECTION_CALLEES, /* … the functions that allocated; callers below */
};

#endif /* REPORT_AGGREGATE_COST_H */
