/* SPDX-License-Identifier: MIT */
#include "tracer/cull.h"

#include <string.h>

#include "tracer/cull_state.h"

/* --- the events of all buffers ------------------------------------------- */

unsigned cull_count_events(const struct record *r)
{
	switch (r->head & TRACE_EVENT_KIND_MASK) {
	case TRACE_EVENT_MALLOC:
	case TRACE_EVENT_CALLOC:
	case TRACE_EVENT_MEMALIGN:
	case TRACE_EVENT_NEW:
	case TRACE_EVENT_FREE:
	case TRACE_EVENT_DELETE:
		return 1;
	case TRACE_EVENT_REALLOC:
		return 2;
	default:
		return 0;
	}
}

/* To @like, which says where it is. */
static void add_event(struct cull *c, const struct cull_event *like,
		      enum cull_kind kind, uint64_t addr, uint64_t size)
{
	struct cull_event *event = &c->events[c->event_count++];

	*event = *like;
	event->kind = (uint8_t)kind;
	event->addr = addr;
	event->size = size;
	event->partner = CULL_NONE;
}

/* @maker: who allocated what it frees. */
static void add_record(struct cull *c, struct cull_event *like,
		       const struct record *r, uint32_t maker)
{
	unsigned kind = r->head & TRACE_EVENT_KIND_MASK;

	if (!cull_count_events(r))
		return;
	if (kind == TRACE_EVENT_FREE || kind == TRACE_EVENT_DELETE) {
		add_event(c, like, CULL_FREE, r->body[0], maker);
	} else if (kind == TRACE_EVENT_REALLOC) {
		add_event(c, like, CULL_REALLOC_OLD, r->body[0], 0);
		like->tick += r->frames[-1];
		add_event(c, like, CULL_REALLOC_NEW, r->body[1], 0);
	} else {
		add_event(c, like, CULL_ALLOC, r->body[0],
			  r->body[1] & (TRACE_SIZE_LIMIT - 1));
	}
}

/* Notes the events of a buffer, a copy, and clears marks.  Return: whether all
   of it is sound. */
static bool scan(struct cull *c, const struct cull_piece *part,
		 const struct cull_buffer *buffer)
{
	const struct columns_input *input = &buffer->input;
	uint64_t *word = c->words + (input->words - c->words);
	const uint64_t *end = word + input->len, *from = word + input->from;
	struct cull_event like = {
		.part = (uint8_t)(part - c->parts),
		.stream = part->stream,
	};
	uint64_t tick = input->first_tick;
	uint32_t depth = 0;
	bool is_sound = true;

	while (word < end) {
		const uint64_t *next;
		struct record r;
		uint32_t maker;

		next = record_read(word, &r);
		if (!record_is_whole(&r, next, end) ||
		    (word < from && next > from))
			return false;
		maker = record_take_maker(word, &r, buffer->thread);
		is_sound &= r.pop <= depth;
		depth = is_sound ? depth - r.pop + r.push : 0;
		is_sound &= depth <= TRACE_STACK_DEPTH_MAX;
		like.tick = tick += r.ticks;
		if (word >= from && is_sound)
			add_record(c, &like, &r, maker);
		if ((r.head & TRACE_EVENT_KIND_MASK) == TRACE_EVENT_REALLOC)
			tick += r.frames[-1];
		word += next - word;
	}
	return is_sound;
}

/* --- the records without what is left out -------------------------------- */

/**
 * struct rewriting - a part's buffers one after another
 * @event:   number of the next event
 * @coded:   records written that are to be coded
 * @last:    event that was written last, CULL_NONE: none
 * @ticks:   of records left out since the last one written
 * @base:    depth of the stack after the last record written that has one
 * @low:     the lowest since then
 * @depth:   now
 */
struct rewriting {
	uint32_t event;
	uint32_t coded;
	uint32_t last;
	uint64_t ticks;
	uint32_t base;
	uint32_t low;
	uint32_t depth;
};

/* Follows the stack, the record's frames included. */
static void follow_stack(struct cull *c, struct rewriting *rw,
			 const struct record *r)
{
	rw->depth -= r->pop;
	if (rw->depth < rw->low)
		rw->low = rw->depth;
	if (rw->depth < c->known)
		c->known = rw->depth;
	memcpy(c->pcs + rw->depth, r->frames, r->push * sizeof(*r->frames));
	rw->depth += r->push;
}

static bool has_stack(const struct record *r)
{
	unsigned kind = r->head & TRACE_EVENT_KIND_MASK;

	return kind != TRACE_EVENT_RSS && kind != TRACE_EVENT_LOST &&
	       !(r->head & TRACE_EVENT_NO_STACK);
}

/*
 * Writes @r, building upon the last record written.  It may be longer than it
 * was, by no more than the records left out before it were long; so what is
 * written is never beyond what was read.
 *
 * Return: the word after it.
 */
static uint64_t *put_record(struct cull *c, struct rewriting *rw, uint64_t *out,
			    const struct record *r)
{
	size_t body = (size_t)(r->frames - r->body);
	uint64_t ticks = r->ticks + rw->ticks;
	uint64_t pop = 0, push = 0;

	if (has_stack(r)) {
		pop = rw->base - rw->low;
		push = rw->depth - rw->low;
	}
	rw->ticks = 0;
	*out++ = (r->head & 0xff) | pop << TRACE_RECORD_POP_SHIFT |
		 push << TRACE_RECORD_PUSH_SHIFT |
		 (ticks < TRACE_RECORD_TICKS_LONG ? ticks
						  : TRACE_RECORD_TICKS_LONG)
		     << TRACE_RECORD_TICKS_SHIFT;
	if (ticks >= TRACE_RECORD_TICKS_LONG)
		*out++ = ticks;
	memmove(out, r->body, body * sizeof(*out));
	out += body;
	memcpy(out, c->pcs + rw->depth - push, push * sizeof(*out));
	if (has_stack(r))
		rw->base = rw->low = rw->depth;
	return out + push;
}

/* Event number rw->event is left out. */
static void leave_out(struct cull *c, struct rewriting *rw,
		      const struct record *r)
{
	rw->ticks += r->ticks;
	if (c->events[rw->event].kind == CULL_ALLOC)
		cull_rows_add(c, rw->event, r, rw->depth);
}

/* A free that is written: does it follow its allocation only because of what was
   left out? */
static void mark_apart(struct cull *c, const struct rewriting *rw,
		       const struct cull_piece *part)
{
	const struct cull_event *event = &c->events[rw->event];

	if (event->kind != CULL_FREE || rw->last == rw->event - 1 ||
	    rw->event == c->streams[part->stream].first)
		return;
	if (rw->last == CULL_NONE || c->events[rw->last].addr == event->addr)
		c->apart[c->apart_count++] = rw->coded;
}

/* Leaves in the copy what is to be coded. */
static void rewrite(struct cull *c, struct rewriting *rw,
		    const struct cull_piece *part, struct columns_input *input)
{
	uint64_t *start = c->words + (input->words - c->words);
	const uint64_t *word = start, *end = start + input->len;
	uint64_t *out = start;

	rw->ticks = 0;
	rw->depth = rw->base = rw->low = c->known = 0;
	while (word < end) {
		const uint64_t *next;
		struct record r;
		bool is_coded = word >= start + input->from;
		unsigned events;

		next = record_read(word, &r);
		follow_stack(c, rw, &r);
		events = is_coded ? cull_count_events(&r) : 0;
		if (events && c->events[rw->event].partner != CULL_NONE) {
			leave_out(c, rw, &r);
			rw->event++;
		} else if (is_coded) {
			if (events) {
				mark_apart(c, rw, part);
				rw->event += events;
				rw->last = rw->event - 1;
			}
			out = put_record(c, rw, out, &r);
			rw->coded++;
		} else {
			out += next - word;
			rw->base = rw->low = rw->depth;
		}
		word = next;
	}
	input->len = (size_t)(out - start);
}

/* --- all of it ----------------------------------------------------------- */

size_t cull_bytes(uint32_t buffers)
{
	size_t bytes = CULL_BUFFER_EVENTS *
			       (sizeof(struct cull_event) + sizeof(uint32_t)) +
		       CULL_BUFFER_WORDS * sizeof(uint64_t) +
		       CULL_BUFFER_ADDRS * sizeof(uint32_t);

	return sizeof(struct cull) + buffers * bytes +
	       RECORD_FIXED_MAX * sizeof(uint64_t);
}

struct cull *cull_init(void *memory, uint32_t buffers)
{
	struct cull *c = memory;

	c->capacity = buffers;
	c->events = (struct cull_event *)(c + 1);
	c->words = (uint64_t *)(c->events + buffers * CULL_BUFFER_EVENTS);
	c->order = (uint32_t *)(c->words + buffers * CULL_BUFFER_WORDS +
				RECORD_FIXED_MAX);
	c->addrs = c->order + buffers * CULL_BUFFER_EVENTS;
	return c;
}

uint32_t cull_capacity(const struct cull *c)
{
	return c->capacity;
}

void cull_begin(struct cull *c, unsigned time_shift,
		const struct cull_limits *limits)
{
	c->time_shift = time_shift;
	c->limits = *limits;
	c->word_count = 0;
	c->buffer_count = c->stream_count = c->part_count = 0;
	c->event_count = 0;
	c->is_sound = true;
	c->is_linked = false;
}

static bool is_before(const struct cull_buffer *a, const struct cull_buffer *b)
{
	return a->thread != b->thread ? a->thread < b->thread
				      : a->sequence < b->sequence;
}

void cull_add(struct cull *c, const struct cull_buffer *buffer)
{
	uint64_t *copy = c->words + c->word_count;
	uint32_t i = c->buffer_count++;

	c->word_count += buffer->input.len;
	memcpy(copy, buffer->input.words, buffer->input.len * sizeof(*copy));
	for (; i > 0 && is_before(buffer, &c->buffers[i - 1]); i--)
		c->buffers[i] = c->buffers[i - 1];
	c->buffers[i] = *buffer;
	c->buffers[i].input.words = copy;
}

/* Buffer number @i begins a part, or is in the last one. */
static void place(struct cull *c, uint32_t i)
{
	const struct cull_buffer *buffer = &c->buffers[i];
	struct cull_piece *last = c->parts + c->part_count - 1;
	bool goes_on = i > 0 && buffer->thread == buffer[-1].thread &&
		       buffer->sequence == buffer[-1].sequence + 1;

	if (goes_on && !buffer->input.from &&
	    last->part.count < COLUMNS_BUFFERS_MAX) {
		last->part.count++;
		return;
	}
	if (!goes_on)
		c->streams[c->stream_count++] = (struct cull_stream){
			.thread = buffer->thread,
			.first = c->event_count,
			.next = c->event_count,
		};
	c->parts[c->part_count++] = (struct cull_piece){
		.part = { .buffers = buffer, .count = 1 },
		.event = c->event_count,
		.stream = (uint8_t)(c->stream_count - 1),
	};
}

size_t cull_decide(struct cull *c, bool *ret_is_linked)
{
	for (uint32_t i = 0; i < c->buffer_count; i++) {
		struct cull_piece *part;

		place(c, i);
		part = &c->parts[c->part_count - 1];
		c->is_sound &= scan(c, part, &c->buffers[i]);
		part->end = c->event_count;
		c->streams[part->stream].end = c->event_count;
	}
	if (c->is_sound)
		cull_pairs_find(c);
	*ret_is_linked = c->is_linked;
	return c->part_count;
}

struct cull_part cull_get_part(const struct cull *c, size_t part)
{
	return c->parts[part].part;
}

uint32_t cull_code(struct cull *c, size_t number, struct columns *columns,
		   struct columns_output *ret)
{
	const struct cull_piece *part = &c->parts[number];
	struct rewriting rw = {
		.event = part->event,
		.last = cull_event_before(c, part),
	};
	size_t len = 0, words = 0;

	for (uint32_t i = 0; i < part->part.count; i++)
		words += part->part.buffers[i].input.len;
	cull_rows_begin(c, words);
	c->apart_count = 0;
	columns_begin(columns, c->time_shift);
	for (uint32_t i = 0; i < part->part.count; i++) {
		struct columns_input input = part->part.buffers[i].input;

		if (c->is_sound)
			rewrite(c, &rw, part, &input);
		columns_add(columns, &input);
	}
	for (uint32_t i = 0; i < c->apart_count; i++)
		columns_mark_apart(columns, c->apart[i]);
	if (c->culled)
		len = cull_rows_end(c, columns, &c->streams[part->stream],
				    columns_first_tick(columns));
	columns_end_with(columns, c->bytes, len, ret);
	return 2 * c->culled;
}

void cull_clear(uint64_t *words, size_t len)
{
	uint64_t *word = words;
	const uint64_t *end = words + len;

	while (word < end) {
		const uint64_t *next;
		struct record r;

		next = record_read(word, &r);
		if (!record_is_whole(&r, next, end))
			return;
		record_take_maker(word, &r, 0);
		word += next - word;
	}
}
