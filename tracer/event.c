/* SPDX-License-Identifier: MIT */
#include "tracer/event.h"

#include <errno.h>

#include "tracer/clock.h"
#include "tracer/encode.h"
#include "tracer/live.h"
#include "tracer/modules.h"
#include "tracer/options.h"
#include "tracer/record.h"
#include "tracer/state.h"
#include "tracer/thread.h"
#include "tracer/tls.h"

enum {
	/* Tag, time, pop, push and the longest body, six varints. */
	EVENT_FIXED_MAX = 1 + 9 * ENCODE_VARINT_MAX,
	/* An event may bring RSS, LOST and LOST with it. */
	EVENT_RESERVE = 4 * EVENT_FIXED_MAX,
	RSS_INTERVAL_NS = 10 * 1000 * 1000,
};

_Static_assert(UNWIND_WINDOW_MAX *ENCODE_VARINT_MAX + EVENT_RESERVE <
		   LIVE_BUFFER,
	       "the deepest stack fits into an empty buffer");

/**
 * struct cursor - an event being written
 * @th:    the stream
 * @p:     next byte
 * @count: events between the last commit and @p
 */
struct cursor {
	struct thread *th;
	uint8_t *p;
	uint32_t count;
};

/*
 * A hook was called while the tracer was at work on this thread.  Has that
 * work been abandoned, by a signal handler that jumped out of it?  Surely so
 * when its frame no longer holds its return address, and when that frame is
 * not further out than ours, @frame; unless we only seem to be further out,
 * because we run on the alternate signal stack.
 *
 * Safety: anywhere.  Return: whether the stream can go on, in a new chunk.
 */
static COLD bool guard_is_stale(uintptr_t frame, uintptr_t caller)
{
	uintptr_t guard = tls.guard & ~GUARD_INTERNAL;
	const uintptr_t *check = (const uintptr_t *)guard + 1;
	stack_t stack = {0};

	if (!sys_can_read(check) || *check != tls.guard_check)
		return true;
	if (frame >= guard) {
		sys_sigaltstack(NULL, &stack);
		if (!(stack.ss_flags & SS_ONSTACK))
			return true;
	}
	if (!(tls.guard & GUARD_INTERNAL) && !modules_is_loader(caller))
		tls.lost_nested++;
	return false;
}

/* Safety: anywhere. */
static inline void leave(void)
{
	SIGNAL_FENCE();
	tls.guard = 0;
}

/*
 * What happens rarely before an event: the modules have changed, the thread
 * is new, its stream has to begin a new chunk.
 *
 * Safety: inside the guard.  Return: the stream, or NULL when there is none.
 */
static COLD struct thread *prepare(uintptr_t caller, bool stale)
{
	struct thread *th = tls.thread;

	if (!modules_is_loader(caller) && modules_loader.dirty)
		modules_scan();
	if (!th)
		th = thread_register();
	if (!th) {
		thread_count_unrecorded();
		return NULL;
	}
	if (stale)
		unwind_stack_reset(&th->stack);
	if (stale || th->restart)
		thread_flush(th);
	return th;
}

/*
 * Safety: anywhere.  Return: the stream, and leave() must follow; or NULL when
 * nothing is to be recorded.
 */
static inline __attribute__((always_inline)) struct thread *
enter(uintptr_t caller)
{
	struct thread *th;
	bool stale = false;

	if (UNLIKELY(!state_on()))
		return NULL;
	if (UNLIKELY(tls.guard)) {
		stale = guard_is_stale(TLS_FRAME(), caller);
		if (!stale)
			return NULL;
	}
	tls_set_guard(TLS_FRAME(), 0);
	unwind_prefetch(caller);
	if (UNLIKELY(modules_is_loader(caller)))
		modules_mark_dirty();
	th = tls.thread;
	if (UNLIKELY(!th || stale || th->restart || modules_loader.dirty)) {
		th = prepare(caller, stale);
		if (!th)
			leave();
	}
	return th;
}

/* Safety: inside the guard.  Adds a LOST event, which has no stack. */
static COLD void put_lost(struct cursor *cur, uint64_t count,
			  enum trace_lost_reason reason)
{
	*cur->p++ = TRACE_EVENT_LOST;
	*cur->p++ = 0; /* no time has passed */
	cur->p = put_varint(cur->p, count);
	cur->p = put_varint(cur->p, reason);
	cur->count++;
}

/* Safety: inside the guard.  Adds an RSS event, unless one is recent. */
static COLD void put_rss(struct cursor *cur)
{
	static _Atomic uint64_t last_ns;
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns - last_ns < RSS_INTERVAL_NS)
		return;
	last_ns = now_ns;
	*cur->p++ = TRACE_EVENT_RSS;
	*cur->p++ = 0;
	cur->p = put_varint(cur->p, record_resident_bytes());
	cur->count++;
}

/*
 * Makes room for an event at @tick that needs up to EVENT_RESERVE + @extra
 * bytes, and starts a chunk when it is the first.
 *
 * Safety: inside the guard.  Return: whether the buffer was written out.
 */
static inline bool reserve(struct thread *th, size_t extra, uint64_t tick)
{
	bool flushed = false;

	if (UNLIKELY(thread_len(th) + EVENT_RESERVE + extra > LIVE_BUFFER)) {
		thread_flush(th);
		flushed = true;
	}
	if (UNLIKELY(!thread_len(th))) {
		th->slot->first_tick = tick;
		th->last_tick = tick;
	}
	return flushed;
}

/*
 * The frame of the hook that was called from @caller.  All functions of the
 * tracer keep frame pointers, so it is a few steps up; a hook that calls this
 * file last has left the frame to it.
 *
 * Safety: @frame is the running function's; hooks return to @caller.
 */
static inline const struct frame_record *find_hook(uintptr_t frame,
						   uintptr_t caller)
{
	const struct frame_record *record = (const void *)frame;

	for (int i = 0; record->ret != caller && i < UNWIND_OWN_FRAMES; i++)
		record = (const void *)record->next;
	return record;
}

/* Safety: inside the guard.  Return: byte after the coded stack. */
static inline uint8_t *put_stack(uint8_t *p, struct thread *th,
				 const uintptr_t *frames, size_t len,
				 size_t keep)
{
	uintptr_t base = keep ? frames[keep - 1] : 0;

	p = put_varint(p, th->prev_len - keep);
	p = put_varint(p, len - keep);
	for (size_t i = keep; i < len; i++) {
		p = put_svarint(p, (int64_t)(frames[i] - base));
		base = frames[i];
	}
	th->prev_len = len;
	return p;
}

/* Safety: inside the guard.  What may come before an event in its chunk. */
static COLD void put_extras(struct cursor *cur, bool flushed, bool failed)
{
	if (flushed)
		put_rss(cur);
	if (tls.lost_nested) {
		put_lost(cur, tls.lost_nested, TRACE_LOST_NESTED);
		thread_count_lost(tls.lost_nested);
		tls.lost_nested = 0;
	}
	if (failed)
		put_lost(cur, 1, TRACE_LOST_UNWIND);
}

/*
 * Unwinds and writes tag, time and stack; the body is the caller's.  @caller
 * 0 leaves the stack out.
 *
 * Safety: inside the guard.
 */
static inline __attribute__((always_inline)) struct cursor
begin(struct thread *th, enum trace_event_kind kind, uint64_t tick,
      uintptr_t caller)
{
	struct unwind_stack *stack = &th->stack;
	struct cursor cur = {.th = th, .count = 1};
	size_t len = 0, keep = 0;
	bool flushed, failed = false;

	if (LIKELY(caller)) {
		unwind_capture(stack, find_hook(TLS_FRAME(), caller));
		len = stack->len;
		keep = th->prev_len ? stack->keep : 0;
		failed = stack->failed;
		kind |= stack->truncated ? TRACE_EVENT_TRUNCATED : 0;
	}
	flushed = reserve(th, (len - keep) * ENCODE_VARINT_MAX, tick);
	if (UNLIKELY(flushed)) {
		keep = 0;
		if (!modules_is_loader(caller))
			modules_scan();
	}
	cur.p = th->buf + thread_len(th);
	if (UNLIKELY(flushed || tls.lost_nested || failed))
		put_extras(&cur, flushed, failed);
	if (tick < th->last_tick)
		tick = th->last_tick;
	*cur.p++ = (uint8_t)kind;
	cur.p = put_varint(cur.p, tick - th->last_tick);
	th->last_tick = tick;
	cur.p = put_stack(cur.p, th, stack->pcs, len, keep);
	return cur;
}

/* Safety: inside the guard.  Appends an address to the event. */
static inline void put_addr(struct cursor *cur, uintptr_t addr)
{
	cur->p = put_svarint(cur->p, (int64_t)(addr - cur->th->last_addr));
	cur->th->last_addr = addr;
}

/* Safety: inside the guard.  The event becomes part of the trace. */
static inline void commit(const struct cursor *cur)
{
	struct thread *th = cur->th;
	uint64_t old = atomic_load_explicit(&th->commit, memory_order_relaxed);
	uint64_t len = (uint64_t)(cur->p - th->buf);
	uint64_t count = commit_count(old) + cur->count;
	uint64_t which = commit_which(old) ^ 1;

	th->commit_tick[which] = th->last_tick;
	__atomic_store_n(&th->slot->committed_len, len, __ATOMIC_RELEASE);
	atomic_store_explicit(&th->commit, count << 32 | which << 31 | len,
			      memory_order_release);
}

/* Safety: pure. */
static inline uint64_t get_slack(const struct event_block *block)
{
	return block->usable > block->size ? block->usable - block->size : 0;
}

void event_alloc(const struct event_block *block, uintptr_t caller)
{
	struct thread *th = enter(caller);
	int saved = errno;
	struct cursor cur;

	if (!th)
		return;
	cur = begin(th, block->kind, clock_after(), caller);
	put_addr(&cur, block->addr);
	cur.p = put_varint(cur.p, block->size);
	cur.p = put_varint(cur.p, get_slack(block));
	if (block->kind == TRACE_EVENT_MEMALIGN)
		cur.p = put_varint(cur.p, block->align);
	commit(&cur);
	tls.last_block = block->addr;
	tls.serial++;
	leave();
	errno = saved;
}

void event_free_at(enum trace_event_kind kind, uintptr_t addr, uint64_t tick,
		   uintptr_t caller)
{
	struct thread *th = enter(caller);
	int saved = errno;
	struct cursor cur;

	if (!th)
		return;
	cur = begin(th, kind, tick, options.free_stacks ? caller : 0);
	put_addr(&cur, addr);
	commit(&cur);
	tls.last_freed = addr;
	tls.serial++;
	leave();
	errno = saved;
}

void event_free(enum trace_event_kind kind, uintptr_t addr, uintptr_t caller)
{
	event_free_at(kind, addr, state_on() ? clock_before() : 0, caller);
}

void event_realloc(uintptr_t old_addr, const struct event_block *block,
		   uint64_t tick, uintptr_t caller)
{
	struct thread *th = enter(caller);
	int saved = errno;
	struct cursor cur;
	uint64_t end;

	if (!th)
		return;
	end = clock_after();
	cur = begin(th, TRACE_EVENT_REALLOC, tick, caller);
	if (end < th->last_tick)
		end = th->last_tick;
	cur.p = put_varint(cur.p, end - th->last_tick);
	th->last_tick = end;
	put_addr(&cur, old_addr);
	put_addr(&cur, block->addr);
	cur.p = put_varint(cur.p, block->size);
	cur.p = put_varint(cur.p, get_slack(block));
	commit(&cur);
	tls.last_block = block->addr;
	tls.serial++;
	leave();
	errno = saved;
}

void event_mmap(const struct event_map *map, uintptr_t caller)
{
	struct thread *th = enter(caller);
	int saved = errno;
	struct cursor cur;

	if (!th)
		return;
	cur = begin(th, TRACE_EVENT_MMAP, clock_after(), caller);
	put_addr(&cur, map->addr);
	cur.p = put_varint(cur.p, map->length);
	cur.p = put_varint(cur.p, (unsigned)map->prot);
	cur.p = put_varint(cur.p, (unsigned)map->flags);
	cur.p = put_svarint(cur.p, map->fd);
	cur.p = put_varint(cur.p, map->offset);
	commit(&cur);
	leave();
	errno = saved;
}

void event_munmap(uintptr_t addr, size_t length, uint64_t tick,
		  uintptr_t caller)
{
	struct thread *th = enter(caller);
	int saved = errno;
	struct cursor cur;

	if (!th)
		return;
	cur = begin(th, TRACE_EVENT_MUNMAP, tick, caller);
	put_addr(&cur, addr);
	cur.p = put_varint(cur.p, length);
	commit(&cur);
	leave();
	errno = saved;
}

void event_mremap(const struct event_remap *remap, uintptr_t caller)
{
	struct thread *th = enter(caller);
	int saved = errno;
	struct cursor cur;

	if (!th)
		return;
	cur = begin(th, TRACE_EVENT_MREMAP, clock_after(), caller);
	put_addr(&cur, remap->old_addr);
	cur.p = put_varint(cur.p, remap->old_length);
	put_addr(&cur, remap->new_addr);
	cur.p = put_varint(cur.p, remap->new_length);
	cur.p = put_varint(cur.p, (unsigned)remap->flags);
	commit(&cur);
	leave();
	errno = saved;
}

void event_mallopt(int param, int value, int result, uintptr_t caller)
{
	struct thread *th = enter(caller);
	int saved = errno;
	struct cursor cur;

	if (!th)
		return;
	cur = begin(th, TRACE_EVENT_MALLOPT, clock_after(), caller);
	cur.p = put_svarint(cur.p, param);
	cur.p = put_svarint(cur.p, value);
	cur.p = put_svarint(cur.p, result);
	commit(&cur);
	leave();
	errno = saved;
}

void event_thread_name(void)
{
	struct thread *th = enter(0);
	int saved = errno;

	if (!th)
		return;
	thread_write_own_name(th);
	leave();
	errno = saved;
}

void event_rss_last(void)
{
	struct thread *th = tls.thread;
	struct cursor cur = {.th = th};
	uint64_t tick = clock_before();

	if (!th)
		return;
	reserve(th, 0, tick);
	if (tick < th->last_tick)
		tick = th->last_tick;
	cur.p = th->buf + thread_len(th);
	put_extras(&cur, false, false);
	*cur.p++ = TRACE_EVENT_RSS;
	cur.p = put_varint(cur.p, tick - th->last_tick);
	cur.p = put_varint(cur.p, record_resident_bytes());
	cur.count++;
	th->last_tick = tick;
	commit(&cur);
}
