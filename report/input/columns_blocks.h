/* SPDX-License-Identifier: MIT */
/*
 * Which block an event of COLUMNS frees, which one it allocates.
 *
 * Layer: input.
 */
#ifndef REPORT_INPUT_COLUMNS_BLOCKS_H
#define REPORT_INPUT_COLUMNS_BLOCKS_H

#include "report/input/columns.h"

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

#endif /* REPORT_INPUT_COLUMNS_BLOCKS_H */
