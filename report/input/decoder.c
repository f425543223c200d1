/* SPDX-License-Identifier: MIT */
#include "report/input/decoder.h"

#include <errno.h>
#include <stdlib.h>

#include "report/event/event.h"
#include "report/input/cursor.h"
#include "tracer/trace_format.h"

const char event_problem_tag[] = "its tag is not known";
const char event_problem_size[] = "its size is beyond the address space";
const char event_problem_time[] = "its time is beyond 64 bits";
const char event_problem_pop[] = "it removes more frames than there are";
const char event_problem_no_stack[] = "it has no stack but changes it";
const char event_problem_depth[] = "its stack is deeper than the limit";

static const struct event_coding *const codings[] = {
    &events_coding,
    &columns_coding,
};

const struct event_coding *event_coding_find(uint16_t type)
{
	for (size_t i = 0; i < sizeof(codings) / sizeof(codings[0]); i++)
		if (codings[i]->type == type)
			return codings[i];
	return NULL;
}

struct event_decoder *event_decoder_new(const struct event_coding *coding,
					struct interner *interner)
{
	struct event_decoder *decoder = calloc(1, coding->state_size);

	if (!decoder)
		return NULL;
	decoder->coding = coding;
	decoder->interner = interner;
	return decoder;
}

void event_decoder_free(struct event_decoder *decoder)
{
	if (!decoder)
		return;
	decoder->coding->done(decoder);
	frames_done(&decoder->frames);
	free(decoder);
}

int event_decoder_start(struct event_decoder *decoder, const uint8_t *data,
			size_t len, uint64_t first_tick)
{
	decoder->data = data;
	decoder->len = len;
	decoder->first_tick = first_tick;
	decoder->tick = first_tick;
	decoder->epoch = 0;
	decoder->decoded = 0;
	decoder->culled = 0;
	decoder->lost = 0;
	decoder->problem = NULL;
	decoder->problem_at = DECODER_NO_PLACE;
	frames_start(&decoder->frames);
	if (frames_reserve(&decoder->frames, 0))
		return -ENOMEM;
	return decoder->coding->start(decoder);
}

bool event_decoder_move(struct event_decoder *decoder, const uint8_t *data,
			size_t len)
{
	const uint8_t *before = decoder->data;

	decoder->data = data;
	if (len != decoder->len)
		return false;
	if (decoder->coding->move)
		decoder->coding->move(decoder, before);
	return true;
}

int event_decode(struct event_decoder *decoder, struct event *items, size_t max,
		 size_t *ret_count)
{
	*ret_count = 0;
	if (decoder->problem)
		return EVENT_DECODE_END;
	return decoder->coding->decode(decoder, items, max, ret_count);
}

struct body {
	const uint8_t **at;
	const uint8_t *end;
	uint64_t *addr;
};

static uint64_t body_number(const struct body *body)
{
	return varint_read(body->at, body->end);
}

static uint64_t body_signed(const struct body *body)
{
	return svarint_read(body->at, body->end);
}

static uint64_t body_addr(const struct body *body)
{
	*body->addr += body_signed(body);
	return *body->addr;
}

static void body_lost(struct event_decoder *decoder, const struct body *body,
		      struct event *event)
{
	event->kind = EVENT_LOST;
	event->size = body_number(body);
	event->a = body_number(body);
	if (*body->at <= body->end && event->a != TRACE_LOST_UNWIND &&
	    __builtin_add_overflow(decoder->lost, event->size, &decoder->lost))
		decoder->lost = UINT64_MAX;
}

static void body_mmap(const struct body *body, struct event *event)
{
	event->kind = EVENT_MMAP;
	event->addr = body_addr(body);
	event->size = body_number(body);
	event->a = body_number(body) & UINT32_MAX;
	event->a |= body_number(body) << 32;
	event->fd = (int32_t)body_signed(body);
	event->b = body_number(body);
}

static void body_mremap(const struct body *body, struct event *event)
{
	event->kind = EVENT_MREMAP;
	event->addr = body_addr(body);
	event->size = body_number(body);
	event->a = body_addr(body);
	event->b = body_number(body);
	event->fd = (int32_t)body_number(body);
}

/* Return: number of struct event written. */
static int body_read(struct event_decoder *decoder, unsigned kind,
		     const struct body *body, struct event *event)
{
	uint64_t n;

	switch (kind) {
	case TRACE_EVENT_MMAP:
		body_mmap(body, event);
		return 1;
	case TRACE_EVENT_MUNMAP:
		event->kind = EVENT_MUNMAP;
		event->addr = body_addr(body);
		event->size = body_number(body);
		return 1;
	case TRACE_EVENT_MREMAP:
		body_mremap(body, event);
		return 1;
	case TRACE_EVENT_MALLOPT:
		event->kind = EVENT_MALLOPT;
		event->addr = body_signed(body);
		event->size = body_signed(body);
		event->a = body_signed(body);
		return 1;
	case TRACE_EVENT_RSS:
		event->kind = EVENT_RSS;
		event->size = body_number(body);
		return 1;
	case TRACE_EVENT_LOST:
		body_lost(decoder, body, event);
		return 1;
	default: /* TRACE_EVENT_MARKER; its text is not looked at */
		event->kind = EVENT_MARKER;
		event->size = 0;
		n = body_number(body);
		if (*body->at <= body->end && n <= (uint64_t)(body->end - *body->at))
			*body->at += n;
		else
			*body->at = body->end + 1;
		return 1;
	}
}

int event_decode_rare(struct event_decoder *decoder, unsigned kind,
		      const uint8_t **at, const uint8_t *end, uint64_t *addr,
		      struct event *event)
{
	const struct body body = {at, end, addr};
	int written = body_read(decoder, kind, &body, event);
	uint64_t sizes = 0;

	if (event->kind == EVENT_MREMAP)
		sizes = event->size | event->b;
	else if (event->kind != EVENT_MALLOPT && event->kind != EVENT_LOST)
		sizes = event->size;
	if (sizes < TRACE_SIZE_LIMIT)
		return written;
	return decoder_fail(decoder, event_problem_size);
}
