/* SPDX-License-Identifier: MIT */
/* PATH.live: what is taken from it, what not, and hostile content. */
#include "tests/lib/unit.h"

#include <unistd.h>

#include "report/core/vec.h"
#include "report/input/input.h"
#include "tests/lib/random.h"
#include "tests/lib/trace_gen.h"
#include "tests/lib/trace_read.h"

struct files {
	char dir[64];
	char path[80];
	char live[96];
	struct trace_gen gen;
	struct seen_events want;
};

static void write_file(const char *path, const struct bytes *bytes)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes->data, 1, bytes->len, file), bytes->len);
	assert_int_equal(fclose(file), 0);
}

/* A killed run of two threads, most of it in the buffers. */
static int set_up(void **state)
{
	struct files *files = calloc(1, sizeof(*files));
	struct trace_gen_options options = {
	    .seed = 6,
	    .threads = 2,
	    .events = 200,
	    .chunk_bytes = 1 << 16,
	    .depth_max = 10,
	    .wild = true,
	    .killed = true,
	    .live = true,
	    .clock = TRACE_CLOCK_MONOTONIC,
	    .expect = seen_expect,
	};

	assert_non_null(files);
	options.context = &files->want;
	snprintf(files->dir, sizeof(files->dir), "/tmp/memprof-test-XXXXXX");
	assert_non_null(mkdtemp(files->dir));
	snprintf(files->path, sizeof(files->path), "%s/trace", files->dir);
	snprintf(files->live, sizeof(files->live), "%s.live", files->path);
	trace_gen_run(&files->gen, &options);
	assert_true(files->gen.live_coded > 50);
	write_file(files->path, &files->gen.trace);
	write_file(files->live, &files->gen.live);
	seen_sort(&files->want);
	*state = files;
	return 0;
}

static int tear_down(void **state)
{
	struct files *files = *state;

	unlink(files->path);
	unlink(files->live);
	rmdir(files->dir);
	trace_gen_done(&files->gen);
	vec_done(&files->want);
	free(files);
	return 0;
}

/* Return: events read; @text must be in the only finding, NULL: none. */
static size_t check(const struct files *files, const char *text)
{
	struct seen_events seen = {0};
	struct trace_read read;
	size_t count;

	trace_read_open_path(&read, files->path);
	assert_int_equal(read.status, 0);
	assert_int_equal(trace_read_events(&read, &seen), 0);
	if (read.run.damage.count != !!text ||
	    (text && !strstr(read.run.damage.items[0].text, text))) {
		trace_read_complain(&read);
		fail_msg("expected: %s", text ? text : "no finding");
	}
	assert_true(seen_within(&seen, &files->want));
	count = seen.count;
	vec_done(&seen);
	trace_read_close(&read);
	return count;
}

static void whole(void **state)
{
	const struct files *files = *state;

	assert_int_equal(check(files, NULL), files->want.count);
}

static void missing(void **state)
{
	const struct files *files = *state;

	unlink(files->live);
	assert_true(check(files, "is not there") < files->want.count);
}

static void another_trace(void **state)
{
	struct files *files = *state;

	files->gen.live.data[16] ^= 1;
	write_file(files->live, &files->gen.live);
	check(files, "another trace");
	files->gen.live.data[0] ^= 1;
	write_file(files->live, &files->gen.live);
	check(files, "damaged head");
	files->gen.live.len = 20;
	write_file(files->live, &files->gen.live);
	check(files, "too short");
}

static void hostile_slot(void **state)
{
	struct files *files = *state;
	struct bytes *live = &files->gen.live;
	uint8_t *slot = live->data + TRACE_LIVE_PAGE;
	uint64_t len = UINT64_MAX;

	memcpy(slot + 24, &len, sizeof(len));
	write_file(files->live, live);
	check(files, "more than there is room for");
	slot[0] = 2;
	write_file(files->live, live);
	check(files, "in-use mark");
	slot[0] = 0;
	write_file(files->live, live);
	check(files, NULL);
	memset(live->data + 12, 0xff, 4);
	write_file(files->live, live);
	check(files, "impossible size");
}

static void cut_and_flipped(void **state)
{
	struct files *files = *state;
	struct bytes *live = &files->gen.live;
	struct random random = {3};
	size_t whole_len = live->len;

	for (int i = 0; i < 400; i++) {
		size_t at =
		    random_below(&random, 4) ? random_below(&random, 64) : 4096;
		struct trace_read read;
		uint8_t was;

		if (at >= 32)
			at = TRACE_LIVE_PAGE +
			     random_below(&random, 2) * TRACE_LIVE_PAGE +
			     random_below(&random, 300);
		was = live->data[at];
		live->data[at] = (uint8_t)random_u64(&random);
		if (i % 4 == 0)
			live->len = random_below(&random, whole_len);
		write_file(files->live, live);
		trace_read_open_path(&read, files->path);
		assert_int_equal(read.status, 0);
		assert_int_equal(trace_read_events(&read, NULL), 0);
		trace_read_close(&read);
		live->data[at] = was;
		live->len = whole_len;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(whole, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(missing, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(another_trace, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(hostile_slot, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(cut_and_flipped, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
