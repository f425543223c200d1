/* SPDX-License-Identifier: MIT */
/*
 * One function for each kind of event; the hooks call nothing else.
 *
 * Each returns at once where tracing is off or the calling thread is inside
 * the tracer already (then the event is counted as lost, unless the tracer
 * itself caused the call).  @caller is the hook's return address.
 *
 * Safety (all of them): before start-up: yes, the first one starts it.
 * Signal handler: yes.  After fork: does nothing.  Allocates: mmap when a
 * buffer is full or a thread new.  Locks: none but those of the unwinder and,
 * when the loader has been at work, the loader's.  errno: preserved.
 */
#ifndef TRACER_EVENT_H
#define TRACER_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "tracer/clock.h"
#include "tracer/compiler.h"
#include "tracer/state.h"
#include "tracer/tls.h"
#include "tracer/trace_format.h"

/**
 * struct event_block - an allocation
 * @kind:   MALLOC, CALLOC, MEMALIGN or NEW
 * @addr:   not 0
 * @size:   as asked for
 * @usable: as the allocator says, or 0 where it does not
 * @align:  MEMALIGN's
 */
struct event_block {
	enum trace_event_kind kind;
	uintptr_t addr;
	size_t size;
	size_t usable;
	size_t align;
};

/* After the real call.  Values, which stay in registers. */
void event_alloc_values(enum trace_event_kind kind, uintptr_t addr, size_t size,
			size_t usable, size_t align, uintptr_t caller);

static inline void event_alloc(const struct event_block *block,
			       uintptr_t caller)
{
	event_alloc_values(block->kind, block->addr, block->size, block->usable,
			   block->align, caller);
}

/* The calling thread has a number and a stream, where there is memory for one,
   before its first event.  @caller may be 0. */
void event_thread_begin(uintptr_t caller);

/*
 * Before a real call whose release is recorded after it.  A thread is entered
 * first, for no event of its stream is older than that, and stamps are ordered
 * among threads only since there is a second one.
 *
 * Return: the call's time, 0 while nothing is recorded.
 */
static inline uint64_t event_get_tick(uintptr_t caller)
{
	if (!state_on())
		return 0;
	if (UNLIKELY(!tls.thread))
		event_thread_begin(caller);
	return clock_now();
}

/* Before the real call.  @kind is FREE or DELETE. */
void event_free(enum trace_event_kind kind, uintptr_t addr, uintptr_t caller);

/* After the real call, for a release known only then, begun at @tick. */
void event_free_at(enum trace_event_kind kind, uintptr_t addr, uint64_t tick,
		   uintptr_t caller);

/* After the real call, which began at @tick and returned block->addr. */
void event_realloc(uintptr_t old_addr, const struct event_block *block,
		   uint64_t tick, uintptr_t caller);

/**
 * struct event_map - arguments of mmap
 *
 * Members as in the format; @addr is the result.
 */
struct event_map {
	uintptr_t addr;
	size_t length;
	int prot;
	int flags;
	int fd;
	uint64_t offset;
};

/* After the real call. */
void event_mmap(const struct event_map *map, uintptr_t caller);

/* After the real call, which began at @tick. */
void event_munmap(uintptr_t addr, size_t length, uint64_t tick,
		  uintptr_t caller);

/**
 * struct event_remap - arguments and result of mremap
 */
struct event_remap {
	uintptr_t old_addr;
	size_t old_length;
	uintptr_t new_addr;
	size_t new_length;
	int flags;
};

/* After the real call. */
void event_mremap(const struct event_remap *remap, uintptr_t caller);

/* After the real call. */
void event_mallopt(int param, int value, int result, uintptr_t caller);

/* The calling thread has given itself a name. */
void event_thread_name(void);

/*
 * Writes RSS into the calling thread's stream, for the end of the trace.
 * Safety: inside the guard.
 */
void event_rss_last(void);

#endif /* TRACER_EVENT_H */
