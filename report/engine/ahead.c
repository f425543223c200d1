/* SPDX-License-Identifier: MIT */
/*
 * A ring of slots.  The thread that reads fills one, hands it over and goes on
 * to the next that is free; the other takes them in the same order.  What the
 * reader learned before it handed over a slot, the taker of that slot may look
 * at; nodes of stacks do not change once they are there, and arrays that the
 * tree has grown out of stay until the end.
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
enum { SLOT_EVENTS = 1024, SLOT_COUNT = 16 };

/* Who waits is woken when there is something to do for a while, not for each
   slot. */
enum { WAKE_FILLED = 4, WAKE_EMPTIED = SLOT_COUNT / 2 };

struct span {
	uint32_t lane;
	uint32_t count;
};

/**
 * struct slot - events on their way
 * @nodes, @node_count: of stacks, when it was handed over
 * @spans: @span_count runs of events, each of one lane
 */
struct slot {
	struct stacks_node *nodes;
	uint32_t node_count;
	uint32_t event_count;
	uint32_t span_count;
	struct span spans[SLOT_EVENTS];
	struct event events[SLOT_EVENTS];
};

/**
 * struct ahead
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

/* Adds @count events of @lane to the slot. */
static void slot_add(struct slot *slot, const struct event *events,
		     size_t count, size_t lane)
{
	struct span *last = slot->span_count ? &slot->spans[slot->span_count - 1]
					     : NULL;

	memcpy(&slot->events[slot->event_count], events,
	       count * sizeof(*events));
	slot->event_count += (uint32_t)count;
	if (last && last->lane == lane)
		last->count += (uint32_t)count;
	else
		slot->spans[slot->span_count++] =
			(struct span){ (uint32_t)lane, (uint32_t)count };
}

/* The slot being filled is slots[filled % SLOT_COUNT], free if it is empty. */
static int take_span(void *context, const struct event *events, size_t count,
		     size_t known, size_t lane)
{
	struct ahead *ahead = context;

	(void)known;
	while (count) {
		struct slot *slot = &ahead->slots[ahead->filled % SLOT_COUNT];
		size_t part;

		if (slot->event_count == SLOT_EVENTS) {
			slot_hand_over(ahead, slot);
			slot = slot_next(ahead);
			if (!slot)
				return -ECANCELED;
			slot->event_count = 0;
			slot->span_count = 0;
		}
		part = SLOT_EVENTS - slot->event_count;
		part = part < count ? part : count;
		slot_add(slot, events, part, lane);
		events += part;
		count -= part;
	}
	return 0;
}

static void *read_thread(void *context)
{
	struct ahead *ahead = context;
	struct diag diag = { .offset = DIAG_NO_OFFSET };
	int status = merge_run(ahead->input, take_span, ahead, &ahead->times,
			       &diag);
	struct slot *slot = &ahead->slots[ahead->filled % SLOT_COUNT];

	if (status != -ECANCELED && slot->event_count)
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

static int slot_show(const struct slot *slot, merge_span_fn span, void *context)
{
	const struct event *events = slot->events;
	size_t left = slot->event_count;
	int status = 0;

	for (uint32_t i = 0; status == 0 && i < slot->span_count; i++) {
		size_t count = slot->spans[i].count;

		status = span(context, events, count, left,
			      slot->spans[i].lane);
		events += count;
		left -= count;
	}
	return status;
}

static int take_all(struct ahead *ahead, struct stacks *seen,
		    merge_span_fn span, void *context, uint64_t *waited_ns)
{
	const struct slot *slot;
	int status = 0;

	while (status == 0 && (slot = slot_wait(ahead, waited_ns)) != NULL) {
		seen->nodes = slot->nodes;
		seen->count = slot->node_count;
		status = slot_show(slot, span, context);
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
		ahead->slots[i].event_count = ahead->slots[i].span_count = 0;
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->changed, NULL);
	return true;
}

static void ahead_done(struct ahead *ahead)
{
	pthread_cond_destroy(&ahead->changed);
	pthread_mutex_destroy(&ahead->lock);
	free(ahead->slots);
}

int ahead_run(struct input *input, struct stacks *stacks, struct stacks *seen,
	      merge_span_fn span, void *context, struct merge_times *times,
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
	status = take_all(&ahead, seen, span, context, &waited_ns);
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
