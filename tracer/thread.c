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
#include "tracer/queue.h"
#include "tracer/state.h"
#include "tracer/text.h"
#include "tracer/tls.h"

enum {
	COMM_BYTES = 16, /* the kernel's limit, with terminator */
	SEGMENT_THREADS = 8,
	SEGMENT_COUNT = LIVE_SLOT_MAX / SEGMENT_THREADS,
};

__thread struct tls tls;

/**
 * struct threads - all streams
 * @lock:        of everything but the counters
 * @segments:    the streams
 * @count:       streams ever used; indices below it are valid
 * @free_list:   released indices
 * @free_count:  of them
 * @last_number: newest thread number
 * @lost_count:  events lost by threads, for whatever reason
 * @unrecorded:  of these, what no chunk has told yet
 */
static struct {
	struct spinlock lock;
	struct thread *segments[SEGMENT_COUNT];
	atomic_uint count;
	uint32_t *free_list;
	uint32_t free_count;
	uint32_t last_number;
	atomic_uint_fast64_t lost_count;
	atomic_uint_fast64_t unrecorded;
} threads;

/* Safety: pure.  @index must be below threads.count. */
static struct thread *get(uint32_t index)
{
	return &threads.segments[index / SEGMENT_THREADS]
				[index % SEGMENT_THREADS];
}

/* Safety: signals blocked, or inside the guard.  Writes a THREAD chunk. */
static void write_record(const struct thread *th, uint32_t what,
			 const char *name)
{
	uint64_t now = clock_now();
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
				    .tick = now});
}

/* Safety: lock held.  Return: a stream not used before, or NULL. */
static struct thread *make(void)
{
	uint32_t index = threads.count;
	uint32_t segment = index / SEGMENT_THREADS;
	struct thread *th;

	if (segment >= SEGMENT_COUNT)
		return NULL;
	if (!threads.segments[segment]) {
		threads.segments[segment] =
		    pool_map(SEGMENT_THREADS * sizeof(*th));
		if (!threads.segments[segment])
			return NULL;
	}
	th = &threads.segments[segment][index % SEGMENT_THREADS];
	th->index = index;
	threads.count++;
	return th;
}

/* Safety: owner, @th->lock held.  The buffer is empty and the thread's. */
static void begin_buffer(struct thread *th)
{
	struct buffer_place place = {
		.thread = th->number,
		.sequence = th->sequence,
		.first_tick = th->last_tick,
	};

	buffer_begin(th->buffer, &place);
	th->slot = th->buffer->slot;
	th->next = th->buffer->words;
	th->end = th->buffer->words + BUFFER_WORDS;
	th->prev_len = 0;
}

/*
 * The thread's buffer, if it holds anything, joins its chain.
 *
 * Safety: owner, or whoever found the owner dead; @th->lock held.
 * Return: whether the chain should be pushed.
 */
static bool close_buffer(struct thread *th)
{
	struct buffer *buffer = th->buffer;

	if (!buffer || buffer_len(buffer) <= buffer->from)
		return false;
	chain_append(&th->chain, buffer);
	th->buffer = NULL;
	th->sequence++;
	return queue_is_due(&th->chain);
}

bool thread_flush(struct thread *th)
{
	uint64_t signals;

	sys_signals_block(&signals);
	spinlock_take(&th->lock);
	if (close_buffer(th))
		queue_push(&th->chain);
	if (!th->buffer)
		th->buffer = buffer_take();
	if (!th->buffer && th->chain.count) {
		queue_push(&th->chain);
		queue_drain();
		th->buffer = buffer_take();
	}
	if (th->buffer)
		begin_buffer(th);
	else
		th->next = th->end;
	spinlock_give(&th->lock);
	sys_signals_restore(&signals);
	return th->buffer;
}

/* Safety: owner, or whoever found the owner dead; signals blocked.  Writes
   out what the stream still has, and gives its buffer back. */
static void end_stream(struct thread *th)
{
	spinlock_take(&th->lock);
	close_buffer(th);
	queue_push(&th->chain);
	if (th->buffer)
		buffer_give(th->buffer);
	th->buffer = NULL;
	th->next = th->end = NULL;
	spinlock_give(&th->lock);
}

/* Safety: lock held.  Anybody may have the stream from now on. */
static void put_back(struct thread *th)
{
	th->in_use = false;
	if (!threads.free_list)
		threads.free_list = pool_map(LIVE_SLOT_MAX * sizeof(uint32_t));
	if (threads.free_list)
		threads.free_list[threads.free_count++] = th->index;
}

/*
 * Takes streams back whose thread is gone.  Linear, but only when none is
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
		end_stream(th);
		write_record(th, TRACE_THREAD_END, "");
		put_back(th);
	}
	next_at = threads.free_count ? 64 : count * 2;
}

/* Safety: lock held.  Return: a stream nobody uses, or NULL. */
static struct thread *find(void)
{
	if (!threads.free_count)
		sweep();
	if (threads.free_count)
		return get(threads.free_list[--threads.free_count]);
	return make();
}

/*
 * Makes @th the calling thread's.  Who saw that it belonged to another thread
 * may be about to write that one's buffer out.
 *
 * Safety: threads.lock held.  Return: false when there is no buffer.
 */
static bool own(struct thread *th)
{
	struct buffer *buffer = buffer_take();

	if (!buffer)
		return false;
	if (!tls.number)
		tls.number = ++threads.last_number;
	if (tls.number > 1)
		clock_is_shared = true;
	spinlock_take(&th->lock);
	th->number = tls.number;
	th->tid = sys_gettid();
	th->sequence = tls.sequence;
	th->last_tick = clock_now();
	th->buffer = buffer;
	begin_buffer(th);
	th->in_use = true;
	spinlock_give(&th->lock);
	return true;
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
	th = find();
	if (th && (!unwind_stack_init(&th->stack, &bounds) || !own(th))) {
		put_back(th);
		th = NULL;
	}
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

	sys_signals_block(&signals);
	sys_prctl(PR_GET_NAME, (long)name, 0, 0, 0);
	tls.thread = NULL;
	end_stream(th);
	tls.sequence = th->sequence;
	write_record(th, TRACE_THREAD_END, name);
	spinlock_take(&threads.lock);
	put_back(th);
	spinlock_give(&threads.lock);
	sys_signals_restore(&signals);
}

/*
 * Writes another thread's buffers out.  The owner may go on filling the one
 * it has; the rest of that is part of its next chunk.
 *
 * Safety: signals blocked.
 */
static void flush_foreign(struct thread *th)
{
	struct chain part = {0};

	if (!spinlock_take_patiently(&th->lock))
		return;
	queue_push(&th->chain);
	if (th->buffer && buffer_len(th->buffer) > th->buffer->from) {
		chain_append(&part, th->buffer);
		chunk_write_chain(&part);
		buffer_split(th->buffer, ++th->sequence);
	}
	spinlock_give(&th->lock);
}

void thread_flush_all(void)
{
	struct thread *own_thread = tls.thread;
	uint32_t count = threads.count;
	uint64_t signals;

	sys_signals_block(&signals);
	if (own_thread) {
		thread_flush(own_thread);
		spinlock_take(&own_thread->lock);
		queue_push(&own_thread->chain);
		spinlock_give(&own_thread->lock);
	}
	for (uint32_t i = 0; i < count; i++) {
		struct thread *th = get(i);

		if (th->in_use && th != own_thread)
			flush_foreign(th);
	}
	queue_drain();
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
	live_set_lost(TRACE_LOST_MEMORY, ++threads.unrecorded);
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

void thread_restore_buffer(struct thread *th)
{
	begin_buffer(th);
}

size_t thread_stack_ends(uintptr_t *ret, size_t cap)
{
	size_t count = 0;

	for (uint32_t i = 0; i < threads.count && count < cap; i++) {
		const struct thread *th = get(i);

		if (th->in_use && th->stack.bounds.high)
			ret[count++] = th->stack.bounds.high;
	}
	return count;
}
