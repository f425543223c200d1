/* SPDX-License-Identifier: MIT */
#include "tracer/plain.h"

#include <string.h>

#include "tracer/columns_record.h"
#include "tracer/encode.h"

enum {
	TAG_MASK = 0x7f,
	SLACK_MASK = (1 << (64 - TRACE_RECORD_SLACK_SHIFT)) - 1,
};

/* What the body of a kind holds: an address, a number, a signed number, an
   extent, the ticks of a realloc. */
static const char bodies[TRACE_EVENT_KIND_MASK + 1][8] = {
    [TRACE_EVENT_MALLOC] = "ae",     [TRACE_EVENT_CALLOC] = "ae",
    [TRACE_EVENT_MEMALIGN] = "aen",  [TRACE_EVENT_NEW] = "ae",
    [TRACE_EVENT_FREE] = "a",	     [TRACE_EVENT_DELETE] = "a",
    [TRACE_EVENT_REALLOC] = "aaet",  [TRACE_EVENT_MMAP] = "annnsn",
    [TRACE_EVENT_MUNMAP] = "an",     [TRACE_EVENT_MREMAP] = "anann",
    [TRACE_EVENT_MALLOPT] = "sss",   [TRACE_EVENT_RSS] = "n",
    [TRACE_EVENT_LOST] = "nn",
};

/**
 * struct coder - where the coding is
 * @p:     the next byte; every word that was read made at most 11 of them
 * @addr:  the last address
 * @depth: frames of the stack
 */
struct coder {
	struct plain *plain;
	uint8_t *p;
	uint64_t addr;
	uint32_t depth;
};

static void put_addr(struct coder *c, uint64_t addr)
{
	c->p = put_svarint(c->p, (int64_t)(addr - c->addr));
	c->addr = addr;
}

/* Return: the word after it. */
static const uint64_t *put_extent(struct coder *c, const uint64_t *word)
{
	uint64_t slack = *word >> TRACE_RECORD_SLACK_SHIFT & SLACK_MASK;

	c->p = put_varint(c->p, *word & (TRACE_SIZE_LIMIT - 1));
	if (record_has_long_slack(*word++))
		slack = *word++;
	c->p = put_varint(c->p, slack);
	return word;
}

static void put_body(struct coder *c, const struct record *r)
{
	const char *part = bodies[r->head & TRACE_EVENT_KIND_MASK];
	const uint64_t *word = r->body;

	/* Last in the record, first in the other coding. */
	if (strchr(part, 't'))
		c->p = put_varint(c->p, r->frames[-1]);
	for (; *part; part++) {
		if (*part == 'e')
			word = put_extent(c, word);
		else if (*part == 'a')
			put_addr(c, *word++);
		else if (*part == 's')
			c->p = put_svarint(c->p, (int64_t)*word++);
		else if (*part == 'n')
			c->p = put_varint(c->p, *word++);
	}
}

static bool has_stack(uint64_t tag)
{
	unsigned kind = tag & TRACE_EVENT_KIND_MASK;

	return !(tag & TRACE_EVENT_NO_STACK) && kind != TRACE_EVENT_RSS &&
	       kind != TRACE_EVENT_LOST;
}

/* Return: whether the record's stack fits that of the one before, and is the
   present one now. */
static bool take_stack(struct coder *c, const struct record *r)
{
	if (!has_stack(r->head))
		return !r->pop && !r->push;
	if (r->pop > c->depth ||
	    r->push > PLAIN_DEPTH_MAX - (c->depth - r->pop))
		return false;
	c->depth -= r->pop;
	memcpy(c->plain->stack + c->depth, r->frames,
	       r->push * sizeof(*r->frames));
	c->depth += r->push;
	return true;
}

/* @pop, @push: of the stack, the latter its innermost frames. */
static void put_record(struct coder *c, const struct record *r, uint32_t pop,
		       uint32_t push)
{
	uint64_t *frame = c->plain->stack + (c->depth - push);
	uint64_t last = c->depth > push ? frame[-1] : 0;

	*c->p++ = r->head & TAG_MASK;
	c->p = put_varint(c->p, r->ticks);
	if (has_stack(r->head)) {
		c->p = put_varint(c->p, pop);
		c->p = put_varint(c->p, push);
		for (; push; push--) {
			c->p = put_svarint(c->p, (int64_t)(*frame - last));
			last = *frame++;
		}
	}
	put_body(c, r);
}

static uint64_t get_ticks(const struct record *r)
{
	unsigned kind = r->head & TRACE_EVENT_KIND_MASK;

	return r->ticks + (kind == TRACE_EVENT_REALLOC ? r->frames[-1] : 0);
}

/*
 * What comes before @input->from is not coded, so the first event that is, and
 * has a stack, brings all of it.
 */
void plain_code(struct plain *plain, const struct columns_input *input,
		struct plain_output *ret)
{
	struct coder c = {.plain = plain, .p = plain->bytes};
	const uint64_t *end = input->words + input->len;
	const uint64_t *from = input->words + input->from;
	uint64_t tick = input->first_tick;
	bool is_whole = input->from > 0;

	*ret = (struct plain_output){.first_tick = tick};
	for (const uint64_t *next, *word = input->words; word < end;
	     word = next) {
		struct record r;

		next = record_read(word, &r);
		if (!record_is_whole(&r, next, end) || !take_stack(&c, &r))
			break;
		tick += get_ticks(&r);
		if (word < from) {
			ret->first_tick = tick;
			continue;
		}
		if (is_whole && has_stack(r.head)) {
			put_record(&c, &r, 0, c.depth);
			is_whole = false;
		} else {
			put_record(&c, &r, r.pop, r.push);
		}
		ret->event_count++;
	}
	ret->last_tick = ret->event_count ? tick : ret->first_tick;
	ret->len = (size_t)(c.p - plain->bytes);
}
