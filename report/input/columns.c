/* SPDX-License-Identifier: MIT */
/*
 * The coding in columns, COLUMNS.  An event reads from a few of twelve columns
 * and what it reads there stands for what its call site did last, so most of
 * the work is looking up: the shape that follows two others, the nodes of a
 * shape's frames under a caller (struct intern_path), the newest free block of
 * a class.
 *
 * A small file can say a lot by repeating shapes.  frames_left bounds what they
 * push, the only work of an event that is not bounded otherwise.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/vec.h"
#include "report/event/event.h"
#include "report/event/stacks.h"
#include "report/input/columns.h"
#include "report/input/columns_blocks.h"

static struct columns *columns_of(struct event_decoder *decoder)
{
	return (struct columns *)decoder;
}

/* --- start and end ------------------------------------------------------- */

#define EACH_COLUMN(X)                                                         \
	X(CODES)                                                               \
	X(SHAPES)                                                              \
	X(NEW_SHAPES)                                                          \
	X(FRAMES)                                                              \
	X(ADDRESSES)                                                           \
	X(SIZES)                                                               \
	X(SLACKS)                                                              \
	X(BLOCKS)                                                              \
	X(DISTANCES)                                                           \
	X(FREED)                                                               \
	X(TIMES)                                                               \
	X(BODIES)                                                              \
	X(CULLED)

#define CUT(name) [TRACE_COLUMN_##name] = "the column " #name " ends too soon",
#define REST(name)                                                             \
	[TRACE_COLUMN_##name] = "the column " #name                            \
				" holds more than its events use",

const char *const column_cut[] = {EACH_COLUMN(CUT)};
static const char *const column_rest[] = {EACH_COLUMN(REST)};

static void columns_done(struct event_decoder *decoder)
{
	struct columns *c = columns_of(decoder);

	vec_done(&c->shapes);
	vec_done(&c->pcs);
	vec_done(&c->addresses);
	vec_done(&c->rings);
	free(c->block_addrs);
	free(c->block_classes);
}

/* Return: what is wrong with the head of the payload, NULL if nothing. */
static const char *columns_split(struct columns *c)
{
	const struct event_decoder *decoder = &c->base;
	struct cursor cursor = cursor_make(decoder->data, decoder->len);
	uint64_t sum = 0;
	uint32_t count;

	c->time_shift = cursor_u8(&cursor);
	cursor_bytes(&cursor, 3);
	count = cursor_u32(&cursor);
	if (cursor.failed || count > cursor.left / sizeof(uint32_t))
		return "it ends within the lengths of its columns";
	if (c->time_shift > TRACE_TIME_SHIFT_MAX)
		return "its unit of time is beyond the limit";
	if (count < TRACE_COLUMN_COUNT)
		return "it has too few columns";
	for (uint32_t i = 0; i < count; i++) {
		uint32_t len = cursor_u32(&cursor);

		if (i < COLUMNS_KNOWN) {
			c->columns[i].at = decoder->data + sum;
			c->columns[i].end = decoder->data + sum + len;
		}
		sum += len;
	}
	if (sum != cursor.left)
		return "the lengths of its columns do not add up to its own";
	for (uint32_t i = count; i < COLUMNS_KNOWN; i++)
		c->columns[i].at = c->columns[i].end = decoder->data;
	c->has_culled = c->columns[TRACE_COLUMN_CULLED].at !=
			c->columns[TRACE_COLUMN_CULLED].end;
	for (size_t i = 0; i < COLUMNS_KNOWN; i++) {
		c->columns[i].at += cursor.at - decoder->data;
		c->columns[i].end += cursor.at - decoder->data;
	}
	return NULL;
}

/* The next event's is @number: finds where the prediction of the one after it is,
   and asks for the shape that it names, if there are shapes yet. */
static inline void shape_follow(struct columns *c, uint32_t number)
{
	c->before = c->last;
	c->last = number;
	c->successor = &c->successors[(c->last * UINT32_C(0x9e3779b1) +
				       c->before * UINT32_C(0x85ebca6b)) >>
				      18];
	__builtin_prefetch((const void *)((uintptr_t)c->shapes.items +
					  *c->successor *
						  sizeof(*c->shapes.items)));
}

static int columns_start(struct event_decoder *decoder)
{
	struct columns *c = columns_of(decoder);

	decoder->problem = columns_split(c);
	if (decoder->problem)
		return 0;
	c->serial = interner_paths(decoder->interner, decoder->len);
	if (!c->serial)
		return -ENOMEM;
	c->time = decoder->first_tick >> c->time_shift;
	c->block_end = 0;
	c->freed = 0;
	c->body_addr = 0;
	c->frame_addr = 0;
	c->culled_addr = 0;
	c->culled_left = 0;
	c->frames_left = TRACE_FRAMES_MAX;
	c->shapes.count = 0;
	c->pcs.count = 0;
	c->addresses.count = 0;
	c->rings.count = 1;
	c->block_count = 0;
	memset(c->successors, 0, sizeof(c->successors));
	c->last = NO_SHAPE;
	shape_follow(c, NO_SHAPE);
	memset(c->slacks, 0, sizeof(c->slacks));
	memset(c->classes, 0, sizeof(c->classes));
	return 0;
}

static void columns_move(struct event_decoder *decoder, const uint8_t *before)
{
	struct columns *c = columns_of(decoder);

	for (size_t i = 0; i < COLUMNS_KNOWN; i++) {
		struct column *column = &c->columns[i];

		column->at = decoder->data + (column->at - before);
		column->end = decoder->data + (column->end - before);
	}
}

static void columns_finish(struct columns *c)
{
	for (size_t i = 0; i < COLUMNS_KNOWN; i++)
		if (c->columns[i].at != c->columns[i].end) {
			c->base.problem = column_rest[i];
			return;
		}
}

/* --- shapes -------------------------------------------------------------- */

/* Finds out the next event's shape where it is not as predicted.  Return: 0,
   -EPROTO or -ENOMEM. */
static __attribute__((noinline)) int
shape_other(struct columns *c, unsigned how, uint32_t *ret)
{
	switch (how) {
	case TRACE_CODE_SHAPE_NAMED:
		*ret = column_u16(c, TRACE_COLUMN_SHAPES);
		return column_check(c, TRACE_COLUMN_SHAPES) ? 0 : -EPROTO;
	case TRACE_CODE_SHAPE_NEW:
		return columns_read_shape(c, ret);
	default:
		return columns_fail(c, "its code is not known");
	}
}

/* The next event's shape by @code; *@ret is its number.  Return: as
   shape_other(). */
static inline int shape_next(struct columns *c, unsigned code, uint32_t *ret)
{
	unsigned how = code & TRACE_CODE_SHAPE_MASK;
	uint32_t number = *c->successor;

	if (how != TRACE_CODE_SHAPE_PREDICTED) {
		int error = shape_other(c, how, &number);

		if (__builtin_expect(error, 0))
			return error;
		*c->successor = (uint16_t)number;
	}
	if (__builtin_expect(number >= c->shapes.count, 0) &&
	    how != TRACE_CODE_SHAPE_NEW)
		return columns_fail(c, "its shape is not known");
	shape_follow(c, number);
	*ret = number;
	return 0;
}

/* Writes the nodes of @shape's frames under @nodes[0] behind it. */
static int shape_intern(struct columns *c, const struct shape *shape,
			uint32_t *nodes)
{
	return interner_path(c->base.interner, c->pcs.items + shape->first,
			     shape->push, c->base.tick, nodes);
}

/* Pushes the frames of @shape.  Return: 0, -EPROTO or -ENOMEM. */
static inline int shape_push(struct columns *c, const struct shape *shape,
			     uint32_t number)
{
	struct event_decoder *decoder = &c->base;
	struct frames *frames = &decoder->frames;
	uint32_t push = shape->push;
	uint32_t depth = frames->depth + push;
	struct intern_path *path;
	uint32_t *nodes;
	uint64_t key, hash;

	if (__builtin_expect(depth > TRACE_STACK_DEPTH_MAX, 0))
		return columns_fail(c, event_problem_depth);
	if (__builtin_expect(push > c->frames_left, 0))
		return columns_fail(c, "the chunk pushes more frames than the limit");
	c->frames_left -= push;
	if (frames_reserve(frames, depth))
		return -ENOMEM;
	nodes = &frames->nodes[frames->depth];
	frames->depth = depth;
	if (__builtin_expect(push > INTERN_PATH_NODES || number == NO_SHAPE, 0))
		return shape_intern(c, shape, nodes);
	key = nodes[0] | (uint64_t)number << 32 |
	      (uint64_t)decoder->epoch << 48;
	hash = (key ^ (uint64_t)c->serial << 32) * UINT64_C(0x9e3779b97f4a7c15);
	path = &decoder->interner->paths[hash >> decoder->interner->paths_shift];
	if (__builtin_expect(path->key == key && path->serial == c->serial,
			     1)) {
		memcpy(nodes + 1, path->nodes, sizeof(path->nodes));
		return 0;
	}
	if (shape_intern(c, shape, nodes))
		return -ENOMEM;
	path->key = key;
	path->serial = c->serial;
	memcpy(path->nodes, nodes + 1, push * sizeof(*nodes));
	return 0;
}

/* --- time ---------------------------------------------------------------- */

static inline bool time_advance(struct columns *c, uint64_t units)
{
	struct event_decoder *decoder = &c->base;
	uint64_t tick;

	if (__builtin_expect(
		__builtin_add_overflow(c->time, units, &c->time) ||
		    c->time > UINT64_MAX >> c->time_shift,
		0)) {
		decoder->problem = event_problem_time;
		return false;
	}
	tick = c->time << c->time_shift;
	decoder_set_tick(decoder, tick > decoder->first_tick
				      ? tick
				      : decoder->first_tick);
	return true;
}

/* --- events -------------------------------------------------------------- */

/* event[0] becomes the free and event[1] the allocation.  Return: as
   decode_event(). */
static inline int decode_realloc(struct columns *c, unsigned code,
				 struct shape *shape, struct event *event)
{
	bool stays = code & TRACE_CODE_IN_PLACE;
	uint64_t units;

	event->call = CALL_REALLOC;
	event[1] = event[0];
	event[0].kind = EVENT_FREE;
	if (!column_number(c, TRACE_COLUMN_BODIES, &units) ||
	    !time_advance(c, units))
		return -EPROTO;
	event[1].tick = decoder_tick(&c->base);
	if (!block_free(c, code, shape, stays, &event[0].addr))
		return -EPROTO;
	event[1].addr = event[0].addr;
	return block_alloc(c, code, shape, stays, &event[1]) ? 2 : -EPROTO;
}

static __attribute__((noinline)) int
decode_rare(struct columns *c, unsigned kind, struct event *event)
{
	struct column *bodies = &c->columns[TRACE_COLUMN_BODIES];
	int written = event_decode_rare(&c->base, kind, &bodies->at,
					bodies->end, &c->body_addr, event);

	return column_check(c, TRACE_COLUMN_BODIES) ? written : -EPROTO;
}

/* What an event is beyond its time and stack.  Return: as decode_event(). */
static inline int decode_body(struct columns *c, unsigned code,
			      struct shape *shape, struct event *event)
{
	unsigned kind = shape->tag & TRACE_EVENT_KIND_MASK;

	switch (kind) {
	case TRACE_EVENT_MALLOC:
	case TRACE_EVENT_CALLOC:
	case TRACE_EVENT_NEW:
		event->call = event_alloc_call(kind);
		return block_alloc(c, code, shape, false, event) ? 1 : -EPROTO;
	case TRACE_EVENT_FREE:
	case TRACE_EVENT_DELETE:
		event->kind = EVENT_FREE;
		event->b = code & TRACE_CODE_APART;
		event->call =
		    kind == TRACE_EVENT_FREE ? CALL_FREE : CALL_DELETE;
		return block_free(c, code, shape, false, &event->addr)
			   ? 1
			   : -EPROTO;
	case TRACE_EVENT_REALLOC:
		return decode_realloc(c, code, shape, event);
	case TRACE_EVENT_MEMALIGN:
		event->call = CALL_MEMALIGN;
		return block_alloc(c, code, shape, false, event) &&
			       column_number(c, TRACE_COLUMN_BODIES, &event->b)
			   ? 1
			   : -EPROTO;
	default:
		return decode_rare(c, kind, event);
	}
}

/* Reads one event.  Return: number of struct event written, -EPROTO with the
   problem set, or -ENOMEM. */
static inline int decode_event(struct columns *c, struct event *event)
{
	struct event_decoder *decoder = &c->base;
	unsigned code = *c->columns[TRACE_COLUMN_CODES].at++;
	struct shape *shape;
	uint32_t number = 0;
	uint64_t units;
	bool has_stack;
	int error = shape_next(c, code, &number);

	if (__builtin_expect(error, 0))
		return error;
	shape = number == NO_SHAPE ? &c->extra : &c->shapes.items[number];
	if (!column_number(c, TRACE_COLUMN_TIMES, &units) ||
	    !time_advance(c, units))
		return -EPROTO;
	memset(event, 0, sizeof(*event));
	event->tick = decoder_tick(decoder);
	/* One without a stack may still change the next one's. */
	has_stack = event_tag_has_stack(shape->tag);
	error = decoder_pop(decoder, shape->pop,
			    has_stack ? shape->tag & TRACE_EVENT_TRUNCATED
				      : decoder->frames.truncated);
	if (__builtin_expect(error, 0))
		return error;
	if (shape->push) {
		error = shape_push(c, shape, number);
		if (__builtin_expect(error, 0))
			return error;
	}
	if (has_stack)
		event->stack = decoder->frames.nodes[decoder->frames.depth];
	return decode_body(c, code, shape, event);
}

/* Makes room for @more blocks.  Return: 0 or -ENOMEM. */
static int blocks_reserve(struct columns *c, size_t more)
{
	size_t capacity = c->block_capacity;
	uint16_t *classes;
	uint64_t *addrs;

	/* Each may be the first of its class. */
	if (!vec_reserve(&c->rings, c->rings.count + more))
		return -ENOMEM;
	if (c->block_count + more <= capacity)
		return 0;
	capacity = c->block_count + more;
	if (capacity < 2 * (size_t)c->block_capacity)
		capacity = 2 * (size_t)c->block_capacity;
	addrs = realloc(c->block_addrs, capacity * sizeof(*addrs));
	if (!addrs)
		return -ENOMEM;
	c->block_addrs = addrs;
	classes = realloc(c->block_classes, capacity * sizeof(*classes));
	if (!classes)
		return -ENOMEM;
	c->block_classes = classes;
	c->block_capacity = (uint32_t)capacity;
	return 0;
}

/* The rest, after the last event.  Return: as columns_decode(). */
static int columns_decode_culled(struct columns *c, struct event *items,
				 size_t max, size_t *ret_count)
{
	while ((c->has_culled || c->culled_left) && *ret_count + 2 <= max) {
		struct event *event = &items[*ret_count];
		int written = c->has_culled ? columns_begin_culled(c, event)
					    : columns_read_culled(c, event);

		if (written < 0) {
			c->base.problem_at = DECODER_NO_PLACE;
			return written == -ENOMEM ? written : EVENT_DECODE_END;
		}
		c->culled_left -= !c->has_culled;
		c->has_culled = false;
		*ret_count += (size_t)written;
	}
	if (c->culled_left || c->has_culled)
		return EVENT_DECODE_MORE;
	columns_finish(c);
	return EVENT_DECODE_END;
}

static int columns_decode(struct event_decoder *decoder, struct event *items,
			  size_t max, size_t *ret_count)
{
	struct columns *c = columns_of(decoder);
	const struct column *codes = &c->columns[TRACE_COLUMN_CODES];
	size_t events_left = (size_t)(codes->end - codes->at);
	size_t count = 0;

	if (blocks_reserve(c, events_left < max ? events_left : max))
		return -ENOMEM;
	while (codes->at < codes->end && count + 2 <= max) {
		uint64_t floor = decoder->floor;
		int written = decode_event(c, &items[count]);

		if (__builtin_expect(written < 0, 0)) {
			/* None of it counts. */
			decoder->floor = floor;
			decoder->problem_at = decoder->decoded + 1;
			*ret_count = count;
			return written == -ENOMEM ? written : EVENT_DECODE_END;
		}
		decoder->decoded++;
		count += (size_t)written;
	}
	*ret_count = count;
	if (codes->at < codes->end)
		return EVENT_DECODE_MORE;
	return columns_decode_culled(c, items, max, ret_count);
}

const struct event_coding columns_coding = {
    .type = TRACE_CHUNK_COLUMNS,
    .name = "COLUMNS",
    .place = "event",
    .state_size = sizeof(struct columns),
    .start = columns_start,
    .move = columns_move,
    .decode = columns_decode,
    .done = columns_done,
};
