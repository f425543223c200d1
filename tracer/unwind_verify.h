/* SPDX-License-Identifier: MIT */
/*
 * The check that our own unwinder is exact: every stack is taken a second time
 * by another unwinder and compared frame by frame.
 *
 * MEMORY_PROFILER_VERIFY_UNWIND: "1" or "libunwind"; "libgcc".
 */
#ifndef TRACER_UNWIND_VERIFY_H
#define TRACER_UNWIND_VERIFY_H

#include <stdint.h>

struct unwind_stack;

/*
 * Compares stack->pcs with what the other unwinder finds from here.
 *
 * Safety: inside the guard.  Allocates, locks: as unwind_capture().
 *         errno: may change.
 */
void unwind_verify(struct unwind_stack *stack, uintptr_t caller);

/* Logs the counts.  Safety: at the end, inside the guard. */
void unwind_verify_report(void);

#endif /* TRACER_UNWIND_VERIFY_H */
