/* SPDX-License-Identifier: MIT */
/*
 * PATH.live: the threads' buffers as a shared file mapping, which outlives
 * the process however it ends.
 *
 * Room is allocated on disk before it is mapped, so that a full disk is a
 * failed call here and never SIGBUS in the program.  Where the file cannot be
 * had, buffers are anonymous memory: the trace then lacks its tail when the
 * process is killed, and nothing else changes.
 */
#ifndef TRACER_LIVE_H
#define TRACER_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/trace_format.h"

enum {
	LIVE_STRIDE = 128 << 10,
	LIVE_BUFFER = LIVE_STRIDE - (int)TRACE_LIVE_PAGE,
	LIVE_SEGMENT_SLOTS = 8,
	LIVE_SEGMENT_COUNT = 8192,
	LIVE_SLOT_MAX = LIVE_SEGMENT_COUNT * LIVE_SEGMENT_SLOTS,
};

/**
 * live_create() - make the file beside the trace
 * @trace_path: the trace's absolute path
 * @run_id: as in PIECE
 *
 * Slots that there are already become zero, and part of the file; where there
 * are none, the first ones do, since the program may have no way to the file
 * later.
 *
 * Safety: once, or again after live_remove() or live_detach_child(), by one
 *         thread while no event is recorded.  Allocates: mmap.  Locks: none.
 *         errno: untouched.
 *
 * Return: whether there is a file now.
 */
bool live_create(const char *trace_path, uint64_t run_id);

/**
 * live_follow() - give the file the name of another trace, too
 *
 * Where a file cannot have two names it loses the old one.  live_leave()
 * must follow.
 *
 * Safety: by one thread.  Allocates, locks: none.  errno: untouched.
 *
 * Return: false when that is not possible.  True without a file.
 */
bool live_follow(const char *trace_path);

/* Removes the name that it had before live_follow().  Safety: the same. */
void live_leave(void);

/**
 * live_slot() - the control page of slot @index; its buffer follows
 *
 * Maps the segment when it is the first of its kind.
 *
 * Safety: one thread at a time, signals blocked.  Allocates: mmap.
 *         errno: untouched.
 *
 * Return: NULL when there is neither file room nor memory.
 */
struct trace_live_slot *live_slot(uint32_t index);

/*
 * Has slot @index, which nobody has used yet, in memory: all of it is going to
 * be filled.  Where that fails its pages come one by one.
 *
 * Safety: signals blocked.  System calls.  errno: untouched.
 */
void live_warm_slot(uint32_t index);

/* Whether @name, the kernel's of a mapping, is the file's.  Safety: pure. */
bool live_is_path(const char *name);

/* Notes the helper's process id, 0 for none.  Safety: anywhere. */
void live_set_helper(int pid);

/*
 * Notes that the trace lacks @count events and does not say so, for want of
 * @reason: WRITE or MEMORY.  Safety: anywhere.
 */
void live_set_lost(enum trace_lost_reason reason, uint64_t count);

/* Unlinks the file; the mappings stay.  Safety: anywhere. */
void live_remove(void);

/*
 * Brings the file back under its name after live_remove(), when exec failed.
 *
 * Safety: only by the process's one thread, flushed: the contents become zero.
 */
void live_restore(void);

/*
 * Replaces the shared buffers by private memory in a forked child, which may
 * still be inside a hook that it interrupted.  Safety: child only.
 */
void live_detach_child(void);

/* Return: whether buffers are in a file.  Safety: anywhere. */
bool live_has_file(void);

#endif /* TRACER_LIVE_H */
