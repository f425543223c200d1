/* SPDX-License-Identifier: MIT */
/*
 * Reading shapes that are new: rare beside those that are repeated.  What the
 * file chooses the number of, their frames, is compared with what the column
 * holds before any is read.
 */
#include <errno.h>

#include "report/core/vec.h"
#include "report/input/columns.h"

int columns_read_address(struct columns *c, enum trace_column column,
			 uint64_t *last, uint64_t *ret)
{
	uint64_t delta, *address;

	if (!column_signed(c, column, &delta))
		return -EPROTO;
	*last += delta;
	*ret = *last;
	if (c->addresses.count == TRACE_ADDRESSES_MAX)
		return 0;
	address = vec_push(&c->addresses);
	if (!address)
		return -ENOMEM;
	*address = *last;
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
		return columns_fail(c, event_problem_depth);
	if (push > (uint64_t)(column->end - column->at) / sizeof(uint16_t))
		return columns_fail(c, column_cut[TRACE_COLUMN_FRAMES]);
	if (!vec_reserve(&c->pcs, c->pcs.count + push))
		return -ENOMEM;
	pc = &c->pcs.items[c->pcs.count];
	for (uint64_t i = 0; i < push; i++, pc++) {
		uint32_t number = column_u16(c, TRACE_COLUMN_FRAMES);
		int error;

		if (number > c->addresses.count)
			return columns_fail(c, "a frame of it is not known");
		if (number) {
			*pc = c->addresses.items[number - 1];
			continue;
		}
		error = columns_read_address(c, TRACE_COLUMN_ADDRESSES,
					     &c->frame_addr, pc);
		if (error)
			return error;
	}
	return 0;
}

int columns_read_shape(struct columns *c, uint32_t *ret)
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
		return columns_fail(c, event_problem_tag);
	if (pop > TRACE_STACK_DEPTH_MAX)
		return columns_fail(c, event_problem_pop);
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
