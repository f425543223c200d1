/* SPDX-License-Identifier: MIT */
/*
 * The coding in columns, COLUMNS.  An event reads from a few of twelve columns
 * and what it reads there stands for what its call site did last, so most of
 * the work is looking up: the shape that follows two others, the nodes of a
 * shape's frames under a caller (struct intern_path), the newest free block of
 * a class.
 *
 * Reads are not checked one by one.  An event takes a few numbers at most from
 * any column before the column's end is looked at, and behind the last column
 * lies the slack of cursor.h: a number that goes beyond its column is read from
 * the payload, and refused then.  Only what the file chooses the number of,
 * frames of a new shape, is checked first.
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
#include "report/input/cursor.h"
#include "report/input/decoder.h"
#include "tracer/trace_format.h"

#define NO_SHAPE TRACE_SHAPES_MAX

struct column {
	const uint8_t *at;
	const uint8_t *end;
};

/**
 * struct shape - what one call site does again and again
 * @size:     of the block that its last event made
 * @distance: of the block that its last event freed, 0 not of this chunk
 * @first:    its frames are pcs[first … first + push - 1]
 */
struct shape {
	uint64_t size;
	uint32_t distance;
	uint32_t first;
	uint32_t pop;
	uint32_t push;
	uint8_t tag;
};

/* The newest free blocks of a class: their addresses are in free_rings[@ring]
   at @newest and, older ones, below it, modulo TRACE_CLASS_BLOCKS.  @ring is 0
   until there was one. */
struct free_class {
	uint16_t ring;
	uint8_t newest;
	uint8_t count;
};

struct free_ring {
	uint64_t addrs[TRACE_CLASS_BLOCKS];
};

/**
 * struct columns - the decoder; all state but the memory is of one payload
 * @columns:    what is left of them
 * @time:       of the last event, in units of 2^@time_shift ticks
 * @block_end:  address behind the last allocation
 * @freed:      the last address in FREED
 * @body_addr:  the last address in BODIES
 * @frame_addr: the last address in ADDRESSES
 * @last, @before: shapes of the two events before, NO_SHAPE for none
 * @serial:     of the payload, for the interner
 * @frames_left: how many frames its events may still push
 * @shapes:     by number
 * @extra:      a shape without a number, for one event
 * @pcs:        frames of all shapes
 * @addresses:  frames by number, the first is 1
 * @block_addrs, @block_classes: of @block_count blocks, the first is 1; owned
 * @rings:      of @classes, the first is 1
 */
struct columns {
	struct event_decoder base;
	struct column columns[TRACE_COLUMN_COUNT];
	unsigned time_shift;
	uint64_t time;
	uint64_t block_end;
	uint64_t freed;
	uint64_t body_addr;
	uint64_t frame_addr;
	uint32_t last;
	uint32_t before;
	uint32_t serial;
	uint32_t frames_left;
	struct {
		struct shape *items;
		size_t count, capacity;
	} shapes;
	struct shape extra;
	struct {
		uint64_t *items;
		size_t count, capacity;
	} pcs;
	struct {
		uint64_t *items;
		size_t count, capacity;
	} addresses;
	struct {
		struct free_ring *items;
		size_t count, capacity;
	} rings;
	uint64_t *block_addrs;
	uint16_t *block_classes;
	uint32_t block_count;
	uint32_t block_capacity;
	uint16_t successors[TRACE_SUCCESSORS];
	uint64_t slacks[TRACE_SLACKS];
	struct free_class classes[TRACE_CLASSES];
};

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
	X(BODIES)

#define CUT(name) [TRACE_COLUMN_##name] = "the column " #name " ends too soon",
#define REST(name)                                                             \
	[TRACE_COLUMN_##name] = "the column " #name                            \
				" holds more than its events use",

static const char *const column_cut[] = {EACH_COLUMN(CUT)};
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

		if (i < TRACE_COLUMN_COUNT) {
			c->columns[i].at = decoder->data + sum;
			c->columns[i].end = decoder->data + sum + len;
		}
		sum += len;
	}
	if (sum != cursor.left)
		return "the lengths of its columns do not add up to its own";
	for (size_t i = 0; i < TRACE_COLUMN_COUNT; i++) {
		c->columns[i].at += cursor.at - decoder->data;
		c->columns[i].end += cursor.at - decoder->data;
	}
	return NULL;
}

static int columns_start(struct event_decoder *decoder)
{
	struct columns *c = columns_of(decoder);

	decoder->problem = columns_split(c);
	if (decoder->problem)
		return 0;
	c->serial = interner_serial(decoder->interner);
	if (!c->serial)
		return -ENOMEM;
	c->time = decoder->first_tick >> c->time_shift;
	c->block_end = 0;
	c->freed = 0;
	c->body_addr = 0;
	c->frame_addr = 0;
	c->last = c->before = NO_SHAPE;
	c->frames_left = TRACE_FRAMES_MAX;
	c->shapes.count = 0;
	c->pcs.count = 0;
	c->addresses.count = 0;
	c->rings.count = 1;
	c->block_count = 0;
	memset(c->successors, 0, sizeof(c->successors));
	memset(c->slacks, 0, sizeof(c->slacks));
	memset(c->classes, 0, sizeof(c->classes));
	return 0;
}

static void columns_move(struct event_decoder *decoder, const uint8_t *before)
{
	struct columns *c = columns_of(decoder);

	for (size_t i = 0; i < TRACE_COLUMN_COUNT; i++) {
		struct column *column = &c->columns[i];

		column->at = decoder->data + (column->at - before);
		column->end = decoder->data + (column->end - before);
	}
}

static void columns_finish(struct columns *c)
{
	for (size_t i = 0; i < TRACE_COLUMN_COUNT; i++)
		if (c->columns[i].at != c->columns[i].end) {
			c->base.problem = column_rest[i];
			return;
		}
}

/* --- reading ------------------------------------------------------------- */

static inline int fail(struct columns *c, const char *problem)
{
	return decoder_fail(&c->base, problem);
}

/* Return: whether the column's end was not passed; else the problem is set. */
static inline bool column_check(struct columns *c, enum trace_column which)
{
	if (__builtin_expect(c->columns[which].at <= c->columns[which].end, 1))
		return true;
	c->base.problem = column_cut[which];
	return false;
}

/* Return: as column_check(). */
static inline bool column_number(struct columns *c, enum trace_column which,
				 uint64_t *ret)
{
	*ret = varint_read(&c->columns[which].at, c->columns[which].end);
	return column_check(c, which);
}

static inline bool column_signed(struct columns *c, enum trace_column which,
				 uint64_t *ret)
{
	*ret = svarint_read(&c->columns[which].at, c->columns[which].end);
	return column_check(c, which);
}

/* Return: two bytes; the column's end must be checked. */
static inline uint32_t column_u16(struct columns *c, enum trace_column which)
{
	uint16_t value;

	memcpy(&value, c->columns[which].at, sizeof(value));
	c->columns[which].at += sizeof(value);
	return value;
}

/* --- shapes -------------------------------------------------------------- */

/* Reads an address that comes for the first time.  Return: 0, -EPROTO or
   -ENOMEM. */
static int address_read(struct columns *c, uint64_t *ret)
{
	uint64_t delta, *address;

	if (!column_signed(c, TRACE_COLUMN_ADDRESSES, &delta))
		return -EPROTO;
	c->frame_addr += delta;
	*ret = c->frame_addr;
	if (c->addresses.count == TRACE_ADDRESSES_MAX)
		return 0;
	address = vec_push(&c->addresses);
	if (!address)
		return -ENOMEM;
	*address = c->frame_addr;
	return 0;
}

/* Reads the frames of a new shape behind those of the others.  Return: 0,
   -EPROTO or -ENOMEM. */
static int frames_read(struct columns *c, uint64_t push)
{
	const struct column *column = &c->columns[TRACE_COLUMN_FRAMES];
	uint64_t *pc;

	if (!push)
		return 0;
	if (push > TRACE_STACK_DEPTH_MAX)
		return fail(c, event_problem_depth);
	if (push > (uint64_t)(column->end - column->at) / sizeof(uint16_t))
		return fail(c, column_cut[TRACE_COLUMN_FRAMES]);
	if (!vec_reserve(&c->pcs, c->pcs.count + push))
		return -ENOMEM;
	pc = &c->pcs.items[c->pcs.count];
	for (uint64_t i = 0; i < push; i++, pc++) {
		uint32_t number = column_u16(c, TRACE_COLUMN_FRAMES);
		int error;

		if (number > c->addresses.count)
			return fail(c, "a frame of it is not known");
		if (number) {
			*pc = c->addresses.items[number - 1];
			continue;
		}
		error = address_read(c, pc);
		if (error)
			return error;
	}
	return 0;
}

/* Reads a new shape; *@ret is its number.  Return: 0, -EPROTO or -ENOMEM. */
static __attribute__((noinline)) int shape_read(struct columns *c,
						uint32_t *ret)
{
	unsigned tag = *c->columns[TRACE_COLUMN_NEW_SHAPES].at++;
	struct shape shape = { .first = (uint32_t)c->pcs.count,
			       .tag = (uint8_t)tag };
	uint64_t pop, push;
	struct shape *item;
	int error;

	if (!column_number(c, TRACE_COLUMN_NEW_SHAPES, &pop) ||
	    !column_number(c, TRACE_COLUMN_NEW_SHAPES, &push))
		return -EPROTO;
	if (!event_tag_is_known(tag))
		return fail(c, event_problem_tag);
	if (pop > TRACE_STACK_DEPTH_MAX)
		return fail(c, event_problem_pop);
	error = frames_read(c, push);
	if (error)
		return error;
	shape.pop = (uint32_t)pop;
	shape.push = (uint32_t)push;
	if (c->shapes.count == TRACE_SHAPES_MAX) {
		/* For this event only: so are its frames. */
		c->extra = shape;
		*ret = NO_SHAPE;
		return 0;
	}
	item = vec_push(&c->shapes);
	if (!item)
		return -ENOMEM;
	*item = shape;
	*ret = (uint32_t)(c->shapes.count - 1);
	c->pcs.count += shape.push;
	return 0;
}

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
		return shape_read(c, ret);
	default:
		return fail(c, "its code is not known");
	}
}

/* The next event's shape by @code; *@ret is its number.  Return: as
   shape_other(). */
static inline int shape_next(struct columns *c, unsigned code, uint32_t *ret)
{
	uint16_t *successor =
	    &c->successors[(c->last * UINT32_C(0x9e3779b1) +
			    c->before * UINT32_C(0x85ebca6b)) >>
			   18];
	unsigned how = code & TRACE_CODE_SHAPE_MASK;
	uint32_t number = *successor;

	if (how != TRACE_CODE_SHAPE_PREDICTED) {
		int error = shape_other(c, how, &number);

		if (__builtin_expect(error, 0))
			return error;
		*successor = (uint16_t)number;
	}
	if (__builtin_expect(number >= c->shapes.count, 0) &&
	    how != TRACE_CODE_SHAPE_NEW)
		return fail(c, "its shape is not known");
	c->before = c->last;
	c->last = number;
	*ret = number;
	return 0;
}

/* Writes the nodes of @shape's frames under @nodes[0] behind it. */
static __attribute__((noinline)) int
shape_intern(struct columns *c, const struct shape *shape, uint32_t *nodes)
{
	const struct event_decoder *decoder = &c->base;
	const uint64_t *pcs = c->pcs.items + shape->first;
	uint32_t hash = nodes[0];

	for (uint32_t i = 0; i < shape->push; i++) {
		hash = frame_hash(hash, pcs[i]);
		nodes[i + 1] =
		    interner_node(decoder->interner, hash, nodes[i], pcs[i],
				  decoder->epoch, decoder->tick);
		if (__builtin_expect(nodes[i + 1] == STACKS_NONE, 0))
			return -ENOMEM;
	}
	return 0;
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
		return fail(c, event_problem_depth);
	if (__builtin_expect(push > c->frames_left, 0))
		return fail(c, "the chunk pushes more frames than the limit");
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
	path = &decoder->interner->paths[hash >> (64 - INTERN_PATHS_BITS)];
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

/* --- blocks -------------------------------------------------------------- */

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

/* Adds a block to @class, whose ring there is. */
static inline void class_put(struct columns *c, unsigned class, uint64_t addr)
{
	struct free_class *blocks = &c->classes[class];
	unsigned newest = (blocks->newest + 1u) % TRACE_CLASS_BLOCKS;

	c->rings.items[blocks->ring].addrs[newest] = addr;
	blocks->newest = (uint8_t)newest;
	blocks->count += blocks->count < TRACE_CLASS_BLOCKS;
}

/* Takes the newest free block of @class but @newer ones, which it has. */
static inline uint64_t class_take(struct columns *c, unsigned class,
				  unsigned newer)
{
	struct free_class *blocks = &c->classes[class];
	uint64_t *addrs = c->rings.items[blocks->ring].addrs;
	unsigned at = blocks->newest + TRACE_CLASS_BLOCKS - newer;
	uint64_t addr = addrs[at % TRACE_CLASS_BLOCKS];

	for (; newer; newer--, at++)
		addrs[at % TRACE_CLASS_BLOCKS] =
		    addrs[(at + 1) % TRACE_CLASS_BLOCKS];
	blocks->newest = (uint8_t)((blocks->newest - 1u) % TRACE_CLASS_BLOCKS);
	blocks->count--;
	return addr;
}

/* The block that an event frees.  @stays: it is not free afterwards.  Return:
   whether *@ret is it; else the problem is set. */
static inline bool block_free(struct columns *c, unsigned code,
			      struct shape *shape, bool stays, uint64_t *ret)
{
	uint64_t distance = shape->distance;

	if (code & TRACE_CODE_DISTANCE) {
		if (!column_number(c, TRACE_COLUMN_DISTANCES, &distance))
			return false;
		if (distance > c->block_count) {
			c->base.problem = "it frees a block that is not known";
			return false;
		}
		shape->distance = (uint32_t)distance;
	}
	if (distance) {
		uint32_t at = c->block_count - (uint32_t)distance;

		*ret = c->block_addrs[at];
		if (!stays)
			class_put(c, c->block_classes[at], *ret);
	} else {
		uint64_t delta;

		if (!column_signed(c, TRACE_COLUMN_FREED, &delta))
			return false;
		c->freed += delta;
		*ret = c->freed;
	}
	return true;
}

/* Reads where a block of @class lies.  Return: as block_free(). */
static inline bool block_place(struct columns *c, unsigned code, unsigned class,
			       uint64_t *ret)
{
	uint64_t number = 0;

	switch (code & TRACE_CODE_BLOCK_MASK) {
	case TRACE_CODE_BLOCK_BEHIND:
		*ret = c->block_end;
		return true;
	case TRACE_CODE_BLOCK_SPELLED:
		if (!column_signed(c, TRACE_COLUMN_BLOCKS, &number))
			return false;
		*ret = c->block_end + number;
		return true;
	case TRACE_CODE_BLOCK_OLDER:
		if (!column_number(c, TRACE_COLUMN_BLOCKS, &number))
			return false;
		break;
	default:
		break;
	}
	if (__builtin_expect(number >= c->classes[class].count, 0)) {
		c->base.problem = "there is no such free block of its class";
		return false;
	}
	*ret = class_take(c, class, (unsigned)number);
	return true;
}

/* Reads size and slack.  Return: as block_free(). */
static inline bool block_extent(struct columns *c, unsigned code,
				struct shape *shape, uint64_t *ret_size,
				uint64_t *ret_slack)
{
	uint64_t *last_slack;
	uint64_t size = shape->size, slack;

	if (code & TRACE_CODE_SIZE) {
		if (!column_number(c, TRACE_COLUMN_SIZES, &size))
			return false;
		shape->size = size;
	}
	last_slack = &c->slacks[size * UINT64_C(0x9e3779b97f4a7c15) >> 52];
	slack = *last_slack;
	if (code & TRACE_CODE_SLACK) {
		if (!column_number(c, TRACE_COLUMN_SLACKS, &slack))
			return false;
		*last_slack = slack;
	}
	if (__builtin_expect((size | slack) >= TRACE_SIZE_LIMIT, 0)) {
		c->base.problem = event_problem_size;
		return false;
	}
	*ret_size = size;
	*ret_slack = slack;
	return true;
}

/* The block that an event allocates; @stays: where @event->addr says.  Return:
   as block_free(). */
static inline bool block_alloc(struct columns *c, unsigned code,
			       struct shape *shape, bool stays,
			       struct event *event)
{
	uint64_t size, slack, addr = event->addr;
	unsigned class;

	if (!block_extent(c, code, shape, &size, &slack))
		return false;
	class = (size + slack) >> 4 & (TRACE_CLASSES - 1);
	if (!stays && !block_place(c, code, class, &addr))
		return false;
	c->block_end = addr + size + slack + TRACE_BLOCK_OVERHEAD;
	c->block_addrs[c->block_count] = addr;
	c->block_classes[c->block_count] = (uint16_t)class;
	c->block_count++;
	if (__builtin_expect(!c->classes[class].ring, 0))
		c->classes[class].ring = (uint16_t)c->rings.count++;
	event->kind = EVENT_ALLOC;
	event->addr = addr;
	event->size = size;
	event->a = slack;
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

static int columns_decode(struct event_decoder *decoder, struct event *items,
			  size_t max, size_t *ret_count)
{
	struct columns *c = columns_of(decoder);
	const struct column *codes = &c->columns[TRACE_COLUMN_CODES];
	size_t count = 0;

	if (blocks_reserve(c, max))
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
	columns_finish(c);
	return EVENT_DECODE_END;
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
