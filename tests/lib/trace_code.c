/* SPDX-License-Identifier: MIT */
#include "tests/lib/trace_code.h"

#include "report/core/vec.h"

void coded_events_done(struct coded_events *events)
{
	vec_done(&events->pcs);
	vec_done(events);
}

void coded_events_clear(struct coded_events *events)
{
	events->count = 0;
	events->pcs.count = 0;
}

static unsigned kind_of(const struct coded_event *event)
{
	return event->tag & TRACE_EVENT_KIND_MASK;
}

static bool has_stack(const struct coded_event *event)
{
	return kind_of(event) < TRACE_EVENT_RSS &&
	       !(event->tag & TRACE_EVENT_NO_STACK);
}

static void rare_addr(struct bytes *out, uint64_t *last, uint64_t addr)
{
	bytes_svarint(out, addr - *last);
	*last = addr;
}

void code_rare(struct bytes *out, uint64_t *last,
	       const struct coded_event *event)
{
	switch (kind_of(event)) {
	case TRACE_EVENT_MMAP:
		rare_addr(out, last, event->addr);
		bytes_varint(out, event->size);
		bytes_varint(out, event->a & UINT32_MAX);
		bytes_varint(out, event->a >> 32);
		bytes_svarint(out, (uint64_t)(int64_t)event->fd);
		bytes_varint(out, event->b);
		break;
	case TRACE_EVENT_MUNMAP:
		rare_addr(out, last, event->addr);
		bytes_varint(out, event->size);
		break;
	case TRACE_EVENT_MREMAP:
		rare_addr(out, last, event->addr);
		bytes_varint(out, event->size);
		rare_addr(out, last, event->a);
		bytes_varint(out, event->b);
		bytes_varint(out, (uint32_t)event->fd);
		break;
	case TRACE_EVENT_MALLOPT:
		bytes_svarint(out, event->addr);
		bytes_svarint(out, event->size);
		bytes_svarint(out, event->a);
		break;
	case TRACE_EVENT_RSS:
		bytes_varint(out, event->size);
		break;
	case TRACE_EVENT_LOST:
		bytes_varint(out, event->size);
		bytes_varint(out, event->a);
		break;
	default:
		abort();
	}
}

/* --- EVENTS -------------------------------------------------------------- */

struct plain {
	struct bytes *out;
	uint64_t addr;
	uint64_t pcs[TRACE_STACK_DEPTH_MAX];
	uint32_t depth;
};

static void plain_addr(struct plain *plain, uint64_t addr)
{
	rare_addr(plain->out, &plain->addr, addr);
}

static void plain_stack(struct plain *plain, const struct coded_event *event,
			const uint64_t *pcs)
{
	uint32_t pop = event->fresh ? plain->depth : event->pop;
	uint64_t last;

	bytes_varint(plain->out, pop);
	bytes_varint(plain->out, event->push);
	plain->depth -= pop;
	last = plain->depth ? plain->pcs[plain->depth - 1] : 0;
	for (uint32_t i = 0; i < event->push; i++) {
		bytes_svarint(plain->out, pcs[i] - last);
		last = plain->pcs[plain->depth++] = pcs[i];
	}
}

static void plain_body(struct plain *plain, const struct coded_event *event)
{
	struct bytes *out = plain->out;

	switch (kind_of(event)) {
	case TRACE_EVENT_MALLOC:
	case TRACE_EVENT_CALLOC:
	case TRACE_EVENT_MEMALIGN:
	case TRACE_EVENT_NEW:
		plain_addr(plain, event->addr);
		bytes_varint(out, event->size);
		bytes_varint(out, event->a);
		if (kind_of(event) == TRACE_EVENT_MEMALIGN)
			bytes_varint(out, event->b);
		break;
	case TRACE_EVENT_FREE:
	case TRACE_EVENT_DELETE:
		plain_addr(plain, event->addr);
		break;
	case TRACE_EVENT_REALLOC:
		bytes_varint(out, event->call_ticks);
		plain_addr(plain, event->old_addr);
		plain_addr(plain, event->addr);
		bytes_varint(out, event->size);
		bytes_varint(out, event->a);
		break;
	case TRACE_EVENT_MARKER:
		bytes_varint(out, event->size);
		for (uint64_t i = 0; i < event->size; i++)
			bytes_u8(out, (uint8_t)(i * 37));
		break;
	default:
		code_rare(out, &plain->addr, event);
		break;
	}
}

void code_plain(struct bytes *out, const struct coded_events *events,
		size_t from, size_t to)
{
	struct plain *plain = calloc(1, sizeof(*plain));

	if (!plain)
		abort();
	plain->out = out;
	for (size_t i = from; i < to; i++) {
		const struct coded_event *event = &events->items[i];

		bytes_u8(out, event->tag);
		bytes_varint(out, event->ticks);
		if (has_stack(event))
			plain_stack(plain, event,
				    &events->pcs.items[event->first]);
		plain_body(plain, event);
	}
	free(plain);
}

/* --- records ------------------------------------------------------------- */

static void record_extent(struct bytes *out, const struct coded_event *event)
{
	uint64_t slack = event->a < 0xffff ? event->a : 0xffff;

	bytes_u64(out, event->size | slack << 48);
	if (slack == 0xffff)
		bytes_u64(out, event->a);
}

static void record_body(struct bytes *out, const struct coded_event *event)
{
	switch (kind_of(event)) {
	case TRACE_EVENT_MALLOC:
	case TRACE_EVENT_CALLOC:
	case TRACE_EVENT_MEMALIGN:
	case TRACE_EVENT_NEW:
		bytes_u64(out, event->addr);
		record_extent(out, event);
		if (kind_of(event) == TRACE_EVENT_MEMALIGN)
			bytes_u64(out, event->b);
		break;
	case TRACE_EVENT_FREE:
	case TRACE_EVENT_DELETE:
		bytes_u64(out, event->addr);
		break;
	case TRACE_EVENT_REALLOC:
		bytes_u64(out, event->old_addr);
		bytes_u64(out, event->addr);
		record_extent(out, event);
		bytes_u64(out, event->call_ticks);
		break;
	case TRACE_EVENT_MMAP:
		bytes_u64(out, event->addr);
		bytes_u64(out, event->size);
		bytes_u64(out, event->a & UINT32_MAX);
		bytes_u64(out, event->a >> 32);
		bytes_u64(out, (uint64_t)(int64_t)event->fd);
		bytes_u64(out, event->b);
		break;
	case TRACE_EVENT_MUNMAP:
		bytes_u64(out, event->addr);
		bytes_u64(out, event->size);
		break;
	case TRACE_EVENT_MREMAP:
		bytes_u64(out, event->addr);
		bytes_u64(out, event->size);
		bytes_u64(out, event->a);
		bytes_u64(out, event->b);
		bytes_u64(out, (uint32_t)event->fd);
		break;
	case TRACE_EVENT_MALLOPT:
		bytes_u64(out, event->addr);
		bytes_u64(out, event->size);
		bytes_u64(out, event->a);
		break;
	case TRACE_EVENT_RSS:
		bytes_u64(out, event->size);
		break;
	case TRACE_EVENT_LOST:
		bytes_u64(out, event->size);
		bytes_u64(out, event->a);
		break;
	default: /* no markers in buffers */
		abort();
	}
}

void code_records(struct bytes *out, const struct coded_events *events,
		  size_t from, size_t to)
{
	uint64_t depth = 0;

	for (size_t i = from; i < to; i++) {
		const struct coded_event *event = &events->items[i];
		bool is_long = event->ticks >= 0xffffff;
		uint64_t ticks = is_long ? 0xffffff : event->ticks;
		uint64_t pop = 0, push = 0;

		if (has_stack(event)) {
			pop = event->fresh ? depth : event->pop;
			push = event->push;
			depth += push - pop;
		}
		bytes_u64(out,
			  event->tag | pop << 8 | push << 24 | ticks << 40);
		if (is_long)
			bytes_u64(out, event->ticks);
		record_body(out, event);
		for (uint64_t j = 0; j < push; j++)
			bytes_u64(out, events->pcs.items[event->first + j]);
	}
}
