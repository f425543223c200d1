/* SPDX-License-Identifier: MIT */
/* What the fuzz targets of single decoders share. */
#ifndef TESTS_FUZZ_FUZZ_DECODER_H
#define TESTS_FUZZ_FUZZ_DECODER_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/module.h"
#include "report/event/event.h"
#include "report/event/stacks.h"
#include "report/input/cursor.h"
#include "report/input/decoder.h"
#include "tests/fuzz/fuzz.h"

static inline void fuzz_check(const struct event *event, const struct stacks *stacks,
		  uint64_t *tick)
{
	if (event->stack >= stacks->count || event->kind > EVENT_CULLED ||
	    event->call >= CALL_COUNT || event->tick < *tick)
		abort();
	*tick = event->tick;
}

/* Decodes @data in small batches, in exactly as much memory as it needs. */
static inline void fuzz_decoder(const struct event_coding *coding,
				const uint8_t *data, size_t size)
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
	struct event_decoder *decoder;
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
	decoder = event_decoder_new(coding, interner);
	if (!decoder)
		abort();
	decoder->limit = 1000;
	if (event_decoder_start(decoder, copy, size, 10))
		abort();
	do {
		result = event_decode(decoder, items, 7, &count);
		for (size_t i = 0; i < count; i++)
			fuzz_check(&items[i], &stacks, &tick);
	} while (result == EVENT_DECODE_MORE);
	event_decoder_free(decoder);
	interner_done(interner);
	stacks_done(&stacks);
	free(interner);
	free(copy);
}

#endif /* TESTS_FUZZ_FUZZ_DECODER_H */
