/* SPDX-License-Identifier: MIT */
#include "tracer/record/walk.h"

#include <stdbool.h>

#include "tracer/trace_format.h"

/**
 * struct cursor - bounded reading
 * @p, @end: what is left
 * @ok:      nothing was missing so far
 */
struct cursor {
	const uint8_t *p;
	const uint8_t *end;
	bool ok;
};

/* Safety: pure.  Return: 0 and @ok false when there is none. */
static uint64_t get_varint(struct cursor *cur)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 70 && cur->p < cur->end; shift += 7) {
		uint8_t b = *cur->p++;

		v |= shift < 64 ? (uint64_t)(b & 0x7f) << shift : 0;
		if (b < 0x80)
			return v;
	}
	cur->ok = false;
	return 0;
}

/* Varints in the body of each kind, its REALLOC duration left out. */
static const uint8_t body_varints[] = {
    [TRACE_EVENT_MALLOC] = 3,   [TRACE_EVENT_CALLOC] = 3,
    [TRACE_EVENT_MEMALIGN] = 4, [TRACE_EVENT_NEW] = 3,
    [TRACE_EVENT_FREE] = 1,     [TRACE_EVENT_DELETE] = 1,
    [TRACE_EVENT_REALLOC] = 4,  [TRACE_EVENT_MMAP] = 6,
    [TRACE_EVENT_MUNMAP] = 2,   [TRACE_EVENT_MREMAP] = 5,
    [TRACE_EVENT_MALLOPT] = 3,  [TRACE_EVENT_RSS] = 1,
    [TRACE_EVENT_LOST] = 2,
};

/* Safety: pure.  Steps over one event.  Return: its end's time. */
static uint64_t walk_one(struct cursor *cur, uint64_t tick)
{
	unsigned kind = *cur->p++ & TRACE_EVENT_KIND_MASK;

	if (kind == 0 ||
	    kind >= sizeof(body_varints) / sizeof(body_varints[0])) {
		cur->ok = false;
		return tick;
	}
	tick += get_varint(cur);
	if (kind != TRACE_EVENT_RSS && kind != TRACE_EVENT_LOST) {
		uint64_t push;

		get_varint(cur);
		push = get_varint(cur);
		while (cur->ok && push-- > 0)
			get_varint(cur);
	}
	if (kind == TRACE_EVENT_REALLOC)
		tick += get_varint(cur);
	for (unsigned i = 0; i < body_varints[kind]; i++)
		get_varint(cur);
	return tick;
}

struct walk_result walk_events(const uint8_t *buf, size_t len,
			       uint64_t first_tick)
{
	struct cursor cur = { .p = buf, .end = buf + len, .ok = true };
	struct walk_result result = { .last_tick = first_tick };

	while (cur.p < cur.end) {
		uint64_t tick = walk_one(&cur, result.last_tick);

		if (!cur.ok)
			break;
		result.last_tick = tick;
		result.bytes = (size_t)(cur.p - buf);
		result.count++;
	}
	return result;
}
