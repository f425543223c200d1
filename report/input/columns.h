/* SPDX-License-Identifier: MIT */
/*
 * What the decoder of COLUMNS remembers, and reading a column.  For the files
 * of that decoder only.
 *
 * Reads are not checked one by one.  An event takes a few numbers at most from
 * any column before the column's end is looked at, and behind the last column
 * lies the slack of cursor.h: a number that goes beyond its column is read from
 * the payload, and refused then.
 *
 * Layer: input.
 */
#ifndef REPORT_INPUT_COLUMNS_H
#define REPORT_INPUT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "report/input/cursor.h"
#include "report/input/decoder.h"
#include "tracer/trace_format.h"

#define NO_SHAPE TRACE_SHAPES_MAX

enum { COLUMNS_KNOWN = TRACE_COLUMN_CULLED + 1 };

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
 * @culled_addr: the last address in CULLED
 * @culled_left: rows of CULLED that are not read
 * @has_culled: CULLED is there and not read
 * @last, @before: shapes of the two events before, NO_SHAPE for none
 * @successor: of @successors, what is predicted after these two
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
	struct column columns[COLUMNS_KNOWN];
	unsigned time_shift;
	uint64_t time;
	uint64_t block_end;
	uint64_t freed;
	uint64_t body_addr;
	uint64_t frame_addr;
	uint64_t culled_addr;
	uint64_t culled_left;
	bool has_culled;
	uint16_t *successor;
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

/* By column: what is wrong when it ends too soon. */
extern const char *const column_cut[COLUMNS_KNOWN];

/* Return: -EPROTO. */
static inline int columns_fail(struct columns *c, const char *problem)
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

/* Reads a shape that is new; *@ret is its number, NO_SHAPE for @c->extra.
   Return: 0, -EPROTO or -ENOMEM. */
int columns_read_shape(struct columns *c, uint32_t *ret);

/* Reads an address that comes for the first time from @column, as a difference
   to *@last.  Return: 0, -EPROTO or -ENOMEM. */
int columns_read_address(struct columns *c, enum trace_column column,
			 uint64_t *last, uint64_t *ret);

/* Reads the start of CULLED, after the last event; then @culled_left is set.
   Return: 1, an event written; -EPROTO. */
int columns_begin_culled(struct columns *c, struct event *event);

/* Reads a row of CULLED.  Return: 2, events written; -EPROTO or -ENOMEM. */
int columns_read_culled(struct columns *c, struct event *event);

#endif /* REPORT_INPUT_COLUMNS_H */
