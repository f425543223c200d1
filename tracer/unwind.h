/* SPDX-License-Identifier: MIT */
/*
 * The one interface to stack unwinding.
 *
 * Two implementations stand behind it: libunwind, opened privately at
 * start-up, and the compiler's own unwinder, linked in, for events before
 * that or where libunwind is not installed.
 */
#ifndef TRACER_UNWIND_H
#define TRACER_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	UNWIND_DEPTH_MAX = 4096, /* recorded frames, innermost ones win */
	UNWIND_OWN_FRAMES = 16,  /* most frames between hook and unwinder */
	UNWIND_BUFFER = UNWIND_DEPTH_MAX + UNWIND_OWN_FRAMES,
};

/**
 * struct unwind_trace - one stack
 * @frames:    return addresses, innermost first; points into the buffer given
 * @len:       number of frames, at least 1
 * @truncated: the outer frames are missing
 * @failed:    the unwinder did not find the caller; only that is recorded
 */
struct unwind_trace {
	uintptr_t *frames;
	size_t len;
	bool truncated;
	bool failed;
};

/**
 * unwind_capture() - the stack of the hook that is running
 * @buffer: UNWIND_BUFFER elements, owned by the caller
 * @caller: the hook's return address; becomes the innermost frame
 *
 * Safety: before start-up: yes.  Signal handler: inside the guard.  After
 *         fork: yes.  Allocates: libunwind maps memory for its cache.
 *         Locks: libunwind's and the loader's on a cache miss.
 *         errno: may change.
 */
struct unwind_trace unwind_capture(uintptr_t *buffer, uintptr_t caller);

/*
 * Opens libunwind.
 *
 * Safety: once, from the constructor, inside the internal guard.
 */
void unwind_init(void);

/* libunwind's: fills @buffer as unw_backtrace() does; NULL when not open. */
extern int (*unwind_libunwind)(void **buffer, int size);

/* The compiler's.  Safety: as unwind_capture(), but locks nothing. */
size_t unwind_libgcc(uintptr_t *buffer, size_t cap);

#endif /* TRACER_UNWIND_H */
