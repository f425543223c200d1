/* SPDX-License-Identifier: MIT */
#include "tracer/event_write.h"

#include <errno.h>

#include "tracer/clock.h"
#include "tracer/control.h"
#include "tracer/duration.h"
#include "tracer/helper.h"
#include "tracer/options.h"
#include "tracer/piece.h"
#include "tracer/record.h"
#include "tracer/smaps.h"

enum {
	RSS_INTERVAL_NS = 10 * 1000 * 1000,
	PAUSES_TICKS = 1 << 29, /* a quarter of a second, or half of one */
};

COLD bool event_guard_is_stale(uintptr_t frame, uintptr_t caller)
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

COLD struct thread *event_prepare(uintptr_t caller, bool stale)
{
	struct thread *th = tls.thread;
	int saved = errno;

	if (!modules_is_loader(caller) && modules_loader.dirty)
		modules_scan();
	if (!th)
		th = thread_register();
	if (th && caller)
		unwind_follow_loader(&th->stack, caller);
	if (th && stale) {
		unwind_stack_reset(&th->stack);
		thread_flush(th);
	}
	errno = saved;
	return th;
}

COLD void event_give_up(void)
{
	thread_count_unrecorded();
	event_leave();
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

COLD const struct frame_record *
event_find_outer_hook(const struct frame_record *record, uintptr_t caller)
{
	for (int i = 0; record->ret != caller && i < UNWIND_OWN_FRAMES; i++)
		record = (const void *)record->next;
	return record;
}

COLD uint64_t *event_put_extras(uint64_t *p, bool flushed, bool failed)
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

COLD void event_note_pause(uint64_t tick)
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

COLD struct event_start event_begin_rarely(struct thread *th,
					   struct event_start start,
					   uintptr_t caller)
{
	const struct unwind_stack *stack = &th->stack;
	bool failed = caller && stack->failed;
	bool flushed = false;

	if (caller && stack->truncated)
		start.tag |= TRACE_EVENT_TRUNCATED;
	if (!event_has_room(th, start.change.push + EVENT_RESERVE)) {
		if (!flush(th, caller))
			return (struct event_start){0};
		flushed = true;
		start.change = (struct event_change){0};
		if (caller)
			start.change.push = stack->len;
	}
	start.p = event_put_extras(th->next, flushed, failed);
	return start;
}
