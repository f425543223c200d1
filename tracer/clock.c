/* SPDX-License-Identifier: MIT */
#include "tracer/clock.h"

#include <string.h>

#include "tracer/compiler.h"
#include "tracer/libc.h"
#include "tracer/sys.h"

__extension__ typedef unsigned __int128 wide;

HOT_DATA bool clock_is_tsc;
HOT_DATA bool clock_is_shared;

/* Safety: anywhere.  Return: 0 or -errno. */
static int ask_kernel(clockid_t id, struct timespec *ret)
{
	return (int)SYS_CALL2(SYS_clock_gettime, id, ret);
}

int (*clock_read)(clockid_t id, struct timespec *ret) = ask_kernel;

#define CLOCKSOURCE \
	"/sys/devices/system/clocksource/clocksource0/current_clocksource"

/* Safety: system calls. */
static void ask_for_tsc(void)
{
#if defined(__x86_64__)
	char name[8] = "";
	int fd = sys_open(CLOCKSOURCE, O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return;
	if (sys_read(fd, name, sizeof(name)) == 4)
		clock_is_tsc = memcmp(name, "tsc\n", 4) == 0;
	sys_close(fd);
#endif
}

void clock_init(void)
{
	void *found = libc_find("clock_gettime");

	if (found)
		*(void **)(void *)&clock_read = found;
	ask_for_tsc();
}

uint64_t clock_monotonic_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

/*
 * The pair that took least is the one that was not interrupted; its error is
 * below the time it took.
 */
struct clock_pair clock_read_pair(void)
{
	struct clock_pair best = {0};
	uint64_t best_took = UINT64_MAX;

	for (int i = 0; i < 4; i++) {
		uint64_t before = clock_now();
		uint64_t monotonic_ns = clock_read_ns(CLOCK_MONOTONIC);
		uint64_t realtime_ns = clock_read_ns(CLOCK_REALTIME);
		uint64_t took = clock_now() - before;

		if (took >= best_took)
			continue;
		best_took = took;
		best.tick = clock_is_tsc ? before + took / 2 : monotonic_ns;
		best.monotonic_ns = monotonic_ns;
		best.realtime_ns = realtime_ns;
	}
	return best;
}

uint64_t clock_ticks_of(uint64_t ns)
{
	static struct clock_pair start;
	struct clock_pair now;
	uint64_t passed_ns;
	wide ticks;

	if (!clock_is_tsc)
		return ns;
	now = clock_read_pair();
	if (!start.tick)
		start = now;
	passed_ns = now.monotonic_ns - start.monotonic_ns;
	if (!passed_ns) /* nothing has lived for that long */
		return ns ? UINT64_MAX : 0;
	ticks = (wide)ns * (now.tick - start.tick) / passed_ns;
	return ticks < UINT64_MAX ? (uint64_t)ticks : UINT64_MAX;
}
