/* SPDX-License-Identifier: MIT */
/* Words for the compiler, and the one lock the tracer uses. */
#ifndef TRACER_COMPILER_H
#define TRACER_COMPILER_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "tracer/sys.h"

/* A symbol that the program may find; everything else is hidden. */
#define HOOK __attribute__((visibility("default")))

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define NOINLINE __attribute__((noinline))
#define COLD __attribute__((cold, noinline))

/*
 * What nearly every event runs, and looks at.  The linker puts each next to
 * each other, in few pages and lines: between two events the program has used
 * the caches for itself.
 */
#define HOT __attribute__((hot))
#define HOT_DATA __attribute__((section("memprof_hot")))

/* Orders memory accesses against a signal handler on the same thread. */
#define SIGNAL_FENCE() atomic_signal_fence(memory_order_seq_cst)

/**
 * struct spinlock - a lock for rare, short work
 * @held: 1 while taken
 *
 * Only taken with all signals blocked, so that a handler of the same thread
 * cannot meet it; never taken while unwinding.
 */
struct spinlock {
	atomic_int held;
};

/* Safety: anywhere signals are blocked.  Locks: this one.  errno: untouched. */
static inline bool spinlock_try(struct spinlock *lock)
{
	return !atomic_exchange_explicit(&lock->held, 1, memory_order_acquire);
}

enum {
	WAIT_FEW = 200,
	WAIT_YIELDS = 10000,
	WAIT_NAPS = 1000, /* then steps are longer */
	WAIT_NAP_NS = 100 * 1000,
	WAIT_STEP_NS = 1000 * 1000,
	WAIT_PATIENCE = WAIT_YIELDS + WAIT_NAPS + 3000, /* three seconds */
	WAIT_YIELD_NS = 1000, /* where a filter refuses to yield */
	TICKS_PER_NS = 3,     /* about */
};

/* Where a filter refuses to wait in another way.  Safety: anywhere. */
static inline void wait_busily(long ns)
{
#if defined(__x86_64__)
	uint64_t begun = __builtin_ia32_rdtsc();

	while (__builtin_ia32_rdtsc() - begun < (uint64_t)ns * TICKS_PER_NS)
		__builtin_ia32_pause();
#else
	for (long i = 0; i < ns; i++)
		__asm__ volatile("yield");
#endif
}

/* Safety: anywhere.  A signal may end it. */
static inline void wait_nap(long ns)
{
	long err = sys_nanosleep(ns);

	if (UNLIKELY(err != 0 && err != -EINTR))
		wait_busily(ns);
}

/*
 * One step of waiting for somebody who is at work, the @i-th.  A thread of
 * real-time priority would keep others of its processor from running by
 * yielding alone.
 *
 * Safety: anywhere.  errno: untouched.
 */
static inline void wait_step(int i)
{
	if (i < WAIT_YIELDS) {
		if (UNLIKELY(sys_sched_yield() != 0))
			wait_busily(WAIT_YIELD_NS);
	} else {
		wait_nap(i < WAIT_YIELDS + WAIT_NAPS ? WAIT_NAP_NS
						     : WAIT_STEP_NS);
	}
}

/*
 * The same for somebody whose work takes milliseconds: to yield all that time
 * would take a processor as long.
 */
static inline void wait_step_of_work(int i)
{
	if (i < WAIT_FEW || i >= WAIT_YIELDS)
		wait_step(i);
	else
		wait_nap(WAIT_NAP_NS);
}

/* Safety: as spinlock_try().  Waits for the holder. */
static inline void spinlock_take(struct spinlock *lock)
{
	for (int i = 0; !spinlock_try(lock); i += i < WAIT_PATIENCE)
		wait_step(i);
}

/*
 * For where the holder may never run again: another thread's lock in a forked
 * child.  Safety: as spinlock_try().  Return: whether it was taken.
 */
static inline bool spinlock_take_bounded(struct spinlock *lock)
{
	for (int i = 0; i < 2 * WAIT_YIELDS; i++) {
		if (spinlock_try(lock))
			return true;
		sys_sched_yield();
	}
	return false;
}

/*
 * For the end of the process: the holder is at work, but nobody waits for it
 * for ever.  Safety: as spinlock_try().  Return: whether it was taken.
 */
static inline bool spinlock_take_patiently(struct spinlock *lock)
{
	for (int i = 0; !spinlock_try(lock); i++) {
		if (i == WAIT_PATIENCE)
			return false;
		wait_step(i);
	}
	return true;
}

/* Safety: by the holder only.  errno: untouched. */
static inline void spinlock_give(struct spinlock *lock)
{
	atomic_store_explicit(&lock->held, 0, memory_order_release);
}

#endif /* TRACER_COMPILER_H */
