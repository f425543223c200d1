/* SPDX-License-Identifier: MIT */
/* The writer of COLUMNS: docs/trace-format.md, step by step. */
#include "tests/lib/trace_code.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "report/core/vec.h"
#include "tests/lib/random.h"

enum {
	CODES,
	SHAPES,
	NEW_SHAPES,
	FRAMES,
	ADDRESSES,
	SIZES,
	SLACKS,
	BLOCKS,
	DISTANCES,
	FREED,
	TIMES,
	BODIES,
	COLUMNS,
	CULLED = COLUMNS, /* nothing is, here */
	NEWER,
	COLUMNS_MAX
};

/* --- a table of numbers -------------------------------------------------- */

struct table {
	struct {
		uint64_t key;
		uint64_t value; /* 0: free */
	} *items;
	size_t mask;
	size_t used;
};

static void table_init(struct table *table, size_t capacity)
{
	table->mask = capacity - 1;
	table->used = 0;
	table->items = calloc(capacity, sizeof(*table->items));
	if (!table->items)
		abort();
}

/* Return: the value of @key, 0 at first. */
static uint64_t *table_at(struct table *table, uint64_t key)
{
	size_t at = key * UINT64_C(0x9e3779b97f4a7c15) >> 20 & table->mask;

	if (table->used * 2 > table->mask) {
		struct table old = *table;

		table_init(table, (old.mask + 1) * 4);
		for (size_t i = 0; i <= old.mask; i++)
			if (old.items[i].value)
				*table_at(table, old.items[i].key) =
				    old.items[i].value;
		free(old.items);
		return table_at(table, key);
	}
	while (table->items[at].value && table->items[at].key != key)
		at = (at + 1) & table->mask;
	table->used += !table->items[at].value;
	table->items[at].key = key;
	return &table->items[at].value;
}

/* --- the state ----------------------------------------------------------- */

struct shape {
	uint64_t size;
	uint64_t distance;
};

struct block {
	uint64_t addr;
	uint64_t usable;
};

struct writer {
	struct bytes columns[COLUMNS_MAX];
	struct random *random;
	unsigned time_shift;
	uint64_t tick;
	uint64_t time;
	uint32_t depth;
	uint32_t last, before;
	uint64_t block_end;
	uint64_t freed;
	uint64_t body_addr;
	uint64_t frame_addr;
	struct table shape_numbers; /* + 1, by hash of the content */
	struct table addresses;	    /* numbers of frames */
	uint32_t address_count;
	struct table block_numbers; /* by address, twice; odd once freed */
	struct {
		struct shape *items;
		size_t count, capacity;
	} shapes;
	struct {
		struct block *items;
		size_t count, capacity;
	} blocks;
	uint16_t successors[16384];
	uint64_t slacks[4096];
	uint64_t free[4096][16]; /* oldest first */
	unsigned free_count[4096];
};

/* Whether to take the other way that would do, too. */
static bool whim(struct writer *w)
{
	return w->random && random_below(w->random, 8) == 0;
}

/* --- shapes -------------------------------------------------------------- */

static void put_frame(struct writer *w, uint64_t pc)
{
	uint64_t *number = table_at(&w->addresses, pc);
	uint16_t coded = whim(w) ? 0 : (uint16_t)*number;

	bytes_put(&w->columns[FRAMES], &coded, 2);
	if (coded)
		return;
	bytes_svarint(&w->columns[ADDRESSES], pc - w->frame_addr);
	w->frame_addr = pc;
	if (w->address_count < 65535)
		*number = ++w->address_count;
}

/* Return: its number, 65535 for none. */
static uint32_t put_new_shape(struct writer *w, const struct coded_event *event,
			      uint32_t pop, uint32_t push, const uint64_t *pcs)
{
	bytes_u8(&w->columns[NEW_SHAPES], event->tag);
	bytes_varint(&w->columns[NEW_SHAPES], pop);
	bytes_varint(&w->columns[NEW_SHAPES], push);
	for (uint32_t i = 0; i < push; i++)
		put_frame(w, pcs[i]);
	if (w->shapes.count == 65535)
		return 65535;
	if (!vec_push(&w->shapes))
		abort();
	return (uint32_t)w->shapes.count - 1;
}

/* Writes the shape, its way is added to *@code.  Return: its number. */
static uint32_t put_shape(struct writer *w, const struct coded_event *event,
			  const uint64_t *pcs, unsigned *code)
{
	bool has_stack = (event->tag & 0x1f) < TRACE_EVENT_RSS &&
			 !(event->tag & TRACE_EVENT_NO_STACK);
	uint32_t pop = event->fresh ? w->depth : event->pop;
	uint32_t push = event->push;
	uint32_t slot =
	    (w->last * 0x9e3779b1u + w->before * 0x85ebca6bu) >> 18;
	uint64_t *known;
	uint32_t number;
	XXH64_hash_t hash;

	if (!has_stack)
		pop = push = 0;
	w->depth += push - pop;
	hash = XXH64(pcs, push * sizeof(*pcs),
		     event->tag | (uint64_t)pop << 8 | (uint64_t)push << 32);
	known = table_at(&w->shape_numbers, hash);
	number = *known ? (uint32_t)*known - 1 : 65535;
	if (!*known || whim(w)) {
		*code |= 2;
		number = put_new_shape(w, event, pop, push, pcs);
		if (number != 65535)
			*known = number + 1;
	} else if (w->successors[slot] != number || whim(w)) {
		*code |= 1;
		bytes_put(&w->columns[SHAPES], &(uint16_t){(uint16_t)number},
			  2);
	}
	w->successors[slot] = (uint16_t)number;
	w->before = w->last;
	w->last = number;
	return number;
}

/* --- blocks -------------------------------------------------------------- */

static unsigned class_of(uint64_t usable)
{
	return usable >> 4 & 4095;
}

static void put_free(struct writer *w, uint64_t addr, bool in_place,
		     struct shape *shape, unsigned *code)
{
	uint64_t *known = table_at(&w->block_numbers, addr);
	uint64_t number = *known / 2;
	uint64_t distance = 0;

	if (*known && *known % 2 == 0 && !whim(w))
		distance = w->blocks.count + 1 - number;
	if (distance != shape->distance || whim(w)) {
		*code |= 1 << 2;
		bytes_varint(&w->columns[DISTANCES], distance);
		shape->distance = distance;
	}
	if (!distance) {
		bytes_svarint(&w->columns[FREED], addr - w->freed);
		w->freed = addr;
	}
	if (distance && !in_place) {
		unsigned class =
		    class_of(w->blocks.items[number - 1].usable);

		if (w->free_count[class] == 16)
			memmove(&w->free[class][0], &w->free[class][1],
				15 * sizeof(uint64_t));
		else
			w->free_count[class]++;
		w->free[class][w->free_count[class] - 1] = addr;
	}
	if (*known)
		*known = number * 2 + 1;
}

/* Takes the free block that has @newer ones. */
static void take_free(struct writer *w, unsigned class, unsigned newer)
{
	unsigned count = w->free_count[class]--;
	uint64_t *at = &w->free[class][count - 1 - newer];

	memmove(at, at + 1, newer * sizeof(*at));
}

static void put_place(struct writer *w, uint64_t addr, unsigned class,
		      unsigned *code)
{
	unsigned count = w->free_count[class];
	unsigned newer = 0;

	while (newer < count && w->free[class][count - 1 - newer] != addr)
		newer++;
	if (newer < count && newer == 0 && !whim(w)) {
		take_free(w, class, 0);
	} else if (addr == w->block_end && !whim(w)) {
		*code |= 1 << 5;
	} else if (newer && newer < count && !whim(w)) {
		*code |= 2 << 5;
		bytes_varint(&w->columns[BLOCKS], newer);
		take_free(w, class, newer);
	} else {
		*code |= 3 << 5;
		bytes_svarint(&w->columns[BLOCKS], addr - w->block_end);
	}
}

static void put_alloc(struct writer *w, const struct coded_event *event,
		      bool in_place, struct shape *shape, unsigned *code)
{
	uint64_t usable = event->size + event->a;
	uint64_t *slack =
	    &w->slacks[event->size * UINT64_C(0x9e3779b97f4a7c15) >> 52];
	struct block *block;

	if (event->size != shape->size || whim(w)) {
		*code |= 1 << 3;
		bytes_varint(&w->columns[SIZES], event->size);
		shape->size = event->size;
	}
	if (event->a != *slack || whim(w)) {
		*code |= 1 << 4;
		bytes_varint(&w->columns[SLACKS], event->a);
		*slack = event->a;
	}
	if (in_place)
		*code |= 1 << 7;
	else
		put_place(w, event->addr, class_of(usable), code);
	w->block_end = event->addr + usable + 8;
	block = vec_push(&w->blocks);
	if (!block)
		abort();
	block->addr = event->addr;
	block->usable = usable;
	*table_at(&w->block_numbers, event->addr) = w->blocks.count * 2;
}

/* --- events -------------------------------------------------------------- */

static void put_time(struct writer *w, uint64_t ticks, int column)
{
	uint64_t time;

	w->tick += ticks;
	time = w->tick >> w->time_shift;
	bytes_varint(&w->columns[column], time - w->time);
	w->time = time;
}

static void put_rare(struct writer *w, const struct coded_event *event)
{
	struct bytes *out = &w->columns[BODIES];

	if ((event->tag & TRACE_EVENT_KIND_MASK) != TRACE_EVENT_MARKER) {
		code_rare(out, &w->body_addr, event);
		return;
	}
	bytes_varint(out, event->size);
	bytes_zero(out, event->size);
}

static void put_event(struct writer *w, const struct coded_event *event,
		      const uint64_t *pcs)
{
	unsigned kind = event->tag & TRACE_EVENT_KIND_MASK;
	unsigned code = 0;
	struct shape none = {0}, *shape = &none;
	uint32_t number = put_shape(w, event, pcs, &code);
	bool in_place = kind == TRACE_EVENT_REALLOC &&
			event->addr == event->old_addr && !whim(w);

	if (number != 65535)
		shape = &w->shapes.items[number];
	put_time(w, event->ticks, TIMES);
	if (kind == TRACE_EVENT_REALLOC)
		put_time(w, event->call_ticks, BODIES);
	if (kind == TRACE_EVENT_REALLOC)
		put_free(w, event->old_addr, in_place, shape, &code);
	if (kind == TRACE_EVENT_FREE || kind == TRACE_EVENT_DELETE)
		put_free(w, event->addr, false, shape, &code);
	if (kind <= TRACE_EVENT_NEW || kind == TRACE_EVENT_REALLOC)
		put_alloc(w, event, in_place, shape, &code);
	if (kind == TRACE_EVENT_MEMALIGN)
		bytes_varint(&w->columns[BODIES], event->b);
	if (kind >= TRACE_EVENT_MMAP)
		put_rare(w, event);
	bytes_u8(&w->columns[CODES], (uint8_t)code);
}

static void put_columns(struct bytes *out, struct writer *w)
{
	uint32_t count = COLUMNS;

	/* What a newer version may add. */
	if (whim(w)) {
		bytes_put(&w->columns[NEWER], "newer", 5);
		count = COLUMNS_MAX;
	}
	bytes_u8(out, (uint8_t)w->time_shift);
	bytes_zero(out, 3);
	bytes_u32(out, count);
	for (uint32_t i = 0; i < count; i++)
		bytes_u32(out, (uint32_t)w->columns[i].len);
	for (uint32_t i = 0; i < count; i++)
		bytes_put(out, w->columns[i].data, w->columns[i].len);
}

void code_columns(struct bytes *out, const struct coded_events *events,
		  size_t from, size_t to, uint64_t first_tick,
		  unsigned time_shift, struct random *random)
{
	struct writer *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	w->random = random;
	w->time_shift = time_shift;
	w->tick = first_tick;
	w->time = first_tick >> time_shift;
	w->last = w->before = 65535;
	table_init(&w->shape_numbers, 256);
	table_init(&w->addresses, 256);
	table_init(&w->block_numbers, 256);
	for (size_t i = from; i < to; i++) {
		const struct coded_event *event = &events->items[i];

		put_event(w, event, &events->pcs.items[event->first]);
	}
	put_columns(out, w);
	for (size_t i = 0; i < COLUMNS_MAX; i++)
		bytes_done(&w->columns[i]);
	free(w->shape_numbers.items);
	free(w->addresses.items);
	free(w->block_numbers.items);
	vec_done(&w->shapes);
	vec_done(&w->blocks);
	free(w);
}
