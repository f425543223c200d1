/* SPDX-License-Identifier: MIT */
#include "tracer/thread.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#include "tracer/chunk.h"
#include "tracer/clock.h"
#include "tracer/encode.h"
#include "tracer/live.h"
#include "tracer/pool.h"
#include "tracer/state.h"
#include "tracer/text.h"
#include "tracer/tls.h"

enum {
	COMM_BYTES = 16, /* the kernel's limit, with terminator */
};

__thread struct tls tls;

/**
 * struct threads - all slots
 * @lock:        of everything but the counters
 * @segments:    private halves, as PATH.live has shared ones
 * @count:       slots ever used; indices below it are valid
 * @free_list:   released indices
 * @free_count:  of them
 * @last_number: newest thread number
 * @event_count: events of threads that have ended
 * @lost_count:  events lost by threads, for whatever reason
 * @unrecorded:  of these, what no chunk has told yet
 */
static struct {
	struct spinlock lock;
	struct thread *segments[LIVE_SEGMENT_COUNT];
	atomic_uint count;
	uint32_t *free_list;
	uint32_t free_count;
	uint32_t last_number;
	atomic_uint_fast64_t event_count;
	atomic_uint_fast64_t lost_count;
	atomic_uint_fast64_t unrecorded;
} threads;

/* Safety: pure.  @index must be below threads.count. */
static struct thread *get(uint32_t index)
{
	return &threads.segments[index / LIVE_SEGMENT_SLOTS]
				[index % LIVE_SEGMENT_SLOTS];
}

/* Safety: signals blocked, or inside the guard.  Writes a THREAD chunk. */
static void write_record(const struct thread *th, uint32_t what,
			 const char *name)
{
	uint64_t now = clock_before();
	uint8_t payload[28 + COMM_BYTES], *p = payload;

	p = put_u32(p, th->number);
	p = put_u32(p, (uint32_t)th->tid);
	p = put_u32(p, what);
	p = put_u32(p, 0);
	p = put_u64(p, now);
	p = put_string(p, name, strnlen(name, COMM_BYTES - 1));
	chunk_write(&(struct chunk){.type = TRACE_CHUNK_THREAD,
				    .thread = th->number,
				    .payload = payload,
				    .len = (size_t)(p - payload),
				    .first_tick = now,
				    .last_tick = now});
}

/* Safety: lock held.  Return: private half of slot @index, or NULL. */
static struct thread *prepare_slot(uint32_t index)
{
	uint32_t segment = index / LIVE_SEGMENT_SLOTS;
	struct trace_live_slot *slot = live_slot(index);
	struct thread *th;

	if (!slot)
		return NULL;
	if (!threads.segments[segment]) {
		threads.segments[segment] =
		    pool_map(LIVE_SEGMENT_SLOTS * sizeof(*th));
		if (!threads.segments[segment])
			return NULL;
	}
	th = &threads.segments[segment][index % LIVE_SEGMENT_SLOTS];
	th->slot = slot;
	th->buf = (uint8_t *)slot + TRACE_LIVE_PAGE;
	th->index = index;
	return th;
}

/* Safety: owner, or whoever found the owner dead; @th->lock held. */
static void begin_chunk(struct thread *th)
{
	__atomic_store_n(&th->slot->committed_len, 0, __ATOMIC_RELEASE);
	th->event_count += commit_count(th->commit);
	th->commit = 0;
	th->slot->sequence++;
	th->prev_len = 0;
	th->last_addr = 0;
}

/*
 * A commit and the time of its last event.  The owner may go on meanwhile: its
 * second commit from here on reuses the place of that time, so what was read
 * holds only while the commit still stands.
 *
 * Safety: @th->lock held.  Return: the commit.
 */
static uint64_t read_commit(struct thread *th, uint64_t *ret_tick)
{
	uint64_t commit;

	do {
		commit = atomic_load_explicit(&th->commit,
					      memory_order_acquire);
		*ret_tick = __atomic_load_n(
			&th->commit_tick[commit_which(commit)],
			__ATOMIC_ACQUIRE);
	} while (commit != atomic_load_explicit(&th->commit,
						memory_order_acquire));
	return commit;
}

/* Safety: @th->lock held, signals blocked.  Writes what @commit covers, the
   last event being at @tick. */
static void write_events(struct thread *th, uint64_t commit, uint64_t tick)
{
	if (!commit_len(commit))
		return;
	chunk_write(&(struct chunk){ .type = TRACE_CHUNK_EVENTS,
				     .thread = th->number,
				     .payload = th->buf,
				     .len = commit_len(commit),
				     .first_tick = th->slot->first_tick,
				     .last_tick = tick,
				     .event_count = commit_count(commit),
				     .sequence = th->slot->sequence });
}

/* Safety: owner, or whoever found the owner dead; @th->lock held. */
static void write_own(struct thread *th)
{
	write_events(th, th->commit,
		     th->commit_tick[commit_which(th->commit)]);
}

/*
 * Another thread wrote the buffer out up to @written.  What its owner
 * committed after that was read cannot be told apart any more and is lost:
 * it takes an exec that fails, or an abort that is caught, to get here.
 */
static void restart(struct thread *th)
{
	uint64_t count = commit_count(th->commit) - commit_count(th->written);

	/* Nothing had been written: nothing is twice. */
	if (!commit_len(th->written)) {
		write_own(th);
		count = 0;
	}
	threads.lost_count += count;
	if (count)
		chunk_write_lost(count, TRACE_LOST_WRITE, 0);
	th->restart = false;
}

/* Writes out what is not in the file yet.  Safety: as write_own(). */
static void write_rest(struct thread *th)
{
	if (th->restart)
		restart(th);
	else
		write_own(th);
}

void thread_flush(struct thread *th)
{
	uint64_t signals;

	sys_signals_block(&signals);
	spinlock_take(&th->lock);
	write_rest(th);
	if (th->commit)
		begin_chunk(th);
	spinlock_give(&th->lock);
	sys_signals_restore(&signals);
}

/* Safety: lock held, owner gone or giving up.  Puts the slot back. */
static void free_slot(struct thread *th)
{
	threads.event_count += th->event_count;
	th->event_count = 0;
	th->slot->in_use = 0;
	th->in_use = false;
	if (!threads.free_list)
		threads.free_list = pool_map(LIVE_SLOT_MAX * sizeof(uint32_t));
	if (threads.free_list)
		threads.free_list[threads.free_count++] = th->index;
}

/*
 * Takes slots back whose thread is gone.  Linear, but only when no slot is
 * free, and every full sweep that finds nothing doubles the distance.
 */
static void sweep(void)
{
	static uint32_t next_at = 64;
	uint32_t count = threads.count;
	int pid = sys_getpid();

	if (count < next_at)
		return;
	for (uint32_t i = 0; i < count; i++) {
		struct thread *th = get(i);

		if (!th->in_use || sys_tgkill(pid, th->tid, 0) != -ESRCH)
			continue;
		write_rest(th);
		begin_chunk(th);
		write_record(th, TRACE_THREAD_END, "");
		free_slot(th);
	}
	next_at = threads.free_count ? 64 : count * 2;
}

/* Safety: lock held.  Return: a slot nobody uses, or NULL. */
static struct thread *find_slot(void)
{
	struct thread *th;

	if (!threads.free_count)
		sweep();
	if (threads.free_count)
		return get(threads.free_list[--threads.free_count]);
	th = prepare_slot(threads.count);
	if (th)
		threads.count++;
	return th;
}

/* Safety: lock held.  Makes @th the calling thread's. */
static void own(struct thread *th)
{
	if (!tls.number)
		tls.number = ++threads.last_number;
	th->number = tls.number;
	th->tid = sys_gettid();
	th->restart = false;
	th->commit = 0;
	th->prev_len = 0;
	th->last_addr = 0;
	th->in_use = true;
	th->slot->committed_len = 0;
	th->slot->thread = th->number;
	th->slot->sequence = tls.sequence;
	atomic_thread_fence(memory_order_release);
	th->slot->in_use = 1;
}

struct thread *thread_register(void)
{
	struct stack_bounds bounds;
	bool first = tls.number == 0;
	char name[COMM_BYTES] = "";
	struct thread *th;
	uint64_t signals;

	sys_signals_block(&signals);
	bounds = unwind_bounds();
	spinlock_take(&threads.lock);
	th = find_slot();
	if (th && !unwind_stack_init(&th->stack, &bounds)) {
		free_slot(th);
		th = NULL;
	}
	if (th)
		own(th);
	spinlock_give(&threads.lock);
	if (th && first) {
		sys_prctl(PR_GET_NAME, (long)name, 0, 0, 0);
		write_record(th, TRACE_THREAD_START, name);
	}
	tls.thread = th;
	sys_signals_restore(&signals);
	if (th)
		state_thread_started();
	return th;
}

void thread_release(struct thread *th)
{
	char name[COMM_BYTES] = "";
	uint64_t signals;

	thread_flush(th);
	sys_signals_block(&signals);
	sys_prctl(PR_GET_NAME, (long)name, 0, 0, 0);
	write_record(th, TRACE_THREAD_END, name);
	tls.sequence = th->slot->sequence;
	tls.thread = NULL;
	spinlock_take(&threads.lock);
	free_slot(th);
	spinlock_give(&threads.lock);
	sys_signals_restore(&signals);
}

/*
 * Writes another thread's buffer out.  The owner is told first, so that it
 * waits for the lock at its next event: only the event it is at now, if any,
 * comes too late.
 *
 * Safety: signals blocked.
 */
static void flush_foreign(struct thread *th)
{
	uint64_t tick;

	if (!spinlock_take_bounded(&th->lock))
		return;
	if (!atomic_exchange(&th->restart, true)) {
		th->written = read_commit(th, &tick);
		write_events(th, th->written, tick);
	}
	spinlock_give(&th->lock);
}

void thread_flush_all(void)
{
	uint32_t count = threads.count;
	uint64_t signals;

	if (tls.thread)
		thread_flush(tls.thread);
	sys_signals_block(&signals);
	for (uint32_t i = 0; i < count; i++) {
		struct thread *th = get(i);

		if (th->in_use && th != tls.thread)
			flush_foreign(th);
	}
	sys_signals_restore(&signals);
}

/* Safety: system calls.  Reads the name of thread @tid of this process. */
static void read_name(int tid, char name[COMM_BYTES])
{
	char buf[64];
	struct text path = text_init(buf, sizeof(buf));
	ssize_t len;
	int fd;

	text_add(&path, "/proc/self/task/");
	text_add_int(&path, tid);
	text_add(&path, "/comm");
	name[0] = '\0';
	fd = sys_open(buf, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	len = sys_read(fd, name, COMM_BYTES);
	sys_close(fd);
	if (len > 0)
		name[len - 1] = '\0';
}

void thread_write_names(void)
{
	uint32_t count = threads.count;
	char name[COMM_BYTES];

	for (uint32_t i = 0; i < count; i++) {
		const struct thread *th = get(i);

		if (!th->in_use)
			continue;
		read_name(th->tid, name);
		if (name[0])
			write_record(th, TRACE_THREAD_NAME, name);
	}
}

void thread_write_own_name(const struct thread *th)
{
	char name[COMM_BYTES] = "";
	uint64_t signals;

	sys_signals_block(&signals);
	sys_prctl(PR_GET_NAME, (long)name, 0, 0, 0);
	write_record(th, TRACE_THREAD_NAME, name);
	sys_signals_restore(&signals);
}

uint64_t thread_event_count(void)
{
	uint64_t sum = threads.event_count;
	uint32_t count = threads.count;

	for (uint32_t i = 0; i < count; i++) {
		const struct thread *th = get(i);

		if (th->in_use)
			sum += th->event_count + commit_count(th->commit);
	}
	return sum;
}

uint64_t thread_lost_count(void)
{
	return threads.lost_count;
}

void thread_count_lost(uint64_t count)
{
	threads.lost_count += count;
}

void thread_count_unrecorded(void)
{
	threads.lost_count++;
	threads.unrecorded++;
}

uint64_t thread_take_unrecorded(void)
{
	return atomic_exchange(&threads.unrecorded, 0);
}

bool thread_is_only(void)
{
	uint32_t count = threads.count;

	for (uint32_t i = 0; i < count; i++)
		if (get(i) != tls.thread && get(i)->in_use)
			return false;
	return true;
}

void thread_restore_slot(struct thread *th, uint32_t sequence)
{
	th->slot->thread = th->number;
	th->slot->sequence = sequence;
	th->slot->in_use = 1;
}
