/* SPDX-License-Identifier: MIT */
/*
 * Which executables and libraries are mapped where, and when.
 *
 * The dynamic loader allocates through our hooks whenever it loads or unloads
 * something.  So an event whose caller lies in the loader's text marks the
 * list as out of date, and the next event from anywhere else brings it up to
 * date before it is recorded.  dlopen itself is not hooked: it looks at its
 * caller to find RUNPATH and namespace, and would find the tracer.
 */
#ifndef TRACER_MODULES_H
#define TRACER_MODULES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * struct loader - the dynamic loader, and whether it was seen at work
 * @text_start: its executable segment
 * @text_bytes: its length, 0 where not known
 * @generation: changes whenever the loader allocates or frees, and with
 *              rules.epoch
 * @dirty:      tick of the first allocation by the loader since the last
 *              look, 0 when there was none
 */
struct loader {
	uintptr_t text_start;
	uintptr_t text_bytes;
	_Atomic uint32_t generation;
	_Atomic uint64_t dirty;
};

extern struct loader modules_loader;

/* Return: whether @pc lies in the loader.  Safety: anywhere. */
static inline bool modules_is_loader(uintptr_t pc)
{
	return pc - modules_loader.text_start < modules_loader.text_bytes;
}

/* Finds the loader's text.  Safety: once, at the start. */
void modules_init(void);

/* Notes that the loader is at work.  Safety: anywhere.  errno: preserved. */
void modules_mark_dirty(void);

/**
 * modules_scan() - write MODULE and UNLOAD chunks for what has changed
 *
 * Gives up when another thread has been scanning for too long, as one does that
 * waits for what the caller holds; the mark stays then.
 *
 * Safety: before start-up: once the trace is open.  Signal handler: inside
 *         the guard.  After fork: never.  Not while the caller is the loader:
 *         its list may be half changed.  Allocates: mmap.  Locks: the
 *         loader's list, its own for a bounded time.  errno: preserved.
 */
void modules_scan(void);

/*
 * Adds @piece to those that chunks go to, and writes the modules known so far
 * into it.
 *
 * Safety: as modules_scan(), also while the caller is the loader.
 */
void modules_begin_piece(uint32_t piece);

/*
 * Before and after a fork: the forked child finds no scan half done, and the
 * loader's list not locked by us.  Safety: thread that forks.
 */
void modules_before_fork(void);
void modules_after_fork(void);

/*
 * The same in the child, where the loader's list may be locked for ever by a
 * thread of the parent: from now on it is only looked at when the loader has
 * been at work.
 *
 * Safety: child of fork(), single thread.
 */
void modules_after_fork_in_child(void);

#endif /* TRACER_MODULES_H */
