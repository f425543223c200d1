/* SPDX-License-Identifier: MIT */
/*
 * How an event gets into its thread's stream: the guard, the stack, the head,
 * the frames.  What nearly every event does is here, to be inlined into the
 * functions of event.h; what happens seldom is in event_write.c.
 *
 *	struct thread *th = event_enter(caller);
 *
 *	if (!th)
 *		return;
 *	if (event_begin(&cur, th, tag, tick, caller)) {
 *		*cur.p++ = ...;
 *		event_commit(&cur);
 *	}
 *	event_leave();
 */
#ifndef TRACER_EVENT_WRITE_H
#define TRACER_EVENT_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/buffer.h"
#include "tracer/compiler.h"
#include "tracer/modules.h"
#include "tracer/state.h"
#include "tracer/thread.h"
#include "tracer/tls.h"
#include "tracer/unwind_hot.h"

enum {
	/* Words without frames: an event may bring RSS, LOST and LOST. */
	EVENT_RESERVE = 4 * RECORD_FIXED_MAX,
};

_Static_assert(UNWIND_WINDOW_MAX + EVENT_RESERVE < BUFFER_WORDS,
	       "the deepest stack fits into an empty buffer");
_Static_assert(UNWIND_WINDOW_MAX <= UINT16_MAX, "pop and push have 16 bits");

/**
 * struct event_cursor - an event being written
 * @th:     the stream
 * @p:      next word
 * @frames: to be appended to the body
 * @push:   of them
 */
struct event_cursor {
	struct thread *th;
	uint64_t *p;
	const uintptr_t *frames;
	size_t push;
};

/**
 * struct event_change - what became of the stack since the event before
 * @pop:  frames to take off
 * @keep: leading frames that stay
 * @push: frames to put on
 */
struct event_change {
	size_t pop;
	size_t keep;
	size_t push;
};

/**
 * struct event_start - where an event begins
 * @p:      its head; NULL when there is no room
 * @tag:    kind and marks
 * @change: of the stack
 */
struct event_start {
	uint64_t *p;
	unsigned tag;
	struct event_change change;
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
COLD bool event_guard_is_stale(uintptr_t frame, uintptr_t caller);

/*
 * What happens rarely before an event: the modules have changed, the thread
 * is new, its stream has to go on in a new buffer.
 *
 * Safety: inside the guard.  Return: the stream, or NULL when there is none.
 */
COLD struct thread *event_prepare(uintptr_t caller, bool stale);

/* Leaves the guard; the event is lost, for want of a stream.  Safety: inside
   the guard. */
COLD void event_give_up(void);

/* Safety: as event_find_hook(), for one further out than @record. */
COLD const struct frame_record *
event_find_outer_hook(const struct frame_record *record, uintptr_t caller);

/* Safety: inside the guard.  What may come before an event, all at the time
   of the one before. */
COLD uint64_t *event_put_extras(uint64_t *p, bool flushed, bool failed);

/*
 * The thread made no event for 2^24 ticks, some milliseconds: a program that
 * allocates little may not fill a buffer for hours, and its memory shall be
 * sampled all the same.  Not at once, for the sake of short runs.
 *
 * Safety: inside the guard.  errno: preserved.
 */
COLD void event_note_pause(uint64_t tick);

/*
 * What an event seldom needs: another buffer, events before it, a mark.  By
 * value, so that all others keep theirs in registers.
 *
 * Safety: inside the guard.
 */
COLD struct event_start event_begin_rarely(struct thread *th,
				      struct event_start start,
				      uintptr_t caller);

/* Safety: anywhere. */
static inline void event_leave(void)
{
	SIGNAL_FENCE();
	tls.guard = 0;
}

/*
 * Safety: anywhere.  Return: the stream, and event_leave() must follow; or NULL
 * when nothing is to be recorded.
 */
static inline __attribute__((always_inline)) struct thread *
event_enter(uintptr_t caller)
{
	struct thread *th;
	bool stale = false;

	if (UNLIKELY(!state_on()))
		return NULL;
	if (UNLIKELY(tls.guard)) {
		stale = event_guard_is_stale(TLS_FRAME(), caller);
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
		th = event_prepare(caller, stale);
		if (!th)
			event_give_up();
	}
	return th;
}

/*
 * The frame of the hook that was called from @caller.  All functions of the
 * tracer keep frame pointers, so it is a few steps up; a hook that calls this
 * file last has left the frame to it.
 *
 * Safety: @frame is the running function's; hooks return to @caller.
 */
static inline const struct frame_record *
event_find_hook(uintptr_t frame, uintptr_t caller)
{
	const struct frame_record *record = (const void *)frame;

	if (UNLIKELY(record->ret == caller))
		return record;
	record = (const void *)record->next;
	if (UNLIKELY(record->ret != caller))
		return event_find_outer_hook(record, caller);
	return record;
}

/* Safety: inside the guard.  Return: the head word; @ticks may follow. */
static inline uint64_t event_get_head(unsigned tag, uint64_t pop, uint64_t push,
				      uint64_t ticks)
{
	return tag | pop << TRACE_RECORD_POP_SHIFT |
	       push << TRACE_RECORD_PUSH_SHIFT |
	       ticks << TRACE_RECORD_TICKS_SHIFT;
}

/* Safety: inside the guard.  Head of an event at @tick with @tag. */
static inline uint64_t *event_put_head(uint64_t *p, struct thread *th,
				       unsigned tag, uint64_t tick,
				       uint64_t pop, uint64_t push)
{
	uint64_t ticks = 0;

	if (LIKELY(tick > th->last_tick)) {
		ticks = tick - th->last_tick;
		th->last_tick = tick;
	}
	if (LIKELY(ticks < TRACE_RECORD_TICKS_LONG)) {
		*p++ = event_get_head(tag, pop, push, ticks);
		return p;
	}
	event_note_pause(tick);
	*p++ = event_get_head(tag, pop, push, TRACE_RECORD_TICKS_LONG);
	*p++ = ticks;
	return p;
}

/* Safety: inside the guard.  Whether the buffer has room for @words; no when
   its end was taken away. */
static inline bool event_has_room(const struct thread *th, size_t words)
{
	uintptr_t end = (uintptr_t)__atomic_load_n(&th->end, __ATOMIC_RELAXED);

	return (intptr_t)(end - (uintptr_t)th->next) >=
	       (intptr_t)(words * sizeof(*th->next));
}

/* Safety: inside the guard. */
static inline struct event_change event_get_change(const struct thread *th)
{
	/* A buffer's first stack is a whole one. */
	size_t keep =
	    th->stack.keep < th->prev_len ? th->stack.keep : th->prev_len;

	return (struct event_change){
	    .pop = th->prev_len - keep,
	    .keep = keep,
	    .push = th->stack.len - keep,
	};
}

/*
 * Unwinds and writes the head; the body is the caller's.  @caller 0 leaves
 * the stack out.
 *
 * Safety: inside the guard.  Return: false when there is no room, and the
 * event is lost.
 */
static inline __attribute__((always_inline)) bool
event_begin(struct event_cursor *cur, struct thread *th, unsigned tag,
	    uint64_t tick, uintptr_t caller)
{
	struct unwind_stack *stack = &th->stack;
	struct event_start start = {th->next, tag, {0}};

	if (LIKELY(caller)) {
		unwind_capture(stack, event_find_hook(TLS_FRAME(), caller));
		start.change = event_get_change(th);
	} else {
		start.tag |= TRACE_EVENT_NO_STACK;
	}
	if (UNLIKELY(!event_has_room(th, start.change.push + EVENT_RESERVE) ||
		     tls.lost_nested | stack->marks)) {
		start = event_begin_rarely(th, start, caller);
		if (!start.p)
			return false;
	}
	if (LIKELY(caller))
		th->prev_len = stack->len;
	cur->th = th;
	cur->frames = stack->pcs + start.change.keep;
	cur->push = start.change.push;
	cur->p = event_put_head(start.p, th, start.tag, tick, start.change.pop,
				start.change.push);
	return true;
}

/* Safety: inside the guard.  Appends size and slack. */
static inline void event_put_extent(struct event_cursor *cur, size_t size,
				    size_t usable)
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
static inline void event_commit(struct event_cursor *cur)
{
	struct thread *th = cur->th;
	uint64_t *p = cur->p;

	for (size_t i = 0; i < cur->push; i++)
		p[i] = cur->frames[i];
	p += cur->push;
	th->next = p;
	buffer_commit(th->slot, p);
}

#endif /* TRACER_EVENT_WRITE_H */
