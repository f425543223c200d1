/* SPDX-License-Identifier: MIT */
#include "tracer/thread.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#include "tracer/chunk.h"
#include "tracer/clock.h"
#include "tracer/encode.h"
#include "tracer/live.h"
#include "tracer/piece.h"
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

enum {
	RECORD_BYTES = 28 + COMM_BYTES, /* payload of a THREAD chunk */
};

/* Safety: pure but for the clock.  Return: a THREAD chunk whose payload is put
   into @payload. */
static struct chunk make_record(uint8_t payload[RECORD_BYTES],
				const struct thread *th, uint32_t what,
				const char *name)
{
	uint64_t now = clock_now();
	uint8_t *p = payload;

	p = put_u32(p, th->number);
	p = put_u32(p, (uint32_t)th->tid);
	p = put_u32(p, what);
	p = put_u32(p, 0);
	p = put_u64(p, now);
	p = put_string(p, name, strnlen(name, COMM_BYTES - 1));
	return (struct chunk){.type = TRACE_CHUNK_THREAD,
			      .thread = th->number,
			      .payload = payload,
			      .len = (size_t)(p - payload),
			      .tick = now};
}

/* Safety: signals blocked, or inside the guard. */
static void write_record(const struct thread *th, uint32_t what,
			 const char *name)
{
	uint8_t payload[RECORD_BYTES];
	struct chunk chunk = make_record(payload, th, what, name);

	chunk_write(&chunk);
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
		.id = {th->sequence, (uint16_t)th->piece},
		.first_tick = th->last_tick,
	};

	buffer_begin(th->buffer, &place);
	th->slot = th->buffer->slot;
	th->next = th->buffer->words;
	th->end = th->buffer->words + BUFFER_WORDS;
	th->prev_len = 0;
}

/* Safety: owner, @th->lock held.  A stream without a piece joins the present
   one.  Return: whether it has one. */
static bool join_piece(struct thread *th)
{
	if (th->piece != PIECE_NONE)
		return true;
	th->piece = piece_now;
	th->sequence = 0;
	return th->piece != PIECE_NONE;
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

	if (!buffer || th->piece == PIECE_NONE ||
	    buffer_len(buffer) <= buffer->from)
		return false;
	chain_append(&th->chain, buffer);
	th->buffer = NULL;
	th->sequence++;
	return queue_is_due(&th->chain);
}

bool thread_flush(struct thread *th)
{
	uint64_t signals;
	bool done;

	sys_signals_block(&signals);
	spinlock_take(&th->lock);
	if (close_buffer(th))
		queue_push(&th->chain);
	if (!th->buffer)
		th->buffer = buffer_take(true);
	if (!th->buffer && th->chain.count) {
		queue_push(&th->chain);
		queue_drain();
		th->buffer = buffer_take(true);
	}
	done = join_piece(th) && th->buffer;
	if (done)
		begin_buffer(th);
	else
		th->next = th->end = NULL;
	spinlock_give(&th->lock);
	sys_signals_restore(&signals);
	return done;
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
 * Makes @th the calling thread's, while something is recorded.  Who saw that it
 * belonged to another thread may be about to write that one's buffer out.
 *
 * Safety: threads.lock held.  Return: false when there is no buffer.
 * @ret_is_new: the piece has no THREAD start of it yet.
 */
static bool own(struct thread *th, bool *ret_is_new)
{
	struct buffer *buffer = piece_now != PIECE_NONE ? buffer_take(false) : NULL;

	if (!buffer)
		return false;
	*ret_is_new = !tls.number;
	if (!tls.number)
		tls.number = ++threads.last_number;
	if (tls.number > 1)
		clock_is_shared = true;
	spinlock_take(&th->lock);
	th->number = tls.number;
	th->tid = sys_gettid();
	th->piece = piece_now;
	*ret_is_new |= tls.piece != th->piece;
	th->sequence = *ret_is_new ? 0 : tls.sequence;
	tls.piece = th->piece;
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
	bool is_new = false;
	char name[COMM_BYTES] = "";
	struct thread *th;
	uint64_t signals;

	sys_signals_block(&signals);
	bounds = unwind_bounds();
	spinlock_take(&threads.lock);
	th = find();
	if (th && (!unwind_stack_init(&th->stack, &bounds) ||
		   !own(th, &is_new))) {
		put_back(th);
		th = NULL;
	}
	spinlock_give(&threads.lock);
	if (th && is_new) {
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
	write_record(th, TRACE_THREAD_END, name);
	spinlock_take(&threads.lock);
	spinlock_take(&th->lock);
	tls.sequence = th->sequence;
	tls.piece = th->piece;
	spinlock_give(&th->lock);
	put_back(th);
	spinlock_give(&threads.lock);
	sys_signals_restore(&signals);
}

/*
 * Writes what the buffer has.  The owner may go on filling it; the rest is
 * @next.
 *
 * Safety: the stream's lock held.
 */
static void write_out(struct buffer *buffer, const struct buffer_id *next)
{
	struct chain part = buffer_begin_split(buffer, next);

	if (part.count)
		chunk_write_chain(&part);
	buffer_split(buffer);
}

/*
 * Writes a thread's buffers out, and it goes on: it may be in the middle of an
 * event, also the calling one, when it was interrupted by a signal.
 *
 * Safety: signals blocked.
 */
static void flush_one(struct thread *th)
{
	if (!spinlock_take_patiently(&th->lock))
		return;
	queue_push(&th->chain);
	if (th->piece != PIECE_NONE && th->buffer &&
	    buffer_len(th->buffer) > th->buffer->from) {
		struct buffer_id next = {++th->sequence, (uint16_t)th->piece};

		write_out(th->buffer, &next);
	}
	spinlock_give(&th->lock);
}

/* Ends the stream's part in its piece.  Safety: signals blocked. */
static void cut(struct thread *th, uint32_t next_piece)
{
	struct buffer_id next = {0, (uint16_t)next_piece};

	if (!spinlock_take_patiently(&th->lock))
		return;
	if (th->piece != PIECE_NONE && th->piece != next_piece) {
		queue_push(&th->chain);
		if (th->buffer)
			write_out(th->buffer, &next);
		th->piece = next_piece;
		th->sequence = 0;
	}
	if (next_piece == PIECE_NONE)
		__atomic_store_n(&th->end, NULL, __ATOMIC_RELAXED);
	spinlock_give(&th->lock);
}

/* Who registers with @threads.lock held is in the new piece or is cut. */
void thread_cut_all(uint32_t next)
{
	uint32_t count;

	spinlock_take(&threads.lock);
	piece_now = next;
	count = threads.count;
	spinlock_give(&threads.lock);
	for (uint32_t i = 0; i < count; i++)
		if (get(i)->in_use)
			cut(get(i), next);
}

void thread_hurry_all(void)
{
	uint32_t count = threads.count;

	for (uint32_t i = 0; i < count; i++)
		__atomic_store_n(&get(i)->end, NULL, __ATOMIC_RELAXED);
}

void thread_forget_all(void)
{
	uint32_t count = threads.count;

	threads.lock = (struct spinlock){0};
	threads.free_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct thread *th = get(i);

		th->lock = (struct spinlock){0};
		th->buffer = NULL;
		th->next = th->end = NULL;
		th->chain = (struct chain){0};
		th->piece = PIECE_NONE;
		if (th != tls.thread)
			put_back(th);
		else
			th->tid = sys_gettid();
	}
	tls.piece = PIECE_NONE;
	threads.lost_count = 0;
	threads.unrecorded = 0;
}

void thread_flush_all(void)
{
	uint32_t count = threads.count;
	uint64_t signals;

	sys_signals_block(&signals);
	for (uint32_t i = 0; i < count; i++)
		if (get(i)->in_use)
			flush_one(get(i));
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

/* Safety: as thread_write_names().  A chunk for every thread in use. */
static void write_all(uint32_t piece, uint32_t what)
{
	uint32_t count = threads.count;
	uint8_t payload[RECORD_BYTES];
	char name[COMM_BYTES];

	for (uint32_t i = 0; i < count; i++) {
		const struct thread *th = get(i);
		struct chunk chunk;

		if (!th->in_use)
			continue;
		read_name(th->tid, name);
		chunk = make_record(payload, th, what, name);
		if (name[0] || what == TRACE_THREAD_START)
			chunk_write_in(piece, &chunk);
	}
}

void thread_write_names(uint32_t piece)
{
	write_all(piece, TRACE_THREAD_NAME);
}

void thread_write_starts(uint32_t piece)
{
	write_all(piece, TRACE_THREAD_START);
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

uint32_t thread_last_number(void)
{
	return threads.last_number;
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
