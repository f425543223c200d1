/* SPDX-License-Identifier: MIT */
/*
 * What the tracer knows about the calling thread.
 *
 * The guard holds the stack address of the tracer frame that is at work on
 * this thread, 0 when there is none.  A hook that finds it set was called
 * from a signal handler that interrupted the tracer, or from the tracer's own
 * use of the C library (GUARD_INTERNAL is set then); or a handler jumped out of
 * the tracer with longjmp and the frame is gone.
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
 * @guard_check: return address of that frame, as it stands on the stack
 * @last_block:  address that the last recorded allocation returned, 0 once it
 *               is free
 * @releasing:   block that a function like operator delete was called for, 0
 *               once that is recorded
 * @serial:      counts recorded allocations and frees
 * @operator_pc: C++ operator that the tracer called last on this thread
 * @lost_nested: calls from signal handlers not yet reported as LOST
 * @is_helper:   the thread is the helper process
 * @in_allocator: what an allocator calls now is its own affair
 * @forks:       it is forking, and the child will be traced
 * @number:      thread number, 0 before the first event
 * @sequence:    of the next buffer, kept while there is no stream
 * @piece:       that @sequence is of
 * @key_rounds:  how often the key destructor has put off the end
 */
struct tls {
	struct thread *thread;
	uintptr_t guard;
	uintptr_t guard_check;
	uintptr_t last_block;
	uintptr_t releasing;
	uint64_t serial;
	uintptr_t operator_pc;
	uint32_t lost_nested;
	bool is_helper;
	bool in_allocator;
	bool forks;
	uint32_t number;
	uint32_t sequence;
	uint32_t piece;
	uint32_t key_rounds;
};

extern __thread struct tls tls;

#define GUARD_INTERNAL ((uintptr_t)1)

/*
 * Address of the calling function's frame record: the caller's frame pointer
 * and, above it, the return address, on both architectures.
 */
#define TLS_FRAME() ((uintptr_t)__builtin_frame_address(0))

/* Safety: anywhere; @frame is on the running stack. */
static inline void tls_set_guard(uintptr_t frame, uintptr_t flags)
{
	tls.guard_check = ((const uintptr_t *)frame)[1];
	tls.guard = frame | flags;
	SIGNAL_FENCE();
}

/*
 * Marks the tracer's own use of functions that may allocate or map.
 *
 * Safety: anywhere.  errno: untouched.
 * Return: what tls_leave_internal() must be given.
 */
static inline uintptr_t tls_enter_internal(void)
{
	uintptr_t old = tls.guard;

	if (old)
		tls.guard = old | GUARD_INTERNAL;
	else
		tls_set_guard(TLS_FRAME(), GUARD_INTERNAL);
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
