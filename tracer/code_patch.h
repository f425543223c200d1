/* SPDX-License-Identifier: MIT */
/*
 * Puts a jump at the start of a function of the program's.
 *
 * For functions that nothing can be preloaded in front of, for they are called
 * inside the program.  Only where code_move.h can move their start, and where
 * the kernel lets us write to code.
 */
#ifndef TRACER_CODE_PATCH_H
#define TRACER_CODE_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct code_patch - one jump
 * @function: start of it
 * @len:      of it
 * @target:   where calls go now; it finds @context in r11 (x86-64)
 * @context:  for the target
 * @original: set before the jump is: calling it does what @function did
 * @beside:   another target with the same context
 * @ret_beside: set to what calls it
 */
struct code_patch {
	uintptr_t function;
	size_t len;
	void (*target)(void);
	void *context;
	void **original;
	void (*beside)(void);
	void **ret_beside;
};

/*
 * Safety: single thread, at the start.  Allocates: mmap.  errno: preserved.
 * Return: whether calls go to the target now; if not, nothing has changed.
 */
bool code_patch(const struct code_patch *patch);

/* Whether code_patch() exists for this processor.  Safety: anywhere. */
bool code_patch_is_possible(void);

#endif /* TRACER_CODE_PATCH_H */
