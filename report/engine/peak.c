/* SPDX-License-Identifier: MIT */
#include "report/engine/peak.h"

#include "report/core/vec.h"

void peak_add(struct peak *peak, const struct record *record)
{
	struct record *item;

	if (peak->is_lost)
		return;
	item = peak->count < PEAK_RECORDS_MAX ? vec_push(peak) : NULL;
	if (item)
		*item = *record;
	else
		peak->is_lost = true;
}

void peak_done(struct peak *peak)
{
	vec_done(peak);
}
