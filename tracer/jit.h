/* SPDX-License-Identifier: MIT */
/*
 * What the process knows about the code that it has generated, kept in the
 * trace: the perf map, and the objects of the GDB JIT interface.
 */
#ifndef TRACER_JIT_H
#define TRACER_JIT_H

#include <stdbool.h>

/*
 * Finds the lists of the GDB JIT interface in the modules that are loaded now.
 *
 * Safety: signals blocked.  Not while the caller is the loader.  Allocates: no.
 *         Locks: the loader's list, its own with trylock.  errno: untouched.
 */
void jit_find(void);

/**
 * jit_poll() - write FILE chunks for objects that were registered since
 *
 * They may be gone before the end.  One comparison where no module has a list.
 *
 * Safety: signals blocked, inside the guard or while the trace is started.
 *         Allocates: mmap.  Locks: its own with trylock, a chunk's.  errno:
 *         untouched.
 */
void jit_poll(void);

/* Notes when the process was started, so that a perf map that an older process
   of this number has left is known as such.  Safety: once, at the start. */
void jit_init(void);

/**
 * jit_keep() - write FILE chunks for generated code
 *
 * All objects that are registered now, and the perf map.  The latter is left to
 * memprof-record where that sees the same directory: the program may write the
 * last of it after this.  With @now it is kept at once: the process is about to
 * become another program.
 *
 * Safety: inside the guard, owner; at the end, or when recording is stopped.
 *         Allocates: mmap.  Locks: its own, a chunk's.  errno: untouched.
 */
void jit_keep(bool now);

/* No thread is at work on it.  Safety: a forked child's only thread. */
void jit_forget_lock(void);

#endif /* TRACER_JIT_H */
