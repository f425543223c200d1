/* SPDX-License-Identifier: MIT */
/* The hook of functions that a jump was put into, allocators.h. */
#ifndef TRACER_HOOKS_ALLOCATOR_H
#define TRACER_HOOKS_ALLOCATOR_H

/*
 * Both are jumped to in the place of a function, with its arguments, and its
 * struct site in r11.  The first records what it does.
 *
 * Safety: as the function, and event.h.
 */
void hooks_allocator_enter(void);
void hooks_allocator_enter_silent(void);

#endif /* TRACER_HOOKS_ALLOCATOR_H */
