/* SPDX-License-Identifier: MIT */
/*
 * What the process knows about the code that it has generated, kept in the
 * trace at the end: the perf map and the objects of the GDB JIT interface.
 */
#ifndef TRACER_JIT_H
#define TRACER_JIT_H

#include <stdbool.h>

/* Notes when the process was started, so that a perf map that an older process
   of this number has left is known as such.  Safety: once, at the start. */
void jit_init(void);

/**
 * jit_keep() - write FILE chunks for generated code
 *
 * The perf map is left to memprof-record where that sees the same directory:
 * the program may write the last of it after this.  With @now it is kept at
 * once: the process is about to become another program.
 *
 * Safety: inside the guard, owner; at the end only.  Not while the caller is
 *         the loader.  Allocates: mmap.  Locks: the loader's list.  errno:
 *         untouched.
 */
void jit_keep(bool now);

#endif /* TRACER_JIT_H */
