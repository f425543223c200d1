/* SPDX-License-Identifier: MIT */
/*
 * One pass over the payload.  Reads are not checked one by one: the slack
 * behind the payload holds zeros, every varint ends there, and each event is
 * compared with the end once it is read (cursor.h).  Only the frames of a
 * stack, whose number the file chooses, are checked one at a time.
 *
 * A frame costs one look into a small cache keyed by (caller, address, epoch);
 * what depends on modules (generation of the address, frames of the tracer) is
 * only worked out when the cache has no answer.
 */
#include "report/input/events.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/module.h"
#include "report/event/event.h"
#include "report/event/stacks.h"
#include "report/input/cursor.h"
#include "tracer/trace_format.h"

enum { FRAMES_INITIAL = 64, EPOCHS_MAX = 0xffff };

static int by_tick(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int interner_epochs(struct interner *interner)
{
	const struct module_map *map = interner->modules;

	if (!map->reused)
		return 0;
	interner->epochs = calloc(map->count, sizeof(*interner->epochs));
	if (!interner->epochs)
		return -ENOMEM;
	for (size_t i = 0; i < map->count; i++)
		interner->epochs[i] = map->items[i].load_tick;
	qsort(interner->epochs, map->count, sizeof(*interner->epochs), by_tick);
	for (size_t i = 0; i < map->count; i++) {
		size_t n = interner->epoch_count;

		if ((!n || interner->epochs[n - 1] != interner->epochs[i]) &&
		    n < EPOCHS_MAX)
			interner->epochs[interner->epoch_count++] =
			    interner->epochs[i];
	}
	return 0;
}

int interner_init(struct interner *interner, struct stacks *stacks,
		  const struct module_map *modules)
{
	interner->stacks = stacks;
	interner->modules = modules;
	interner->epochs = NULL;
	interner->epoch_count = 0;
	interner->tracer_start = UINT64_MAX;
	interner->tracer_end = 0;
	for (size_t i = 0; i < modules->count; i++) {
		const struct module *module = &modules->items[i];

		if (!module->is_tracer)
			continue;
		if (module->start < interner->tracer_start)
			interner->tracer_start = module->start;
		if (module->end > interner->tracer_end)
			interner->tracer_end = module->end;
	}
	for (size_t i = 0; i < INTERN_CACHE_COUNT; i++)
		interner->cache[i].parent = STACKS_NONE;
	return interner_epochs(interner);
}

void interner_done(struct interner *interner)
{
	free(interner->epochs);
	interner->epochs = NULL;
	interner->epoch_count = 0;
}

/* Return: node of @addr under @parent, @parent itself for the tracer's own
   frames, STACKS_NONE when out of memory. */
static __attribute__((noinline)) uint32_t
interner_add(struct interner *interner, uint32_t parent, uint64_t addr,
	     uint64_t tick)
{
	uint64_t key = module_map_key(interner->modules, addr, tick);

	if (addr - 1 >= interner->tracer_start &&
	    addr - 1 < interner->tracer_end) {
		const struct module *module =
		    module_map_find(interner->modules, key);

		if (module && module->is_tracer)
			return parent;
	}
	return stacks_child(interner->stacks, parent, key);
}

static inline uint32_t interner_node(struct interner *interner, uint32_t hash,
				     uint32_t parent, uint64_t pc, size_t epoch,
				     uint64_t tick)
{
	uint64_t key = PC_KEY_ADDR(pc) | (uint64_t)epoch << PC_KEY_ADDR_BITS;
	struct intern_entry *entry =
	    &interner->cache[hash & (INTERN_CACHE_COUNT - 1)];

	if (__builtin_expect(entry->key != key || entry->parent != parent, 0)) {
		uint32_t node =
		    interner_add(interner, parent, PC_KEY_ADDR(pc), tick);

		if (node == STACKS_NONE)
			return node;
		*entry = (struct intern_entry){key, parent, node};
	}
	return entry->node;
}

void event_decoder_done(struct event_decoder *decoder)
{
	free(decoder->frames);
	memset(decoder, 0, sizeof(*decoder));
}

void event_decoder_start(struct event_decoder *decoder, const uint8_t *data,
			 size_t len, uint64_t first_tick)
{
	decoder->data = data;
	decoder->len = len;
	decoder->position = 0;
	decoder->depth = 0;
	decoder->truncated = false;
	if (decoder->frames)
		decoder->frames[0] = (struct event_frame){0, STACKS_ROOT, 0};
	decoder->tick = first_tick;
	decoder->addr = 0;
	decoder->decoded = 0;
	decoder->lost = 0;
	decoder->epoch = 0;
	decoder->problem = NULL;
	decoder->problem_at = 0;
}

bool event_decoder_move(struct event_decoder *decoder, const uint8_t *data,
			size_t len)
{
	decoder->data = data;
	return len == decoder->len;
}

/* Makes room for @depth frames above frames[0]. */
static int frames_reserve(struct event_decoder *decoder, uint32_t depth)
{
	uint32_t capacity =
	    decoder->capacity ? decoder->capacity : FRAMES_INITIAL;
	struct event_frame *frames;

	if (depth < decoder->capacity)
		return 0;
	while (capacity <= depth)
		capacity *= 2;
	frames = realloc(decoder->frames, capacity * sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	if (!decoder->capacity)
		frames[0] = (struct event_frame){0, STACKS_ROOT, 0};
	decoder->frames = frames;
	decoder->capacity = capacity;
	return 0;
}

static int decode_fail(struct event_decoder *decoder, const char *problem)
{
	decoder->problem = problem;
	return 1;
}

/* The cache is indexed by the path of pcs and not by the caller's node, so that
   the processor need not wait for one lookup to start the next. */
static inline uint32_t frame_hash(uint32_t hash, uint64_t pc)
{
	return (uint32_t)((hash + pc) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* Hangs the frames that are left under the root or, when the tracer cut the
   outer frames off, under a node that stands for those: the two are different
   stacks.  What the frames mean was settled when they were pushed.  Return: 0
   or -ENOMEM. */
static __attribute__((noinline)) int stack_reroot(struct event_decoder *decoder,
						  bool truncated)
{
	struct stacks *stacks = decoder->interner->stacks;
	struct event_frame *frames = decoder->frames;
	uint32_t caller = frames[0].node;

	frames[0] = (struct event_frame){0, STACKS_ROOT, truncated};
	if (truncated)
		frames[0].node =
		    stacks_child(stacks, STACKS_ROOT, PC_KEY_TRUNCATED);
	if (frames[0].node == STACKS_NONE)
		return -ENOMEM;
	for (uint32_t i = 1; i <= decoder->depth; i++) {
		struct event_frame *frame = &frames[i];
		uint32_t old = frame->node;

		frame->hash = frame_hash(frames[i - 1].hash, frame->pc);
		frame->node = frames[i - 1].node;
		/* The tracer's frames have their caller's node. */
		if (old != caller)
			frame->node = stacks_child(stacks, frame->node,
						   stacks->nodes[old].pc_key);
		if (frame->node == STACKS_NONE)
			return -ENOMEM;
		caller = old;
	}
	decoder->truncated = truncated;
	return 0;
}

/* Reads a stack: pop, push, frames.  Return: 0, 1 with decoder->problem set,
   or -ENOMEM. */
static inline int decode_stack(struct event_decoder *decoder,
			       const uint8_t **at, bool truncated)
{
	const uint8_t *end = decoder->end;
	uint64_t pop = varint_read(at, end);
	uint64_t push = varint_read(at, end);
	uint32_t depth = decoder->depth;
	struct event_frame *frame;
	uint32_t node, hash;
	uint64_t pc;

	if (__builtin_expect(pop > depth, 0))
		return decode_fail(decoder, "it removes more frames than "
					    "there are");
	depth -= (uint32_t)pop;
	decoder->depth = depth;
	if (__builtin_expect(truncated != decoder->truncated, 0) &&
	    stack_reroot(decoder, truncated))
		return -ENOMEM;
	if (!push)
		return 0;
	if (__builtin_expect(push > TRACE_STACK_DEPTH_MAX - depth, 0))
		return decode_fail(decoder, "its stack is deeper than the "
					    "limit");
	if (__builtin_expect(depth + push >= decoder->capacity, 0)) {
		/* A frame takes a byte at least: no room for lies. */
		if (*at > end || push > (uint64_t)(end - *at))
			return decode_fail(decoder, "its frames go beyond the "
						    "end of the chunk");
		if (frames_reserve(decoder, depth + (uint32_t)push))
			return -ENOMEM;
	}
	frame = &decoder->frames[depth];
	pc = frame->pc;
	node = frame->node;
	hash = frame->hash;
	for (uint64_t i = 0; i < push; i++) {
		if (__builtin_expect(*at >= end, 0))
			return decode_fail(decoder, "its frames go beyond the "
						    "end of the chunk");
		pc += svarint_read(at, end);
		hash = frame_hash(hash, pc);
		node = interner_node(decoder->interner, hash, node, pc,
				     decoder->epoch, decoder->tick);
		if (__builtin_expect(node == STACKS_NONE, 0))
			return -ENOMEM;
		frame++;
		frame->pc = pc;
		frame->node = node;
		frame->hash = hash;
	}
	decoder->depth = depth + (uint32_t)push;
	return 0;
}

/* The tick as others see it: never falling, never beyond the run. */
static inline uint64_t decode_tick(struct event_decoder *decoder)
{
	uint64_t tick = decoder->tick;

	tick = tick > decoder->limit ? decoder->limit : tick;
	tick = tick < decoder->floor ? decoder->floor : tick;
	decoder->floor = tick;
	return tick;
}

static inline int decode_advance(struct event_decoder *decoder, uint64_t ticks)
{
	const struct interner *interner = decoder->interner;

	if (__builtin_expect(
		__builtin_add_overflow(decoder->tick, ticks, &decoder->tick),
		0))
		return decode_fail(decoder, "its time is beyond 64 bits");
	while (__builtin_expect(decoder->epoch < interner->epoch_count &&
				    interner->epochs[decoder->epoch] <=
					decoder->tick,
				0))
		decoder->epoch++;
	return 0;
}

static inline uint64_t decode_addr(struct event_decoder *decoder,
				   const uint8_t **at)
{
	decoder->addr += svarint_read(at, decoder->end);
	return decoder->addr;
}

static const uint8_t alloc_calls[] = {
    [TRACE_EVENT_MALLOC] = CALL_MALLOC,
    [TRACE_EVENT_CALLOC] = CALL_CALLOC,
    [TRACE_EVENT_MEMALIGN] = CALL_MEMALIGN,
    [TRACE_EVENT_NEW] = CALL_NEW,
};

static inline void decode_alloc(struct event_decoder *decoder,
				const uint8_t **at, unsigned kind,
				struct event *event)
{
	const uint8_t *end = decoder->end;

	event->kind = EVENT_ALLOC;
	event->call = alloc_calls[kind];
	event->addr = decode_addr(decoder, at);
	event->size = varint_read(at, end);
	event->a = varint_read(at, end);
	if (kind == TRACE_EVENT_MEMALIGN)
		event->b = varint_read(at, end);
}

/* event[0] becomes the free and event[1] the allocation. */
static int decode_realloc(struct event_decoder *decoder, const uint8_t **at,
			  struct event *event)
{
	const uint8_t *end = decoder->end;

	event[1] = event[0];
	event[0].kind = EVENT_FREE;
	event[0].call = CALL_REALLOC;
	if (decode_advance(decoder, varint_read(at, end)))
		return 1;
	event[0].addr = decode_addr(decoder, at);
	event[1].kind = EVENT_ALLOC;
	event[1].call = CALL_REALLOC;
	event[1].tick = decode_tick(decoder);
	event[1].addr = decode_addr(decoder, at);
	event[1].size = varint_read(at, end);
	event[1].a = varint_read(at, end);
	return 0;
}

/* The kinds that are rare.  Return: as decode_event(). */
static __attribute__((noinline)) int decode_other(struct event_decoder *decoder,
						  const uint8_t **at,
						  unsigned kind,
						  struct event *event)
{
	const uint8_t *end = decoder->end;
	uint64_t n;

	switch (kind) {
	case TRACE_EVENT_MMAP:
		event->kind = EVENT_MMAP;
		event->addr = decode_addr(decoder, at);
		event->size = varint_read(at, end);
		event->a = varint_read(at, end) & UINT32_MAX;
		event->a |= varint_read(at, end) << 32;
		event->fd = (int32_t)svarint_read(at, end);
		event->b = varint_read(at, end);
		return 1;
	case TRACE_EVENT_MUNMAP:
		event->kind = EVENT_MUNMAP;
		event->addr = decode_addr(decoder, at);
		event->size = varint_read(at, end);
		return 1;
	case TRACE_EVENT_MREMAP:
		event->kind = EVENT_MREMAP;
		event->addr = decode_addr(decoder, at);
		event->size = varint_read(at, end);
		event->a = decode_addr(decoder, at);
		event->b = varint_read(at, end);
		event->fd = (int32_t)varint_read(at, end);
		return 1;
	case TRACE_EVENT_MALLOPT:
		event->kind = EVENT_MALLOPT;
		event->addr = svarint_read(at, end);
		event->size = svarint_read(at, end);
		event->a = svarint_read(at, end);
		return 1;
	case TRACE_EVENT_RSS:
		event->kind = EVENT_RSS;
		event->size = varint_read(at, end);
		return 1;
	case TRACE_EVENT_LOST:
		event->kind = EVENT_LOST;
		event->size = varint_read(at, end);
		event->a = varint_read(at, end);
		if (*at <= end && event->a != TRACE_LOST_UNWIND &&
		    __builtin_add_overflow(decoder->lost, event->size,
					   &decoder->lost))
			decoder->lost = UINT64_MAX;
		return 1;
	case TRACE_EVENT_MARKER:
		n = varint_read(at, end);
		if (*at <= end && n <= (uint64_t)(end - *at))
			*at += n;
		else
			*at = end + 1;
		return 0;
	default:
		return -EPROTO;
	}
}

static inline bool tag_is_known(unsigned tag)
{
	unsigned kind = tag & TRACE_EVENT_KIND_MASK;

	return tag <= (TRACE_EVENT_TRUNCATED | TRACE_EVENT_KIND_MASK) &&
	       kind >= TRACE_EVENT_MALLOC && kind <= TRACE_EVENT_MARKER;
}

/* No block or map is larger than the address space. */
static inline bool size_is_possible(const struct event *event)
{
	uint64_t sizes = event->size;

	if (event->kind == EVENT_ALLOC)
		sizes |= event->a;
	else if (event->kind == EVENT_MREMAP)
		sizes |= event->b;
	else if (event->kind == EVENT_MALLOPT || event->kind == EVENT_LOST)
		return true;
	return sizes < TRACE_SIZE_LIMIT;
}

/* Reads what follows the stack.  Return: as decode_event(). */
static inline int decode_body(struct event_decoder *decoder,
			      const uint8_t **at, unsigned kind,
			      struct event *event)
{
	switch (kind) {
	case TRACE_EVENT_MALLOC:
	case TRACE_EVENT_CALLOC:
	case TRACE_EVENT_MEMALIGN:
	case TRACE_EVENT_NEW:
		decode_alloc(decoder, at, kind, event);
		return 1;
	case TRACE_EVENT_FREE:
	case TRACE_EVENT_DELETE:
		event->kind = EVENT_FREE;
		event->call =
		    kind == TRACE_EVENT_FREE ? CALL_FREE : CALL_DELETE;
		event->addr = decode_addr(decoder, at);
		return 1;
	case TRACE_EVENT_REALLOC:
		return decode_realloc(decoder, at, event) ? -EPROTO : 2;
	default:
		return decode_other(decoder, at, kind, event);
	}
}

/* Reads one event at *@at.  Return: number of struct event written, -EPROTO
   with decoder->problem set, or -ENOMEM. */
static inline int decode_event(struct event_decoder *decoder,
			       const uint8_t **at, struct event *event)
{
	unsigned tag = *(*at)++;
	unsigned kind = tag & TRACE_EVENT_KIND_MASK;
	int count, error;

	if (__builtin_expect(!tag_is_known(tag), 0)) {
		decoder->problem = "its tag is not known";
		return -EPROTO;
	}
	if (decode_advance(decoder, varint_read(at, decoder->end)))
		return -EPROTO;
	memset(event, 0, sizeof(*event));
	event->tick = decode_tick(decoder);
	if (kind < TRACE_EVENT_RSS) {
		error = decode_stack(decoder, at,
				     (tag & TRACE_EVENT_TRUNCATED) != 0);
		if (__builtin_expect(error, 0))
			return error < 0 ? error : -EPROTO;
		event->stack = decoder->frames[decoder->depth].node;
	}
	count = decode_body(decoder, at, kind, event);
	if (count > 0 &&
	    __builtin_expect(!size_is_possible(&event[count - 1]), 0)) {
		decoder->problem = "its size is beyond the address space";
		return -EPROTO;
	}
	return count;
}

int event_decode(struct event_decoder *decoder, struct event *items, size_t max,
		 size_t *ret_count)
{
	const uint8_t *at = decoder->data + decoder->position;
	const uint8_t *end = decoder->data + decoder->len;
	size_t count = 0;
	int written = 0;

	*ret_count = 0;
	decoder->end = end;
	if (frames_reserve(decoder, 0))
		return -ENOMEM;
	while (at < end && count + 2 <= max) {
		const uint8_t *start = at;
		uint64_t floor = decoder->floor;

		written = decode_event(decoder, &at, &items[count]);
		if (__builtin_expect(written < 0 || at > end, 0)) {
			/* None of it counts. */
			decoder->floor = floor;
			decoder->problem_at = (size_t)(start - decoder->data);
			break;
		}
		decoder->decoded++;
		count += (size_t)written;
	}
	decoder->position = (size_t)(at - decoder->data);
	*ret_count = count;
	if (written == -ENOMEM)
		return -ENOMEM;
	if (written < 0 || at > end) {
		if (!decoder->problem)
			decoder->problem = "it goes beyond the end of the "
					   "chunk";
		return EVENT_DECODE_END;
	}
	return at < end ? EVENT_DECODE_MORE : EVENT_DECODE_END;
}
