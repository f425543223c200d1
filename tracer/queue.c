/* SPDX-License-Identifier: MIT */
#include "tracer/queue.h"

#include "tracer/buffer.h"
#include "tracer/chunk.h"
#include "tracer/columns.h"
#include "tracer/compiler.h"
#include "tracer/helper.h"
#include "tracer/tls.h"

enum {
	CHAIN_MAX = COLUMNS_BUFFERS_MAX,
	QUEUE_MAX = 64,     /* chains */
	WAITING_EARLY = 24, /* buffers; then chains are pushed at any length */
	WAITING_MAX = 32,   /* then pushing threads help */
	LOCK_TRIES = 10000,
};

enum lock_holder { HOLDER_NONE, HOLDER_THREAD, HOLDER_HELPER };

/**
 * struct queue - chains to be written
 * @lock:    of @chains, @first, @count and @helpers
 * @chains:  a ring
 * @helpers: what the helper is writing
 * @busy:    it is
 * @waiting: full buffers in all chains, the threads' included
 * @turn:    counts pushes
 */
static struct {
	struct queue_lock lock;
	struct chain chains[QUEUE_MAX];
	uint32_t first;
	uint32_t count;
	struct chain helpers;
	atomic_bool busy;
	atomic_int waiting;
	atomic_uint turn;
} queue;

/*
 * The helper does not die by itself, but somebody may kill it, at any
 * instruction; what it held is then consistent enough, being a few stores.
 */
void queue_lock_take(struct queue_lock *lock)
{
	int self = tls.is_helper ? HOLDER_HELPER : HOLDER_THREAD;

	for (int i = 0;; i++) {
		int holder = HOLDER_NONE;

		if (atomic_compare_exchange_strong_explicit(
			&lock->holder, &holder, self, memory_order_acquire,
			memory_order_relaxed))
			return;
		if (i >= LOCK_TRIES && holder == HOLDER_HELPER &&
		    !tls.is_helper && !helper_is_alive() &&
		    atomic_compare_exchange_strong(&lock->holder, &holder,
						   self))
			return;
		sys_sched_yield();
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

bool queue_is_due(const struct chain *chain)
{
	int waiting = atomic_fetch_add(&queue.waiting, 1) + 1;

	return chain->count >= CHAIN_MAX || waiting > WAITING_EARLY;
}

void queue_take(struct chain *ret)
{
	*ret = (struct chain){0};
	queue_lock_take(&queue.lock);
	if (queue.count) {
		*ret = queue.chains[queue.first];
		queue.first = (queue.first + 1) % QUEUE_MAX;
		queue.count--;
		if (tls.is_helper) {
			queue.helpers = *ret;
			queue.busy = true;
		}
	}
	queue_lock_give(&queue.lock);
}

void queue_finish(struct chain *chain)
{
	int count = (int)chain->count;

	chain_give(chain);
	atomic_fetch_sub(&queue.waiting, count);
	if (tls.is_helper)
		queue.busy = false;
}

/* Safety: as queue_push().  Return: whether there was a chain to write. */
static bool work(void)
{
	struct chain chain;

	queue_take(&chain);
	if (!chain.count)
		return false;
	chunk_write_chain(&chain);
	queue_finish(&chain);
	return true;
}

/* Safety: as queue_push().  Return: false when the queue is full. */
static bool enqueue(const struct chain *chain)
{
	bool room;

	queue_lock_take(&queue.lock);
	room = queue.count < QUEUE_MAX;
	if (room) {
		queue.chains[(queue.first + queue.count) % QUEUE_MAX] = *chain;
		queue.count++;
	}
	queue_lock_give(&queue.lock);
	return room;
}

void queue_push(struct chain *chain)
{
	if (!chain->count)
		return;
	while (!enqueue(chain))
		work();
	*chain = (struct chain){0};
	atomic_fetch_add(&queue.turn, 1);
	chunk_report_lost();
	if (!helper_start()) {
		while (work())
			continue;
		return;
	}
	sys_futex_wake(&queue.turn);
	while (atomic_load(&queue.waiting) > WAITING_MAX && work())
		continue;
}

/* Safety: as queue_drain().  Writes what the helper left when it was killed. */
static void take_over(void)
{
	struct chain chain = queue.helpers;

	queue.busy = false;
	chunk_write_chain(&chain);
	queue_finish(&chain);
}

void queue_drain(void)
{
	while (work())
		continue;
	while (queue.busy) {
		if (helper_is_alive())
			sys_sched_yield();
		else if (queue.busy)
			take_over();
	}
}
