/* SPDX-License-Identifier: MIT */
/*
 * Full buffers on their way to the file.
 *
 * Threads push chains of buffers; the helper process (helper.h) takes and
 * writes them while a core is free for it.  Where there is no helper, or it
 * is too far behind, the pushing thread writes itself: nothing is ever lost
 * for lack of room, and nobody waits while there is work to be done.
 */
#ifndef TRACER_QUEUE_H
#define TRACER_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct batch;
struct buffer;
struct chain;

/**
 * struct queue_lock - a spinlock that the helper takes, too
 * @holder: 0, 1 a thread, 2 the helper, which may be killed while it has it
 *
 * Only taken with all signals blocked.
 */
struct queue_lock {
	atomic_int holder;
};

/* Safety: signals blocked.  Waits for the holder.  errno: untouched. */
void queue_lock_take(struct queue_lock *lock);

/* Safety: by the holder only.  errno: untouched. */
void queue_lock_give(struct queue_lock *lock);

/* A thread has put a full buffer into a chain of its own.  Return: whether
   it should push the chain, for its length or because many wait. */
bool queue_is_due(const struct chain *chain);

/**
 * queue_push() - hand a chain over
 * @chain: of a thread; empty afterwards
 *
 * Safety: signals blocked.  Allocates: mmap.  Locks: its own, the buffers'.
 *         Starts the helper.  errno: preserved.
 */
void queue_push(struct chain *chain);

/**
 * queue_take() - the oldest chains, to be written together
 * @most: buffers, where events are culled; but one chain at least.  Elsewhere
 *        it is one chain.  The helper waits for as many as that
 * @ret:  chains of one piece; empty when there are none
 *
 * Safety: signals blocked, or the helper.  queue_finish() must follow.
 */
void queue_take(uint32_t most, struct batch *ret);

/* What was taken was written, or is lost; its buffers are free.  Safety: as
   queue_take(). */
void queue_finish(struct batch *batch);

/*
 * Writes all that was pushed before the call, and waits for what the helper is
 * at.
 *
 * Safety: signals blocked.
 */
void queue_drain(void);

/* Waits until all chains of @piece that were pushed are written; no more are
   pushed.  Safety: signals blocked; there is no helper. */
void queue_drain_piece(uint32_t piece);

/* All is as at the start.  Safety: a forked child's only thread. */
void queue_forget_all(void);

/* Return: counts pushes; what the helper sleeps on.  Safety: anywhere. */
atomic_uint *queue_turn(void);

#endif /* TRACER_QUEUE_H */
