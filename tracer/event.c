/* SPDX-License-Identifier: MIT */
#include "tracer/event.h"

#include <errno.h>

#include "tracer/buffer.h"
#include "tracer/clock.h"
#include "tracer/control.h"
#include "tracer/cull_stamps.h"
#include "tracer/duration.h"
#include "tracer/helper.h"
#include "tracer/modules.h"
#include "tracer/options.h"
#include "tracer/piece.h"
#include "tracer/record.h"
#include "tracer/smaps.h"
#include "tracer/state.h"
#include "tracer/thread.h"
#include "tracer/tls.h"
#include "tracer/unwind_hot.h"

enum {
	/* Words without frames: an event may bring RSS, LOST and LOST. */
	EVENT_RESERVE = 4 * RECORD_FIXED_MAX,
	RSS_INTERVAL_NS = 10 * 1000 * 1000,
	PAUSES_TICKS = 1 << 29, /* a quarter of a second, or half of one */
};

_Static_assert(UNWIND_WINDOW_MAX + EVENT_RESERVE < BUFFER_WORDS,
	       "the deepest stack fits into an empty buffer");
_Static_assert(UNWIND_WINDOW_MAX <= UINT16_MAX, "pop and push have 16 bits");

/**
 * struct cursor - an event being written
 * @th:     the stream
 * @p:      next word
 * @frames: to be appended to the body
 * @push:   of them
 */
struct cursor {
	struct thread *th;
	uint64_t *p;
	const uintptr_t *frames;
	size_t push;
};

/*
 * A hook was called while the tracer was at work on this thread.  Has that
 * work been abandoned, by a signal handler that jumped out of it?  Surely so
 * when its frame no longer holds its return address, and when that frame is
 * not further out than ours, @frame; unless we only seem to be further out,
 * because we run on the alternate signal stack.
 *
 * Safety: anywhere.  Return: whether the stream can go on, in a new buffer.
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
 * is new, its stream has to go on in a new buffer.
 *
 * Safety: inside the guard.  Return: the stream, or NULL when there is none.
 */
static COLD struct thread *prepare(uintptr_t caller, bool stale)
{
	struct thread *th = tls.thread;
	int saved = errno;

	if (!modules_is_loader(caller) && modules_loader.dirty)
		modules_scan();
	if (!th)
		th = thread_register();
	if (!th)
		thread_count_unrecorded();
	if (th && caller)
		unwind_follow_loader(&th->stack, caller);
	if (th && stale) {
		unwind_stack_reset(&th->stack);
		thread_flush(th);
	}
	errno = saved;
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
	if (UNLIKELY(!th || stale ||
		     th->stack.generation != modules_loader.generation)) {
		th = prepare(caller, stale);
		if (!th)
			leave();
	}
	return th;
}

/* Safety: inside the guard.  Adds a LOST event, which has no stack. */
static COLD uint64_t *put_lost(uint64_t *p, uint64_t count,
			       enum trace_lost_reason reason)
{
	*p++ = TRACE_EVENT_LOST;
	*p++ = count;
	*p++ = reason;
	return p;
}

/* Safety: inside the guard.  Adds an RSS event, unless one is recent. */
static COLD uint64_t *put_rss(uint64_t *p)
{
	static _Atomic uint64_t last_ns;
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns - last_ns < RSS_INTERVAL_NS)
		return p;
	last_ns = now_ns;
	*p++ = TRACE_EVENT_RSS;
	*p++ = record_resident_bytes();
	return p;
}

/* Safety: as find_hook(), for one further out than @record. */
static COLD const struct frame_record *
find_outer_hook(const struct frame_record *record, uintptr_t caller)
{
	for (int i = 0; record->ret != caller && i < UNWIND_OWN_FRAMES; i++)
		record = (const void *)record->next;
	return record;
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

	if (UNLIKELY(record->ret == caller))
		return record;
	record = (const void *)record->next;
	if (UNLIKELY(record->ret != caller))
		return find_outer_hook(record, caller);
	return record;
}

/* Safety: inside the guard.  What may come before an event, all at the time
   of the one before. */
static COLD uint64_t *put_extras(uint64_t *p, bool flushed, bool failed)
{
	if (flushed)
		p = put_rss(p);
	if (tls.lost_nested) {
		p = put_lost(p, tls.lost_nested, TRACE_LOST_NESTED);
		thread_count_lost(tls.lost_nested);
		tls.lost_nested = 0;
	}
	if (failed)
		p = put_lost(p, 1, TRACE_LOST_UNWIND);
	return p;
}

/* Safety: inside the guard.  The buffer is full.  Return: whether there is
   another. */
static COLD bool flush(struct thread *th, uintptr_t caller)
{
	int saved = errno;
	bool done = thread_flush(th);

	if (done && !modules_is_loader(caller))
		modules_scan();
	if (!done && state_page->on)
		thread_count_unrecorded();
	if (done && duration_is_over() && control_stop())
		done = false;
	else if (done && piece_is_due())
		state_rotate();
	errno = saved;
	return done;
}

/* Safety: inside the guard.  Return: the head word; @ticks may follow. */
static inline uint64_t get_head(unsigned tag, uint64_t pop, uint64_t push,
				uint64_t ticks)
{
	return tag | pop << TRACE_RECORD_POP_SHIFT |
	       push << TRACE_RECORD_PUSH_SHIFT |
	       ticks << TRACE_RECORD_TICKS_SHIFT;
}

/*
 * The thread made no event for 2^24 ticks, some milliseconds: a program that
 * allocates little may not fill a buffer for hours, and its memory shall be
 * sampled all the same.  Not at once, for the sake of short runs.
 *
 * Safety: inside the guard.  errno: preserved.
 */
static COLD void note_pause(uint64_t tick)
{
	static _Atomic uint64_t first_tick;
	uint64_t signals;

	if (!options.gather_maps)
		return;
	if (!first_tick)
		first_tick = tick;
	if (tick - first_tick < PAUSES_TICKS)
		return;
	sys_signals_block(&signals);
	if (!helper_start())
		smaps_take_if_due();
	sys_signals_restore(&signals);
}

/* Safety: inside the guard.  Head of an event at @tick with @tag. */
static inline uint64_t *put_head(uint64_t *p, struct thread *th, unsigned tag,
				 uint64_t tick, uint64_t pop, uint64_t push)
{
	uint64_t ticks = 0;

	if (LIKELY(tick > th->last_tick)) {
		ticks = tick - th->last_tick;
		th->last_tick = tick;
	}
	if (LIKELY(ticks < TRACE_RECORD_TICKS_LONG)) {
		*p++ = get_head(tag, pop, push, ticks);
		return p;
	}
	note_pause(tick);
	*p++ = get_head(tag, pop, push, TRACE_RECORD_TICKS_LONG);
	*p++ = ticks;
	return p;
}

/* Safety: inside the guard.  Whether the buffer has room for @words; no when
   its end was taken away. */
static inline bool has_room(const struct thread *th, size_t words)
{
	uintptr_t end = (uintptr_t)__atomic_load_n(&th->end, __ATOMIC_RELAXED);

	return (intptr_t)(end - (uintptr_t)th->next) >=
	       (intptr_t)(words * sizeof(*th->next));
}

/**
 * struct change - what became of the stack since the event before
 * @pop:  frames to take off
 * @keep: leading frames that stay
 * @push: frames to put on
 */
struct change {
	size_t pop;
	size_t keep;
	size_t push;
};

/* Safety: inside the guard. */
static inline struct change get_change(const struct thread *th)
{
	/* A buffer's first stack is a whole one. */
	size_t keep =
	    th->stack.keep < th->prev_len ? th->stack.keep : th->prev_len;

	return (struct change){
	    .pop = th->prev_len - keep,
	    .keep = keep,
	    .push = th->stack.len - keep,
	};
}

/**
 * struct start - where an event begins
 * @p:      its head; NULL when there is no room
 * @tag:    kind and marks
 * @change: of the stack
 */
struct start {
	uint64_t *p;
	unsigned tag;
	struct change change;
};

/*
 * What an event seldom needs: another buffer, events before it, a mark.  By
 * value, so that all others keep theirs in registers.
 *
 * Safety: inside the guard.
 */
static COLD struct start begin_rarely(struct thread *th, struct start start,
				      uintptr_t caller)
{
	const struct unwind_stack *stack = &th->stack;
	bool failed = caller && stack->failed;
	bool flushed = false;

	if (caller && stack->truncated)
		start.tag |= TRACE_EVENT_TRUNCATED;
	if (!has_room(th, start.change.push + EVENT_RESERVE)) {
		if (!flush(th, caller))
			return (struct start){0};
		flushed = true;
		start.change = (struct change){0};
		if (caller)
			start.change.push = stack->len;
	}
	start.p = put_extras(th->next, flushed, failed);
	return start;
}

/*
 * Unwinds and writes the head; the body is the caller's.  @caller 0 leaves
 * the stack out.
 *
 * Safety: inside the guard.  Return: false when there is no room, and the
 * event is lost.
 */
static inline __attribute__((always_inline)) bool
begin(struct cursor *cur, struct thread *th, unsigned tag, uint64_t tick,
      uintptr_t caller)
{
	struct unwind_stack *stack = &th->stack;
	struct start start = {th->next, tag, {0}};

	if (LIKELY(caller)) {
		unwind_capture(stack, find_hook(TLS_FRAME(), caller));
		start.change = get_change(th);
	} else {
		start.tag |= TRACE_EVENT_NO_STACK;
	}
	if (UNLIKELY(!has_room(th, start.change.push + EVENT_RESERVE) ||
		     tls.lost_nested | stack->marks)) {
		start = begin_rarely(th, start, caller);
		if (!start.p)
			return false;
	}
	if (LIKELY(caller))
		th->prev_len = stack->len;
	cur->th = th;
	cur->frames = stack->pcs + start.change.keep;
	cur->push = start.change.push;
	cur->p = put_head(start.p, th, start.tag, tick, start.change.pop,
			  start.change.push);
	return true;
}

/* Safety: inside the guard.  Appends size and slack. */
static inline void put_extent(struct cursor *cur, size_t size, size_t usable)
{
	uint64_t slack = usable > size ? usable - size : 0;

	if (LIKELY(slack < TRACE_RECORD_SLACK_LONG)) {
		*cur->p++ = size | slack << TRACE_RECORD_SLACK_SHIFT;
		return;
	}
	*cur->p++ = size | TRACE_RECORD_SLACK_LONG << TRACE_RECORD_SLACK_SHIFT;
	*cur->p++ = slack;
}

/* Safety: inside the guard.  Appends the frames, and the event becomes part
   of the trace. */
static inline void commit(struct cursor *cur)
{
	struct thread *th = cur->th;
	uint64_t *p = cur->p;

	for (size_t i = 0; i < cur->push; i++)
		p[i] = cur->frames[i];
	p += cur->push;
	th->next = p;
	buffer_commit(th->slot, p);
}

/* Safety: inside the guard.  Whose block is at @addr from now on; 0: its event is
   lost. */
static inline void stamp(uintptr_t addr, uint32_t thread)
{
	if (UNLIKELY(cull_stamps))
		cull_stamp(addr, thread);
}

void event_alloc_values(enum trace_event_kind kind, uintptr_t addr, size_t size,
			size_t usable, size_t align, uintptr_t caller)
{
	struct thread *th = enter(caller);
	struct cursor cur;

	if (!th)
		return;
	if (LIKELY(begin(&cur, th, kind, clock_now(), caller))) {
		*cur.p++ = addr;
		put_extent(&cur, size, usable);
		if (kind == TRACE_EVENT_MEMALIGN)
			*cur.p++ = align;
		commit(&cur);
		stamp(addr, th->number);
	} else {
		stamp(addr, 0);
	}
	tls.last_block = addr;
	tls.serial++;
	leave();
}

/* Safety: inside the guard, which it leaves. */
static inline __attribute__((always_inline)) void
put_free(struct thread *th, enum trace_event_kind kind, uintptr_t addr,
	 uint64_t tick, uintptr_t caller)
{
	struct cursor cur;
	unsigned tag = kind;

	if (UNLIKELY(cull_stamps) && cull_is_own(addr, th->number))
		tag |= TRACE_RECORD_OWN;
	if (LIKELY(begin(&cur, th, tag, tick,
			 options.free_stacks ? caller : 0))) {
		*cur.p++ = addr;
		commit(&cur);
	}
	if (UNLIKELY(tls.last_block == addr))
		tls.last_block = 0; /* an allocator has used it inside a call */
	if (UNLIKELY(tls.releasing == addr))
		tls.releasing = 0;
	tls.serial++;
	leave();
}

void event_free_at(enum trace_event_kind kind, uintptr_t addr, uint64_t tick,
		   uintptr_t caller)
{
	struct thread *th = enter(caller);

	if (th)
		put_free(th, kind, addr, tick, caller);
}

void event_free(enum trace_event_kind kind, uintptr_t addr, uintptr_t caller)
{
	struct thread *th = enter(caller);

	if (LIKELY(th))
		put_free(th, kind, addr, clock_now(), caller);
}

void event_realloc(uintptr_t old_addr, const struct event_block *block,
		   uint64_t tick, uintptr_t caller)
{
	struct thread *th = enter(caller);
	struct cursor cur;
	uint64_t end;

	if (!th)
		return;
	end = clock_now();
	if (LIKELY(begin(&cur, th, TRACE_EVENT_REALLOC, tick, caller))) {
		if (end < th->last_tick)
			end = th->last_tick;
		*cur.p++ = old_addr;
		*cur.p++ = block->addr;
		put_extent(&cur, block->size, block->usable);
		*cur.p++ = end - th->last_tick;
		th->last_tick = end;
		commit(&cur);
		stamp(block->addr, th->number);
	} else {
		stamp(block->addr, 0);
	}
	tls.last_block = block->addr;
	tls.serial++;
	leave();
}

void event_mmap(const struct event_map *map, uintptr_t caller)
{
	struct thread *th = enter(caller);
	struct cursor cur;

	if (!th)
		return;
	if (begin(&cur, th, TRACE_EVENT_MMAP, clock_now(), caller)) {
		*cur.p++ = map->addr;
		*cur.p++ = map->length;
		*cur.p++ = (unsigned)map->prot;
		*cur.p++ = (unsigned)map->flags;
		*cur.p++ = (uint64_t)(int64_t)map->fd;
		*cur.p++ = map->offset;
		commit(&cur);
	}
	leave();
}

void event_munmap(uintptr_t addr, size_t length, uint64_t tick,
		  uintptr_t caller)
{
	struct thread *th = enter(caller);
	struct cursor cur;

	if (!th)
		return;
	if (begin(&cur, th, TRACE_EVENT_MUNMAP, tick, caller)) {
		*cur.p++ = addr;
		*cur.p++ = length;
		commit(&cur);
	}
	leave();
}

void event_mremap(const struct event_remap *remap, uintptr_t caller)
{
	struct thread *th = enter(caller);
	struct cursor cur;

	if (!th)
		return;
	if (begin(&cur, th, TRACE_EVENT_MREMAP, clock_now(), caller)) {
		*cur.p++ = remap->old_addr;
		*cur.p++ = remap->old_length;
		*cur.p++ = remap->new_addr;
		*cur.p++ = remap->new_length;
		*cur.p++ = (unsigned)remap->flags;
		commit(&cur);
	}
	leave();
}

void event_mallopt(int param, int value, int result, uintptr_t caller)
{
	struct thread *th = enter(caller);
	struct cursor cur;

	if (!th)
		return;
	if (begin(&cur, th, TRACE_EVENT_MALLOPT, clock_now(), caller)) {
		*cur.p++ = (uint64_t)(int64_t)param;
		*cur.p++ = (uint64_t)(int64_t)value;
		*cur.p++ = (uint64_t)(int64_t)result;
		commit(&cur);
	}
	leave();
}

void event_thread_name(void)
{
	struct thread *th = enter(0);

	if (!th)
		return;
	thread_write_own_name(th);
	leave();
}

void event_thread_begin(void)
{
	if (enter(0))
		leave();
}

void event_rss_last(void)
{
	struct thread *th = tls.thread;
	struct cursor cur = {.th = th};

	if (!th)
		return;
	if (!has_room(th, EVENT_RESERVE) && !thread_flush(th))
		return;
	cur.p = put_extras(th->next, false, false);
	cur.p = put_head(cur.p, th, TRACE_EVENT_RSS, clock_now(), 0, 0);
	*cur.p++ = record_resident_bytes();
	commit(&cur);
}
