/* SPDX-License-Identifier: MIT */
/*
 * The trace clock.
 *
 * Order between threads rests on it: a release is stamped before the real
 * call, an acquisition after it, and the clock is synchronised over all CPUs.
 * The kernel's choice of clocksource says whether the time-stamp counter is.
 *
 * Safety (all of them): before start-up, in a signal handler and after fork:
 * yes.  Allocates: no.  Locks: none.  errno: preserved.
 */
#ifndef TRACER_CLOCK_H
#define TRACER_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/**
 * struct clock_pair - one instant in three clocks
 * @tick:         trace clock
 * @monotonic_ns: CLOCK_MONOTONIC
 * @realtime_ns:  CLOCK_REALTIME, since 1970
 */
struct clock_pair {
	uint64_t tick;
	uint64_t monotonic_ns;
	uint64_t realtime_ns;
};

/* Set once by clock_init(), before the first stamp. */
extern bool clock_is_tsc;

/* Stamps of more than one thread are compared: set before the second thread's
   first event. */
extern bool clock_is_shared;

/*
 * The C library's own clock_gettime(), which asks the vDSO; a system call
 * before clock_init().
 */
extern int (*clock_read)(clockid_t id, struct timespec *ret);

/* Chooses the clock.  Inside the guard.  Locks: the loader's.  System calls:
   open, read, close. */
void clock_init(void);

/* Return: the clock @id in nanoseconds; the vDSO answers. */
static inline uint64_t clock_read_ns(clockid_t id)
{
	struct timespec ts = {0};

	clock_read(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Return: CLOCK_MONOTONIC in nanoseconds. */
uint64_t clock_monotonic_ns(void);

/*
 * The first call, which must be over before any other, only starts to measure.
 *
 * Return: ticks that @ns nanoseconds take, as far as the time since then tells.
 */
uint64_t clock_ticks_of(uint64_t ns);

/* Return: the three clocks, read as close together as possible. */
struct clock_pair clock_read_pair(void);

/*
 * Return: a stamp not earlier than anything this thread has loaded so far,
 * and not later than anything it stores from now on: who frees a block that
 * another thread allocated, or gets one that another has freed, stamps that
 * later than the other.  With a single thread the order of its events is
 * known, and the stamp need not wait for the loads.
 */
static inline uint64_t clock_now(void)
{
#if defined(__x86_64__)
	unsigned cpu;

	if (__builtin_expect(clock_is_tsc && !clock_is_shared, 1))
		return __rdtsc();
	if (clock_is_tsc)
		return __rdtscp(&cpu);
#endif
	return clock_monotonic_ns();
}

/*
 * Return: log2 of the ticks that a trace can do without.  A single thread's
 * events have an order; 0.1 µs is for people.  Between threads, @is_shared, a
 * block freed by one takes 40 ns at the least to be had by another.
 */
static inline unsigned clock_shift_for(bool is_tsc, bool is_shared)
{
	if (is_tsc)
		return is_shared ? 5 : 8;
	return is_shared ? 3 : 7;
}

/* Return: the same for the calling process's clock. */
static inline unsigned clock_time_shift(void)
{
	return clock_shift_for(clock_is_tsc, clock_is_shared);
}

#endif /* TRACER_CLOCK_H */
