/* SPDX-License-Identifier: MIT */
#include "tracer/queue.h"

#include <string.h>

#include "tracer/buffer.h"
#include "tracer/chunk.h"
#include "tracer/columns.h"
#include "tracer/compiler.h"
#include "tracer/cull.h"
#include "tracer/cull_stamps.h"
#include "tracer/helper.h"
#include "tracer/pool.h"
#include "tracer/smaps.h"
#include "tracer/tls.h"

enum {
	CHAIN_MAX = COLUMNS_BUFFERS_MAX,
	QUEUE_MAX = 256,    /* chains */
	HELD_MAX = 32,      /* buffers; then chains are pushed at any length */
	WAITING_MAX = 32,   /* buffers; then pushing threads help */
	/* Those that the helper is at, and those that it waits for. */
	WAITING_CULL = 2 * CULL_BUFFERS_MAX,
};

_Static_assert((int)CULL_BUFFERS_MAX <= (int)BATCH_CHAINS_MAX,
	       "as many chains of one buffer each");

enum lock_holder { HOLDER_NONE, HOLDER_THREAD, HOLDER_HELPER };

/**
 * struct queue - chains to be written
 * @lock:    of taking and adding chains
 * @chains:  a ring; that of number n is chains[n % QUEUE_MAX]
 * @taken:   numbers below it were taken
 * @added:   numbers from it on are not used yet
 * @helpers: what the helper took last
 * @ticket:  the number after its last chain's, while it is not written; 0: none
 * @held:    full buffers in the threads' own chains, not pushed yet
 * @waiting: full buffers in chains pushed and not written
 * @unwritten: chains pushed and not written, by the lowest bit of their piece
 * @turn:    counts pushes
 *
 * The helper does not die by itself, but somebody may kill it, at any
 * instruction.  Therefore each change that it makes becomes true with a
 * single store: chains are the helper's once @taken has reached @ticket.
 */
static struct {
	struct queue_lock lock;
	struct chain chains[QUEUE_MAX];
	atomic_uint taken;
	atomic_uint added;
	struct batch helpers;
	atomic_uint ticket;
	atomic_int held;
	atomic_int waiting;
	atomic_int unwritten[2];
	atomic_uint turn;
} queue;

/*
 * The lock has been held for longer than anybody should.  The helper may have
 * been killed or stopped; the program may have been killed, of which the
 * helper dies here.
 *
 * Safety: as queue_lock_take().  Return: whether the lock is ours.
 */
static COLD bool steal(struct queue_lock *lock, int holder, int i)
{
	if (tls.is_helper) {
		helper_leave_if_orphaned();
		return false;
	}
	if (holder != HOLDER_HELPER)
		return false;
	if (i == WAIT_PATIENCE)
		helper_kill();
	return !helper_is_alive() &&
	       atomic_compare_exchange_strong(&lock->holder, &holder,
					      HOLDER_THREAD);
}

void queue_lock_take(struct queue_lock *lock)
{
	int self = tls.is_helper ? HOLDER_HELPER : HOLDER_THREAD;

	for (int i = 0;; i += i <= WAIT_PATIENCE) {
		int holder = HOLDER_NONE;

		if (atomic_compare_exchange_strong_explicit(
			&lock->holder, &holder, self, memory_order_acquire,
			memory_order_relaxed))
			return;
		if (i >= WAIT_YIELDS && steal(lock, holder, i))
			return;
		wait_step(i);
	}
}

void queue_lock_give(struct queue_lock *lock)
{
	atomic_store_explicit(&lock->holder, HOLDER_NONE, memory_order_release);
}

atomic_uint *queue_turn(void)
{
	return &queue.turn;
}

/* Safety: any.  Whether the helper waits for many buffers, to find pairs. */
static bool is_gathering(void)
{
	return cull_stamps && helper_is_known();
}

/*
 * Long chains make chunks that cost less and are smaller; so chains are not cut
 * short while the helper is behind, only where many threads hold some.
 */
bool queue_is_due(const struct chain *chain)
{
	int held = atomic_fetch_add(&queue.held, 1) + 1;

	return chain->count >= CHAIN_MAX || held > HELD_MAX || pool_is_scarce ||
	       is_gathering();
}

/* Safety: lock held.  Puts the oldest chains into @ret.  Return: whether these
   are as many as there may be. */
static bool gather(uint32_t most, struct batch *ret)
{
	uint32_t buffers = 0;

	most = cull_stamps ? most : 1;
	ret->count = 0;
	for (uint32_t i = queue.taken; i != queue.added && buffers < most; i++) {
		const struct chain *chain = &queue.chains[i % QUEUE_MAX];

		if (ret->count && (buffers + chain->count > most ||
				   chain_piece(chain) !=
					   chain_piece(ret->chains)))
			return true;
		ret->chains[ret->count++] = *chain;
		buffers += chain->count;
	}
	return buffers >= most;
}

void queue_take(uint32_t most, struct batch *ret)
{
	uint32_t end;

	queue_lock_take(&queue.lock);
	if (!gather(most, ret) && tls.is_helper)
		ret->count = 0;
	end = queue.taken + ret->count;
	if (!ret->count) {
		queue_lock_give(&queue.lock);
		return;
	}
	if (tls.is_helper) {
		queue.helpers = *ret;
		queue.ticket = end;
	} else if ((int32_t)(queue.ticket - queue.taken) > 0) {
		queue.ticket = 0; /* killed before it had the chains */
	}
	queue.taken = end;
	queue_lock_give(&queue.lock);
}

/* The buffers of a helper that is killed in here are not used again. */
void queue_finish(struct batch *batch)
{
	atomic_int *unwritten =
		&queue.unwritten[chain_piece(batch->chains) & 1];

	if (tls.is_helper)
		queue.ticket = 0;
	for (uint32_t i = 0; i < batch->count; i++) {
		int count = (int)batch->chains[i].count;

		chain_give(&batch->chains[i]);
		atomic_fetch_sub(&queue.waiting, count);
		atomic_fetch_sub(unwritten, 1);
	}
}

/* Safety: as queue_push().  Return: whether there was a chain to write. */
static bool work(uint32_t most)
{
	struct batch batch;

	queue_take(most, &batch);
	if (!batch.count)
		return false;
	chunk_write_batch(&batch);
	queue_finish(&batch);
	return true;
}

/*
 * Writes as much as brings the queue back to @enough buffers in the end, when
 * every push does so.  Not more: the thread is needed, and who wants to write
 * its buffers out, before an exec, waits for it.
 *
 * Safety: as queue_push().
 */
static void work_off(int enough)
{
	for (int i = 0; i < 2 && atomic_load(&queue.waiting) > enough; i++)
		work(CHAIN_MAX);
}

/* Safety: as queue_push().  Return: false when the queue is full. */
static bool enqueue(const struct chain *chain)
{
	bool room;

	queue_lock_take(&queue.lock);
	room = queue.added - queue.taken < QUEUE_MAX;
	if (room) {
		queue.chains[queue.added % QUEUE_MAX] = *chain;
		queue.added++;
	}
	queue_lock_give(&queue.lock);
	return room;
}

/*
 * Writes what the helper left when it was killed.  If it was done but for
 * saying so, the chunks are there twice, and readers take one of each.
 *
 * Safety: as queue_push(); it is dead.
 */
static COLD void take_over(void)
{
	uint32_t ticket = atomic_exchange(&queue.ticket, 0);
	struct batch batch = queue.helpers;

	if (!ticket || (int32_t)(queue.taken - ticket) < 0)
		return;
	chunk_write_batch(&batch);
	queue_finish(&batch);
}

void queue_push(struct chain *chain)
{
	int waiting, enough;

	if (!chain->count)
		return;
	atomic_fetch_add(&queue.unwritten[chain_piece(chain) & 1], 1);
	atomic_fetch_sub(&queue.held, (int)chain->count);
	atomic_fetch_add(&queue.waiting, (int)chain->count);
	while (!enqueue(chain))
		work(CHAIN_MAX);
	*chain = (struct chain){0};
	atomic_fetch_add(&queue.turn, 1);
	chunk_report_lost();
	if (!helper_start()) {
		smaps_take_if_due();
		work_off(0);
		return;
	}
	waiting = atomic_load(&queue.waiting);
	if (!is_gathering() || waiting >= CULL_BUFFERS_MAX)
		sys_futex_wake(&queue.turn);
	enough = is_gathering() ? WAITING_MAX + WAITING_CULL : WAITING_MAX;
	if (LIKELY(waiting <= enough))
		return;
	if (!helper_is_alive())
		take_over();
	work_off(enough);
}

void queue_drain(void)
{
	uint32_t end = queue.added, ticket;
	bool more = true;

	while (more && (int32_t)(end - queue.taken) > 0)
		more = work(CULL_BUFFERS_MAX);
	for (int i = 0; (ticket = queue.ticket) && (int32_t)(end - ticket) >= 0;
	     i++) {
		if (i == WAIT_PATIENCE)
			helper_kill();
		if (helper_is_alive())
			wait_step_of_work(i);
		else
			take_over();
	}
}

/* A helper that was killed may have left a chain uncounted. */
void queue_drain_piece(uint32_t piece)
{
	atomic_int *unwritten = &queue.unwritten[piece & 1];

	queue_drain();
	for (int i = 0; *unwritten && i < WAIT_PATIENCE; i++)
		if (!work(CULL_BUFFERS_MAX))
			wait_step(i);
	*unwritten = 0;
}

void queue_forget_all(void)
{
	memset(&queue, 0, sizeof(queue));
}
