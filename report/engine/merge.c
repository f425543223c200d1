/* SPDX-License-Identifier: MIT */
/*
 * A binary heap of lanes by their next event.  A lane's first batch is read
 * only when its turn comes, so threads that live one after another cost the
 * memory of one.  The lane on top gives as many events as precede the second
 * best lane's next one: with one thread that is a whole batch.
 */
#include "report/engine/merge.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "report/core/stopwatch.h"
#include "report/event/event.h"
#include "report/input/input.h"

struct merge_lane {
	struct event_batch batch;
	size_t at;
	uint64_t tick; /* of items[at]; before the first batch, lane_start() */
	uint32_t number;
};

struct merge {
	struct input *input;
	const struct merge_taker *taker;
	struct merge_lane *heap;
	size_t count;
	struct merge_times *times;
};

static bool lane_before(const struct merge_lane *a, const struct merge_lane *b)
{
	return a->tick != b->tick ? a->tick < b->tick : a->number < b->number;
}

static void heap_sift_down(struct merge *merge, size_t at)
{
	struct merge_lane moving = merge->heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= merge->count)
			break;
		if (child + 1 < merge->count &&
		    lane_before(&merge->heap[child + 1], &merge->heap[child]))
			child++;
		if (!lane_before(&merge->heap[child], &moving))
			break;
		merge->heap[at] = merge->heap[child];
		at = child;
	}
	merge->heap[at] = moving;
}

static int merge_init(struct merge *merge, struct input *input)
{
	merge->input = input;
	merge->count = input->format->lane_count(input);
	merge->heap = calloc(merge->count + 1, sizeof(*merge->heap));
	if (!merge->heap)
		return -ENOMEM;
	for (size_t i = 0; i < merge->count; i++) {
		merge->heap[i].number = (uint32_t)i;
		merge->heap[i].tick = input->format->lane_start(input, i);
	}
	for (size_t i = merge->count / 2; i-- > 0;)
		heap_sift_down(merge, i);
	return 0;
}

/* The lane that comes after the top one, NULL if it is alone. */
static const struct merge_lane *heap_second(const struct merge *merge)
{
	if (merge->count < 2)
		return NULL;
	if (merge->count > 2 && lane_before(&merge->heap[2], &merge->heap[1]))
		return &merge->heap[2];
	return &merge->heap[1];
}

/* Number of events of the top lane that precede @second. */
static size_t span_length(const struct merge_lane *top,
			  const struct merge_lane *second)
{
	const struct event *items = top->batch.items;
	size_t end = top->at;

	if (!second)
		return top->batch.count - top->at;
	while (end < top->batch.count &&
	       (items[end].tick < second->tick ||
		(items[end].tick == second->tick &&
		 top->number < second->number)))
		end++;
	return end - top->at;
}

/* Return: 0, or what the taker returned. */
static int batch_spent(struct merge *merge, struct event_batch *batch)
{
	return batch->items && merge->taker->spent
		       ? merge->taker->spent(merge->taker->context, batch)
		       : 0;
}

static void merge_done(struct merge *merge)
{
	for (size_t i = 0; i < merge->count; i++) {
		batch_spent(merge, &merge->heap[i].batch);
		event_batch_done(&merge->heap[i].batch);
	}
	free(merge->heap);
}

/* Reads the top lane's next batch.  Return: 1, 0 at its end, or an error. */
static int top_refill(struct merge *merge, struct diag *diag)
{
	struct merge_lane *top = &merge->heap[0];
	int status = batch_spent(merge, &top->batch);

	if (status)
		return status;
	top->batch.count = 0;
	top->at = 0;
	status = 1;
	while (status == 1 && top->at == top->batch.count) {
		uint64_t start = stopwatch_ns();

		status = merge->input->format->lane_next(
			merge->input, top->number, &top->batch, diag);
		merge->times->read_ns += stopwatch_ns() - start;
	}
	if (status == 0) {
		event_batch_done(&top->batch);
		merge->heap[0] = merge->heap[--merge->count];
	}
	return status;
}

int merge_run(struct input *input, const struct merge_taker *taker,
	      struct merge_times *times, struct diag *diag)
{
	struct merge merge = { .taker = taker, .times = times };
	int status = merge_init(&merge, input);

	while (status >= 0 && merge.count) {
		struct merge_lane *top = &merge.heap[0];
		size_t length;

		if (top->at == top->batch.count) {
			status = top_refill(&merge, diag);
			if (status > 0)
				top->tick = top->batch.items[top->at].tick;
			if (status >= 0 && merge.count)
				heap_sift_down(&merge, 0);
			continue;
		}
		length = span_length(top, heap_second(&merge));
		status = taker->span(taker->context, top->batch.items + top->at,
				     length, top->batch.count - top->at,
				     top->number);
		top->at += length;
		if (top->at < top->batch.count) {
			top->tick = top->batch.items[top->at].tick;
			heap_sift_down(&merge, 0);
		}
	}
	merge_done(&merge);
	return status < 0 ? status : 0;
}
