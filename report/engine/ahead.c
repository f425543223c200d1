/* SPDX-License-Identifier: MIT */
/*
 * A ring of slots.  The thread that reads fills one, hands it over and goes on
 * to the next that is free; the other takes them in the same order.  Events stay
 * where they were decoded: a slot says where, and has the batches whose last
 * events it tells of, which are used again when the slot is.  What the reader
 * learned before it handed over a slot, the taker of that slot may look at;
 * nodes of stacks do not change once they are there, and arrays that the tree has
 * grown out of stay until the end.
 */
#include "report/engine/ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/stopwatch.h"
#include "report/event/event.h"
#include "report/event/stacks.h"

/* All together few enough to stay in the cache on their way. */
enum {
	SLOT_EVENTS = 1024,
	SLOT_SPANS = 256,
	SLOT_BATCHES = 4,
	SLOT_COUNT = 16,
};

/* Who waits is woken when there is something to do for a while, not for each
   slot. */
enum { WAKE_FILLED = 4, WAKE_EMPTIED = SLOT_COUNT / 2 };

/* As a merge_span_fn gets them. */
struct span {
	const struct event *events;
	uint32_t count;
	uint32_t known;
	uint32_t lane;
};

/**
 * struct slot - events on their way
 * @nodes, @node_count: of stacks, when it was handed over
 * @event_count: of all @spans
 * @batches: what nobody looks at any more once the spans have been taken
 */
struct slot {
	struct stacks_node *nodes;
	uint32_t node_count;
	uint32_t event_count;
	uint32_t span_count;
	uint32_t batch_count;
	struct span spans[SLOT_SPANS];
	struct event_batch batches[SLOT_BATCHES];
};

/**
 * struct ahead
 * @spare:   @spare_count batches to be filled, of the reader
 * @lock:    guards what follows it but the contents of slots
 * @changed: @filled, @emptied, @is_over or @is_stopped
 * @filled, @emptied: slots handed over and given back so far
 * @is_over: the reader is done, with @status and @diag
 * @is_stopped: nobody wants more
 * @waited_ns: how long the reader waited for a slot
 */
struct ahead {
	struct input *input;
	struct stacks *stacks;
	struct slot *slots;
	struct event_batch spare[SLOT_COUNT * SLOT_BATCHES];
	size_t spare_count;
	struct merge_times times;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t filled;
	uint64_t emptied;
	bool is_over;
	bool is_stopped;
	int status;
	struct diag diag;
};

/* --- the thread that reads ----------------------------------------------- */

/* Return: a free slot, NULL when nobody wants more. */
static struct slot *slot_next(struct ahead *ahead)
{
	struct slot *slot = NULL;

	pthread_mutex_lock(&ahead->lock);
	while (!ahead->is_stopped &&
	       ahead->filled - ahead->emptied == SLOT_COUNT)
		pthread_cond_wait(&ahead->changed, &ahead->lock);
	if (!ahead->is_stopped)
		slot = &ahead->slots[ahead->filled % SLOT_COUNT];
	pthread_mutex_unlock(&ahead->lock);
	return slot;
}

static void slot_hand_over(struct ahead *ahead, struct slot *slot)
{
	slot->nodes = ahead->stacks->nodes;
	slot->node_count = ahead->stacks->count;
	pthread_mutex_lock(&ahead->lock);
	ahead->filled++;
	if (ahead->filled - ahead->emptied == WAKE_FILLED)
		pthread_cond_signal(&ahead->changed);
	pthread_mutex_unlock(&ahead->lock);
}

/* Makes @slot, whose events have been taken, an empty one. */
static void slot_clear(struct ahead *ahead, struct slot *slot)
{
	while (slot->batch_count)
		ahead->spare[ahead->spare_count++] =
			slot->batches[--slot->batch_count];
	slot->event_count = 0;
	slot->span_count = 0;
}

/* The slot being filled is slots[filled % SLOT_COUNT].  Return: it or, where it
   @is_full, the next; NULL when nobody wants more. */
static struct slot *slot_turn(struct ahead *ahead, bool is_full)
{
	struct slot *slot = &ahead->slots[ahead->filled % SLOT_COUNT];

	if (!is_full)
		return slot;
	slot_hand_over(ahead, slot);
	slot = slot_next(ahead);
	if (slot)
		slot_clear(ahead, slot);
	return slot;
}

static int take_span(void *context, const struct event *events, size_t count,
		     size_t known, size_t lane)
{
	struct ahead *ahead = context;
	struct slot *slot = slot_turn(ahead, false);
	struct span *last = NULL;

	if (slot->span_count)
		last = &slot->spans[slot->span_count - 1];
	if (last && last->events + last->count == events &&
	    slot->event_count < SLOT_EVENTS) {
		last->count += (uint32_t)count;
		slot->event_count += (uint32_t)count;
		return 0;
	}
	slot = slot_turn(ahead, slot->event_count >= SLOT_EVENTS ||
					slot->span_count == SLOT_SPANS);
	if (!slot)
		return -ECANCELED;
	slot->spans[slot->span_count++] = (struct span){
		.events = events,
		.count = (uint32_t)count,
		.known = (uint32_t)known,
		.lane = (uint32_t)lane,
	};
	slot->event_count += (uint32_t)count;
	return 0;
}

/* Leaves @batch to the slot, for another one. */
static int take_batch(void *context, struct event_batch *batch)
{
	struct ahead *ahead = context;
	struct slot *slot = slot_turn(ahead, false);

	slot = slot_turn(ahead, slot->batch_count == SLOT_BATCHES);
	if (!slot)
		return -ECANCELED;
	slot->batches[slot->batch_count++] = *batch;
	*batch = (struct event_batch){ 0 };
	if (ahead->spare_count)
		*batch = ahead->spare[--ahead->spare_count];
	return 0;
}

static void *read_thread(void *context)
{
	struct ahead *ahead = context;
	struct diag diag = { .offset = DIAG_NO_OFFSET };
	const struct merge_taker taker = {
		.context = ahead,
		.span = take_span,
		.spent = take_batch,
	};
	int status = merge_run(ahead->input, &taker, &ahead->times, &diag);
	struct slot *slot = &ahead->slots[ahead->filled % SLOT_COUNT];

	if (status != -ECANCELED && slot->span_count)
		slot_hand_over(ahead, slot);
	ahead->times.read_cpu_ns = stopwatch_read(CLOCK_THREAD_CPUTIME_ID);
	pthread_mutex_lock(&ahead->lock);
	ahead->is_over = true;
	ahead->status = status;
	ahead->diag = diag;
	pthread_cond_signal(&ahead->changed);
	pthread_mutex_unlock(&ahead->lock);
	return NULL;
}

/* --- who takes ------------------------------------------------------------ */

/* Return: the next slot, NULL when there are no more.  @ret_waited_ns: added
   to. */
static const struct slot *slot_wait(struct ahead *ahead,
				    uint64_t *ret_waited_ns)
{
	const struct slot *slot = NULL;

	pthread_mutex_lock(&ahead->lock);
	if (!ahead->is_over && ahead->filled == ahead->emptied) {
		uint64_t start = stopwatch_ns();

		while (!ahead->is_over && ahead->filled == ahead->emptied)
			pthread_cond_wait(&ahead->changed, &ahead->lock);
		*ret_waited_ns += stopwatch_ns() - start;
	}
	if (ahead->filled != ahead->emptied)
		slot = &ahead->slots[ahead->emptied % SLOT_COUNT];
	pthread_mutex_unlock(&ahead->lock);
	return slot;
}

/* Gives the slot back or, when @status is not 0, stops the reader. */
static void slot_give_back(struct ahead *ahead, int status)
{
	pthread_mutex_lock(&ahead->lock);
	ahead->emptied++;
	ahead->is_stopped = status != 0;
	if (ahead->is_stopped ||
	    ahead->filled - ahead->emptied == SLOT_COUNT - WAKE_EMPTIED)
		pthread_cond_signal(&ahead->changed);
	pthread_mutex_unlock(&ahead->lock);
}

static int slot_show(const struct slot *slot, const struct merge_taker *taker)
{
	int status = 0;

	for (uint32_t i = 0; status == 0 && i < slot->span_count; i++) {
		const struct span *span = &slot->spans[i];

		status = taker->span(taker->context, span->events, span->count,
				     span->known, span->lane);
	}
	return status;
}

static int take_all(struct ahead *ahead, struct stacks *seen,
		    const struct merge_taker *taker, uint64_t *waited_ns)
{
	const struct slot *slot;
	int status = 0;

	while (status == 0 && (slot = slot_wait(ahead, waited_ns)) != NULL) {
		seen->nodes = slot->nodes;
		seen->count = slot->node_count;
		status = slot_show(slot, taker);
		slot_give_back(ahead, status);
	}
	return status;
}

static bool ahead_init(struct ahead *ahead, struct input *input,
		       struct stacks *stacks)
{
	memset(ahead, 0, sizeof(*ahead));
	ahead->input = input;
	ahead->stacks = stacks;
	ahead->slots = malloc(SLOT_COUNT * sizeof(*ahead->slots));
	if (!ahead->slots)
		return false;
	for (size_t i = 0; i < SLOT_COUNT; i++)
		ahead->slots[i].event_count = ahead->slots[i].span_count =
			ahead->slots[i].batch_count = 0;
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->changed, NULL);
	return true;
}

static void ahead_done(struct ahead *ahead)
{
	for (size_t i = 0; i < SLOT_COUNT; i++) {
		struct slot *slot = &ahead->slots[i];

		for (uint32_t j = 0; j < slot->batch_count; j++)
			event_batch_done(&slot->batches[j]);
	}
	for (size_t i = 0; i < ahead->spare_count; i++)
		event_batch_done(&ahead->spare[i]);
	pthread_cond_destroy(&ahead->changed);
	pthread_mutex_destroy(&ahead->lock);
	free(ahead->slots);
}

int ahead_run(struct input *input, struct stacks *stacks, struct stacks *seen,
	      const struct merge_taker *taker, struct merge_times *times,
	      struct diag *diag)
{
	struct ahead ahead;
	pthread_t thread;
	uint64_t waited_ns = 0;
	int status;

	if (!ahead_init(&ahead, input, stacks))
		return -ENOMEM;
	stacks_share(stacks, true);
	if (pthread_create(&thread, NULL, read_thread, &ahead)) {
		ahead_done(&ahead);
		stacks_share(stacks, false);
		return AHEAD_NO_THREAD;
	}
	status = take_all(&ahead, seen, taker, &waited_ns);
	pthread_join(thread, NULL);
	stacks_share(stacks, false);
	seen->nodes = stacks->nodes;
	seen->count = stacks->count;
	if (status == 0 && ahead.status) {
		status = ahead.status;
		if (diag && ahead.diag.text[0])
			*diag = ahead.diag;
	}
	*times = ahead.times;
	times->waited_ns = waited_ns;
	ahead_done(&ahead);
	return status;
}
