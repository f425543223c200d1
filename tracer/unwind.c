/* SPDX-License-Identifier: MIT */
#include "tracer/unwind.h"

/* Safety: as unwind_capture().  Return: frames found, our own included. */
static inline size_t fill(uintptr_t *buffer)
{
	int n;

	if (!unwind_libunwind)
		return unwind_libgcc(buffer, UNWIND_BUFFER);
	n = unwind_libunwind((void **)buffer, UNWIND_BUFFER);
	return n < 0 ? 0 : (size_t)n;
}

/*
 * How many frames the tracer itself has on the stack depends on inlining and
 * on the unwinder, so the caller's address is searched rather than counted.
 */
struct unwind_trace unwind_capture(uintptr_t *buffer, uintptr_t caller)
{
	struct unwind_trace trace = {.frames = buffer, .len = 1};
	size_t n = fill(buffer);
	size_t skip = 0;

	while (skip < n && skip < UNWIND_OWN_FRAMES && buffer[skip] != caller)
		skip++;
	if (skip == n || buffer[skip] != caller) {
		buffer[0] = caller;
		trace.failed = true;
		return trace;
	}
	trace.truncated = n == UNWIND_BUFFER;
	trace.frames = buffer + skip;
	trace.len = n - skip;
	if (trace.len > UNWIND_DEPTH_MAX) {
		trace.len = UNWIND_DEPTH_MAX;
		trace.truncated = true;
	}
	while (trace.len > 1 && trace.frames[trace.len - 1] < 4096)
		trace.len--;
	return trace;
}
