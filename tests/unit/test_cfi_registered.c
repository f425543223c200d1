/* SPDX-License-Identifier: MIT */
/* Call frame information that a program registers: whatever it hands over. */
#include "tests/lib/unit.h"

#include <sys/mman.h>

#include "tests/lib/random.h"
#include "tests/programs/generated.h"
#include "tracer/cfi_registered.h"
#include "tracer/rules.h"

enum { BLOCKS = 3000, CODE = 0x7e000000, RECORDS = 24 + 44 + 4 };

static uint8_t *make_code_address(size_t i)
{
	return (uint8_t *)(uintptr_t)(CODE + i * 32);
}

static void check_frame(size_t i, size_t offset, uintptr_t want)
{
	uintptr_t pc = (uintptr_t)make_code_address(i) + offset;
	uint32_t rule = rules_build(pc + 1);

	assert_int_equal(rule_kind(rule), want ? RULE_RSP : RULE_GUESS);
	assert_int_equal(rule_offset(rule), want);
}

/* Pages of which the second cannot be read. */
static uint8_t *map_before_hole(void)
{
	uint8_t *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	assert_int_equal(mprotect(p + 4096, 4096, PROT_NONE), 0);
	return p;
}

static void test_many(void **state)
{
	uint8_t records[GENERATED_BYTES];
	struct cfi_range range;

	(void)state;
	for (size_t i = 0; i < BLOCKS; i++) {
		uintptr_t at = (uintptr_t)make_code_address(i);

		generate_frames(records, make_code_address(i), 128 + i % 8 * 16);
		range = cfi_register(i + 1, (uintptr_t)records);
		assert_int_equal(range.start, at);
		assert_int_equal(range.end, at + 24);
	}
	memset(records, 0xff, sizeof(records));
	for (size_t i = 0; i < BLOCKS; i += 7) {
		check_frame(i, 0, 8);
		check_frame(i, 14, 144 + i % 8 * 16);
		check_frame(i, 24, 0);
	}
	for (size_t i = 0; i < BLOCKS; i++) {
		assert_true(cfi_unregister(i + 1, &range));
		assert_int_equal(range.start, (uintptr_t)make_code_address(i));
		assert_false(cfi_unregister(i + 1, &range));
		if (i % 100 == 0)
			check_frame(i, 14, 0);
	}
}

/* The newest of two at one place holds. */
static void test_twice(void **state)
{
	uint8_t records[GENERATED_BYTES];
	struct cfi_range range;

	(void)state;
	generate_frames(records, make_code_address(1), 128);
	cfi_register(5, (uintptr_t)records);
	generate_frames(records, make_code_address(1), 608);
	cfi_register(5, (uintptr_t)records);
	check_frame(1, 14, 624);
	assert_true(cfi_unregister(5, &range));
	check_frame(1, 14, 144);
	assert_true(cfi_unregister(5, &range));
	check_frame(1, 14, 0);
	assert_false(cfi_unregister(0, &range));
}

static void test_places(void **state)
{
	uint8_t *p = map_before_hole();
	uint8_t records[RECORDS];
	struct cfi_range range;

	(void)state;
	/* Nothing is there; it is empty; it is cut at every byte. */
	range = cfi_register(9, 16);
	assert_int_equal(range.end, 0);
	range = cfi_register(9, UINTPTR_MAX - 2);
	assert_int_equal(range.end, 0);
	range = cfi_register(9, (uintptr_t)p);
	assert_int_equal(range.end, 0);
	generate_frames(records, make_code_address(2), 128);
	for (size_t len = 0; len <= sizeof(records); len++) {
		uint8_t *at = p + 4096 - len;

		memcpy(at, records, len);
		range = cfi_register(9, (uintptr_t)at);
		if (len >= sizeof(records) - 4)
			assert_true(range.end > range.start);
		else
			assert_int_equal(range.end, 0);
		cfi_unregister(9, &range);
	}
	/* A single FDE, as another library takes it. */
	range = cfi_register(9, (uintptr_t)p + 4096 - sizeof(records) + 24);
	assert_int_equal(range.end, 0);
	cfi_unregister(9, &range);
	assert_int_equal(cfi_table_entry((uintptr_t)p + 4092, 0), 0);
	munmap(p, 8192);
}

static void test_damage(void **state)
{
	struct random random = { .state = 3 };
	uint8_t *p = map_before_hole();
	struct cfi_range range;

	(void)state;
	for (int round = 0; round < 10000; round++) {
		uint8_t *at = p + 4096 - 2 * RECORDS;
		int changes = 1 + (int)random_below(&random, 6);

		generate_frames(at, make_code_address(3), 128);
		generate_frames(at + RECORDS, make_code_address(4), 608);
		/* Half of them without the end of the first block. */
		if (random_below(&random, 2))
			memmove(at + RECORDS - 4, at + RECORDS, RECORDS);
		while (changes-- > 0)
			at[random_below(&random, 2 * RECORDS)] =
			    (uint8_t)random_u64(&random);
		range = cfi_register(9, (uintptr_t)at);
		for (size_t offset = 0; offset < 24; offset += 3)
			rules_build((uintptr_t)make_code_address(3) + offset);
		rules_build(range.start + 1);
		rules_build(range.end);
		cfi_unregister(9, &range);
	}
	munmap(p, 8192);
}

static int setup(void **state)
{
	(void)state;
	return rules_init() ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_twice),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
