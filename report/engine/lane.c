/* SPDX-License-Identifier: MIT */
#include "report/engine/lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/input/input.h"

int lanes_init(struct engine_lanes *lanes, struct input *input)
{
	lanes->count = input->format->lane_count(input);
	lanes->items = calloc(lanes->count + 1, sizeof(*lanes->items));
	lanes->by_thread = calloc(lanes->count + 1, sizeof(*lanes->by_thread));
	return lanes->items && lanes->by_thread ? 0 : -ENOMEM;
}

void lanes_done(struct engine_lanes *lanes)
{
	free(lanes->items);
	free(lanes->by_thread);
	memset(lanes, 0, sizeof(*lanes));
}

static int by_thread(const void *a, const void *b, void *context)
{
	const struct engine_lane *items = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (items[x].thread != items[y].thread)
		return items[x].thread < items[y].thread ? -1 : 1;
	return (x > y) - (x < y);
}

void lanes_begin(struct engine_lanes *lanes, struct input *input)
{
	memset(lanes->items, 0, lanes->count * sizeof(*lanes->items));
	for (size_t i = 0; i < lanes->count; i++) {
		lanes->items[i].thread = input->format->lane_thread(input, i);
		lanes->by_thread[i] = (uint32_t)i;
	}
	qsort_r(lanes->by_thread, lanes->count, sizeof(*lanes->by_thread),
		by_thread, lanes->items);
}

uint64_t lanes_made_by(const struct engine_lanes *lanes, uint32_t thread)
{
	const struct engine_lane *items = lanes->items;
	size_t low = 0, high = lanes->count;
	uint64_t made = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (items[lanes->by_thread[middle]].thread < thread)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < lanes->count &&
	       items[lanes->by_thread[low]].thread == thread;
	     low++)
		made += items[lanes->by_thread[low]].made;
	return made;
}
