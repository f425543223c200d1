/* SPDX-License-Identifier: MIT */
#include "tracer/columns.h"

#include "tracer/columns_record.h"
#include "tracer/columns_state.h"

/* Bytes that a column may take for a chunk of the largest size. */
#define PER_EVENT(bytes) ((size_t)COLUMNS_EVENTS_MAX * (bytes))
#define PER_WORD(bytes) ((size_t)COLUMNS_WORDS_MAX * (bytes))

static const size_t column_caps[TRACE_COLUMN_COUNT] = {
    [TRACE_COLUMN_CODES] = PER_EVENT(1),
    [TRACE_COLUMN_SHAPES] = PER_EVENT(2),
    [TRACE_COLUMN_NEW_SHAPES] = PER_EVENT(1 + 5 + 3),
    [TRACE_COLUMN_FRAMES] = PER_WORD(2),
    [TRACE_COLUMN_ADDRESSES] = PER_WORD(ENCODE_VARINT_MAX),
    [TRACE_COLUMN_SIZES] = PER_EVENT(ENCODE_VARINT_MAX),
    [TRACE_COLUMN_SLACKS] = PER_EVENT(ENCODE_VARINT_MAX),
    [TRACE_COLUMN_BLOCKS] = PER_EVENT(ENCODE_VARINT_MAX),
    [TRACE_COLUMN_DISTANCES] = PER_EVENT(3),
    [TRACE_COLUMN_FREED] = PER_EVENT(ENCODE_VARINT_MAX),
    [TRACE_COLUMN_TIMES] = PER_EVENT(ENCODE_VARINT_MAX),
    [TRACE_COLUMN_BODIES] = PER_WORD(ENCODE_VARINT_MAX),
};

uint32_t columns_count(const struct columns_input *input)
{
	const uint64_t *word = input->words, *end = word + input->len;
	uint32_t count = 0;

	while (word < end) {
		const uint64_t *next;
		struct record r;

		next = record_read(word, &r);
		if (!record_is_whole(&r, next, end))
			break;
		count += word >= input->words + input->from;
		word = next;
	}
	return count;
}

size_t columns_bytes(void)
{
	size_t bytes = sizeof(struct columns);

	for (int i = 0; i < TRACE_COLUMN_COUNT; i++)
		bytes += column_caps[i];
	return bytes;
}

/* Where the column begins.  Safety: pure. */
static uint8_t *column_start(struct columns *c, int column)
{
	uint8_t *p = c->bytes;

	for (int i = 0; i < column; i++)
		p += column_caps[i];
	return p;
}

/*
 * A chunk is much like the one before, so its indexes begin as large as those
 * became.  Safety: pure.
 */
static unsigned first_bits(unsigned bits, uint32_t count)
{
	while (bits > INDEX_BITS_MIN && !is_crowded(count, bits - 1))
		bits--;
	return bits > INDEX_BITS_MIN ? bits : INDEX_BITS_MIN;
}

void columns_begin(struct columns *c, unsigned time_shift)
{
	unsigned shape_bits = first_bits(c->shape_bits, c->shape_count);
	unsigned block_bits = first_bits(c->block_bits, c->place_count);
	unsigned address_bits = first_bits(c->address_bits, c->address_count);

	memset(c, 0, offsetof(struct columns, shape_index));
	c->shape_bits = shape_bits;
	c->block_bits = block_bits;
	c->address_bits = address_bits;
	memset(c->shape_index, 0, index_bytes(shape_bits));
	memset(c->block_index, 0, index_bytes(block_bits));
	memset(c->address_index, 0, index_bytes(address_bits));
	c->time_shift = time_shift;
	c->last = TRACE_SHAPES_MAX;
	c->before = TRACE_SHAPES_MAX;
	for (int i = 0; i < TRACE_COLUMN_COUNT; i++)
		c->cursors[i] = column_start(c, i);
}

/* Safety: pure.  All of a shape but its frames. */
static inline uint64_t key_of(const struct record *r)
{
	return (uint8_t)r->head | (uint64_t)r->push << 8 |
	       (uint64_t)r->pop << 32;
}

/* Two frames. */
typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));

/* Safety: pure.  Whether a shape is that of a record with @key. */
static inline bool is_shape(const struct shape *shape, const struct record *r,
			    uint64_t key)
{
	const uint64_t *a = shape->frames, *b = r->frames;
	size_t n = r->push, odd = n % 2;
	pair wrong = {0};

	if (shape->key != key)
		return false;
	if (odd)
		wrong[0] = *a ^ *b;
	for (size_t i = odd; i < n; i += 2)
		wrong |= *(const pair *)(a + i) ^ *(const pair *)(b + i);
	return !(wrong[0] | wrong[1]);
}

/* Safety: pure. */
static inline uint32_t hash_record(const struct record *r, uint64_t key)
{
	uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15);

	for (uint32_t i = 0; i < r->push; i++)
		hash = (hash ^ hash >> 29 ^ r->frames[i]) *
		       UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(hash >> 32);
}

/* Safety: see columns.h.  Where the number of a frame is, or would be. */
static inline uint16_t *find_address(struct columns *c, uint64_t addr)
{
	uint32_t i = columns_hash(addr, c->address_bits);
	uint32_t mask = (1u << c->address_bits) - 1;
	uint32_t number;

	while ((number = c->address_index[i]) != INDEX_NONE &&
	       c->addresses[number] != addr)
		i = (i + 1) & mask;
	return &c->address_index[i];
}

/* Safety: as above. */
static COLD void grow_addresses(struct columns *c)
{
	memset(c->address_index, 0, index_bytes(++c->address_bits));
	for (uint32_t i = 1; i <= c->address_count; i++)
		*find_address(c, c->addresses[i]) = (uint16_t)i;
}

/* Safety: as above.  Return: the number of @addr; 0: it was new, and has one now
   if there was one left. */
static inline uint32_t number_address(struct columns *c, uint64_t addr)
{
	uint16_t *place = find_address(c, addr);

	if (*place != INDEX_NONE)
		return *place;
	if (c->address_count == TRACE_ADDRESSES_MAX)
		return 0;
	c->addresses[++c->address_count] = addr;
	*place = (uint16_t)c->address_count;
	if (is_crowded(c->address_count, c->address_bits))
		grow_addresses(c);
	return 0;
}

/* Spells out a frame of a new shape.  Safety: as above. */
static void put_frame(struct columns *c, uint64_t addr)
{
	uint32_t number = number_address(c, addr);

	columns_u16(c, TRACE_COLUMN_FRAMES, number);
	if (number)
		return;
	columns_svarint(c, TRACE_COLUMN_ADDRESSES, addr - c->last_address);
	c->last_address = addr;
}

uint8_t *columns_put_frame(struct columns *c, uint8_t *p, uint64_t addr,
			   uint64_t *last_addr)
{
	uint32_t number = number_address(c, addr);

	p = put_varint(p, number);
	if (number)
		return p;
	p = put_svarint(p, (int64_t)(addr - *last_addr));
	*last_addr = addr;
	return p;
}

/* Safety: as above. */
static COLD void grow_shapes(struct columns *c)
{
	uint32_t mask;

	memset(c->shape_index, 0, index_bytes(++c->shape_bits));
	mask = (1u << c->shape_bits) - 1;
	for (uint32_t number = 0; number < c->shape_count; number++) {
		uint32_t i = c->shapes[number].hash & mask;

		while (c->shape_index[i])
			i = (i + 1) & mask;
		c->shape_index[i] = (uint16_t)(number + 1);
	}
}

/* Finds the record's shape by its content, or makes it.  Safety: as above.
   Return: code bits. */
static NOINLINE uint32_t name_shape(struct columns *c, const struct record *r,
				    uint64_t key, uint32_t *ret_number)
{
	uint32_t hash = hash_record(r, key);
	uint32_t mask = (1u << c->shape_bits) - 1;
	uint32_t i = hash & mask;
	uint32_t number;

	for (; (number = c->shape_index[i]); i = (i + 1) & mask) {
		const struct shape *shape = &c->shapes[number - 1];

		if (shape->hash != hash || !is_shape(shape, r, key))
			continue;
		columns_u16(c, TRACE_COLUMN_SHAPES, number - 1);
		*ret_number = number - 1;
		return TRACE_CODE_SHAPE_NAMED;
	}
	number = c->shape_count++;
	c->shape_index[i] = (uint16_t)(number + 1);
	c->shapes[number] = (struct shape){.frames = r->frames,
					   .hash = hash,
					   .key = key};
	if (is_crowded(c->shape_count, c->shape_bits))
		grow_shapes(c);
	columns_u8(c, TRACE_COLUMN_NEW_SHAPES, (uint8_t)r->head);
	columns_varint(c, TRACE_COLUMN_NEW_SHAPES, r->pop);
	columns_varint(c, TRACE_COLUMN_NEW_SHAPES, r->push);
	for (uint32_t j = 0; j < r->push; j++)
		put_frame(c, r->frames[j]);
	*ret_number = number;
	return TRACE_CODE_SHAPE_NEW;
}

/* Safety: as above.  Return: code bits. */
static inline uint32_t put_shape(struct columns *c, const struct record *r,
				 struct shape **ret_shape)
{
	uint16_t *successor = columns_successor(c);
	uint32_t number = *successor;
	uint32_t code = TRACE_CODE_SHAPE_PREDICTED;
	uint64_t key = key_of(r);

	if (UNLIKELY(number >= c->shape_count ||
		     !is_shape(&c->shapes[number], r, key)))
		code = name_shape(c, r, key, &number);
	*successor = (uint16_t)number;
	c->before = c->last;
	c->last = number;
	*ret_shape = &c->shapes[number];
	return code;
}

/* Safety: as above.  Where the number of the block at @addr is, or would be. */
static inline uint16_t *find_block(struct columns *c, uint64_t addr)
{
	uint32_t i = columns_hash(addr >> 4, c->block_bits);
	uint32_t mask = (1u << c->block_bits) - 1;
	uint32_t number;

	while ((number = c->block_index[i]) != INDEX_NONE &&
	       c->blocks[number].addr != addr)
		i = (i + 1) & mask;
	return &c->block_index[i];
}

/* Safety: as above.  Of blocks at one address the last one is found. */
static COLD void grow_blocks(struct columns *c)
{
	memset(c->block_index, 0, index_bytes(++c->block_bits));
	for (uint32_t i = 1; i <= c->block_count; i++)
		*find_block(c, c->blocks[i].addr) = (uint16_t)i;
}

/* Safety: as above.  The newest block is at @addr. */
static inline void enter_block(struct columns *c, uint64_t addr)
{
	uint16_t *place = find_block(c, addr);
	bool is_new = *place == INDEX_NONE;

	c->blocks[*place].gone = true; /* number 0 is none anyway */
	*place = (uint16_t)c->block_count;
	c->place_count += is_new;
	if (UNLIKELY(is_crowded(c->place_count, c->block_bits)))
		grow_blocks(c);
}

/* Safety: as above.  Whether @number is the newest block at @addr, and there. */
static inline bool is_block(const struct columns *c, uint32_t number,
			    uint64_t addr)
{
	return number - 1 < c->block_count && c->blocks[number].addr == addr &&
	       !c->blocks[number].gone;
}

/* Safety: as above.  Return: code bits. */
static inline uint32_t put_freed(struct columns *c, struct shape *shape,
				 uint64_t addr, bool in_place)
{
	uint32_t distance = shape->distance;
	uint32_t number = c->block_count + 1 - distance;
	uint32_t code = 0;

	if (!is_block(c, number, addr)) {
		number = *find_block(c, addr);
		distance = number ? c->block_count + 1 - number : 0;
	}
	if (distance != shape->distance) {
		columns_varint(c, TRACE_COLUMN_DISTANCES, distance);
		shape->distance = distance;
		code = TRACE_CODE_DISTANCE;
	}
	if (!distance) {
		columns_svarint(c, TRACE_COLUMN_FREED, addr - c->last_freed);
		c->last_freed = addr;
		return code;
	}
	c->blocks[number].gone = true;
	if (!in_place)
		columns_push_free(c, &c->blocks[number]);
	return code;
}

/* Safety: as above.  Return: code bits. */
static inline uint32_t put_place(struct columns *c, const struct block *block)
{
	int rank = columns_find_free(c, block->class, block->addr);

	if (rank >= 0) {
		columns_pop_free(c, block->class, (unsigned)rank);
		if (rank == 0)
			return TRACE_CODE_BLOCK_NEWEST;
		columns_varint(c, TRACE_COLUMN_BLOCKS, (unsigned)rank);
		return TRACE_CODE_BLOCK_OLDER;
	}
	if (block->addr == c->block_end)
		return TRACE_CODE_BLOCK_BEHIND;
	columns_svarint(c, TRACE_COLUMN_BLOCKS, block->addr - c->block_end);
	return TRACE_CODE_BLOCK_SPELLED;
}

/* Safety: as above.  @extent may be followed by a long slack.  Return: code
   bits. */
static inline uint32_t put_block(struct columns *c, struct shape *shape,
				 uint64_t addr, const uint64_t *extent,
				 bool in_place)
{
	uint64_t size = *extent & (TRACE_SIZE_LIMIT - 1);
	uint64_t slack = *extent >> TRACE_RECORD_SLACK_SHIFT;
	uint64_t *predicted = columns_slack(c, size);
	struct block *block = &c->blocks[++c->block_count];
	uint32_t code = 0;

	if (UNLIKELY(record_has_long_slack(*extent)))
		slack = extent[1];
	if (size != shape->size) {
		columns_varint(c, TRACE_COLUMN_SIZES, size);
		shape->size = size;
		code |= TRACE_CODE_SIZE;
	}
	if (UNLIKELY(slack != *predicted)) {
		columns_varint(c, TRACE_COLUMN_SLACKS, slack);
		*predicted = slack;
		code |= TRACE_CODE_SLACK;
	}
	block->addr = addr;
	block->gone = false;
	block->class = columns_class(size + slack);
	code |= in_place ? TRACE_CODE_IN_PLACE : put_place(c, block);
	c->block_end = addr + size + slack + TRACE_BLOCK_OVERHEAD;
	enter_block(c, addr);
	return code;
}

/* Safety: as above.  An address among the rare bodies. */
static void put_body_addr(struct columns *c, uint64_t addr)
{
	columns_svarint(c, TRACE_COLUMN_BODIES, addr - c->last_body);
	c->last_body = addr;
}

/* Safety: as above.  The body of an event that is no allocation or free. */
static COLD void put_rare(struct columns *c, unsigned kind,
			  const uint64_t *body)
{
	bool is_address[6] = {false};
	bool is_signed[6] = {false};

	is_address[0] = kind == TRACE_EVENT_MMAP || kind == TRACE_EVENT_MUNMAP ||
			kind == TRACE_EVENT_MREMAP;
	is_address[2] = kind == TRACE_EVENT_MREMAP;
	is_signed[4] = kind == TRACE_EVENT_MMAP;
	for (int i = 0; i < 3; i++)
		is_signed[i] = kind == TRACE_EVENT_MALLOPT;
	for (int i = 0; i < record_body_words[kind]; i++) {
		if (is_address[i])
			put_body_addr(c, body[i]);
		else if (is_signed[i])
			columns_svarint(c, TRACE_COLUMN_BODIES, body[i]);
		else
			columns_varint(c, TRACE_COLUMN_BODIES, body[i]);
	}
}

/* Safety: as above. */
static inline void put_time(struct columns *c, uint64_t tick)
{
	uint64_t t = tick >> c->time_shift;

	columns_varint(c, TRACE_COLUMN_TIMES, t - c->t);
	c->t = t;
}

/* Safety: as above.  A realloc returns @ticks after it was called. */
static inline void put_return(struct columns *c, uint64_t ticks)
{
	uint64_t t;

	c->tick += ticks;
	t = c->tick >> c->time_shift;
	columns_varint(c, TRACE_COLUMN_BODIES, t - c->t);
	c->t = t;
}

/* Safety: as above.  Everything but the shape.  Return: code bits. */
static inline uint32_t put_event(struct columns *c, const struct record *r,
				 struct shape *shape, const uint64_t *body_end)
{
	const uint64_t *body = r->body;
	unsigned kind = r->head & TRACE_EVENT_KIND_MASK;
	bool in_place;
	uint32_t code;

	put_time(c, c->tick);
	switch (kind) {
	case TRACE_EVENT_MALLOC:
	case TRACE_EVENT_CALLOC:
	case TRACE_EVENT_NEW:
		return put_block(c, shape, body[0], body + 1, false);
	case TRACE_EVENT_MEMALIGN:
		code = put_block(c, shape, body[0], body + 1, false);
		columns_varint(c, TRACE_COLUMN_BODIES, body_end[-1]);
		return code;
	case TRACE_EVENT_FREE:
	case TRACE_EVENT_DELETE:
		return put_freed(c, shape, body[0], false);
	case TRACE_EVENT_REALLOC:
		in_place = body[0] == body[1];
		put_return(c, body_end[-1]);
		code = put_freed(c, shape, body[0], in_place);
		return code | put_block(c, shape, body[1], body + 2, in_place);
	default:
		put_rare(c, kind, body);
		return 0;
	}
}

/*
 * Follows stack and time over records that are not to be coded.  The first one
 * that is then brings the whole stack.
 *
 * Safety: as above.  Return: that record, the stack in @c->stack; NULL when
 * the records are damaged.
 */
static COLD const uint64_t *skip(struct columns *c, const uint64_t *word,
				 const uint64_t *from, uint32_t *ret_depth)
{
	uint32_t depth = 0;

	while (word < from) {
		const uint64_t *next;
		struct record r;

		next = record_read(word, &r);
		if (!record_is_whole(&r, next, from) || r.pop > depth)
			return NULL;
		word = next;
		depth -= r.pop;
		memcpy(c->stack + depth, r.frames, r.push * sizeof(*r.frames));
		depth += r.push;
		c->tick += r.ticks;
		if ((r.head & TRACE_EVENT_KIND_MASK) == TRACE_EVENT_REALLOC)
			c->tick += r.frames[-1];
	}
	*ret_depth = depth;
	return word;
}

/* Safety: as above.  @r builds upon the @depth frames of @c->stack. */
static COLD void push_whole_stack(struct columns *c, struct record *r,
				  uint32_t depth)
{
	depth -= r->pop < depth ? r->pop : depth;
	memcpy(c->stack + depth, r->frames, r->push * sizeof(*r->frames));
	r->push += depth;
	r->pop = 0;
	r->frames = c->stack;
}

/* Safety: as above. */
static inline void put_record(struct columns *c, const struct record *r,
			      const uint64_t *body_end)
{
	struct shape *shape;
	uint32_t code;

	c->tick += r->ticks;
	c->depth += r->push - r->pop;
	code = put_shape(c, r, &shape);
	code |= put_event(c, r, shape, body_end);
	columns_u8(c, TRACE_COLUMN_CODES, code);
	c->event_count++;
}

void columns_add(struct columns *c, const struct columns_input *input)
{
	const uint64_t *word = input->words;
	const uint64_t *end = word + input->len;
	bool is_first = true;
	uint32_t kept = 0;

	c->tick = input->first_tick;
	if (UNLIKELY(input->from))
		word = skip(c, word, word + input->from, &kept);
	if (UNLIKELY(!word))
		return;
	if (!c->first_tick) { /* of a buffer that may have no event left */
		c->first_tick = c->tick;
		c->t = c->tick >> c->time_shift;
	}
	while (word < end) {
		const uint64_t *body_end;
		struct record r;

		word = record_read(word, &r);
		if (UNLIKELY(!record_is_whole(&r, word, end)))
			break;
		body_end = r.frames;
		if (UNLIKELY(is_first)) {
			if (kept)
				push_whole_stack(c, &r, kept);
			r.pop = c->depth; /* of the buffer before */
			is_first = false;
		}
		put_record(c, &r, body_end);
	}
}

/*
 * Lays the columns one behind the other: zstd compresses what follows in memory
 * with a faster loop.  The tables are not needed any more, and that of blocks is
 * long, so that its memory was touched already.
 *
 * Safety: as above.
 */
static void join(struct columns *c, struct columns_output *ret)
{
	uint8_t *p = (uint8_t *)c->blocks;

	for (size_t i = 0; i < ret->part_count; i++) {
		memcpy(p, ret->parts[i], ret->lens[i]);
		ret->parts[i] = p;
		p += ret->lens[i];
	}
}

void columns_end_with(struct columns *c, const uint8_t *culled,
		      size_t culled_len, struct columns_output *ret)
{
	unsigned count = TRACE_COLUMN_COUNT + (culled_len > 0);
	uint8_t *p = c->head;
	size_t len = 0;

	p = put_u32(p, c->time_shift);
	p = put_u32(p, count);
	ret->parts[0] = c->head;
	ret->lens[0] = COLUMNS_HEAD_BYTES + (culled_len ? sizeof(uint32_t) : 0);
	for (int i = 0; i < TRACE_COLUMN_COUNT; i++) {
		ret->parts[1 + i] = column_start(c, i);
		ret->lens[1 + i] = (size_t)(c->cursors[i] - column_start(c, i));
	}
	ret->parts[1 + TRACE_COLUMN_CULLED] = culled;
	ret->lens[1 + TRACE_COLUMN_CULLED] = culled_len;
	for (unsigned i = 0; i < count; i++) {
		p = put_u32(p, (uint32_t)ret->lens[1 + i]);
		len += ret->lens[1 + i];
	}
	ret->part_count = 1 + count;
	if (len + ret->lens[0] <= sizeof(c->blocks))
		join(c, ret);
	ret->first_tick = c->first_tick;
	ret->last_tick = c->tick;
	ret->event_count = c->event_count;
}

void columns_end(struct columns *c, struct columns_output *ret)
{
	columns_end_with(c, NULL, 0, ret);
}

uint64_t columns_first_tick(const struct columns *c)
{
	return c->first_tick;
}

void columns_mark_apart(struct columns *c, uint32_t event)
{
	column_start(c, TRACE_COLUMN_CODES)[event] |= TRACE_CODE_APART;
}
