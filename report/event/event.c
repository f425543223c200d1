/* SPDX-License-Identifier: MIT */
#include "report/event/event.h"

#include <errno.h>
#include <stdlib.h>

const char *event_call_name(enum event_call call)
{
	static const char *const names[CALL_COUNT] = {
		[CALL_NONE] = "",
		[CALL_MALLOC] = "malloc",
		[CALL_CALLOC] = "calloc",
		[CALL_MEMALIGN] = "memalign",
		[CALL_NEW] = "operator new",
		[CALL_FREE] = "free",
		[CALL_DELETE] = "operator delete",
		[CALL_REALLOC] = "realloc",
	};

	return call < CALL_COUNT ? names[call] : "";
}

int event_batch_reserve(struct event_batch *batch, size_t capacity)
{
	struct event *items;

	if (batch->capacity >= capacity)
		return 0;
	items = malloc(capacity * sizeof(*items));
	if (!items)
		return -ENOMEM;
	free(batch->items);
	batch->items = items;
	batch->capacity = capacity;
	return 0;
}

void event_batch_done(struct event_batch *batch)
{
	free(batch->items);
	*batch = (struct event_batch){ 0 };
}
