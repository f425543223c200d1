/* SPDX-License-Identifier: MIT */
/*
 * Where the calling thread's own stack lies.
 *
 * pthread_getattr_np() would say, but takes a lock and allocates: called from
 * a hook it can wait for itself.
 */
#ifndef TRACER_STACK_BOUNDS_H
#define TRACER_STACK_BOUNDS_H

#include <stdint.h>

/**
 * struct stack_bounds - memory that stays mapped while the thread runs
 * @low:  lowest address the stack may reach
 * @high: end of the outermost frame; equal to @low when nothing is known
 */
struct stack_bounds {
	uintptr_t low;
	uintptr_t high;
};

/*
 * Safety: before start-up: yes.  Signal handler: yes.  After fork: yes.
 *         Allocates, locks: none.  System calls: reads /proc/self/maps, but
 *         for the main thread.  errno: untouched.
 */
struct stack_bounds stack_bounds_get(void);

#endif /* TRACER_STACK_BOUNDS_H */
