/* SPDX-License-Identifier: MIT */
/*
 * The column CULLED: allocations that the chunk has only in sums.  Its rows
 * come after the last event, one after another like events; their stacks build
 * on each other as those of events do.
 */
#include <errno.h>

#include "report/core/vec.h"
#include "report/event/event.h"
#include "report/input/columns.h"

#define PROBLEM_NUMBERS "the numbers of a row of CULLED cannot be"

static bool number(struct columns *c, uint64_t *ret)
{
	return column_number(c, TRACE_COLUMN_CULLED, ret);
}

/* Reads the addresses of @push frames behind those of all shapes.  Return: 0,
   -EPROTO or -ENOMEM. */
static int read_frames(struct columns *c, uint64_t push)
{
	const struct column *column = &c->columns[TRACE_COLUMN_CULLED];
	uint64_t *pc;

	if (push > TRACE_STACK_DEPTH_MAX)
		return columns_fail(c, event_problem_depth);
	if (push > (uint64_t)(column->end - column->at))
		return columns_fail(c, column_cut[TRACE_COLUMN_CULLED]);
	if (!vec_reserve(&c->pcs, c->pcs.count + push))
		return -ENOMEM;
	pc = c->pcs.items + c->pcs.count;
	for (uint64_t i = 0; i < push; i++, pc++) {
		uint64_t address;
		int error;

		if (!number(c, &address))
			return -EPROTO;
		if (address > c->addresses.count)
			return columns_fail(c, "a frame of it is not known");
		if (address) {
			*pc = c->addresses.items[address - 1];
			continue;
		}
		error = columns_read_address(c, TRACE_COLUMN_CULLED,
					     &c->culled_addr, pc);
		if (error)
			return error;
	}
	return 0;
}

/* Reads the stack of a row, first made at @tick.  Return: the same; *@ret is
   its node. */
static int read_stack(struct columns *c, bool truncated, uint64_t pop,
		      uint64_t push, uint64_t tick, uint32_t *ret)
{
	struct frames *frames = &c->base.frames;
	uint32_t depth;
	int error = decoder_pop(&c->base, pop, truncated);

	if (error)
		return error;
	depth = frames->depth + (uint32_t)push;
	if (depth > TRACE_STACK_DEPTH_MAX)
		return columns_fail(c, event_problem_depth);
	if (push > c->frames_left)
		return columns_fail(c, "the chunk pushes more frames than the limit");
	c->frames_left -= (uint32_t)push;
	if (frames_reserve(frames, depth) ||
	    interner_path(c->base.interner, c->pcs.items + c->pcs.count,
			  (uint32_t)push, tick, &frames->nodes[frames->depth]))
		return -ENOMEM;
	frames->depth = depth;
	*ret = frames->nodes[depth];
	return 0;
}

/* Return: whether there is such a time; *@ret is it. */
static bool time_of(const struct columns *c, uint64_t units, uint64_t *ret)
{
	uint64_t start = c->base.first_tick >> c->time_shift;
	uint64_t tick;

	if (__builtin_add_overflow(units, start, &units) ||
	    units > UINT64_MAX >> c->time_shift)
		return false;
	tick = units << c->time_shift;
	*ret = tick > c->base.first_tick ? tick : c->base.first_tick;
	return true;
}

/* Reads what follows the stack of a row.  Return: whether it can be. */
static bool read_sums(struct columns *c, struct event *times, struct event *sums)
{
	uint64_t first, span, shortest, more;

	if (!number(c, &sums->size) || !number(c, &sums->a) ||
	    !number(c, &sums->b) || !number(c, &sums->addr) ||
	    !number(c, &shortest) || !number(c, &more) || !number(c, &first) ||
	    !number(c, &span))
		return false;
	if ((sums->size | sums->a) >= TRACE_SIZE_LIMIT || !sums->b ||
	    sums->b > TRACE_CULLED_MAX || sums->addr > sums->b ||
	    __builtin_add_overflow(first, span, &span) ||
	    __builtin_add_overflow(shortest, more, &more) ||
	    more > UINT64_MAX >> c->time_shift ||
	    !time_of(c, first, &times->addr) || !time_of(c, span, &times->size)) {
		c->base.problem = PROBLEM_NUMBERS;
		return false;
	}
	times->a = shortest << c->time_shift;
	times->b = more << c->time_shift;
	return true;
}

static bool is_allocation(uint64_t tag)
{
	unsigned kind = tag & TRACE_EVENT_KIND_MASK;

	return !(tag & ~(uint64_t)(TRACE_EVENT_KIND_MASK |
				   TRACE_EVENT_TRUNCATED)) &&
	       kind >= TRACE_EVENT_MALLOC && kind <= TRACE_EVENT_NEW;
}

int columns_read_culled(struct columns *c, struct event *event)
{
	struct event *times = &event[0], *sums = &event[1];
	uint64_t tag, pop, push;
	bool truncated;
	int error;

	memset(event, 0, 2 * sizeof(*event));
	if (!number(c, &tag) || !number(c, &pop) || !number(c, &push))
		return -EPROTO;
	if (!is_allocation(tag))
		return columns_fail(c, event_problem_tag);
	truncated = tag & TRACE_EVENT_TRUNCATED;
	error = read_frames(c, push);
	if (error)
		return error;
	if (!read_sums(c, times, sums))
		return -EPROTO;
	error = read_stack(c, truncated, pop, push, times->addr, &sums->stack);
	if (error)
		return error;
	times->kind = EVENT_CULLED_TIMES;
	sums->kind = EVENT_CULLED;
	sums->call = event_alloc_call(tag & TRACE_EVENT_KIND_MASK);
	times->tick = sums->tick = decoder_tick(&c->base);
	c->base.culled += 2 * sums->b;
	return 2;
}

int columns_begin_culled(struct columns *c, struct event *event)
{
	uint64_t rows;

	memset(event, 0, sizeof(*event));
	event->kind = EVENT_CULLED_MOST;
	event->tick = decoder_tick(&c->base);
	frames_cut(&c->base.frames, 0); /* the rows build on nothing */
	if (!number(c, &rows) || !number(c, &event->size) ||
	    !number(c, &event->a))
		return -EPROTO;
	if (event->size >= TRACE_SIZE_LIMIT || event->a > TRACE_CULLED_MAX)
		return columns_fail(c, PROBLEM_NUMBERS);
	c->culled_left = rows;
	return 1;
}
