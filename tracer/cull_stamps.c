/* SPDX-License-Identifier: MIT */
#include "tracer/cull_stamps.h"

#include "tracer/clock.h"
#include "tracer/compiler.h"
#include "tracer/log.h"
#include "tracer/options.h"
#include "tracer/pool.h"

HOT_DATA uint64_t *cull_stamps;

void cull_stamps_init(void)
{
	if (!options.cull)
		return;
	clock_ticks_of(0);
	cull_stamps = pool_map(sizeof(*cull_stamps) << CULL_PLACE_BITS);
	if (!cull_stamps)
		log_line(LOG_WARN, "no memory for culling; nothing is culled",
			 NULL, 0);
}
