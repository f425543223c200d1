/* SPDX-License-Identifier: MIT */
/*
 * What programs call: memprof.h.
 *
 * Safety (all functions): before start-up: yes.  Signal handler: yes.  After
 * fork: nothing happens in a child that is not traced.  Allocates: mmap.
 * Locks: with signals blocked.  errno: preserved.
 */
#define MEMPROF_API __attribute__((visibility("default")))
#include "tracer/memprof.h"

#include <string.h>

#include "tracer/chunk.h"
#include "tracer/clock.h"
#include "tracer/compiler.h"
#include "tracer/control.h"
#include "tracer/encode.h"
#include "tracer/event.h"
#include "tracer/pool.h"
#include "tracer/state.h"
#include "tracer/tls.h"

enum {
	MARK_FIXED = 28, /* up to the text's first byte */
	SHORT_TEXT = 228, /* the program's stack has room for */
	LONG_BYTES = MARK_FIXED + TRACE_MARK_TEXT_MAX,
};

/*
 * The trace keeps the times of events in steps; an event is said to be as
 * early as its step begins.  A mark waits for the next step: what the thread
 * did before it is earlier then, and what it does from now on is not.
 *
 * Safety: pure but for the clock.
 */
static uint64_t wait_for_step(void)
{
	unsigned shift = clock_shift_for(clock_is_tsc, false);
	uint64_t step = (clock_now() >> shift) + 1;

	while (clock_now() >> shift < step)
		;
	return step << shift;
}

/* Safety: inside the guard, signals blocked. */
static void write_mark(enum trace_mark_kind kind, uint64_t value,
		       const char *text)
{
	uint8_t here[MARK_FIXED + SHORT_TEXT], *payload = here, *p;
	size_t len = text ? strnlen(text, TRACE_MARK_TEXT_MAX) : 0;
	uint64_t tick = wait_for_step();

	if (len > SHORT_TEXT)
		payload = pool_map(LONG_BYTES);
	if (!payload) {
		payload = here;
		len = SHORT_TEXT;
	}
	p = payload;
	p = put_u32(p, kind);
	p = put_u32(p, tls.number);
	p = put_u64(p, tick);
	p = put_u64(p, value);
	p = put_string(p, text ? text : "", len);
	chunk_write(&(struct chunk){ .type = TRACE_CHUNK_MARK,
				     .thread = tls.number,
				     .payload = payload,
				     .len = (size_t)(p - payload),
				     .tick = tick });
	if (payload != here)
		pool_unmap(payload, LONG_BYTES);
}

/* Safety: as all here. */
static void say(enum trace_mark_kind kind, uint64_t value, const char *text)
{
	uintptr_t guard;
	uint64_t signals;

	if (!state_on() || !state_is_owner())
		return;
	if (!tls.thread)
		event_thread_begin(0);
	guard = tls_enter_internal();
	sys_signals_block(&signals);
	write_mark(kind, value, text);
	sys_signals_restore(&signals);
	tls_leave_internal(guard);
}

void memory_profiler_start(void)
{
	if (!state_on())
		control_start(TRACE_PIECE_API);
}

void memory_profiler_stop(void)
{
	if (state_on())
		control_stop();
}

/* Starting and stopping are done when they return; there is more to it. */
void memory_profiler_sync(void)
{
	if (state_on())
		control_flush();
}

int memory_profiler_is_recording(void)
{
	return state_on() && state_is_owner();
}

void memory_profiler_mark(const char *text)
{
	say(TRACE_MARK_TEXT, 0, text);
}

void memory_profiler_number(const char *name, uint64_t value)
{
	say(TRACE_MARK_NUMBER, value, name);
}

void memory_profiler_phase_begin(const char *name)
{
	say(TRACE_MARK_PHASE_BEGIN, 0, name);
}

void memory_profiler_phase_end(const char *name)
{
	say(TRACE_MARK_PHASE_END, 0, name);
}

void memory_profiler_set_marker(uint32_t value)
{
	say(TRACE_MARK_NUMBER, value, NULL);
}

/* Of bytehound, where it served to make sample data. */
void memory_profiler_override_next_timestamp(uint64_t usec)
{
	(void)usec;
}
