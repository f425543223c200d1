/* SPDX-License-Identifier: MIT */
/* The decoder of COLUMNS on payloads written by hand. */
#include "tests/lib/unit.h"

#include "report/core/module.h"
#include "report/event/event.h"
#include "report/event/stacks.h"
#include "report/input/cursor.h"
#include "report/input/decoder.h"
#include "tests/lib/trace_text.h"
#include "tests/lib/trace_write.h"

enum {
	ITEMS = 64,
	START = 1000,
	NEW = TRACE_CODE_SHAPE_NEW,
	NAMED = TRACE_CODE_SHAPE_NAMED,
	DISTANCE = TRACE_CODE_DISTANCE,
	SIZE = TRACE_CODE_SIZE,
	SLACK = TRACE_CODE_SLACK,
	BEHIND = TRACE_CODE_BLOCK_BEHIND,
	OLDER = TRACE_CODE_BLOCK_OLDER,
	SPELLED = TRACE_CODE_BLOCK_SPELLED,
	IN_PLACE = TRACE_CODE_IN_PLACE,
};

struct fixture {
	struct stacks stacks;
	struct module_map modules;
	struct interner *interner;
	struct event_decoder *decoder;
	struct bytes columns[TRACE_COLUMN_COUNT];
	struct bytes payload;
	unsigned time_shift;
	struct event items[ITEMS];
	size_t count;
	uint64_t *keys;
	size_t capacity;
	size_t depth;
};

static void set_up(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	f->interner = malloc(sizeof(*f->interner));
	assert_non_null(f->interner);
	assert_int_equal(stacks_init(&f->stacks), 0);
	module_map_build(&f->modules, NULL, 0);
	assert_int_equal(interner_init(f->interner, &f->stacks, &f->modules),
			 0);
	f->decoder = event_decoder_new(&columns_coding, f->interner);
	assert_non_null(f->decoder);
	f->decoder->limit = UINT64_MAX;
}

static void tear_down(struct fixture *f)
{
	event_decoder_free(f->decoder);
	interner_done(f->interner);
	free(f->interner);
	stacks_done(&f->stacks);
	for (size_t i = 0; i < TRACE_COLUMN_COUNT; i++)
		bytes_done(&f->columns[i]);
	bytes_done(&f->payload);
	free(f->keys);
}

/* --- writing ------------------------------------------------------------- */

static void put(struct fixture *f, enum trace_column column, uint64_t value)
{
	bytes_varint(&f->columns[column], value);
}

static void put_signed(struct fixture *f, enum trace_column column,
		       int64_t value)
{
	bytes_svarint(&f->columns[column], (uint64_t)value);
}

static void put_u16(struct fixture *f, enum trace_column column,
		    uint32_t value)
{
	bytes_put(&f->columns[column], &(uint16_t){(uint16_t)value}, 2);
}

/* Starts an event, one unit after the one before. */
static void put_code(struct fixture *f, unsigned code)
{
	bytes_u8(&f->columns[TRACE_COLUMN_CODES], (uint8_t)code);
	put(f, TRACE_COLUMN_TIMES, 1);
}

static void put_shape(struct fixture *f, unsigned tag, uint64_t pop,
		      uint64_t push)
{
	bytes_u8(&f->columns[TRACE_COLUMN_NEW_SHAPES], (uint8_t)tag);
	put(f, TRACE_COLUMN_NEW_SHAPES, pop);
	put(f, TRACE_COLUMN_NEW_SHAPES, push);
}

static void put_frame(struct fixture *f, uint64_t pc)
{
	put_u16(f, TRACE_COLUMN_FRAMES, 0);
	put_signed(f, TRACE_COLUMN_ADDRESSES, (int64_t)pc);
}

static void put_named(struct fixture *f, unsigned code, uint32_t number)
{
	put_code(f, code | NAMED);
	put_u16(f, TRACE_COLUMN_SHAPES, number);
}

/* A malloc of a new shape without frames at @offset behind the last block. */
static void put_malloc(struct fixture *f, uint64_t size, uint64_t slack,
		       int64_t offset)
{
	put_code(f, NEW | SIZE | SLACK | SPELLED);
	put_shape(f, TRACE_EVENT_MALLOC, 0, 0);
	put(f, TRACE_COLUMN_SIZES, size);
	put(f, TRACE_COLUMN_SLACKS, slack);
	put_signed(f, TRACE_COLUMN_BLOCKS, offset);
}

/* A free of a new shape without frames. */
static void put_free(struct fixture *f, uint64_t distance)
{
	put_code(f, NEW | DISTANCE);
	put_shape(f, TRACE_EVENT_FREE, 0, 0);
	put(f, TRACE_COLUMN_DISTANCES, distance);
}

static void assemble(struct fixture *f)
{
	size_t len;

	f->payload.len = 0;
	bytes_u8(&f->payload, (uint8_t)f->time_shift);
	bytes_zero(&f->payload, 3);
	bytes_u32(&f->payload, TRACE_COLUMN_COUNT);
	for (size_t i = 0; i < TRACE_COLUMN_COUNT; i++)
		bytes_u32(&f->payload, (uint32_t)f->columns[i].len);
	for (size_t i = 0; i < TRACE_COLUMN_COUNT; i++)
		bytes_put(&f->payload, f->columns[i].data,
			  f->columns[i].len);
	len = f->payload.len;
	bytes_zero(&f->payload, CURSOR_SLACK);
	f->payload.len = len;
}

/* --- reading ------------------------------------------------------------- */

static int decode_payload(struct fixture *f)
{
	assert_int_equal(event_decoder_start(f->decoder, f->payload.data,
					     f->payload.len, START),
			 0);
	return event_decode(f->decoder, f->items, ITEMS, &f->count);
}

static int decode(struct fixture *f)
{
	assemble(f);
	return decode_payload(f);
}

static void decode_whole(struct fixture *f, size_t count)
{
	assert_int_equal(decode(f), EVENT_DECODE_END);
	if (f->decoder->problem)
		fail_msg("%s", f->decoder->problem);
	assert_int_equal(f->count, count);
}

static void keys_of(struct fixture *f, size_t i)
{
	f->depth = trace_text_keys(&f->stacks, f->items[i].stack, &f->keys,
				   &f->capacity);
}

/* Decodes: after @count good events comes one with @problem.  Ends the test. */
static void check_problem(struct fixture *f, size_t count, const char *problem)
{
	assert_int_equal(decode(f), EVENT_DECODE_END);
	assert_int_equal(f->count, count);
	if (!f->decoder->problem)
		fail_msg("not found: %s", problem);
	if (!strstr(f->decoder->problem, problem))
		fail_msg("%s instead of %s", f->decoder->problem, problem);
	assert_int_equal(f->decoder->problem_at, f->decoder->decoded + 1);
	tear_down(f);
}

static void check_block(const struct fixture *f, size_t i, uint64_t addr,
			uint64_t size, uint64_t slack)
{
	const struct event *event = &f->items[i];

	assert_int_equal(event->kind, EVENT_ALLOC);
	assert_int_equal(event->addr, addr);
	assert_int_equal(event->size, size);
	assert_int_equal(event->a, slack);
}

static void check_free(const struct fixture *f, size_t i, uint64_t addr)
{
	assert_int_equal(f->items[i].kind, EVENT_FREE);
	assert_int_equal(f->items[i].addr, addr);
	assert_int_equal(f->items[i].size, 0);
}

/* --- tests --------------------------------------------------------------- */

static void no_events(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	decode_whole(&f, 0);
	tear_down(&f);
}

/* Where blocks lie and which are freed. */
static void blocks(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	put_malloc(&f, 20, 4, 0x5000); /* shape 0, block 1 */
	put_named(&f, BEHIND, 0);      /* 2: the same size and slack */
	put_named(&f, BEHIND, 0);      /* 3 */
	put_free(&f, 1);	       /* shape 1, block 3 */
	put_named(&f, DISTANCE, 1);    /* block 1 */
	put(&f, TRACE_COLUMN_DISTANCES, 3);
	put_named(&f, OLDER, 0); /* 4, where 3 was */
	put(&f, TRACE_COLUMN_BLOCKS, 1);
	put_named(&f, 0, 0); /* 5, where 1 was */
	put_named(&f, 0, 1); /* still a distance of 3: block 3 */
	put_named(&f, DISTANCE, 1);
	put(&f, TRACE_COLUMN_DISTANCES, 0); /* of an earlier chunk */
	put_signed(&f, TRACE_COLUMN_FREED, 0x100);
	put_named(&f, 0, 1); /* and again */
	put_signed(&f, TRACE_COLUMN_FREED, -0x10);
	decode_whole(&f, 10);
	check_block(&f, 0, 0x5000, 20, 4);
	check_block(&f, 1, 0x5020, 20, 4);
	check_block(&f, 2, 0x5040, 20, 4);
	check_free(&f, 3, 0x5040);
	check_free(&f, 4, 0x5000);
	check_block(&f, 5, 0x5040, 20, 4);
	check_block(&f, 6, 0x5000, 20, 4);
	check_free(&f, 7, 0x5040);
	check_free(&f, 8, 0x100);
	check_free(&f, 9, 0xf0);
	assert_int_equal(f.items[9].tick, START + 10);
	assert_int_equal(f.items[9].call, CALL_FREE);
	tear_down(&f);
}

/* A class forgets all but its 16 newest blocks. */
static void class_is_full(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	put_malloc(&f, 16, 0, 0x1000);
	for (int i = 1; i < 17; i++)
		put_named(&f, BEHIND, 0);
	for (uint64_t i = 0; i < 17; i++) {
		put_named(&f, DISTANCE, 1);
		put(&f, TRACE_COLUMN_DISTANCES, 17 - i);
		if (i == 0) {
			f.columns[TRACE_COLUMN_CODES].data[17] = NEW | DISTANCE;
			f.columns[TRACE_COLUMN_SHAPES].len -= 2;
			put_shape(&f, TRACE_EVENT_FREE, 0, 0);
		}
	}
	put_named(&f, OLDER, 0);
	put(&f, TRACE_COLUMN_BLOCKS, 15);
	put_named(&f, OLDER, 0);
	put(&f, TRACE_COLUMN_BLOCKS, 7);
	for (int i = 0; i < 14; i++)
		put_named(&f, 0, 0);
	decode_whole(&f, 50);
	/* Block 1 was dropped. */
	check_block(&f, 34, 0x1000 + 24, 16, 0);
	/* Of 3 to 17, the eighth newest. */
	check_block(&f, 35, 0x1000 + 24 * 9, 16, 0);
	check_block(&f, 36, 0x1000 + 24 * 16, 16, 0);
	check_block(&f, 43, 0x1000 + 24 * 8, 16, 0);
	check_block(&f, 49, 0x1000 + 24 * 2, 16, 0);
	put_named(&f, 0, 0);
	check_problem(&f, 50, "no such free block");
}

static void reallocs(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	f.time_shift = 2;
	put_malloc(&f, 16, 0, 0x1000);
	put_code(&f, NEW | DISTANCE | SIZE | IN_PLACE); /* in place */
	put_shape(&f, TRACE_EVENT_REALLOC, 0, 0);
	put(&f, TRACE_COLUMN_DISTANCES, 1);
	put(&f, TRACE_COLUMN_SIZES, 40);
	put(&f, TRACE_COLUMN_BODIES, 5);
	put_named(&f, SPELLED, 1); /* moves */
	put_signed(&f, TRACE_COLUMN_BLOCKS, 0);
	put(&f, TRACE_COLUMN_BODIES, 0);
	put_named(&f, 0, 1); /* back again */
	put(&f, TRACE_COLUMN_BODIES, 0);
	put_named(&f, DISTANCE | IN_PLACE, 1);
	put(&f, TRACE_COLUMN_DISTANCES, 0);
	put_signed(&f, TRACE_COLUMN_FREED, 0x1040);
	put(&f, TRACE_COLUMN_BODIES, 0);
	decode_whole(&f, 9);
	check_block(&f, 0, 0x1000, 16, 0);
	check_free(&f, 1, 0x1000);
	check_block(&f, 2, 0x1000, 40, 0);
	assert_int_equal(f.items[1].tick, START + 8);
	assert_int_equal(f.items[2].tick, START + 28);
	assert_int_equal(f.items[2].call, CALL_REALLOC);
	assert_int_equal(f.items[3].tick, START + 32);
	check_free(&f, 3, 0x1000);
	check_block(&f, 4, 0x1030, 40, 0);
	check_free(&f, 5, 0x1030);
	/* It is free before the other one is made. */
	check_block(&f, 6, 0x1030, 40, 0);
	check_free(&f, 7, 0x1040);
	check_block(&f, 8, 0x1040, 40, 0);
	/* Not in the class: it was not freed. */
	put_named(&f, SIZE, 0);
	put(&f, TRACE_COLUMN_SIZES, 40);
	put_named(&f, 0, 0);
	assert_int_equal(decode(&f), EVENT_DECODE_END);
	assert_int_equal(f.count, 10);
	check_block(&f, 9, 0x1000, 40, 0);
	tear_down(&f);
}

/* Shapes as predicted, with frames by number. */
static void shapes(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	put_malloc(&f, 16, 0, 0x1000);
	put_code(&f, NEW | BEHIND | SIZE); /* 1 */
	put_shape(&f, TRACE_EVENT_NEW, 0, 3);
	put_frame(&f, 0x4000);
	put_u16(&f, TRACE_COLUMN_FRAMES, 1);
	put_frame(&f, 0x10);
	put(&f, TRACE_COLUMN_SIZES, 16);
	put_code(&f, NEW | DISTANCE); /* 2 */
	put_shape(&f, TRACE_EVENT_DELETE | TRACE_EVENT_TRUNCATED, 2, 1);
	put_u16(&f, TRACE_COLUMN_FRAMES, 2);
	put(&f, TRACE_COLUMN_DISTANCES, 1);
	put_code(&f, NEW | DISTANCE); /* 3 */
	put_shape(&f, TRACE_EVENT_FREE | TRACE_EVENT_NO_STACK, 0, 0);
	put(&f, TRACE_COLUMN_DISTANCES, 2);
	put_named(&f, BEHIND, 1);
	put_named(&f, 0, 2);
	put_code(&f, 0); /* 3 */
	put_code(&f, 0); /* 1 */
	put_code(&f, 0); /* 2 */
	decode_whole(&f, 9);
	keys_of(&f, 1);
	assert_int_equal(f.depth, 3);
	assert_int_equal(f.keys[0], 0x4000);
	assert_int_equal(f.keys[1], 0x4000);
	assert_int_equal(f.keys[2], 0x4010);
	assert_int_equal(f.items[1].call, CALL_NEW);
	keys_of(&f, 2);
	assert_int_equal(f.depth, 3);
	assert_int_equal(f.keys[0], PC_KEY_TRUNCATED);
	assert_int_equal(f.keys[2], 0x4010);
	assert_int_equal(f.items[3].stack, STACKS_ROOT);
	keys_of(&f, 4);
	assert_int_equal(f.depth, 5);
	assert_int_equal(f.items[6].kind, EVENT_FREE);
	assert_int_equal(f.items[6].stack, STACKS_ROOT);
	check_free(&f, 6, f.items[1].addr);
	check_block(&f, 7, f.items[6].addr, 16, 0);
	keys_of(&f, 7);
	assert_int_equal(f.depth, 7);
	tear_down(&f);
}

/* An event without a stack prepares the next one's. */
static void no_stack(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	put_code(&f, NEW);
	put_shape(&f, TRACE_EVENT_FREE | TRACE_EVENT_TRUNCATED, 0, 2);
	put_frame(&f, 0x1000);
	put_frame(&f, 0x1000);
	put_signed(&f, TRACE_COLUMN_FREED, 1);
	put_code(&f, NEW);
	put_shape(&f, TRACE_EVENT_RSS, 1, 0);
	put(&f, TRACE_COLUMN_BODIES, 1);
	put_code(&f, NEW);
	put_shape(&f, TRACE_EVENT_FREE | TRACE_EVENT_NO_STACK, 0, 1);
	put_frame(&f, 0x1000);
	put_signed(&f, TRACE_COLUMN_FREED, 1);
	put_code(&f, NEW);
	put_shape(&f, TRACE_EVENT_FREE, 0, 0);
	put_signed(&f, TRACE_COLUMN_FREED, 1);
	decode_whole(&f, 4);
	keys_of(&f, 0);
	assert_int_equal(f.depth, 3);
	assert_int_equal(f.items[1].stack, STACKS_ROOT);
	assert_int_equal(f.items[2].stack, STACKS_ROOT);
	keys_of(&f, 3);
	assert_int_equal(f.depth, 2);
	assert_int_equal(f.keys[0], 0x1000);
	assert_int_equal(f.keys[1], 0x3000);
	tear_down(&f);
}

static void rare_kinds(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	put_code(&f, NEW | SIZE | SPELLED | IN_PLACE);
	put_shape(&f, TRACE_EVENT_MEMALIGN, 0, 0);
	put(&f, TRACE_COLUMN_SIZES, 100);
	put_signed(&f, TRACE_COLUMN_BLOCKS, 0x1000);
	put(&f, TRACE_COLUMN_BODIES, 64);
	put_code(&f, NEW);
	put_shape(&f, TRACE_EVENT_MUNMAP, 0, 0);
	put_signed(&f, TRACE_COLUMN_BODIES, 0x7000);
	put(&f, TRACE_COLUMN_BODIES, 4096);
	put_code(&f, NEW | 0xfc);
	put_shape(&f, TRACE_EVENT_MREMAP, 0, 0);
	put_signed(&f, TRACE_COLUMN_BODIES, 0x10);
	put(&f, TRACE_COLUMN_BODIES, 1);
	put_signed(&f, TRACE_COLUMN_BODIES, -0x10);
	put(&f, TRACE_COLUMN_BODIES, 2);
	put(&f, TRACE_COLUMN_BODIES, 3);
	put_code(&f, NEW);
	put_shape(&f, TRACE_EVENT_LOST, 0, 0);
	put(&f, TRACE_COLUMN_BODIES, 9);
	put(&f, TRACE_COLUMN_BODIES, TRACE_LOST_MEMORY);
	put_code(&f, NEW);
	put_shape(&f, TRACE_EVENT_MARKER, 0, 0);
	put(&f, TRACE_COLUMN_BODIES, 3);
	bytes_put(&f.columns[TRACE_COLUMN_BODIES], "abc", 3);
	decode_whole(&f, 5);
	check_block(&f, 0, 0x1000, 100, 0);
	assert_int_equal(f.items[4].kind, EVENT_MARKER);
	assert_int_equal(f.items[0].b, 64);
	assert_int_equal(f.items[1].addr, 0x7000);
	assert_int_equal(f.items[2].addr, 0x7010);
	assert_int_equal(f.items[2].a, 0x7000);
	assert_int_equal(f.items[2].fd, 3);
	assert_int_equal(f.decoder->lost, 9);
	assert_int_equal(f.decoder->decoded, 5);
	put_code(&f, 0);
	put_named(&f, 0, 4);
	put(&f, TRACE_COLUMN_BODIES, 3);
	f.columns[TRACE_COLUMN_CODES].data[5] = NAMED;
	put_u16(&f, TRACE_COLUMN_SHAPES, 4);
	check_problem(&f, 5, "BODIES ends too soon");
}

static void times(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	f.time_shift = 9;
	put_code(&f, NEW);
	put_shape(&f, TRACE_EVENT_RSS, 0, 0);
	put(&f, TRACE_COLUMN_BODIES, 1);
	f.columns[TRACE_COLUMN_TIMES].data[0] = 0;
	put_named(&f, 0, 0);
	put(&f, TRACE_COLUMN_BODIES, 1);
	decode_whole(&f, 2);
	/* 1000 is 1 of 512; not before the first tick. */
	assert_int_equal(f.items[0].tick, START);
	assert_int_equal(f.items[1].tick, 1024);
	f.decoder->limit = 1010;
	f.decoder->floor = 0;
	decode_whole(&f, 2);
	assert_int_equal(f.items[1].tick, 1010);
	put_named(&f, 0, 0);
	put(&f, TRACE_COLUMN_BODIES, 1);
	f.columns[TRACE_COLUMN_TIMES].len = 2;
	put(&f, TRACE_COLUMN_TIMES, UINT64_C(1) << 55);
	check_problem(&f, 2, "64 bits");
	set_up(&f);
	put_malloc(&f, 1, 0, 0);
	put_code(&f, NEW | DISTANCE | IN_PLACE);
	put_shape(&f, TRACE_EVENT_REALLOC, 0, 0);
	put(&f, TRACE_COLUMN_DISTANCES, 1);
	put(&f, TRACE_COLUMN_BODIES, UINT64_MAX);
	check_problem(&f, 1, "64 bits");
}

static void bad_codes(void **state)
{
	struct fixture f;

	(void)state;
	for (unsigned code = 3; code < 256; code += 4) {
		set_up(&f);
		put_malloc(&f, 1, 0, 0);
		put_code(&f, code);
		check_problem(&f, 1, "code is not known");
	}
}

static void bad_shapes(void **state)
{
	static const struct {
		unsigned tag;
		uint64_t pop, push;
		const char *problem;
	} cases[] = {
	    {0, 0, 0, "tag"},
	    {15, 0, 0, "tag"},
	    {0x80 | TRACE_EVENT_FREE, 0, 0, "tag"},
	    {TRACE_EVENT_FREE, 1, 0, "removes more frames"},
	    {TRACE_EVENT_FREE, UINT64_MAX, 0, "removes more frames"},
	    {TRACE_EVENT_FREE, UINT64_C(1) << 32, 0, "removes more frames"},
	    {TRACE_EVENT_FREE, 0, TRACE_STACK_DEPTH_MAX + 1, "deeper"},
	    {TRACE_EVENT_FREE, 0, UINT64_MAX, "deeper"},
	    {TRACE_EVENT_FREE, 0, 60000, "FRAMES ends too soon"},
	    {TRACE_EVENT_FREE, 0, 1, "FRAMES ends too soon"},
	    {TRACE_EVENT_RSS, 1, 0, "removes more frames"},
	};
	struct fixture f;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set_up(&f);
		put_malloc(&f, 1, 0, 0);
		put_code(&f, NEW | DISTANCE);
		put_shape(&f, cases[i].tag, cases[i].pop, cases[i].push);
		put(&f, TRACE_COLUMN_DISTANCES, 1);
		check_problem(&f, 1, cases[i].problem);
	}
	/* None yet; one that is not there; the number of those without one. */
	set_up(&f);
	put_code(&f, 0);
	check_problem(&f, 0, "shape is not known");
	set_up(&f);
	put_malloc(&f, 1, 0, 0);
	put_named(&f, 0, 1);
	check_problem(&f, 1, "shape is not known");
	set_up(&f);
	put_malloc(&f, 1, 0, 0);
	put_named(&f, 0, 65535);
	check_problem(&f, 1, "shape is not known");
	/* A frame that has no number. */
	set_up(&f);
	put_malloc(&f, 1, 0, 0);
	put_code(&f, NEW | DISTANCE);
	put_shape(&f, TRACE_EVENT_FREE, 0, 2);
	put_frame(&f, 0x1000);
	put_u16(&f, TRACE_COLUMN_FRAMES, 2);
	put(&f, TRACE_COLUMN_DISTANCES, 1);
	check_problem(&f, 1, "frame of it is not known");
}

static void bad_blocks(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	put_malloc(&f, 16, 0, 0x1000);
	put_free(&f, 2);
	check_problem(&f, 1, "block that is not known");
	set_up(&f);
	put_malloc(&f, 16, 0, 0x1000);
	put_free(&f, UINT64_C(1) << 32 | 1);
	check_problem(&f, 1, "block that is not known");
	set_up(&f);
	put_malloc(&f, 16, 0, 0x1000);
	put_named(&f, 0, 0);
	check_problem(&f, 1, "no such free block");
	set_up(&f);
	put_malloc(&f, 16, 0, 0x1000);
	put_free(&f, 1);
	put_named(&f, OLDER, 0);
	put(&f, TRACE_COLUMN_BLOCKS, 1);
	check_problem(&f, 2, "no such free block");
	set_up(&f);
	put_malloc(&f, 16, 0, 0x1000);
	put_free(&f, 1);
	put_named(&f, OLDER, 0);
	put(&f, TRACE_COLUMN_BLOCKS, UINT64_C(1) << 32);
	check_problem(&f, 2, "no such free block");
	set_up(&f);
	put_malloc(&f, TRACE_SIZE_LIMIT, 0, 0x1000);
	check_problem(&f, 0, "beyond the address space");
	set_up(&f);
	put_malloc(&f, 1, UINT64_MAX, 0x1000);
	check_problem(&f, 0, "beyond the address space");
}

/* Every column too short by a byte, and too long by one. */
static void wrong_lengths(void **state)
{
	static const char *const names[] = {
	    "CODES", "SHAPES", "NEW_SHAPES", "FRAMES", "ADDRESSES", "SIZES",
	    "SLACKS", "BLOCKS", "DISTANCES", "FREED", "TIMES", "BODIES",
	};
	struct fixture f;

	(void)state;
	for (size_t i = 0; i < 2 * TRACE_COLUMN_COUNT; i++) {
		struct bytes *column;
		char problem[64];

		set_up(&f);
		put_code(&f, NEW | SIZE | SLACK | SPELLED);
		put_shape(&f, TRACE_EVENT_MEMALIGN, 0, 1);
		put_frame(&f, 0x1000);
		put(&f, TRACE_COLUMN_SIZES, 300);
		put(&f, TRACE_COLUMN_SLACKS, 300);
		put_signed(&f, TRACE_COLUMN_BLOCKS, 300);
		put(&f, TRACE_COLUMN_BODIES, 300);
		put_free(&f, 1);
		put_named(&f, DISTANCE, 1);
		put(&f, TRACE_COLUMN_DISTANCES, 0);
		put_signed(&f, TRACE_COLUMN_FREED, 300);
		decode_whole(&f, 3);
		column = &f.columns[i / 2];
		if (i % 2)
			bytes_u8(column, 0);
		else
			column->len--;
		snprintf(problem, sizeof(problem), "the column %s %s",
			 names[i / 2],
			 i % 2 ? "holds more" : "ends too soon");
		/* One event less uses less of some other column. */
		if (i == 0)
			snprintf(problem, sizeof(problem), "holds more");
		assert_int_equal(decode(&f), EVENT_DECODE_END);
		assert_non_null(f.decoder->problem);
		/* One more event has a time that is not there. */
		if (i == 1)
			snprintf(problem, sizeof(problem), "ends too soon");
		if (!strstr(f.decoder->problem, problem))
			fail_msg("%s: %s", problem, f.decoder->problem);
		if (i % 2 && i > 1)
			assert_int_equal(f.decoder->problem_at,
					 DECODER_NO_PLACE);
		tear_down(&f);
	}
}

static void bad_head(void **state)
{
	struct fixture f;
	uint8_t *head;

	(void)state;
	set_up(&f);
	put_malloc(&f, 16, 0, 0x1000);
	assemble(&f);
	head = f.payload.data;
	for (size_t len = 0; len < f.payload.len; len++) {
		uint8_t *data = calloc(1, len + CURSOR_SLACK);

		assert_non_null(data);
		memcpy(data, head, len);
		assert_int_equal(
		    event_decoder_start(f.decoder, data, len, START), 0);
		assert_non_null(f.decoder->problem);
		assert_int_equal(
		    event_decode(f.decoder, f.items, ITEMS, &f.count),
		    EVENT_DECODE_END);
		assert_int_equal(f.count, 0);
		free(data);
	}
	head[0] = 33;
	decode_payload(&f);
	assert_non_null(strstr(f.decoder->problem, "unit of time"));
	head[0] = 32;
	assert_int_equal(decode_payload(&f), EVENT_DECODE_END);
	assert_null(f.decoder->problem);
	head[4] = 11;
	decode_payload(&f);
	assert_non_null(strstr(f.decoder->problem, "too few columns"));
	head[4] = 12;
	head[7] = 0xff;
	decode_payload(&f);
	assert_non_null(strstr(f.decoder->problem, "lengths of its columns"));
	head[7] = 0;
	memset(head + 8, 0xff, 8);
	decode_payload(&f);
	assert_non_null(strstr(f.decoder->problem, "do not add up"));
	tear_down(&f);
}

/* Columns that a newer version has. */
static void more_columns(void **state)
{
	struct fixture f;
	size_t len;

	(void)state;
	set_up(&f);
	put_malloc(&f, 16, 0, 0x1000);
	bytes_u8(&f.payload, 0);
	bytes_zero(&f.payload, 3);
	bytes_u32(&f.payload, TRACE_COLUMN_COUNT + 3);
	for (size_t i = 0; i < TRACE_COLUMN_COUNT; i++)
		bytes_u32(&f.payload, (uint32_t)f.columns[i].len);
	bytes_u32(&f.payload, 0);
	bytes_u32(&f.payload, 3);
	bytes_u32(&f.payload, 0);
	for (size_t i = 0; i < TRACE_COLUMN_COUNT; i++)
		bytes_put(&f.payload, f.columns[i].data, f.columns[i].len);
	bytes_put(&f.payload, "abc", 3);
	len = f.payload.len;
	bytes_zero(&f.payload, CURSOR_SLACK);
	f.payload.len = len;
	assert_int_equal(decode_payload(&f), EVENT_DECODE_END);
	assert_null(f.decoder->problem);
	assert_int_equal(f.count, 1);
	tear_down(&f);
}

/* All events, in whatever batches. */
static uint64_t decode_all(struct fixture *f, size_t max)
{
	uint64_t count = 0;
	int result;

	assemble(f);
	assert_int_equal(event_decoder_start(f->decoder, f->payload.data,
					     f->payload.len, START),
			 0);
	do {
		result = event_decode(f->decoder, f->items, max, &f->count);
		count += f->count;
	} while (result == EVENT_DECODE_MORE);
	return count;
}

/* More shapes than there are numbers. */
static void many_shapes(void **state)
{
	enum { MORE = 10 };
	struct fixture f;

	(void)state;
	set_up(&f);
	put_malloc(&f, 16, 0, 0x1000);
	for (unsigned i = 1; i < TRACE_SHAPES_MAX + MORE; i++) {
		put_code(&f, NEW | SIZE | BEHIND);
		put_shape(&f, TRACE_EVENT_MALLOC, i > 1, 1);
		put_frame(&f, 16);
		put(&f, TRACE_COLUMN_SIZES, i & 0xff);
	}
	/* The last without a number has none for what follows. */
	put_code(&f, NEW);
	put_shape(&f, TRACE_EVENT_FREE, 0, 0);
	put_signed(&f, TRACE_COLUMN_FREED, 1);
	assert_int_equal(decode_all(&f, ITEMS), TRACE_SHAPES_MAX + MORE + 1);
	assert_null(f.decoder->problem);
	check_free(&f, f.count - 1, 1);
	keys_of(&f, f.count - 2);
	assert_int_equal(f.depth, 1);
	assert_int_equal(f.keys[0], 16 * (TRACE_SHAPES_MAX + MORE - 1));
	/* Two without a number predict none, but the last number is fine. */
	put_named(&f, BEHIND, TRACE_SHAPES_MAX - 1);
	assert_int_equal(decode_all(&f, ITEMS), TRACE_SHAPES_MAX + MORE + 2);
	put_code(&f, NEW);
	put_shape(&f, TRACE_EVENT_FREE, 0, 0);
	put_signed(&f, TRACE_COLUMN_FREED, 1);
	put_code(&f, 0);
	assert_int_equal(decode_all(&f, ITEMS), TRACE_SHAPES_MAX + MORE + 3);
	assert_non_null(strstr(f.decoder->problem, "shape is not known"));
	tear_down(&f);
}

/* More addresses than there are numbers. */
static void many_addresses(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	for (unsigned i = 0; i < 2; i++) {
		put_code(&f, NEW);
		put_shape(&f, TRACE_EVENT_FREE, i * 40000, 40000);
		put_signed(&f, TRACE_COLUMN_FREED, 1);
		for (unsigned j = 0; j < 40000; j++)
			put_frame(&f, 1);
	}
	put_code(&f, NEW);
	put_shape(&f, TRACE_EVENT_FREE, 40000, 1);
	put_signed(&f, TRACE_COLUMN_FREED, 1);
	put_u16(&f, TRACE_COLUMN_FRAMES, 65535);
	decode_whole(&f, 3);
	keys_of(&f, 1);
	assert_int_equal(f.depth, 40000);
	assert_int_equal(f.keys[39999], 80000);
	keys_of(&f, 2);
	assert_int_equal(f.keys[0], 65535);
	tear_down(&f);
}

/* A long shape repeated: bounded, however often. */
static void many_frames(void **state)
{
	enum { PUSH = 65000, TIMES = 300 };
	struct fixture f;

	(void)state;
	set_up(&f);
	put_code(&f, NEW);
	put_shape(&f, TRACE_EVENT_FREE, 0, 0);
	put_signed(&f, TRACE_COLUMN_FREED, 0);
	for (int i = 0; i < 2 * TIMES; i++) {
		if (i < 2) {
			put_code(&f, NEW);
			put_shape(&f, TRACE_EVENT_FREE, i ? PUSH : 0,
				  i ? 0 : PUSH);
			for (int j = 0; i == 0 && j < PUSH; j++)
				put_frame(&f, 1);
		} else {
			put_named(&f, 0, 1 + i % 2);
		}
		put_signed(&f, TRACE_COLUMN_FREED, 0);
	}
	assert_true(decode_all(&f, ITEMS) > 500);
	assert_non_null(strstr(f.decoder->problem, "more frames than the"));
	assert_true(f.stacks.count < 2 * PUSH);
	tear_down(&f);
}

/* Deeper than the limit by shapes that are not. */
static void too_deep(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	put_code(&f, NEW);
	put_shape(&f, TRACE_EVENT_FREE, 0, TRACE_STACK_DEPTH_MAX / 2);
	put_signed(&f, TRACE_COLUMN_FREED, 0);
	for (unsigned j = 0; j < TRACE_STACK_DEPTH_MAX / 2; j++)
		put_frame(&f, 1);
	put_named(&f, 0, 0);
	put_signed(&f, TRACE_COLUMN_FREED, 0);
	put_named(&f, 0, 0);
	put_signed(&f, TRACE_COLUMN_FREED, 0);
	check_problem(&f, 2, "deeper");
}

/* Small batches, each from a payload at another place. */
static void moved_payload(void **state)
{
	struct fixture f;
	uint64_t count = 0;
	uint8_t *data = NULL;
	int result;

	(void)state;
	set_up(&f);
	put_malloc(&f, 16, 0, 0x1000);
	for (int i = 1; i < 20; i++)
		put_named(&f, BEHIND, 0);
	assemble(&f);
	assert_int_equal(event_decoder_start(f.decoder, f.payload.data,
					     f.payload.len, START),
			 0);
	do {
		uint8_t *copy = malloc(f.payload.len + CURSOR_SLACK);

		assert_non_null(copy);
		memcpy(copy, f.payload.data, f.payload.len + CURSOR_SLACK);
		assert_true(
		    event_decoder_move(f.decoder, copy, f.payload.len));
		free(data);
		data = copy;
		result = event_decode(f.decoder, f.items, 3, &f.count);
		for (size_t i = 0; i < f.count; i++)
			check_block(&f, i, 0x1000 + 24 * (count + i), 16, 0);
		count += f.count;
	} while (result == EVENT_DECODE_MORE);
	assert_null(f.decoder->problem);
	assert_int_equal(count, 20);
	assert_false(event_decoder_move(f.decoder, data, f.payload.len - 1));
	free(data);
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(no_events),
	    cmocka_unit_test(blocks),
	    cmocka_unit_test(class_is_full),
	    cmocka_unit_test(reallocs),
	    cmocka_unit_test(shapes),
	    cmocka_unit_test(no_stack),
	    cmocka_unit_test(rare_kinds),
	    cmocka_unit_test(times),
	    cmocka_unit_test(bad_codes),
	    cmocka_unit_test(bad_shapes),
	    cmocka_unit_test(bad_blocks),
	    cmocka_unit_test(wrong_lengths),
	    cmocka_unit_test(bad_head),
	    cmocka_unit_test(more_columns),
	    cmocka_unit_test(many_shapes),
	    cmocka_unit_test(many_addresses),
	    cmocka_unit_test(many_frames),
	    cmocka_unit_test(too_deep),
	    cmocka_unit_test(moved_payload),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
