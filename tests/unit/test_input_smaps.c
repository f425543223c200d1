/* SPDX-License-Identifier: MIT */
/* Samples of what memory is made of: what becomes of them, also of bad ones. */
#include "tests/lib/unit.h"

#include "report/input/chunk.h"
#include "tests/lib/trace_read.h"
#include "tests/lib/trace_write.h"

enum { START = 1000, MIB = 1 << 20 };

static void put_head(struct bytes *out)
{
	struct trace_process head = { .clock = TRACE_CLOCK_MONOTONIC,
				      .tick = START,
				      .monotonic_ns = 5000,
				      .realtime_ns = 77 };

	trace_put_preamble(out, 1);
	trace_put_process(out, &head);
}

static void put_row(struct bytes *payload, uint32_t kind, uint64_t resident,
		    const char *name)
{
	bytes_u32(payload, kind);
	bytes_u32(payload, 2);
	for (unsigned i = 0; i < TRACE_SMAPS_VALUES; i++)
		bytes_u64(payload, i == 1 ? resident : i);
	bytes_string(payload, name);
}

static void put_payload(struct bytes *out, uint64_t tick,
			struct bytes *payload)
{
	struct trace_chunk_header header = { .type = TRACE_CHUNK_SMAPS,
					     .first_tick = tick,
					     .last_tick = tick };

	trace_put_chunk(out, &header, payload, TRACE_PACK_PLAIN);
	bytes_done(payload);
	memset(payload, 0, sizeof(*payload));
}

static void begin_payload(struct bytes *payload, uint64_t tick, uint32_t rows)
{
	bytes_u64(payload, tick);
	bytes_u32(payload, rows);
	bytes_u32(payload, 0);
}

/* A sample with a heap of @heap bytes and a file of 1 MiB. */
static void put_sample(struct bytes *out, uint64_t tick, uint64_t heap)
{
	struct bytes payload = {0};

	begin_payload(&payload, tick, 2);
	put_row(&payload, TRACE_SMAPS_HEAP, heap, "[heap]");
	put_row(&payload, TRACE_SMAPS_FILE, MIB, "/lib/a\x1b.so");
	put_payload(out, tick, &payload);
}

static void sums_and_mappings(void **state)
{
	struct bytes out = {0};
	struct trace_read read;
	const struct run *run = &read.run;

	(void)state;
	put_head(&out);
	put_sample(&out, START + 30, 5 * MIB);
	put_sample(&out, START + 10, 7 * MIB); /* not in their order */
	trace_put_end(&out, TRACE_END_EXIT, START + 40, 5040, 0, 0);
	trace_read_open_memory(&read, out.data, out.len);
	assert_int_equal(read.status, 0);
	assert_int_equal(run->damage.count, 0);
	assert_int_equal(run->memory_count, 2);
	assert_int_equal(run->memory[0].tick, START + 10);
	assert_int_equal(run->memory[0].resident[RUN_MEMORY_HEAP], 7 * MIB);
	assert_int_equal(run->memory[1].resident_all, 6 * MIB);
	assert_int_equal(run->memory[1].swapped, 2 * 7);
	assert_int_equal(run->mappings_highest.sums.tick, START + 10);
	assert_int_equal(run->mappings_last.sums.tick, START + 30);
	assert_int_equal(run->mappings_last.count, 2);
	assert_int_equal(run->mappings_last.items[0].kind, RUN_MEMORY_HEAP);
	assert_int_equal(run->mappings_last.items[0].mappings, 2);
	assert_int_equal(run->mappings_last.items[1].clean, 3 + 5);
	assert_int_equal(run->mappings_last.items[1].dirty, 4 + 6);
	/* Names are made harmless. */
	assert_null(strchr(run->mappings_last.items[1].name, '\x1b'));
	trace_read_close(&read);
	bytes_done(&out);
}

static void many_samples(void **state)
{
	struct bytes out = {0};
	struct trace_read read;
	const struct run *run = &read.run;
	uint64_t highest = 0;

	(void)state;
	put_head(&out);
	for (uint64_t i = 0; i < 5000; i++)
		put_sample(&out, START + i,
			   i == 3333 ? UINT64_C(99) * MIB : i * 4096);
	trace_put_end(&out, TRACE_END_EXIT, START + 5000, 9000, 0, 0);
	trace_read_open_memory(&read, out.data, out.len);
	assert_int_equal(read.status, 0);
	assert_in_range(run->memory_count, 400, 1024);
	for (size_t i = 0; i < run->memory_count; i++) {
		if (run->memory[i].resident_all > highest)
			highest = run->memory[i].resident_all;
		if (i)
			assert_true(run->memory[i].tick >
				    run->memory[i - 1].tick);
	}
	assert_int_equal(highest, UINT64_C(100) * MIB);
	assert_int_equal(run->mappings_highest.sums.tick, START + 3333);
	assert_int_equal(run->mappings_last.sums.tick, START + 4999);
	trace_read_close(&read);
	bytes_done(&out);
}

/* Each is said to be damaged and the good one beside it is taken. */
static void check_bad(struct bytes *payload)
{
	struct bytes out = {0};
	struct trace_read read;

	put_head(&out);
	put_sample(&out, START + 1, MIB);
	put_payload(&out, START + 2, payload);
	trace_put_end(&out, TRACE_END_EXIT, START + 40, 5040, 0, 0);
	trace_read_open_memory(&read, out.data, out.len);
	assert_int_equal(read.status, 0);
	assert_int_equal(read.run.damage.count, 1);
	assert_non_null(
		strstr(read.run.damage.items[0].text, "SMAPS chunk is damaged"));
	assert_int_equal(read.run.memory_count, 1);
	trace_read_close(&read);
	bytes_done(&out);
}

static void bad_samples(void **state)
{
	struct bytes payload = {0};

	(void)state;
	check_bad(&payload); /* empty */
	begin_payload(&payload, START, 0);
	check_bad(&payload);
	begin_payload(&payload, START, UINT32_MAX);
	check_bad(&payload);
	begin_payload(&payload, START, 2);
	put_row(&payload, TRACE_SMAPS_HEAP, MIB, "one, not two");
	check_bad(&payload);
	begin_payload(&payload, START, 1);
	put_row(&payload, TRACE_SMAPS_HEAP, UINT64_MAX, "too much");
	check_bad(&payload);
	begin_payload(&payload, START, 1);
	put_row(&payload, TRACE_SMAPS_HEAP, MIB, "");
	memset(payload.data + payload.len - 4, 0xff, 4); /* length of the name */
	check_bad(&payload);
}

static void unknown_kinds(void **state)
{
	struct bytes out = {0}, payload = {0};
	struct trace_read read;

	(void)state;
	put_head(&out);
	begin_payload(&payload, START + 1, 2);
	put_row(&payload, 0, MIB, "");
	put_row(&payload, 4711, 2 * MIB, "");
	put_payload(&out, START + 1, &payload);
	trace_put_end(&out, TRACE_END_EXIT, START + 40, 5040, 0, 0);
	trace_read_open_memory(&read, out.data, out.len);
	assert_int_equal(read.status, 0);
	assert_int_equal(read.run.damage.count, 0);
	assert_int_equal(read.run.memory[0].resident[RUN_MEMORY_REST], 3 * MIB);
	trace_read_close(&read);
	bytes_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_and_mappings),
		cmocka_unit_test(many_samples),
		cmocka_unit_test(bad_samples),
		cmocka_unit_test(unknown_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
