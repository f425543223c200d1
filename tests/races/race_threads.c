/* SPDX-License-Identifier: MIT */
/*
 * The threads' buffers on their way to the file, under ThreadSanitizer: many
 * threads fill, hand over, end and begin again; one writes for them like the
 * helper process, and comes and goes; one has everything written out now and
 * then, as before an exec that fails, or a new piece of the trace begun.  What
 * "the file" gets is counted.
 *
 * A record is a word: the number that it has within its thread.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/buffer.h"
#include "tracer/chunk.h"
#include "tracer/clock.h"
#include "tracer/filters.h"
#include "tracer/helper.h"
#include "tracer/piece.h"
#include "tracer/queue.h"
#include "tracer/smaps.h"
#include "tracer/state.h"
#include "tracer/thread.h"
#include "tracer/tls.h"

enum {
	THREADS = 6,
	LIVES = 12,      /* of each, one after another */
	RECORDS = 40000, /* in a life */
	NUMBERS = THREADS * LIVES + 2,
	SLOTS = 256,
	FILLED = 900, /* words after which a buffer counts as full */
};

/**
 * struct part - what one buffer brought to the file
 */
struct part {
	uint32_t thread;
	uint32_t piece;
	uint32_t sequence;
	uint64_t first;
	uint64_t count;
};

static struct {
	pthread_mutex_t lock;
	struct part *items;
	size_t count;
	size_t cap;
} file = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t written[NUMBERS];
static atomic_int helper_phase; /* 0 none, 1 runs, 2 to end */
static atomic_bool done;

/* --- what the rest of the tracer would do -------------------------------- */

bool clock_is_tsc;
bool clock_is_shared;

uint64_t clock_monotonic_ns(void)
{
	return 1;
}

void state_thread_started(void)
{
}

struct stack_bounds unwind_bounds(void)
{
	return (struct stack_bounds){0};
}

bool unwind_stack_init(struct unwind_stack *stack,
		       const struct stack_bounds *bounds)
{
	(void)stack;
	(void)bounds;
	return true;
}

struct trace_live_slot *live_slot(uint32_t index)
{
	static char slots[SLOTS][LIVE_STRIDE] __attribute__((aligned(4096)));

	return index < SLOTS ? (void *)slots[index] : NULL;
}

void live_warm_slot(uint32_t index)
{
	(void)index;
}

void live_set_lost(enum trace_lost_reason reason, uint64_t count)
{
	(void)reason, (void)count;
}

void smaps_take_if_due(void)
{
}

atomic_uint piece_now;

uint64_t *cull_stamps; /* what is culled has no bearing on this */

int chunk_write(const struct chunk *chunk)
{
	(void)chunk;
	return 0;
}

int chunk_write_in(uint32_t piece, const struct chunk *chunk)
{
	(void)piece;
	return chunk_write(chunk);
}

void chunk_report_lost(void)
{
}

void chunk_write_chain(const struct chain *chain)
{
	uint32_t sequence = chain->first->slot->sequence;

	for (const struct buffer *b = chain->first; b; b = b->next) {
		struct part part = {
			.thread = b->slot->thread,
			.piece = b->slot->piece,
			.sequence = b->slot->sequence,
			.first = b->words[b->from],
			.count = b->len - b->from,
		};

		if (part.sequence != sequence++)
			abort();
		for (size_t i = b->from; i < b->len; i++)
			if (b->words[i] != part.first + i - b->from)
				abort();
		pthread_mutex_lock(&file.lock);
		if (file.count == file.cap) {
			file.cap = file.cap ? 2 * file.cap : 1024;
			file.items = realloc(file.items,
					     file.cap * sizeof(*file.items));
		}
		file.items[file.count++] = part;
		pthread_mutex_unlock(&file.lock);
	}
}

void chunk_write_batch(const struct batch *batch)
{
	for (uint32_t i = 0; i < batch->count; i++)
		chunk_write_chain(&batch->chains[i]);
}

bool helper_start(void)
{
	return helper_phase == 1;
}

bool helper_is_known(void)
{
	return helper_phase == 1;
}

bool filters_hinder;

bool helper_call(void (*work)(void *arg), void *arg)
{
	(void)work, (void)arg;
	return false;
}

bool helper_is_alive(void)
{
	return helper_phase != 0;
}

void helper_kill(void)
{
	abort();
}

void helper_leave_if_orphaned(void)
{
	abort();
}

/* --- who takes part ------------------------------------------------------ */

/* The helper's loop, without its sleep. */
static void *help(void *arg)
{
	struct batch batch;

	tls.is_helper = true;
	for (;;) {
		queue_take(BATCH_CHAINS_MAX, &batch);
		if (batch.count) {
			chunk_write_batch(&batch);
			queue_finish(&batch);
		} else if (helper_phase == 2) {
			break;
		} else {
			sys_sched_yield();
		}
	}
	tls.is_helper = false;
	helper_phase = 0;
	return arg;
}

/* Starts and ends helpers. */
static void *manage(void *arg)
{
	while (!done) {
		pthread_t helper;

		helper_phase = 1;
		pthread_create(&helper, NULL, help, NULL);
		sys_nanosleep(3 * 1000 * 1000);
		helper_phase = 2;
		pthread_join(helper, NULL);
		sys_nanosleep(1000 * 1000);
	}
	return arg;
}

/* Has everything written out while the others go on. */
static void *flush(void *arg)
{
	while (!done) {
		uint32_t old = piece_now;

		thread_flush_all();
		sys_nanosleep(500 * 1000);
		thread_cut_all(old + 1);
		queue_drain_piece(old);
		sys_nanosleep(500 * 1000);
	}
	return arg;
}

static void put(struct thread *th, uint64_t record)
{
	uint64_t *p = th->next;

	*p++ = record;
	th->next = p;
	__atomic_store_n(&th->buffer->slot->committed_len,
			 (uint64_t)((char *)p - (char *)th->buffer->words),
			 __ATOMIC_RELEASE);
}

static void *live(void *arg)
{
	struct thread *th = thread_register();

	if (!th)
		abort();
	for (uint64_t i = 0; i < RECORDS; i++) {
		if (th->next - th->buffer->words >= FILLED &&
		    !thread_flush(th))
			abort();
		put(th, i);
	}
	written[th->number] = RECORDS;
	thread_release(th);
	return arg;
}

static void *live_again_and_again(void *arg)
{
	for (int i = 0; i < LIVES; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, live, NULL);
		pthread_join(thread, NULL);
	}
	return arg;
}

/* --- the count ----------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct part *left = a, *right = b;

	if (left->thread != right->thread)
		return left->thread < right->thread ? -1 : 1;
	if (left->piece != right->piece)
		return left->piece < right->piece ? -1 : 1;
	return left->sequence < right->sequence ? -1 : 1;
}

/* Return: whether every record of every thread is there once, in order. */
static bool is_complete(void)
{
	uint64_t total = 0;

	qsort(file.items, file.count, sizeof(*file.items), compare);
	for (size_t i = 0; i < file.count; i++) {
		const struct part *part = &file.items[i];
		const struct part *last = i ? part - 1 : NULL;
		bool same = last && last->thread == part->thread;
		bool follows = same && last->piece == part->piece;

		if (part->sequence != (follows ? last->sequence + 1 : 0) ||
		    part->first != (same ? last->first + last->count : 0))
			return false;
		total += part->count;
	}
	for (int i = 0; i < NUMBERS; i++)
		total -= written[i];
	return total == 0;
}

int main(void)
{
	pthread_t others[2], threads[THREADS];

	pthread_create(&others[0], NULL, manage, NULL);
	pthread_create(&others[1], NULL, flush, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, live_again_and_again, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	done = true;
	for (int i = 0; i < 2; i++)
		pthread_join(others[i], NULL);
	thread_flush_all();
	if (!is_complete()) {
		puts("0 passed, 1 failed");
		return 1;
	}
	puts("1 passed, 0 failed");
	return 0;
}
