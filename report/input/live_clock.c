/* SPDX-License-Identifier: MIT */
#include "report/input/live_clock.h"

#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "report/input/records.h"
#include "tracer/trace_format.h"

/* By how much the time of booting may seem to have changed since the program
   started: the wall clock is put right now and then. */
#define BOOT_SLACK_NS INT64_C(2000000000)

static uint64_t read_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) +
	       (uint64_t)now.tv_nsec;
}

/* Return: what the tracer's clock says, 0 where it does not run. */
static uint64_t read_tick(uint8_t arch)
{
	uint64_t tick = 0;

#if defined(__x86_64__)
	if (arch == TRACE_ARCH_X86_64)
		tick = __rdtsc();
#elif defined(__aarch64__)
	if (arch == TRACE_ARCH_AARCH64)
		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(tick));
#else
	(void)arch;
#endif
	return tick;
}

bool live_clock_read(const struct records *records, struct clock_pair *ret)
{
	const struct clock_pair *start = &records->first_pair;
	int64_t booted, booted_then;

	if (!records->has_process || records->pair_count != 1 ||
	    records->clock != TRACE_CLOCK_TSC)
		return false;
	ret->monotonic_ns = read_ns(CLOCK_MONOTONIC);
	ret->realtime_ns = read_ns(CLOCK_REALTIME);
	ret->tick = read_tick(records->arch);
	booted = (int64_t)(ret->realtime_ns - ret->monotonic_ns);
	booted_then = (int64_t)(start->realtime_ns - start->monotonic_ns);
	return ret->tick > start->tick &&
	       ret->monotonic_ns > start->monotonic_ns &&
	       booted < booted_then + BOOT_SLACK_NS &&
	       booted_then < booted + BOOT_SLACK_NS;
}
