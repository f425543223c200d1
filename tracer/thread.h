/* SPDX-License-Identifier: MIT */
/*
 * The traced threads and their event streams.
 *
 * A thread takes a stream and a buffer at its first event and gives them back
 * when it ends; those of threads that ended without saying so are found by
 * their kernel id and taken back.
 */
#ifndef TRACER_THREAD_H
#define TRACER_THREAD_H

#include <stdatomic.h>
#include <stdint.h>

#include "tracer/buffer.h"
#include "tracer/compiler.h"
#include "tracer/unwind.h"

/**
 * struct thread - a stream of events; belongs to the owner
 * @buffer:     being filled; NULL only when there was no memory for another
 * @slot:       the buffer's
 * @next:       where the next record goes, in it
 * @end:        of its words; NULL has the thread come to thread_flush() soon
 * @last_tick:  time of the last event, also of one not yet committed
 * @prev_len:   frames of the last event's stack, 0 at the start of a buffer
 * @number:     thread number
 * @tid:        the kernel's
 * @index:      of this struct
 * @in_use:     owned by a thread
 * @piece:      that events go to; PIECE_NONE: @buffer holds nothing of value
 * @sequence:   of @buffer
 * @chain:      full buffers not pushed yet
 * @lock:       held while @buffer, @chain, @piece or @sequence change, or
 *              another thread reads them
 * @stack:      the last stack taken
 */
struct thread {
	struct buffer *buffer;
	struct trace_live_slot *slot;
	uint64_t *next;
	uint64_t *end;
	uint64_t last_tick;
	size_t prev_len;
	uint32_t number;
	int tid;
	uint32_t index;
	atomic_bool in_use;
	uint32_t piece;
	uint32_t sequence;
	struct chain chain;
	struct spinlock lock;
	struct unwind_stack stack;
};

/**
 * thread_register() - give the calling thread a stream
 *
 * Safety: before start-up: once the trace is open.  Signal handler: inside
 *         the guard.  After fork: never.  Allocates: mmap.  Locks: that of
 *         all streams, and the stream's.  errno: may change.
 *
 * Return: the stream, also in tls.thread; NULL when there is no memory.
 */
struct thread *thread_register(void);

/**
 * thread_flush() - the calling thread goes on in another buffer
 *
 * The present one waits to be written, with others of the thread.
 *
 * Safety: owner, inside the guard.  Signals are blocked inside.
 *         Allocates: mmap.  Locks: the stream's.  errno: preserved.
 *
 * Return: false when there is no memory for a buffer, or recording was
 *         stopped; th->next == th->end.
 */
bool thread_flush(struct thread *th);

/* Flushes, writes THREAD end and gives the stream back.  Safety: owner. */
void thread_release(struct thread *th);

/*
 * Writes all threads' buffers into the trace.  Other threads that are still
 * running go on where they are.
 *
 * Safety: inside the guard.  Waits a bounded time for threads that write.
 */
void thread_flush_all(void);

/* Writes the names of all threads that have a stream into @piece.  Safety: as
   above. */
void thread_write_names(uint32_t piece);

/* Writes THREAD start of the same threads into @piece.  Safety: as above. */
void thread_write_starts(uint32_t piece);

/*
 * @next is the piece that events go to, and PIECE_NONE that they are not
 * wanted any more.  What threads have recorded before is written into the
 * present piece, or handed over.
 *
 * Safety: as thread_flush_all(); signals blocked.
 */
void thread_cut_all(uint32_t next);

/* Has all threads come to thread_flush() at their next event.  Safety: also
   the helper. */
void thread_hurry_all(void);

/* The threads but the calling one are gone; it goes on with an empty stream.
   Safety: a forked child's only thread. */
void thread_forget_all(void);

/* Writes the calling thread's present name.  Safety: owner, in the guard. */
void thread_write_own_name(const struct thread *th);

/* Return: events lost in ways that only threads know.  Safety: anywhere. */
uint64_t thread_lost_count(void);

/* Return: the newest thread's number.  Safety: anywhere. */
uint32_t thread_last_number(void);

/*
 * Ends of the stacks of all threads that have a stream, in no order, as far as
 * they are known; a thread that begins or ends meanwhile may be missing.
 *
 * Safety: anywhere.  Return: how many, at most @cap.
 */
size_t thread_stack_ends(uintptr_t *ret, size_t cap);

/* Counts events whose loss the stream itself tells.  Safety: anywhere. */
void thread_count_lost(uint64_t count);

/* Counts one event that found no stream to go to.  Safety: anywhere. */
void thread_count_unrecorded(void);

/* Return: the latter since the last call.  Safety: anywhere. */
uint64_t thread_take_unrecorded(void);

/*
 * Whether the calling thread is the only one with a stream, so that PATH.live
 * can be exchanged.  Safety: inside the guard.
 */
bool thread_is_only(void);

/*
 * Begins the buffer again after live_restore() zeroed it.
 * Safety: owner, inside the guard; there is a buffer.
 */
void thread_restore_buffer(struct thread *th);

#endif /* TRACER_THREAD_H */
