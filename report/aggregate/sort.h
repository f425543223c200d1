/* SPDX-License-Identifier: MIT */
/*
 * Orders of rows.
 *
 * Layer: aggregate.
 */
#ifndef REPORT_AGGREGATE_SORT_H
#define REPORT_AGGREGATE_SORT_H

#include <stdint.h>

#define SORT_NO_COUNT UINT64_MAX /* all rows */

enum sort_order { SORT_ASCENDING, SORT_DESCENDING };

/* What allocations and groups are sorted by. Allocations: TIMESTAMP to
   LIFETIME. Groups: the rest, over the allocations that passed the filter or over
   all of the group. */
enum sort_by {
	SORT_DEFAULT, /* timestamp; groups: only_matched.size, falling */
	SORT_TIMESTAMP,
	SORT_ADDRESS,
	SORT_SIZE,
	SORT_USABLE_SIZE,
	SORT_LIFETIME,
	SORT_MATCHED_MIN_TIMESTAMP,
	SORT_MATCHED_MAX_TIMESTAMP,
	SORT_MATCHED_INTERVAL,
	SORT_MATCHED_ALLOCATED_COUNT,
	SORT_MATCHED_LEAKED_COUNT,
	SORT_MATCHED_SIZE,
	SORT_ALL_MIN_TIMESTAMP,
	SORT_ALL_MAX_TIMESTAMP,
	SORT_ALL_INTERVAL,
	SORT_ALL_ALLOCATED_COUNT,
	SORT_ALL_LEAKED_COUNT,
	SORT_ALL_SIZE,
	SORT_ALL_MAX_USAGE, /* when the group held most */
};

#endif /* REPORT_AGGREGATE_SORT_H */
