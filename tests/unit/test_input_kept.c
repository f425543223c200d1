/* SPDX-License-Identifier: MIT */
/* Files that are kept in a trace: whole, in parts, damaged. */
#include "tests/lib/unit.h"

#include <errno.h>
#include <unistd.h>

#include "report/core/kept.h"
#include "report/input/chunk.h"
#include "tests/lib/trace_read.h"
#include "tests/lib/trace_write.h"

static void put_head(struct bytes *out)
{
	static const struct trace_process process = {
		.clock = TRACE_CLOCK_MONOTONIC, .tick = 1000
	};

	trace_put_preamble(out, 1);
	trace_put_process(out, &process);
}

static size_t put_text(struct bytes *out, const char *path, uint64_t offset,
		       uint32_t flags, const char *text)
{
	const struct trace_file_part part = {
		.kind = TRACE_FILE_PERF_MAP,
		.flags = flags,
		.offset = offset,
		.path = path,
		.data = text,
		.len = strlen(text),
	};

	return trace_put_file(out, &part, TRACE_PACK_ZSTD);
}

static void open_trace(struct trace_read *read, struct bytes *out)
{
	trace_read_open_memory(read, out->data, out->len);
	assert_int_equal(read->status, 0);
	bytes_done(out);
}

static void assert_text(const struct kept_file *file, const char *text)
{
	uint8_t *bytes;

	assert_int_equal(file->bytes, strlen(text));
	assert_int_equal(kept_load(file, &bytes), 0);
	assert_string_equal(bytes, text);
	free(bytes);
}

static void assert_finding(const struct trace_read *read, const char *text)
{
	if (read->run.damage.count != 1 ||
	    !strstr(read->run.damage.items[0].text, text))
		trace_read_complain(read);
	assert_int_equal(read->run.damage.count, 1);
	assert_non_null(strstr(read->run.damage.items[0].text, text));
}

static void test_parts_alternate(void **state)
{
	static const char id[] = "\1\2\3";
	const struct trace_file_part binary = {
		.kind = TRACE_FILE_BINARY,
		.flags = TRACE_FILE_LAST | TRACE_FILE_CUT,
		.build_id = id,
		.build_id_len = 3,
		.path = "/bin/\xff",
		.data = "ELF",
		.len = 3,
	};
	struct bytes out = { 0 };
	struct trace_read read;

	(void)state;
	put_head(&out);
	put_text(&out, "/a", 0, 0, "one ");
	put_text(&out, "/b", 0, 0, "first ");
	trace_put_file(&out, &binary, TRACE_PACK_PLAIN);
	put_text(&out, "/a", 4, 0, "two ");
	put_text(&out, "/b", 6, TRACE_FILE_LAST, "second");
	put_text(&out, "/a", 8, TRACE_FILE_LAST, "");
	open_trace(&read, &out);
	assert_int_equal(read.run.damage.count, 0);
	assert_int_equal(read.run.file_count, 3);
	assert_text(&read.run.files[0], "one two ");
	assert_text(&read.run.files[1], "first second");
	assert_text(&read.run.files[2], "ELF");
	assert_true(read.run.files[0].is_whole);
	assert_false(read.run.files[0].is_cut);
	assert_int_equal(read.run.files[0].kind, KEPT_PERF_MAP);
	assert_int_equal(read.run.files[2].kind, KEPT_BINARY);
	assert_true(read.run.files[2].is_cut);
	assert_int_equal(read.run.files[2].build_id_len, 3);
	assert_memory_equal(read.run.files[2].build_id, id, 3);
	assert_string_equal(read.run.files[2].path, "/bin/\xff");
	assert_string_equal(read.run.files[2].name, "/bin/\xef\xbf\xbd");
	trace_read_close(&read);
}

/* A file is begun anew, and another one is never ended. */
static void test_begun_again(void **state)
{
	struct bytes out = { 0 };
	struct trace_read read;

	(void)state;
	put_head(&out);
	put_text(&out, "/a", 0, TRACE_FILE_LAST, "old");
	put_text(&out, "/a", 0, 0, "new");
	put_text(&out, "/a", 3, TRACE_FILE_LAST, "er");
	put_text(&out, "/b", 0, 0, "cut off");
	open_trace(&read, &out);
	assert_int_equal(read.run.damage.count, 0);
	assert_int_equal(read.run.file_count, 3);
	assert_text(&read.run.files[0], "old");
	assert_text(&read.run.files[1], "newer");
	assert_text(&read.run.files[2], "cut off");
	assert_false(read.run.files[2].is_whole);
	trace_read_close(&read);
}

static void check_refused(size_t put(struct bytes *out), const char *text)
{
	struct bytes out = { 0 };
	struct trace_read read;
	size_t offset;

	put_head(&out);
	offset = put(&out);
	open_trace(&read, &out);
	assert_finding(&read, text);
	assert_int_equal(read.run.damage.items[0].offset, offset);
	trace_read_close(&read);
}

static size_t put_gap(struct bytes *out)
{
	put_text(out, "/a", 0, 0, "one");
	return put_text(out, "/a", 4, TRACE_FILE_LAST, "two");
}

static size_t put_overlap(struct bytes *out)
{
	put_text(out, "/a", 0, 0, "one");
	return put_text(out, "/a", 2, TRACE_FILE_LAST, "two");
}

static size_t put_after_end(struct bytes *out)
{
	put_text(out, "/a", 0, TRACE_FILE_LAST, "one");
	return put_text(out, "/a", 3, TRACE_FILE_LAST, "two");
}

static size_t put_without_start(struct bytes *out)
{
	put_text(out, "/b", 0, 0, "one");
	return put_text(out, "/a", 3, TRACE_FILE_LAST, "two");
}

static size_t put_short(struct bytes *out)
{
	struct bytes payload = { 0 };
	size_t offset;

	bytes_u32(&payload, TRACE_FILE_BINARY);
	bytes_zero(&payload, TRACE_FILE_FIXED - 4);
	bytes_u32(&payload, 100); /* length of a path that is not there */
	offset = trace_put_record(out, TRACE_CHUNK_FILE, 0, &payload);
	bytes_done(&payload);
	return offset;
}

static size_t put_long_build_id(struct bytes *out)
{
	static const uint8_t id[65];
	const struct trace_file_part part = {
		.kind = TRACE_FILE_BINARY,
		.build_id = id,
		.build_id_len = sizeof(id),
		.path = "/a",
		.data = "",
	};

	return trace_put_file(out, &part, TRACE_PACK_PLAIN);
}

static void test_refused(void **state)
{
	(void)state;
	check_refused(put_gap, "continues none");
	check_refused(put_overlap, "continues none");
	check_refused(put_after_end, "continues none");
	check_refused(put_without_start, "continues none");
	check_refused(put_short, "is too short");
	check_refused(put_long_build_id, "too long a build ID");
}

/* What a newer version may keep is no damage. */
static void test_unknown_kind(void **state)
{
	const struct trace_file_part part = {
		.kind = 4711, .path = "/a", .data = "x", .len = 1
	};
	struct bytes out = { 0 };
	struct trace_read read;

	(void)state;
	put_head(&out);
	trace_put_file(&out, &part, TRACE_PACK_PLAIN);
	open_trace(&read, &out);
	assert_int_equal(read.run.damage.count, 0);
	assert_int_equal(read.run.file_count, 0);
	trace_read_close(&read);
}

/* Every end that a file can be cut at: nothing is read beyond it. */
static void test_cut_everywhere(void **state)
{
	struct bytes out = { 0 };
	struct trace_read read;
	size_t first;

	(void)state;
	put_head(&out);
	put_text(&out, "/a", 0, 0, "one ");
	first = out.len;
	put_text(&out, "/a", 4, TRACE_FILE_LAST, "two");
	for (size_t len = first; len < out.len; len++) {
		trace_read_open_memory(&read, out.data, len);
		assert_int_equal(read.status, 0);
		assert_int_equal(read.run.file_count, 1);
		assert_text(&read.run.files[0], "one ");
		assert_false(read.run.files[0].is_whole);
		/* No event is lost with it. */
		if (len == first || len >= first + CHUNK_HEADER_LEN)
			assert_int_equal(read.run.damage.count, 0);
		trace_read_close(&read);
	}
	bytes_done(&out);
}

/* The trace is changed after it was opened. */
static void test_changed_since(void **state)
{
	struct bytes out = { 0 };
	struct trace_read read;
	uint8_t *bytes;
	size_t offset;

	(void)state;
	put_head(&out);
	offset = put_text(&out, "/a", 0, TRACE_FILE_LAST, "text");
	open_trace(&read, &out);
	assert_int_equal(pwrite(read.source.fd, "x", 1,
				(off_t)(offset + CHUNK_HEADER_LEN + 9)),
			 1);
	assert_int_equal(kept_load(&read.run.files[0], &bytes), -EIO);
	trace_read_close(&read);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts_alternate),
		cmocka_unit_test(test_begun_again),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_unknown_kind),
		cmocka_unit_test(test_cut_everywhere),
		cmocka_unit_test(test_changed_since),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
