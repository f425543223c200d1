/* SPDX-License-Identifier: MIT */
#include "tracer/event.h"

#include "tracer/clock.h"
#include "tracer/cull_stamps.h"
#include "tracer/event_write.h"
#include "tracer/options.h"
#include "tracer/record.h"

/* Safety: inside the guard.  Whose block is at @addr from now on; 0: its event
   is lost. */
static inline void stamp(uintptr_t addr, uint32_t thread)
{
	if (UNLIKELY(cull_stamps))
		cull_stamp(addr, thread);
}

HOT void event_alloc_values(enum trace_event_kind kind, uintptr_t addr,
			    size_t size, size_t usable, size_t align,
			    uintptr_t caller)
{
	struct thread *th = event_enter(caller);
	struct event_cursor cur;

	if (!th)
		return;
	if (LIKELY(event_begin(&cur, th, kind, clock_now(), caller))) {
		*cur.p++ = addr;
		event_put_extent(&cur, size, usable);
		if (kind == TRACE_EVENT_MEMALIGN)
			*cur.p++ = align;
		event_commit(&cur);
		stamp(addr, th->number);
	} else {
		stamp(addr, 0);
	}
	tls.last_block = addr;
	tls.serial++;
	event_leave();
}

/**
 * struct release - a free to be recorded
 * @addr: first word of its body
 */
struct release {
	uint64_t tag;
	uint64_t addr;
};

/*
 * Has the record of a free say who allocated the block.  By value, so
 * that what is not culled keeps its own in registers.
 *
 * @is_over: the block is free, so its address may be another thread's by now
 *
 * Safety: inside the guard; there are stamps.
 */
static __attribute__((noinline)) struct release
put_maker(struct release release, uint32_t self, bool is_over)
{
	uint32_t maker = cull_find_maker(release.addr);

	if (maker == self) {
		release.tag |= TRACE_RECORD_MAKER;
	} else if (!is_over && maker && maker <= TRACE_RECORD_MAKER_MAX) {
		release.tag |= TRACE_RECORD_MAKER;
		release.addr |= (uint64_t)maker << TRACE_RECORD_MAKER_SHIFT;
	}
	return release;
}

/* Safety: inside the guard, which it leaves.  @is_over: the block is free
   already. */
static inline __attribute__((always_inline)) void
put_free(struct thread *th, enum trace_event_kind kind, uintptr_t addr,
	 uint64_t tick, uintptr_t caller, bool is_over)
{
	struct release release = {kind, addr};
	struct event_cursor cur;

	if (UNLIKELY(cull_stamps))
		release = put_maker(release, th->number, is_over);
	if (LIKELY(event_begin(&cur, th, (unsigned)release.tag, tick,
			       options.free_stacks ? caller : 0))) {
		*cur.p++ = release.addr;
		event_commit(&cur);
	}
	if (UNLIKELY(tls.last_block == addr))
		tls.last_block = 0; /* an allocator has used it inside a call */
	if (UNLIKELY(tls.releasing == addr))
		tls.releasing = 0;
	tls.serial++;
	event_leave();
}

void event_free_at(enum trace_event_kind kind, uintptr_t addr, uint64_t tick,
		   uintptr_t caller)
{
	struct thread *th = event_enter(caller);

	if (th)
		put_free(th, kind, addr, tick, caller, true);
}

HOT void event_free(enum trace_event_kind kind, uintptr_t addr,
		    uintptr_t caller)
{
	struct thread *th = event_enter(caller);

	if (LIKELY(th))
		put_free(th, kind, addr, clock_now(), caller, false);
}

void event_realloc(uintptr_t old_addr, const struct event_block *block,
		   uint64_t tick, uintptr_t caller)
{
	struct thread *th = event_enter(caller);
	struct event_cursor cur;
	uint64_t end;

	if (!th)
		return;
	end = clock_now();
	if (LIKELY(event_begin(&cur, th, TRACE_EVENT_REALLOC, tick, caller))) {
		if (end < th->last_tick)
			end = th->last_tick;
		*cur.p++ = old_addr;
		*cur.p++ = block->addr;
		event_put_extent(&cur, block->size, block->usable);
		*cur.p++ = end - th->last_tick;
		th->last_tick = end;
		event_commit(&cur);
		stamp(block->addr, th->number);
	} else {
		stamp(block->addr, 0);
	}
	tls.last_block = block->addr;
	tls.serial++;
	event_leave();
}

void event_mmap(const struct event_map *map, uintptr_t caller)
{
	struct thread *th = event_enter(caller);
	struct event_cursor cur;

	if (!th)
		return;
	if (event_begin(&cur, th, TRACE_EVENT_MMAP, clock_now(), caller)) {
		*cur.p++ = map->addr;
		*cur.p++ = map->length;
		*cur.p++ = (unsigned)map->prot;
		*cur.p++ = (unsigned)map->flags;
		*cur.p++ = (uint64_t)(int64_t)map->fd;
		*cur.p++ = map->offset;
		event_commit(&cur);
	}
	event_leave();
}

void event_munmap(uintptr_t addr, size_t length, uint64_t tick,
		  uintptr_t caller)
{
	struct thread *th = event_enter(caller);
	struct event_cursor cur;

	if (!th)
		return;
	if (event_begin(&cur, th, TRACE_EVENT_MUNMAP, tick, caller)) {
		*cur.p++ = addr;
		*cur.p++ = length;
		event_commit(&cur);
	}
	event_leave();
}

void event_mremap(const struct event_remap *remap, uintptr_t caller)
{
	struct thread *th = event_enter(caller);
	struct event_cursor cur;

	if (!th)
		return;
	if (event_begin(&cur, th, TRACE_EVENT_MREMAP, clock_now(), caller)) {
		*cur.p++ = remap->old_addr;
		*cur.p++ = remap->old_length;
		*cur.p++ = remap->new_addr;
		*cur.p++ = remap->new_length;
		*cur.p++ = (unsigned)remap->flags;
		event_commit(&cur);
	}
	event_leave();
}

void event_mallopt(int param, int value, int result, uintptr_t caller)
{
	struct thread *th = event_enter(caller);
	struct event_cursor cur;

	if (!th)
		return;
	if (event_begin(&cur, th, TRACE_EVENT_MALLOPT, clock_now(), caller)) {
		*cur.p++ = (uint64_t)(int64_t)param;
		*cur.p++ = (uint64_t)(int64_t)value;
		*cur.p++ = (uint64_t)(int64_t)result;
		event_commit(&cur);
	}
	event_leave();
}

void event_thread_name(void)
{
	struct thread *th = event_enter(0);

	if (!th)
		return;
	thread_write_own_name(th);
	event_leave();
}

COLD void event_thread_begin(uintptr_t caller)
{
	if (!state_on() || tls.guard)
		return;
	tls_set_guard(TLS_FRAME(), 0);
	event_prepare(caller, false);
	event_leave();
}

void event_rss_last(void)
{
	struct thread *th = tls.thread;
	struct event_cursor cur = {.th = th};

	if (!th)
		return;
	if (!event_has_room(th, EVENT_RESERVE) && !thread_flush(th))
		return;
	cur.p = event_put_extras(th->next, false, false);
	cur.p = event_put_head(cur.p, th, TRACE_EVENT_RSS, clock_now(), 0, 0);
	*cur.p++ = record_resident_bytes();
	event_commit(&cur);
}
