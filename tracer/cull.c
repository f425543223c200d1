/* SPDX-License-Identifier: MIT */
#include "tracer/cull.h"

#include <string.h>

#include "tracer/cull_state.h"

/* --- which events -------------------------------------------------------- */

/* Return: where the number of the last event at @addr is, or would be. */
static uint32_t *find_addr(struct cull *c, uint64_t addr)
{
	uint32_t i = cull_hash(addr >> 4, 17);
	uint32_t number;

	while ((number = c->addrs[i]) && c->events[number - 1].addr != addr)
		i = (i + 1) % CULL_ADDRS;
	return &c->addrs[i];
}

/* The event about to be added frees what its thread allocated.  Return: the
   event that it can be left out with, CULL_NONE: there is none. */
static uint32_t find_partner(struct cull *c, uint32_t number, uint64_t tick)
{
	const struct cull_event *made;

	if (!number)
		return CULL_NONE; /* in an earlier chunk */
	made = &c->events[number - 1];
	if (made->kind != CULL_ALLOC ||
	    tick - made->tick >= c->limits.lifetime_ticks ||
	    (c->limits.pending && c->made - made->made > c->limits.pending))
		return CULL_NONE;
	return number - 1;
}

static void add_event(struct cull *c, enum cull_kind kind, uint64_t addr,
		      uint64_t tick, bool is_own)
{
	uint32_t number = c->event_count++;
	struct cull_event *event = &c->events[number];
	uint32_t *place = find_addr(c, addr);

	c->made += kind == CULL_ALLOC || kind == CULL_REALLOC_NEW;
	event->addr = addr;
	event->tick = tick;
	event->made = c->made;
	event->kind = kind;
	event->partner = is_own ? find_partner(c, *place, tick) : CULL_NONE;
	if (event->partner != CULL_NONE)
		c->events[event->partner].partner = number;
	*place = number + 1;
}

/* The event stays, and so does the other one of its pair. */
static void keep(struct cull *c, uint32_t event)
{
	uint32_t partner = c->events[event].partner;

	if (partner == CULL_NONE)
		return;
	c->events[partner].partner = CULL_NONE;
	c->events[event].partner = CULL_NONE;
}

/* Peaks do not have what is left out: it must be little at any
   time. */
static void keep_many(struct cull *c)
{
	uint64_t live = 0;

	for (uint32_t i = 0; i < c->event_count; i++) {
		const struct cull_event *event = &c->events[i];

		if (event->partner == CULL_NONE)
			continue;
		if (event->kind == CULL_FREE)
			live -= c->events[event->partner].size;
		else if (live + event->size > CULL_LIVE_MAX)
			keep(c, i);
		else
			live += event->size;
	}
}

/* Return: events that the record is. */
static unsigned count_events(const struct record *r)
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

static void add_record(struct cull *c, const struct record *r, uint64_t tick)
{
	unsigned kind = r->head & TRACE_EVENT_KIND_MASK;

	if (!count_events(r))
		return;
	if (kind == TRACE_EVENT_FREE || kind == TRACE_EVENT_DELETE) {
		add_event(c, CULL_FREE, r->body[0], tick,
			  r->head & TRACE_RECORD_OWN);
	} else if (kind == TRACE_EVENT_REALLOC) {
		add_event(c, CULL_REALLOC_OLD, r->body[0], tick, false);
		add_event(c, CULL_REALLOC_NEW, r->body[1], tick, false);
	} else {
		add_event(c, CULL_ALLOC, r->body[0], tick, false);
		c->events[c->event_count - 1].size =
		    r->body[1] & (TRACE_SIZE_LIMIT - 1);
	}
}

/* Notes the events of a buffer whose records are at @word, and clears marks.
   Return: whether all of it is sound. */
static bool scan(struct cull *c, uint64_t *word,
		 const struct columns_input *input)
{
	const uint64_t *end = word + input->len, *from = word + input->from;
	uint64_t tick = input->first_tick;
	uint32_t depth = 0;
	bool is_sound = true;

	while (word < end) {
		const uint64_t *next;
		struct record r;

		next = record_read(word, &r);
		if (!record_is_whole(&r, next, end) ||
		    (word < from && next > from))
			return false;
		*word &= ~(uint64_t)TRACE_RECORD_OWN;
		is_sound &= r.pop <= depth;
		depth = is_sound ? depth - r.pop + r.push : 0;
		is_sound &= depth <= TRACE_STACK_DEPTH_MAX;
		tick += r.ticks;
		if (word >= from && is_sound)
			add_record(c, &r, tick);
		if ((r.head & TRACE_EVENT_KIND_MASK) == TRACE_EVENT_REALLOC)
			tick += r.frames[-1];
		word += next - word;
	}
	return is_sound;
}

/*
 * What comes right after an allocation and frees its block shows that it was
 * temporary: it must not come right after it just because of what was left out
 * between them.  A free can be marked, a realloc cannot, and nothing can be
 * said about the first event of the next chunk.
 */
static void keep_between(struct cull *c)
{
	uint32_t last = CULL_NONE; /* that stays */

	for (uint32_t i = 0; i < c->event_count; i++) {
		const struct cull_event *event = &c->events[i];

		if (event->partner != CULL_NONE)
			continue;
		if (event->kind == CULL_REALLOC_OLD && i > 0 &&
		    (last == CULL_NONE || c->events[last].addr == event->addr))
			keep(c, i - 1);
		last = i;
	}
	if (c->event_count)
		keep(c, c->event_count - 1);
}

/* --- the records without them -------------------------------------------- */

/**
 * struct rewriting - one buffer after another
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
	const struct cull_event *event = &c->events[rw->event];

	c->culled++;
	rw->ticks += r->ticks;
	if (event->kind == CULL_FREE) {
		c->live -= c->events[event->partner].size;
		c->blocks--;
		return;
	}
	c->live += event->size;
	c->blocks++;
	if (c->live > c->most)
		c->most = c->live;
	if (c->blocks > c->most_blocks)
		c->most_blocks = c->blocks;
	cull_rows_add(c, rw->event, r, rw->depth);
}

/* A free that is written: does it follow its allocation only because of what was
   left out? */
static void mark_apart(struct cull *c, const struct rewriting *rw)
{
	const struct cull_event *event = &c->events[rw->event];

	if (event->kind != CULL_FREE || rw->event == 0 ||
	    rw->last == rw->event - 1)
		return;
	if (rw->last == CULL_NONE || c->events[rw->last].addr == event->addr)
		c->apart[c->apart_count++] = rw->coded;
}

/* Return: words of the buffer at @start that are left. */
static size_t rewrite(struct cull *c, struct rewriting *rw, uint64_t *start,
		      const struct columns_input *input)
{
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
		events = is_coded ? count_events(&r) : 0;
		if (events && c->events[rw->event].partner != CULL_NONE) {
			leave_out(c, rw, &r);
			rw->event++;
		} else if (is_coded) {
			if (events) {
				mark_apart(c, rw);
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
	return (size_t)(out - start);
}

/* --- all of it ----------------------------------------------------------- */

size_t cull_bytes(void)
{
	return sizeof(struct cull);
}

void cull_begin(struct cull *c, struct columns_input *inputs, size_t count,
		unsigned time_shift, const struct cull_limits *limits)
{
	struct rewriting rw = { .last = CULL_NONE };
	uint64_t *copies[COLUMNS_BUFFERS_MAX], *copy = c->words;
	bool is_sound = true;

	c->time_shift = time_shift;
	c->limits = *limits;
	if (c->event_count)
		memset(c->addrs, 0, sizeof(c->addrs));
	c->event_count = c->made = c->apart_count = 0;
	cull_rows_begin(c);
	for (size_t i = 0; i < count; i++) {
		copies[i] = copy;
		copy += inputs[i].len;
		memcpy(copies[i], inputs[i].words,
		       inputs[i].len * sizeof(*copy));
		inputs[i].words = copies[i];
	}
	for (size_t i = 0; i < count; i++)
		is_sound &= scan(c, copies[i], &inputs[i]);
	if (!is_sound)
		return;
	keep_many(c);
	keep_between(c);
	for (size_t i = 0; i < count; i++)
		inputs[i].len = rewrite(c, &rw, copies[i], &inputs[i]);
}

uint32_t cull_end(struct cull *c, struct columns *columns,
		  struct columns_output *ret)
{
	size_t len = 0;

	for (uint32_t i = 0; i < c->apart_count; i++)
		columns_mark_apart(columns, c->apart[i]);
	if (c->culled)
		len = cull_rows_end(c, columns, columns_first_tick(columns));
	columns_end_with(columns, c->bytes, len, ret);
	return c->culled;
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
		*word &= ~(uint64_t)TRACE_RECORD_OWN;
		word += next - word;
	}
}
