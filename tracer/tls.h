/* SPDX-License-Identifier: MIT */
/*
 * What the tracer knows about the calling thread.
 *
 * The guard holds the stack address of the tracer frame that is at work on
 * this thread, 0 when there is none.  A hook that finds it set was called
 * from a signal handler that interrupted the tracer, or from the tracer's own
 * use of the C library (GUARD_INTERNAL is set then).
 */
#ifndef TRACER_TLS_H
#define TRACER_TLS_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/compiler.h"

struct thread;

/**
 * struct tls - per-thread state
 * @thread:      stream the thread writes to, NULL before its first event
 * @guard:       0, or address of the tracer's frame; bit 0: internal use
 * @last_block:  address that the last recorded allocation returned
 * @last_freed:  address that the last recorded free released
 * @serial:      counts recorded allocations and frees
 * @lost_nested: calls from signal handlers not yet reported as LOST
 * @number:      thread number, 0 before the first event
 * @sequence:    of the next EVENTS chunk, kept while no slot is held
 * @key_rounds:  how often the key destructor has put off the end
 */
struct tls {
	struct thread *thread;
	uintptr_t guard;
	uintptr_t last_block;
	uintptr_t last_freed;
	uint64_t serial;
	uint32_t lost_nested;
	uint32_t number;
	uint32_t sequence;
	uint32_t key_rounds;
};

extern __thread struct tls tls;

#define GUARD_INTERNAL ((uintptr_t)1)

/*
 * Marks the tracer's own use of functions that may allocate or map.
 *
 * Safety: anywhere.  errno: untouched.
 * Return: what tls_leave_internal() must be given.
 */
static inline uintptr_t tls_enter_internal(void)
{
	uintptr_t old = tls.guard;

	tls.guard = (uintptr_t)__builtin_frame_address(0) | GUARD_INTERNAL;
	SIGNAL_FENCE();
	return old;
}

/* Safety: after tls_enter_internal(), with its result. */
static inline void tls_leave_internal(uintptr_t old)
{
	SIGNAL_FENCE();
	tls.guard = old;
}

#endif /* TRACER_TLS_H */
