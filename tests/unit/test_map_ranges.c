/* SPDX-License-Identifier: MIT */
/* When nothing of a call of mmap is mapped any more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/aggregate/map_ranges.h"

enum { PAGE = 4096 };

static struct map_ranges ranges;
static uint64_t now;

static int begin(void **state)
{
	(void)state;
	map_ranges_done(&ranges);
	now = 0;
	return 0;
}

/* Addresses and lengths in pages; each call comes one tick after the last. */
static void map(uint64_t first, uint64_t pages)
{
	assert_int_equal(map_ranges_map(&ranges, first * PAGE,
					pages * PAGE - 1, ++now, true), 0);
}

static void unmap(uint64_t first, uint64_t pages)
{
	assert_int_equal(map_ranges_unmap(&ranges, first * PAGE,
					  pages * PAGE, ++now), 0);
}

static void move(uint64_t first, uint64_t pages, uint64_t to, uint64_t to_pages)
{
	const uint64_t before[2] = { first * PAGE, pages * PAGE };
	const uint64_t after[2] = { to * PAGE, to_pages * PAGE };

	assert_int_equal(map_ranges_move(&ranges, before, after, false, ++now),
			 0);
}

#define LIVES(owner) \
	assert_true(map_ranges_end(&ranges, (owner)) == MAP_RANGES_NOT_ENDED)
#define ENDS(owner, tick) \
	assert_int_equal(map_ranges_end(&ranges, (owner)), (tick))

static void in_parts(void **state)
{
	(void)state;
	map(10, 5);
	unmap(11, 2); /* a hole */
	unmap(14, 3);
	unmap(10, 1);
	LIVES(0);
	unmap(13, 1);
	ENDS(0, 5);
	unmap(0, 100);
	ENDS(0, 5);
}

static void several_at_once(void **state)
{
	(void)state;
	map(10, 2);
	map(12, 2);
	map(14, 2);
	unmap(11, 4);
	LIVES(0);
	ENDS(1, 4);
	LIVES(2);
}

static void replaced(void **state)
{
	(void)state;
	map(10, 2);
	map(9, 2);
	LIVES(0);
	map(10, 2);
	ENDS(0, 3);
	LIVES(1);
	LIVES(2);
	/* By a call that is only counted. */
	assert_int_equal(map_ranges_map(&ranges, 0, 100 * PAGE, ++now, false),
			 0);
	ENDS(1, 4);
	ENDS(2, 4);
}

static void moved(void **state)
{
	(void)state;
	map(10, 2);
	map(50, 3);
	move(10, 2, 50, 4); /* in the place of another, and longer */
	LIVES(0);
	ENDS(1, 3);
	unmap(10, 2);
	unmap(50, 3);
	LIVES(0);
	move(53, 1, 60, 1);
	unmap(60, 1);
	ENDS(0, 7);
}

static void moved_in_part(void **state)
{
	(void)state;
	map(10, 4);
	move(11, 2, 80, 1); /* one page is lost, two stay */
	unmap(80, 1);
	unmap(10, 1);
	LIVES(0);
	unmap(13, 1);
	ENDS(0, 5);
}

static void both_stay(void **state)
{
	const uint64_t before[2] = { 10 * PAGE, PAGE };
	const uint64_t after[2] = { 20 * PAGE, PAGE };

	(void)state;
	map(10, 1);
	assert_int_equal(map_ranges_move(&ranges, before, after, true, ++now),
			 0);
	unmap(10, 1);
	LIVES(0);
	unmap(20, 1);
	ENDS(0, 4);
}

static void odd_lengths(void **state)
{
	const uint64_t none[2] = { 0, 0 }, all[2] = { 1, UINT64_MAX };

	(void)state;
	assert_int_equal(map_ranges_map(&ranges, UINT64_MAX - 1, UINT64_MAX, 1,
					true), 0);
	assert_int_equal(map_ranges_map(&ranges, 5, 0, 2, true), 0);
	assert_int_equal(map_ranges_move(&ranges, all, none, false, 3), 0);
	ENDS(0, 3);
	LIVES(1);
	assert_int_equal(map_ranges_move(&ranges, none, all, true, 4), 0);
	assert_int_equal(ranges.count, 0);
}

/* The piece number @i of what is past, in pages. */
static void past_is(size_t i, uint64_t first, uint64_t pages, uint32_t owner,
		    uint64_t from_tick, uint64_t to_tick)
{
	const struct map_piece *piece = &ranges.past.items[i];

	assert_true(i < ranges.past.count);
	assert_int_equal(piece->begin, first * PAGE);
	assert_int_equal(piece->end, (first + pages) * PAGE);
	assert_int_equal(piece->owner, owner);
	assert_int_equal(piece->from_tick, from_tick);
	assert_true(piece->to_tick == to_tick);
}

static void what_was_where(void **state)
{
	(void)state;
	ranges.keeps_past = true;
	map(10, 10);
	unmap(12, 2);
	map(18, 4);
	move(10, 2, 30, 3);
	assert_int_equal(map_ranges_settle(&ranges), 0);
	assert_int_equal(ranges.past.count, 6);
	past_is(0, 12, 2, 0, 1, 2);
	past_is(1, 18, 2, 0, 1, 3);
	past_is(2, 10, 2, 0, 1, 4);
	past_is(3, 14, 4, 0, 1, UINT64_MAX);
	past_is(4, 18, 4, 1, 3, UINT64_MAX);
	past_is(5, 30, 3, 0, 4, UINT64_MAX);
	assert_false(ranges.past.is_cut);
	ranges.keeps_past = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(in_parts, begin),
		cmocka_unit_test_setup(several_at_once, begin),
		cmocka_unit_test_setup(replaced, begin),
		cmocka_unit_test_setup(moved, begin),
		cmocka_unit_test_setup(moved_in_part, begin),
		cmocka_unit_test_setup(both_stay, begin),
		cmocka_unit_test_setup(odd_lengths, begin),
		cmocka_unit_test_setup(what_was_where, begin),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	map_ranges_done(&ranges);
	return failed;
}
