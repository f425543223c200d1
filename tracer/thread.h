/* SPDX-License-Identifier: MIT */
/*
 * The traced threads and their event streams.
 *
 * A thread takes a slot of PATH.live at its first event and gives it back
 * when it ends; slots of threads that ended without saying so are found by
 * their kernel id and taken back.
 */
#ifndef TRACER_THREAD_H
#define TRACER_THREAD_H

#include <stdatomic.h>
#include <stdint.h>

#include "tracer/compiler.h"
#include "tracer/trace_format.h"
#include "tracer/unwind.h"

/**
 * struct thread - one slot's private half; belongs to the owner
 * @slot:        the shared half
 * @buf:         behind it, LIVE_BUFFER bytes
 * @commit:      bytes of whole events in @buf (bits 0 to 30), which of
 *               @commit_tick is theirs (bit 31) and their number (high 32
 *               bits), in one word so that another thread, or this one after
 *               a handler jumped out of the tracer, finds what belongs
 *               together
 * @last_tick:   time of the last event, also of one not yet committed
 * @commit_tick: time of the last event that @commit covers, and of the one
 *               about to be
 * @last_addr:   last address coded
 * @prev_len:    frames of the last event's stack, 0 at the start of a chunk
 * @restart:     another thread wrote the buffer out; begin a new chunk
 * @written:     @commit at that moment
 * @number:      thread number
 * @tid:         the kernel's
 * @index:       of the slot
 * @in_use:      owned by a thread
 * @event_count: events of finished chunks
 * @lock:        held while the buffer is written out
 * @stack:       the last stack taken
 *
 * slot->committed_len == thread_len(), but for the instant of a commit
 */
struct thread {
	struct trace_live_slot *slot;
	uint8_t *buf;
	_Atomic uint64_t commit;
	uint64_t last_tick;
	uint64_t commit_tick[2];
	uint64_t last_addr;
	size_t prev_len;
	atomic_bool restart;
	uint64_t written;
	uint32_t number;
	int tid;
	uint32_t index;
	atomic_bool in_use;
	uint64_t event_count;
	struct spinlock lock;
	struct unwind_stack stack;
};

/* Parts of struct thread's @commit.  Safety (all three): pure. */
static inline size_t commit_len(uint64_t commit)
{
	return commit & 0x7fffffff;
}

static inline unsigned commit_which(uint64_t commit)
{
	return commit >> 31 & 1;
}

static inline uint32_t commit_count(uint64_t commit)
{
	return (uint32_t)(commit >> 32);
}

/* Return: bytes of whole events.  Safety: owner. */
static inline size_t thread_len(const struct thread *th)
{
	return commit_len(th->commit);
}

/**
 * thread_register() - give the calling thread a stream
 *
 * Safety: before start-up: once the trace is open.  Signal handler: inside
 *         the guard.  After fork: never.  Allocates: mmap.  Locks: the slot
 *         table's.  errno: preserved.
 *
 * Return: the stream, also in tls.thread; NULL when there is no memory.
 */
struct thread *thread_register(void);

/**
 * thread_flush() - the calling thread's buffer becomes a chunk
 *
 * Safety: owner, inside the guard.  Signals are blocked inside.
 *         Allocates: mmap.  errno: preserved.
 */
void thread_flush(struct thread *th);

/* Flushes, writes THREAD end and gives the slot back.  Safety: owner. */
void thread_release(struct thread *th);

/*
 * Writes all threads' buffers out.  Those of other threads that are still
 * running begin a new chunk at their next event.
 *
 * Safety: inside the guard.  Waits a bounded time for threads that write.
 */
void thread_flush_all(void);

/* Writes the names of all threads that have a slot.  Safety: as above. */
void thread_write_names(void);

/* Writes the calling thread's present name.  Safety: owner, in the guard. */
void thread_write_own_name(const struct thread *th);

/* Return: events of all threads so far.  Safety: anywhere; approximate. */
uint64_t thread_event_count(void);

/* Return: events lost in ways that only threads know.  Safety: anywhere. */
uint64_t thread_lost_count(void);

/* Counts events whose loss the stream itself tells.  Safety: anywhere. */
void thread_count_lost(uint64_t count);

/* Counts one event that found no stream to go to.  Safety: anywhere. */
void thread_count_unrecorded(void);

/* Return: the latter since the last call.  Safety: anywhere. */
uint64_t thread_take_unrecorded(void);

/*
 * Whether the calling thread is the only one with a slot, so that PATH.live
 * can be exchanged.  Safety: inside the guard.
 */
bool thread_is_only(void);

/*
 * Fills the slot's shared half again after live_restore() zeroed it.
 * Safety: owner, inside the guard.
 */
void thread_restore_slot(struct thread *th, uint32_t sequence);

#endif /* TRACER_THREAD_H */
