/* SPDX-License-Identifier: MIT */
/* The compiler's unwinder, linked statically and hidden. */
#include <unwind.h>

#include "tracer/unwind.h"

/**
 * struct walk - a walk in progress
 * @frames: filled innermost first
 * @len:    frames so far
 * @cap:    room
 */
struct walk {
	uintptr_t *frames;
	size_t len;
	size_t cap;
};

/* Safety: as unwind_libgcc(). */
static _Unwind_Reason_Code add_frame(struct _Unwind_Context *ctx, void *arg)
{
	struct walk *walk = arg;

	if (walk->len == walk->cap)
		return _URC_END_OF_STACK;
	walk->frames[walk->len++] = _Unwind_GetIP(ctx);
	return _URC_NO_REASON;
}

size_t unwind_libgcc(uintptr_t *buffer, size_t cap)
{
	struct walk walk = {.frames = buffer, .cap = cap};

	_Unwind_Backtrace(add_frame, &walk);
	return walk.len;
}
