/* SPDX-License-Identifier: MIT */
#include "report/engine/peak.h"

#include <stdint.h>

#include "report/core/memory.h"
#include "report/core/vec.h"

enum { PEAK_RECORDS_MIN = 64 };

/* Makes room for one more.  A refusal would end the run, and another pass finds
   the same: so memory is asked for only where there is much of it. */
static bool reserve(struct peak *peak)
{
	size_t most = memory_share(16, SIZE_MAX) / sizeof(*peak->items);
	size_t capacity = peak->capacity ? 2 * peak->capacity
					 : PEAK_RECORDS_MIN;
	struct record *items;

	if (most > PEAK_RECORDS_MAX)
		most = PEAK_RECORDS_MAX;
	if (capacity > most)
		capacity = most;
	if (peak->count >= capacity ||
	    !memory_spares(capacity * sizeof(*items)))
		return false;
	items = realloc(peak->items, capacity * sizeof(*items));
	if (!items)
		return false;
	peak->items = items;
	peak->capacity = capacity;
	return true;
}

void peak_add(struct peak *peak, const struct record *record)
{
	if (peak->is_lost)
		return;
	if (peak->count == peak->capacity && !reserve(peak)) {
		vec_done(peak);
		peak->is_lost = true;
		return;
	}
	peak->items[peak->count++] = *record;
}

void peak_done(struct peak *peak)
{
	vec_done(peak);
}
