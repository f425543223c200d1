/* SPDX-License-Identifier: MIT */
/* The event decoder alone: the input is the payload of an EVENTS chunk. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/module.h"
#include "report/event/event.h"
#include "report/event/stacks.h"
#include "report/input/cursor.h"
#include "report/input/events.h"
#include "tests/fuzz/fuzz.h"

static void check(const struct event *event, const struct stacks *stacks,
		  uint64_t *tick)
{
	if (event->stack >= stacks->count || event->kind > EVENT_LOST ||
	    event->call >= CALL_COUNT || event->tick < *tick)
		abort();
	*tick = event->tick;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct module modules[] = {
	    { .number = 1,
	      .is_tracer = true,
	      .start = 0x100,
	      .end = 0x200,
	      .unload_tick = MODULE_NEVER_UNLOADED },
	    { .number = 2, .start = 0x1000, .end = 0x2000, .unload_tick = 50 },
	    { .number = 3,
	      .start = 0x1800,
	      .end = 0x2800,
	      .load_tick = 50,
	      .unload_tick = MODULE_NEVER_UNLOADED },
	};
	struct interner *interner = malloc(sizeof(*interner));
	struct event_decoder decoder = { .limit = 1000 };
	uint8_t *copy = malloc(size + CURSOR_SLACK);
	struct module_map map;
	struct stacks stacks;
	struct event items[7];
	uint64_t tick = 0;
	size_t count;
	int result;

	if (!interner || !copy || stacks_init(&stacks))
		abort();
	module_map_build(&map, modules, 3);
	if (interner_init(interner, &stacks, &map))
		abort();
	if (size)
		memcpy(copy, data, size);
	memset(copy + size, 0, CURSOR_SLACK);
	decoder.interner = interner;
	event_decoder_start(&decoder, copy, size, 10);
	do {
		result = event_decode(&decoder, items, 7, &count);
		for (size_t i = 0; i < count; i++)
			check(&items[i], &stacks, &tick);
	} while (result == EVENT_DECODE_MORE);
	event_decoder_done(&decoder);
	interner_done(interner);
	stacks_done(&stacks);
	free(interner);
	free(copy);
	return 0;
}
