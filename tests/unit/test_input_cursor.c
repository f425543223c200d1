/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include "report/input/cursor.h"
#include "tests/lib/random.h"
#include "tests/lib/trace_write.h"

static void fixed_width(void **state)
{
	static const uint8_t data[] = {1, 2, 0, 0, 0, 3, 0,
				       0, 0, 0, 0, 0, 0, 9};
	struct cursor cursor = cursor_make(data, sizeof(data));

	(void)state;
	assert_int_equal(cursor_u8(&cursor), 1);
	assert_int_equal(cursor_u32(&cursor), 2);
	assert_int_equal(cursor_u64(&cursor), 3);
	assert_int_equal(cursor.left, 1);
	assert_false(cursor.failed);
	assert_int_equal(cursor_u32(&cursor), 0);
	assert_true(cursor.failed);
	/* The failure sticks, though one byte would be there. */
	assert_int_equal(cursor_u8(&cursor), 0);
}

static void strings(void **state)
{
	static const uint8_t data[] = {2, 0, 0, 0, 'a', 'b', 9, 0, 0, 0, 'c'};
	struct cursor cursor = cursor_make(data, sizeof(data));
	struct cursor_text text = cursor_string(&cursor, 10);

	(void)state;
	assert_int_equal(text.len, 2);
	assert_memory_equal(text.data, "ab", 2);
	text = cursor_string(&cursor, 10);
	assert_int_equal(text.len, 0);
	assert_true(cursor.failed);
	cursor = cursor_make(data, sizeof(data));
	text = cursor_string(&cursor, 1);
	assert_int_equal(text.len, 0);
	assert_true(cursor.failed);
}

static void varints(void **state)
{
	struct random random = {1};
	struct bytes bytes = {0};

	(void)state;
	for (int i = 0; i < 200000; i++) {
		uint64_t value = random_wide(&random, 64);
		const uint8_t *at, *end;

		bytes.len = 0;
		bytes_varint(&bytes, value);
		bytes_svarint(&bytes, value);
		end = bytes.data + bytes.len;
		bytes_zero(&bytes, CURSOR_SLACK);
		end = bytes.data + bytes.len - CURSOR_SLACK;
		at = bytes.data;
		assert_int_equal(varint_read(&at, end), value);
		assert_int_equal(svarint_read(&at, end), value);
		assert_ptr_equal(at, end);
	}
	bytes_done(&bytes);
}

/* An overlong or cut off varint puts the position beyond the end. */
static void bad_varints(void **state)
{
	uint8_t data[16 + CURSOR_SLACK];

	(void)state;
	for (size_t len = 1; len < 16; len++) {
		const uint8_t *at = data;
		const uint8_t *end = data + len;

		memset(data, 0, sizeof(data));
		memset(data, 0xff, len);
		varint_read(&at, end);
		assert_true(at > end);
		assert_true(at <= data + sizeof(data) - 100);
	}
	for (unsigned last = 0; last < 256; last++) {
		const uint8_t *at = data;

		memset(data, 0, sizeof(data));
		memset(data, 0xff, 9);
		data[9] = (uint8_t)last;
		if (last <= 1) {
			assert_int_equal(varint_read(&at, data + 10),
					 UINT64_MAX >> !last);
			assert_ptr_equal(at, data + 10);
		} else {
			varint_read(&at, data + 10);
			assert_true(at > data + 10);
		}
	}
}

/* Bytes that say nothing: 0x80 0x00 is zero too. */
static void padded_varints(void **state)
{
	uint8_t data[16 + CURSOR_SLACK] = {0x85, 0x80, 0x80, 0x00};
	const uint8_t *at = data;

	(void)state;
	assert_int_equal(varint_read(&at, data + 4), 5);
	assert_ptr_equal(at, data + 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(fixed_width),    cmocka_unit_test(strings),
	    cmocka_unit_test(varints),        cmocka_unit_test(bad_varints),
	    cmocka_unit_test(padded_varints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
