/* SPDX-License-Identifier: MIT */
#include "tracer/duration.h"

#include <stdatomic.h>
#include <stdint.h>

#include "tracer/clock.h"
#include "tracer/helper.h"
#include "tracer/options.h"
#include "tracer/sys.h"

enum {
	NS_PER_MS = 1000 * 1000,
};

static atomic_uint_fast64_t end_ns; /* 0: there is none */

void duration_begin(void)
{
	uint64_t signals;

	if (!options.duration_ns)
		return;
	end_ns = clock_monotonic_ns() + options.duration_ns;
	sys_signals_block(&signals);
	helper_start();
	sys_signals_restore(&signals);
}

bool duration_is_over(void)
{
	uint64_t end = end_ns;

	return end && clock_monotonic_ns() >= end;
}

long duration_left_ms(long most)
{
	uint64_t end = end_ns, now = end ? clock_monotonic_ns() : 0;

	if (now >= end || (end - now) / NS_PER_MS >= (uint64_t)most)
		return most;
	return (long)((end - now) / NS_PER_MS) + 1;
}
