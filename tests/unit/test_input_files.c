/* SPDX-License-Identifier: MIT */
/* Whole files written by hand: what is said about them. */
#include "tests/lib/unit.h"

#include <errno.h>

#include "report/core/vec.h"
#include "report/input/chunk.h"
#include "report/input/input.h"
#include "tests/lib/trace_read.h"
#include "tests/lib/trace_write.h"

enum { START = 1000 };

static struct trace_process process(uint8_t clock)
{
	return (struct trace_process){ .clock = clock,
				       .tick = START,
				       .monotonic_ns = 5000,
				       .realtime_ns = 77 };
}

static void put_head(struct bytes *out, uint8_t clock)
{
	struct trace_process head = process(clock);

	trace_put_preamble(out, 1);
	trace_put_process(out, &head);
}

/* @count frees without stacks, one tick apart. */
static size_t put_frees(struct bytes *out, uint32_t thread, uint32_t sequence,
			uint64_t tick, uint32_t count)
{
	struct trace_chunk_header header = { .type = TRACE_CHUNK_EVENTS,
					     .thread = thread,
					     .first_tick = tick,
					     .last_tick = tick + count,
					     .event_count = count,
					     .sequence = sequence };
	struct bytes payload = {0};
	size_t offset;

	for (uint32_t i = 0; i < count; i++) {
		bytes_u8(&payload, TRACE_EVENT_FREE);
		bytes_varint(&payload, 1);
		bytes_varint(&payload, 0);
		bytes_varint(&payload, 0);
		bytes_svarint(&payload, 16);
	}
	offset = trace_put_chunk(out, &header, &payload, TRACE_PACK_PLAIN);
	bytes_done(&payload);
	return offset;
}

static size_t count_events(struct trace_read *read)
{
	struct seen_events seen = {0};
	size_t count;

	assert_int_equal(trace_read_events(read, &seen), 0);
	count = seen.count;
	vec_done(&seen);
	return count;
}

/* One finding, at @offset, that says @text. */
static void check_finding(struct trace_read *read, uint64_t offset,
			  const char *text)
{
	const struct findings *damage = &read->run.damage;

	if (damage->count != 1 || !strstr(damage->items[0].text, text))
		trace_read_complain(read);
	assert_int_equal(damage->count, 1);
	assert_non_null(strstr(damage->items[0].text, text));
	assert_int_equal(damage->items[0].offset, offset);
}

static void check_refused(const void *data, size_t len, int status,
			  const char *text)
{
	struct trace_read read;

	trace_read_open_memory(&read, data, len);
	assert_int_equal(read.status, status);
	if (!strstr(read.diag.text, text))
		fail_msg("\"%s\" is not in \"%s\"", text, read.diag.text);
	trace_read_close(&read);
}

static void foreign_files(void **state)
{
	(void)state;
	check_refused("", 0, -EPROTO, "is empty");
	check_refused("\x1f\x8b\x08", 3, -EPROTO, "gzip");
	check_refused("\x28\xb5\x2f\xfd....", 8, -EPROTO, "zstd");
	check_refused("\x28\xb5\x2f\xfd...." TRACE_CHUNK_MAGIC, 16, -EPROTO,
		      "zstd");
	check_refused("\x7f"
		      "ELF\2\1\1",
		      7, -EPROTO, "ELF");
	check_refused("v 10500 3\nX foo\n", 16, -EPROTO, "heaptrack");
	check_refused("\1\x2d\x09\0\0\xf0\x09\0\0\0\0\0\0\0\0\0", 16, -EPROTO,
		      "bytehound");
	check_refused("{\"a\": 1}\n", 9, -EPROTO, "text");
	check_refused("\0\0\0\0", 4, -EPROTO, "zeros");
	check_refused("\1\2\3\4", 4, -EPROTO, "binary");
	check_refused(TRACE_LIVE_MAGIC, 8, -EPROTO, "without .live");
}

static void missing_files(void **state)
{
	struct trace_read read;

	(void)state;
	trace_read_open_path(&read, "/no/such/file");
	assert_int_equal(read.status, -ENOENT);
	assert_string_equal(read.diag.file, "/no/such/file");
	trace_read_close(&read);
	trace_read_open_path(&read, "/");
	assert_int_equal(read.status, -EISDIR);
	assert_string_equal(read.diag.text, "is a directory");
	trace_read_close(&read);
	trace_read_open_path(&read, "/dev/zero");
	assert_int_equal(read.status, -ENODEV);
	trace_read_close(&read);
}

static void versions(void **state)
{
	struct bytes out = {0};
	struct trace_read read;

	(void)state;
	put_head(&out, TRACE_CLOCK_MONOTONIC);
	put_frees(&out, 1, 0, START, 3);
	out.data[10] = 9; /* minor */
	trace_repair(out.data, out.len);
	trace_read_open_memory(&read, out.data, out.len);
	assert_int_equal(read.status, 0);
	assert_string_equal(read.run.format, "memprof 2.9");
	assert_int_equal(count_events(&read), 3);
	assert_int_equal(read.run.damage.count, 0);
	trace_read_close(&read);
	out.data[8] = 1; /* major */
	trace_repair(out.data, out.len);
	trace_read_open_memory(&read, out.data, out.len);
	assert_int_equal(read.status, 0);
	assert_string_equal(read.run.format, "memprof 1.9");
	assert_int_equal(count_events(&read), 3);
	assert_int_equal(read.run.damage.count, 0);
	trace_read_close(&read);
	out.data[8] = 3;
	trace_repair(out.data, out.len);
	check_refused(out.data, out.len, -ENOTSUP, "version 3.9");
	check_refused(out.data, out.len, -ENOTSUP, "up to 2.x");
	bytes_done(&out);
}

static void only_a_preamble(void **state)
{
	struct bytes out = {0};

	(void)state;
	trace_put_preamble(&out, 1);
	check_refused(out.data, out.len, -ENODATA, "no chunk");
	check_refused(out.data, 31, -ENODATA, "ends within the preamble");
	check_refused(out.data, 1, -ENODATA, "ends within the preamble");
	bytes_done(&out);
}

static void run_information(void **state)
{
	struct bytes out = {0};
	struct trace_read read;

	(void)state;
	put_head(&out, TRACE_CLOCK_TSC);
	trace_put_module(&out, 1, TRACE_MODULE_EXECUTABLE, START, 0x1000,
			 0x2000, "/a\nb");
	trace_put_thread(&out, 2, TRACE_THREAD_START, START + 1, "");
	trace_put_thread(&out, 2, TRACE_THREAD_NAME, START + 2, "name");
	trace_put_thread(&out, 2, TRACE_THREAD_END, START + 9, "");
	put_frees(&out, 1, 0, START, 3);
	trace_put_lost(&out, 4, TRACE_LOST_MEMORY, START);
	trace_put_clock(&out, START + 500, 5000 + 125);
	trace_put_end(&out, TRACE_END_EXEC, START + 1000, 5000 + 250, 3, 5);
	trace_read_open_memory(&read, out.data, out.len);
	assert_int_equal(read.status, 0);
	assert_int_equal(read.run.damage.count, 0);
	assert_true(read.run.tick_ns == 0.25);
	assert_int_equal(read.run.last_tick, START + 1000);
	assert_int_equal(read.run.end, RUN_END_EXEC);
	assert_int_equal(read.run.end_status, 3);
	assert_string_equal(read.run.exec_program, "/bin/next");
	/* END counts all losses. */
	assert_int_equal(read.run.events_lost, 5);
	assert_int_equal(read.run.thread_count, 2);
	assert_int_equal(read.run.threads[0].number, 1);
	assert_int_equal(read.run.threads[0].end_tick, UINT64_MAX);
	assert_string_equal(read.run.threads[1].name, "name");
	assert_int_equal(read.run.threads[1].start_tick, START + 1);
	assert_int_equal(read.run.threads[1].end_tick, START + 9);
	assert_string_equal(read.run.modules.items[0].path, "/a\nb");
	assert_string_equal(read.run.modules.items[0].name, "/a\xef\xbf\xbd"
							    "b");
	trace_read_close(&read);
	bytes_done(&out);
}

static void clock_unknown(void **state)
{
	struct bytes out = {0};
	struct trace_read read;

	(void)state;
	put_head(&out, TRACE_CLOCK_TSC);
	put_frees(&out, 1, 0, START, 3);
	trace_read_open_memory(&read, out.data, out.len);
	assert_true(read.run.tick_ns == 1);
	check_finding(&read, DIAG_NO_OFFSET, "not calibrated");
	trace_read_close(&read);
	bytes_done(&out);
}

static void no_process(void **state)
{
	struct bytes out = {0};
	struct trace_read read;

	(void)state;
	trace_put_preamble(&out, 1);
	trace_put_clock(&out, START, 1000);
	put_frees(&out, 1, 0, START + 5, 3);
	trace_put_clock(&out, START + 100, 1050);
	trace_read_open_memory(&read, out.data, out.len);
	assert_int_equal(read.run.first_tick, START);
	assert_int_equal(read.run.last_tick, START + 100);
	assert_true(read.run.tick_ns == 0.5 || read.run.tick_ns == 1);
	assert_string_equal(read.run.executable, "");
	assert_int_equal(count_events(&read), 3);
	check_finding(&read, DIAG_NO_OFFSET, "no PROCESS chunk");
	trace_read_close(&read);
	bytes_done(&out);
}

/* As a helper process that was killed leaves them. */
static void chunks_written_twice(void **state)
{
	struct bytes out = {0};
	struct trace_read read;
	size_t first;

	(void)state;
	put_head(&out, TRACE_CLOCK_MONOTONIC);
	put_frees(&out, 1, 0, START, 2);
	first = put_frees(&out, 1, 1, START + 10, 3);
	put_frees(&out, 1, 1, START + 10, 3);
	trace_read_open_memory(&read, out.data, out.len);
	assert_int_equal(count_events(&read), 5);
	assert_int_equal(read.run.damage.count, 0);
	trace_read_close(&read);

	out.data[first + CHUNK_HEADER_LEN] ^= 1;
	trace_read_open_memory(&read, out.data, out.len);
	assert_int_equal(count_events(&read), 5);
	assert_int_equal(read.run.damage.count, 0);
	trace_read_close(&read);
	bytes_done(&out);
}

static void gaps_and_duplicates(void **state)
{
	struct bytes out = {0};
	struct trace_read read;
	size_t second, far;

	(void)state;
	put_head(&out, TRACE_CLOCK_MONOTONIC);
	put_frees(&out, 1, 1, START + 10, 3);
	put_frees(&out, 1, 0, START, 2); /* order in the file is free */
	second = put_frees(&out, 1, 1, START + 11, 3);
	trace_read_open_memory(&read, out.data, out.len);
	assert_int_equal(count_events(&read), 5);
	check_finding(&read, second, "a second buffer 1");
	trace_read_close(&read);

	far = put_frees(&out, 2, 4, START + 10, 3);
	trace_read_open_memory(&read, out.data, out.len);
	assert_int_equal(count_events(&read), 8);
	assert_int_equal(read.run.damage.count, 2);
	assert_int_equal(read.run.damage.items[1].offset, far);
	assert_non_null(
	    strstr(read.run.damage.items[1].text, "4 buffers"));
	trace_read_close(&read);
	bytes_done(&out);
}

static void checksum(void **state)
{
	struct bytes out = {0};
	struct trace_read read;
	size_t at;

	(void)state;
	put_head(&out, TRACE_CLOCK_MONOTONIC);
	put_frees(&out, 3, 0, START, 10);
	at = put_frees(&out, 3, 1, START + 100000000, 50);
	put_frees(&out, 3, 2, START + 200000000, 10);
	out.data[at + 72 + 60] ^= 4;
	trace_read_open_memory(&read, out.data, out.len);
	assert_int_equal(read.run.damage.count, 0);
	assert_int_equal(count_events(&read), 20);
	check_finding(&read, at,
		      "thread 3: its checksum differs; 50 events "
		      "between 0.100000 s and 0.100000 s are lost");
	assert_int_equal(read.run.events_skipped, 50);
	assert_int_equal(read.run.damaged_bytes, 72 + 250);
	/* Said once, however often it is read. */
	read.input->format->rewind(read.input);
	assert_int_equal(count_events(&read), 20);
	assert_int_equal(read.run.damage.count, 1);
	assert_int_equal(read.run.events_skipped, 50);
	trace_read_close(&read);
	bytes_done(&out);
}

static void bad_event(void **state)
{
	struct bytes out = {0};
	struct trace_read read;
	size_t at;

	(void)state;
	put_head(&out, TRACE_CLOCK_MONOTONIC);
	at = put_frees(&out, 1, 0, START, 10);
	put_frees(&out, 1, 1, START + 50, 10);
	out.data[at + 72 + 20] = 31; /* the tag of the fifth */
	trace_repair(out.data, out.len);
	trace_read_open_memory(&read, out.data, out.len);
	assert_int_equal(count_events(&read), 14);
	check_finding(&read, at, "the event at 20: its tag is not known");
	assert_int_equal(read.run.events_skipped, 6);
	trace_read_close(&read);
	bytes_done(&out);
}

/* A write that was cut off by a full disk, then others that were not. */
static void cut_in_the_middle(void **state)
{
	struct bytes out = {0};
	struct trace_read read;
	size_t at, end;

	(void)state;
	put_head(&out, TRACE_CLOCK_MONOTONIC);
	at = put_frees(&out, 1, 0, START, 100);
	end = out.len;
	out.len -= 123;
	put_frees(&out, 1, 1, START + 200, 7);
	put_frees(&out, 2, 0, START + 200, 5);
	assert_true(end < out.len);
	trace_read_open_memory(&read, out.data, out.len);
	assert_int_equal(count_events(&read), 12);
	assert_false(read.run.truncated);
	check_finding(&read, at, "checksum");
	trace_read_close(&read);

	/* The same where the cut off chunk reaches beyond the end. */
	out.len = at + 72 + 20;
	put_frees(&out, 2, 0, START + 200, 5);
	trace_read_open_memory(&read, out.data, out.len);
	assert_int_equal(count_events(&read), 5);
	assert_false(read.run.truncated);
	check_finding(&read, at, "100 events are lost");
	trace_read_close(&read);
	bytes_done(&out);
}

static void cut_at_the_end(void **state)
{
	struct bytes out = {0};
	struct trace_read read;
	size_t at;

	(void)state;
	put_head(&out, TRACE_CLOCK_MONOTONIC);
	put_frees(&out, 1, 0, START, 100);
	at = put_frees(&out, 1, 1, START + 100, 100);
	trace_read_open_memory(&read, out.data, out.len - 1);
	assert_true(read.run.truncated);
	check_finding(&read, at, "499 of its 500 bytes; 100 events are lost");
	trace_read_close(&read);
	trace_read_open_memory(&read, out.data, at + 30);
	assert_true(read.run.truncated);
	check_finding(&read, at, "within the header of a chunk, after 30");
	trace_read_close(&read);
	bytes_done(&out);
}

/* Headers that claim what is not there must not cost time or memory. */
static void hostile_headers(void **state)
{
	struct trace_chunk_header header = { .type = TRACE_CHUNK_EVENTS };
	struct bytes out = {0}, payload = {0};
	struct trace_read read;

	(void)state;
	put_head(&out, TRACE_CLOCK_MONOTONIC);
	for (uint32_t i = 0; i < 20000; i++) {
		size_t at;

		header.thread = i + 1;
		header.event_count = UINT32_MAX;
		at = trace_put_chunk(&out, &header, &payload, TRACE_PACK_PLAIN);
		/* stored_len: past the next headers, not to one's start. */
		out.data[at + 16] = 0x11;
		out.data[at + 18] = (uint8_t)(i % 64);
		out.data[at + 20] = 0xff;
		out.data[at + 23] = 0xff;
		trace_seal_header(out.data + at);
	}
	trace_read_open_memory(&read, out.data, out.len);
	assert_int_equal(read.status, 0);
	assert_int_equal(count_events(&read), 0);
	assert_true(read.run.damage.count > 100);
	assert_int_equal(read.run.damage.stored, FINDINGS_MAX);
	trace_read_close(&read);
	bytes_done(&out);
}

static void hostile_modules(void **state)
{
	static const struct {
		uint64_t start, end;
		const char *what;
	} cases[] = {
	    {0x2000, 0x2000, "ends before it starts"},
	    {0x2000, 0x1000, "ends before it starts"},
	    {0x1000, UINT64_MAX, "48 bits"},
	};
	struct trace_read read;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bytes out = {0};
		size_t at;

		put_head(&out, TRACE_CLOCK_MONOTONIC);
		trace_put_module(&out, 7, 0, START, 0x1000, 0x2000, "/good");
		at = trace_put_module(&out, 8, 0, START, cases[i].start,
				      cases[i].end, "/bad");
		trace_read_open_memory(&read, out.data, out.len);
		assert_int_equal(read.run.modules.count, 1);
		check_finding(&read, at, cases[i].what);
		trace_read_close(&read);
		bytes_done(&out);
	}
}

/* The same plugin again and again is one module, two in turn are not. */
static void reloaded_modules(void **state)
{
	struct bytes out = {0};
	struct trace_read read;

	(void)state;
	put_head(&out, TRACE_CLOCK_MONOTONIC);
	for (uint32_t i = 0; i < 3; i++) {
		size_t at = trace_put_module(&out, i + 1, 0, START + i * 10,
					     0x1000, 0x2000, "/plugin");

		/* One build ID. */
		memset(out.data + at + 72 + 48 + 40, 5, 20);
		trace_put_unload(&out, i + 1, START + i * 10 + 5);
	}
	trace_repair(out.data, out.len);
	trace_read_open_memory(&read, out.data, out.len);
	assert_int_equal(read.run.damage.count, 0);
	assert_int_equal(read.run.modules.count, 1);
	assert_false(read.run.modules.reused);
	assert_int_equal(read.run.modules.items[0].load_tick, START);
	assert_int_equal(read.run.modules.items[0].unload_tick, START + 25);
	trace_read_close(&read);
	trace_put_module(&out, 9, 0, START + 12, 0x1800, 0x2800, "/other");
	trace_read_open_memory(&read, out.data, out.len);
	assert_int_equal(read.run.modules.count, 4);
	assert_true(read.run.modules.reused);
	trace_read_close(&read);
	bytes_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(foreign_files),
	    cmocka_unit_test(missing_files),
	    cmocka_unit_test(versions),
	    cmocka_unit_test(only_a_preamble),
	    cmocka_unit_test(run_information),
	    cmocka_unit_test(clock_unknown),
	    cmocka_unit_test(no_process),
	    cmocka_unit_test(chunks_written_twice),
	    cmocka_unit_test(gaps_and_duplicates),
	    cmocka_unit_test(checksum),
	    cmocka_unit_test(bad_event),
	    cmocka_unit_test(cut_in_the_middle),
	    cmocka_unit_test(cut_at_the_end),
	    cmocka_unit_test(hostile_headers),
	    cmocka_unit_test(hostile_modules),
	    cmocka_unit_test(reloaded_modules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
