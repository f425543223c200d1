/* SPDX-License-Identifier: MIT */
/*
 * The allocations alive at the peak, found while the peak is not known yet.
 *
 * Whatever ends and was alive at the highest level so far is kept; when a higher
 * level is reached, all that was kept is forgotten, for it ended before.  So a
 * question about the peak takes no second pass over the trace.
 *
 * Memory: a struct record for each block that is alive at the highest level and
 * ends later or never, at most PEAK_RECORDS_MAX of them, and at most a sixteenth
 * of --memory.
 *
 * Layer: engine.
 */
#ifndef REPORT_ENGINE_PEAK_H
#define REPORT_ENGINE_PEAK_H

#include <stdbool.h>
#include <stddef.h>

#include "report/engine/record.h"

enum { PEAK_RECORDS_MAX = 1 << 20 };

/**
 * struct peak - zero-initialised keeps nothing
 * @items:   alive at the highest level and ended since, in the order of their
 *           ends, those that never end last
 * @is_kept: whether anything is to be kept
 * @is_lost: there were more than the limit, or than memory
 */
struct peak {
	struct record *items;
	size_t count;
	size_t capacity;
	bool is_kept;
	bool is_lost;
};

/* A higher level was reached. */
static inline void peak_rise(struct peak *peak)
{
	peak->count = 0;
	peak->is_lost = false;
}

/* @record, which was alive at the highest level, has ended. */
void peak_add(struct peak *peak, const struct record *record);

void peak_done(struct peak *peak);

#endif /* REPORT_ENGINE_PEAK_H */
