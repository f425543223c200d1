/* SPDX-License-Identifier: MIT */
/*
 * Which events are left out.  They are gone through in the order of their
 * times, all threads', so that at a free the last one at its address is known.
 */
#include "tracer/cull_state.h"

/* Return: where the number of the last event at @addr is, or would be. */
static uint32_t *find_addr(struct cull *c, uint64_t addr)
{
	uint32_t i = cull_hash(addr >> 4, c->addr_bits);
	uint32_t number;

	while ((number = c->addrs[i]) && c->events[number - 1].addr != addr)
		i = cull_after(i, c->addr_bits);
	return &c->addrs[i];
}

/*
 * Whether @free frees what @made allocated.  The free says which thread was the
 * last to allocate there; that its last allocation there is @made is known when
 * all that it did until the free is here.
 */
static bool is_pair(const struct cull *c, const struct cull_event *made,
		    const struct cull_event *free)
{
	const struct cull_stream *maker = &c->streams[made->stream];

	return made->kind == CULL_ALLOC && free->size == maker->thread &&
	       made->tick <= free->tick &&
	       (made->stream == free->stream ||
		c->events[maker->end - 1].tick > free->tick);
}

/* Return: the event that the free can be left out with, CULL_NONE: there is
   none; @number - 1 is the last one at its address. */
static uint32_t find_partner(const struct cull *c, uint32_t number,
			     const struct cull_event *free)
{
	const struct cull_event *made;
	uint64_t pending;

	if (!number)
		return CULL_NONE; /* it is not here */
	made = &c->events[number - 1];
	if (!is_pair(c, made, free) ||
	    free->tick - made->tick >= c->limits.lifetime_ticks)
		return CULL_NONE;
	pending = c->streams[made->stream].made - made->made;
	if (c->limits.pending && pending > c->limits.pending)
		return CULL_NONE;
	return number - 1;
}

static void look_at(struct cull *c, uint32_t number)
{
	struct cull_event *event = &c->events[number];
	struct cull_stream *stream = &c->streams[event->stream];
	uint32_t *place = find_addr(c, event->addr);

	stream->made += event->kind == CULL_ALLOC ||
			event->kind == CULL_REALLOC_NEW;
	event->made = stream->made;
	if (event->kind == CULL_FREE)
		event->partner = find_partner(c, *place, event);
	if (event->partner != CULL_NONE)
		c->events[event->partner].partner = number;
	*place = number + 1;
}

/* Return: the stream that goes on first; NULL: all are at their end.
   *@ret_until: when another one does. */
static struct cull_stream *find_first(struct cull *c, uint64_t *ret_until)
{
	struct cull_stream *first = NULL;
	uint64_t tick = UINT64_MAX;

	*ret_until = UINT64_MAX;
	for (uint32_t i = 0; i < c->stream_count; i++) {
		struct cull_stream *stream = &c->streams[i];
		uint64_t its;

		if (stream->next == stream->end)
			continue;
		its = c->events[stream->next].tick;
		if (first && its >= tick) {
			*ret_until = its < *ret_until ? its : *ret_until;
			continue;
		}
		*ret_until = first ? tick : *ret_until;
		first = stream;
		tick = its;
	}
	return first;
}

static void look_at_all(struct cull *c)
{
	struct cull_stream *stream;
	uint32_t count = 0;
	uint64_t until;

	while ((stream = find_first(c, &until)))
		do {
			c->order[count++] = stream->next;
			look_at(c, stream->next++);
		} while (stream->next < stream->end &&
			 c->events[stream->next].tick <= until);
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

/*
 * What comes right after an allocation and frees its block shows that it was
 * temporary: it must not come right after it just because of what was left out
 * between them.  A free can be marked, a realloc cannot, and nothing can be
 * said about the first event of the next part.  What stays for that in other
 * threads only stands between their events, too.
 */
static void keep_between(struct cull *c, const struct cull_piece *part)
{
	uint32_t last = cull_event_before(c, part);

	for (uint32_t i = part->event; i < part->end; i++) {
		const struct cull_event *event = &c->events[i];

		if (event->partner != CULL_NONE)
			continue;
		if (event->kind == CULL_REALLOC_OLD && i > part->event &&
		    (last == CULL_NONE || c->events[last].addr == event->addr))
			keep(c, i - 1);
		last = i;
	}
	if (part->event != part->end)
		keep(c, part->end - 1);
}

/* Return: when, in c->order, the pair ends that event number @made begins. */
static uint32_t end_of(const struct cull *c, uint32_t made)
{
	return c->events[c->events[made].partner].rank;
}

/* Adds to a heap of @count, the one that ends last on top. */
static void heap_add(const struct cull *c, uint32_t *heap, uint32_t count,
		     uint32_t made)
{
	uint32_t i = count;

	for (; i > 0 && end_of(c, heap[(i - 1) / 2]) < end_of(c, made);
	     i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = made;
}

/* Takes the top off; @count is what is left.  Return: it. */
static uint32_t heap_take(const struct cull *c, uint32_t *heap, uint32_t count)
{
	uint32_t top = heap[0], last = heap[count], i = 0;

	for (uint32_t child = 1; child < count; child = 2 * i + 1) {
		if (child + 1 < count &&
		    end_of(c, heap[child]) < end_of(c, heap[child + 1]))
			child++;
		if (end_of(c, heap[child]) <= end_of(c, last))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return top;
}

/*
 * Peaks do not have what is left out: it must be little at any time.  Those that
 * live longest stay, so that the others are as many as there can be.
 *
 * The streams' heaps are where addresses were.  What has been freed stays in
 * them, below all that has not.
 */
static void keep_longest(struct cull *c)
{
	for (uint32_t i = 0; i < c->event_count; i++)
		c->events[c->order[i]].rank = i;
	for (uint32_t i = 0; i < c->event_count; i++) {
		uint32_t number = c->order[i];
		const struct cull_event *event = &c->events[number];
		struct cull_stream *stream;
		uint32_t *heap;

		if (event->partner == CULL_NONE)
			continue;
		if (event->kind == CULL_FREE) {
			const struct cull_event *made =
				&c->events[event->partner];

			c->streams[made->stream].live -= made->size;
			continue;
		}
		stream = &c->streams[event->stream];
		heap = c->addrs + stream->first;
		if (!stream->live)
			stream->held = 0;
		heap_add(c, heap, stream->held++, number);
		stream->live += event->size;
		while (stream->live > CULL_LIVE_MAX) {
			uint32_t longest = heap_take(c, heap, --stream->held);

			stream->live -= c->events[longest].size;
			keep(c, longest);
		}
	}
}

/* Finds out what is left of pairs. */
static void sum_up(struct cull *c)
{
	for (uint32_t i = 0; i < c->event_count; i++) {
		const struct cull_event *event = &c->events[c->order[i]];
		const struct cull_event *made = event;
		struct cull_stream *stream;

		if (event->partner == CULL_NONE)
			continue;
		if (event->kind == CULL_FREE)
			made = &c->events[event->partner];
		stream = &c->streams[made->stream];
		if (event->kind == CULL_FREE) {
			stream->live -= made->size;
			stream->blocks--;
			c->is_linked |= made->part != event->part;
			continue;
		}
		stream->live += made->size;
		stream->blocks++;
		if (stream->live > stream->most)
			stream->most = stream->live;
		if (stream->blocks > stream->most_blocks)
			stream->most_blocks = stream->blocks;
	}
}

void cull_pairs_find(struct cull *c)
{
	c->addr_bits = cull_clear_index(c->addrs, c->event_count);
	look_at_all(c);
	for (uint32_t i = 0; i < c->part_count; i++)
		keep_between(c, &c->parts[i]);
	keep_longest(c);
	sum_up(c);
}
