/* SPDX-License-Identifier: MIT */
/*
 * The sums of what was left out.  Rows are in the order of their first
 * allocation: the stacks of neighbours have most of their frames in common,
 * and together they push no more frames than the events did.
 */
#include "tracer/cull_state.h"

#include <string.h>

unsigned cull_clear_index(uint32_t *index, size_t count)
{
	unsigned bits = CULL_INDEX_BITS_MIN;

	while ((size_t)1 << bits <= 2 * count)
		bits++;
	memset(index, 0, sizeof(*index) << bits);
	return bits;
}

void cull_rows_begin(struct cull *c, size_t words)
{
	c->culled = 0;
	c->node_bits = cull_clear_index(c->node_index, words);
	c->row_bits = cull_clear_index(c->row_index, words / 3);
	c->node_count = 0;
	c->row_count = 0;
}

/* Return: the node of @pc under @parent. */
static uint32_t get_node(struct cull *c, uint32_t parent, uint64_t pc)
{
	uint32_t i = cull_hash(pc ^ (uint64_t)parent << 40, c->node_bits);
	struct cull_node *node;
	uint32_t number;

	for (; (number = c->node_index[i]); i = cull_after(i, c->node_bits))
		if (c->nodes[number].pc == pc &&
		    c->nodes[number].parent == parent)
			return number;
	number = ++c->node_count;
	c->node_index[i] = number;
	node = &c->nodes[number];
	node->pc = pc;
	node->parent = parent;
	node->depth = c->nodes[parent].depth + 1;
	return number;
}

/* Return: the node of the first @depth frames of the stack. */
static uint32_t get_stack(struct cull *c, uint32_t depth)
{
	uint32_t node = c->known ? c->nodes_of[c->known - 1] : 0;

	for (; c->known < depth; c->known++)
		node = c->nodes_of[c->known] =
		    get_node(c, node, c->pcs[c->known]);
	return depth ? c->nodes_of[depth - 1] : 0;
}

/* Return: the row of allocations like @key. */
static struct cull_row *get_row(struct cull *c, const struct cull_row *key)
{
	uint64_t hash = key->node | (uint64_t)key->tag << 32;
	struct cull_row *row;
	uint32_t i, number;

	hash = (hash * UINT64_C(0x85ebca6b9d1f3c35) ^ key->size) *
		   UINT64_C(0xc2b2ae3d27d4eb4f) ^
	       key->slack;
	for (i = cull_hash(hash, c->row_bits); (number = c->row_index[i]);
	     i = cull_after(i, c->row_bits)) {
		row = &c->rows[number - 1];
		if (row->node == key->node && row->tag == key->tag &&
		    row->size == key->size && row->slack == key->slack)
			return row;
	}
	c->row_index[i] = c->row_count + 1;
	row = &c->rows[c->row_count++];
	*row = *key;
	row->shortest = UINT64_MAX;
	row->first = UINT64_MAX;
	return row;
}

void cull_rows_add(struct cull *c, uint32_t event, const struct record *r,
		   uint32_t depth)
{
	const struct cull_event *made = &c->events[event];
	const struct cull_event *freed = &c->events[made->partner];
	uint64_t at = made->tick >> c->time_shift;
	uint64_t lived = (freed->tick >> c->time_shift) - at;
	struct cull_row key = {
		.node = get_stack(c, depth),
		.tag = (uint32_t)(r->head & (TRACE_RECORD_MAKER - 1)),
		.size = r->body[1] & (TRACE_SIZE_LIMIT - 1),
		.slack = r->body[1] >> TRACE_RECORD_SLACK_SHIFT,
	};
	struct cull_row *row;

	if (record_has_long_slack(r->body[1]))
		key.slack = r->body[2];
	row = get_row(c, &key);
	c->culled++;
	row->count++;
	row->temporary += made->partner == event + 1;
	row->shortest = lived < row->shortest ? lived : row->shortest;
	row->longest = lived > row->longest ? lived : row->longest;
	row->first = at < row->first ? at : row->first;
	row->last = at > row->last ? at : row->last;
}

/* Return: byte after the frames of @row that are not frames of the stack with
   @last, outermost first. */
static uint8_t *put_stack(struct cull *c, struct columns *columns, uint8_t *p,
			  uint32_t last, const struct cull_row *row,
			  uint64_t *last_addr)
{
	uint32_t node = row->node, push = 0, pop = 0;

	while (node != last) {
		if (c->nodes[node].depth >= c->nodes[last].depth) {
			c->path[push++] = node;
			node = c->nodes[node].parent;
		} else {
			last = c->nodes[last].parent;
			pop++;
		}
	}
	p = put_varint(p, pop);
	p = put_varint(p, push);
	while (push)
		p = columns_put_frame(columns, p,
				      c->nodes[c->path[--push]].pc, last_addr);
	return p;
}

size_t cull_rows_end(struct cull *c, struct columns *columns,
		     const struct cull_stream *stream, uint64_t first_tick)
{
	uint64_t start = first_tick >> c->time_shift, last_addr = 0;
	uint32_t last = 0;
	uint8_t *p = c->bytes;

	p = put_varint(p, c->row_count);
	p = put_varint(p, stream->most);
	p = put_varint(p, stream->most_blocks);
	for (uint32_t i = 0; i < c->row_count; i++) {
		const struct cull_row *row = &c->rows[i];

		p = put_varint(p, row->tag);
		p = put_stack(c, columns, p, last, row, &last_addr);
		p = put_varint(p, row->size);
		p = put_varint(p, row->slack);
		p = put_varint(p, row->count);
		p = put_varint(p, row->temporary);
		p = put_varint(p, row->shortest);
		p = put_varint(p, row->longest - row->shortest);
		p = put_varint(p, row->first - start);
		p = put_varint(p, row->last - row->first);
		last = row->node;
	}
	return (size_t)(p - c->bytes);
}
