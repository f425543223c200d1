/* SPDX-License-Identifier: MIT */
#include "tracer/buffer.h"

#include "tracer/compiler.h"
#include "tracer/filters.h"
#include "tracer/helper.h"
#include "tracer/pool.h"
#include "tracer/queue.h"

/**
 * struct buffers - all of them
 * @lock:     of everything here
 * @segments: as PATH.live has segments of slots
 * @count:    buffers ever used; indices below it are valid
 * @free:     those nobody has, the last one given back first
 */
static struct {
	struct queue_lock lock;
	struct buffer *segments[LIVE_SEGMENT_COUNT];
	uint32_t count;
	struct buffer *free;
} buffers;

_Static_assert(offsetof(struct trace_live_slot, sequence) % 8 == 0 &&
		   offsetof(struct trace_live_slot, from) ==
		       offsetof(struct trace_live_slot, sequence) + 4 &&
		   offsetof(struct trace_live_slot, piece) ==
		       offsetof(struct trace_live_slot, from) + 2,
	       "one store changes all three");
_Static_assert(BUFFER_WORDS <= UINT16_MAX, "from has 16 bits");

/* Safety: lock held.  Return: the buffer of a slot not used before. */
static struct buffer *make(void)
{
	uint32_t index = buffers.count;
	uint32_t segment = index / LIVE_SEGMENT_SLOTS;
	struct trace_live_slot *slot = live_slot(index);
	struct buffer *buffer;

	if (!slot)
		return NULL;
	if (!buffers.segments[segment]) {
		buffers.segments[segment] =
		    pool_map(LIVE_SEGMENT_SLOTS * sizeof(*buffer));
		if (!buffers.segments[segment])
			return NULL;
	}
	buffer = &buffers.segments[segment][index % LIVE_SEGMENT_SLOTS];
	buffer->slot = slot;
	buffer->words = (uint64_t *)(void *)((char *)slot + TRACE_LIVE_PAGE);
	buffers.count++;
	return buffer;
}

/* Safety: as buffer_take(). */
static struct buffer *take(bool fills)
{
	struct buffer *buffer;
	uint32_t index;
	bool is_new;

	queue_lock_take(&buffers.lock);
	buffer = buffers.free;
	is_new = !buffer;
	index = buffers.count;
	if (buffer)
		buffers.free = buffer->next;
	else
		buffer = make();
	queue_lock_give(&buffers.lock);
	if (is_new && buffer && (fills || index == 0))
		live_warm_slot(index);
	return buffer;
}

/**
 * struct request - what the helper is asked for
 */
struct request {
	bool fills;
	struct buffer *taken;
};

/* Safety: the helper. */
static void take_for_thread(void *arg)
{
	struct request *request = arg;

	request->taken = take(request->fills);
}

struct buffer *buffer_take(bool fills)
{
	struct request request = {.fills = fills};

	if (UNLIKELY(filters_hinder) && !buffers.free &&
	    helper_call(take_for_thread, &request))
		return request.taken;
	return take(fills);
}

void buffer_stock(uint32_t count)
{
	struct chain chain = {0};

	while (chain.count < count) {
		struct buffer *buffer = take(false);

		if (!buffer)
			break;
		buffer->next = chain.first;
		chain.first = buffer;
		chain.count++;
	}
	chain_give(&chain);
}

/*
 * The program may be killed between any two stores: the old events must be
 * gone before they could be taken for the new owner's.
 */
void buffer_begin(struct buffer *buffer, const struct buffer_place *place)
{
	struct trace_live_slot *slot = buffer->slot;

	buffer->from = 0;
	__atomic_store_n(&slot->committed_len, 0, __ATOMIC_RELAXED);
	atomic_thread_fence(memory_order_release);
	slot->thread = place->thread;
	slot->sequence = place->id.sequence;
	slot->from = 0;
	slot->piece = place->id.piece;
	slot->after = 0;
	slot->first_tick = place->first_tick;
	__atomic_store_n(&slot->in_use, 1, __ATOMIC_RELEASE);
}

/* What it holds now.  Safety: its owner. */
static void set_len(struct buffer *buffer)
{
	buffer->len = buffer_len(buffer);
	if (buffer->len > BUFFER_WORDS) /* the program wrote over it */
		buffer->len = BUFFER_WORDS;
}

struct chain buffer_begin_split(struct buffer *buffer,
				const struct buffer_id *next)
{
	set_len(buffer);
	__atomic_store_n(&buffer->slot->after,
			 next->sequence | (uint64_t)buffer->len << 32 |
			     (uint64_t)next->piece << 48,
			 __ATOMIC_RELEASE);
	if (buffer->len <= buffer->from)
		return (struct chain){0};
	buffer->next = NULL;
	return (struct chain){buffer, buffer, 1};
}

void buffer_split(struct buffer *buffer)
{
	struct trace_live_slot *slot = buffer->slot;

	buffer->from = buffer->len;
	__atomic_store_n((uint64_t *)(void *)&slot->sequence, slot->after,
			 __ATOMIC_RELEASE);
	__atomic_store_n(&slot->after, 0, __ATOMIC_RELEASE);
}

void buffer_give(struct buffer *buffer)
{
	__atomic_store_n(&buffer->slot->in_use, 0, __ATOMIC_RELEASE);
	queue_lock_take(&buffers.lock);
	buffer->next = buffers.free;
	buffers.free = buffer;
	queue_lock_give(&buffers.lock);
}

void buffer_forget_all(void)
{
	buffers.lock = (struct queue_lock){0};
	buffers.count = 0;
	buffers.free = NULL;
}

void chain_append(struct chain *chain, struct buffer *buffer)
{
	buffer->next = NULL;
	set_len(buffer);
	if (chain->last)
		chain->last->next = buffer;
	else
		chain->first = buffer;
	chain->last = buffer;
	chain->count++;
}

void chain_give(struct chain *chain)
{
	while (chain->first) {
		struct buffer *buffer = chain->first;

		chain->first = buffer->next;
		buffer_give(buffer);
	}
	*chain = (struct chain){0};
}
