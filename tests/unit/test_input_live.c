/* SPDX-License-Identifier: MIT */
/* PATH.live: what is taken from it, what not, and hostile content. */
#include "tests/lib/unit.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "report/core/vec.h"
#include "report/input/input.h"
#include "report/input/live.h"
#include "report/source/source.h"
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
	    .columns = true,
	    .buffers = true,
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

/* As check(), but more may be found, too: a lost buffer is missing. */
static void check_any(const struct files *files, const char *text)
{
	struct trace_read read;
	bool found = false;

	trace_read_open_path(&read, files->path);
	assert_int_equal(read.status, 0);
	assert_int_equal(trace_read_events(&read, NULL), 0);
	for (size_t i = 0; i < read.run.damage.stored; i++)
		found |= strstr(read.run.damage.items[i].text, text) != NULL;
	if (!found) {
		trace_read_complain(&read);
		fail_msg("expected: %s", text);
	}
	trace_read_close(&read);
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

/* Nothing is beside standard input: the message names no such file. */
static void standard_input(void **state)
{
	const struct files *files = *state;
	struct files here = *files;
	int fd = open(files->path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
	close(fd);
	memcpy(here.path, "-", sizeof("-"));
	assert_true(check(&here, "TRACE.live, is not found for standard input") <
		    files->want.count);
}

/* A slot in use, its control page. */
static uint8_t *used_slot(const struct files *files)
{
	struct trace_live_header header;
	uint8_t *slot = files->gen.live.data + TRACE_LIVE_PAGE;

	memcpy(&header, files->gen.live.data, sizeof(header));
	assert_true(header.slot_count > 4);
	while (!slot[0])
		slot += header.slot_stride;
	return slot;
}

static void write_live(const struct files *files)
{
	write_file(files->live, &files->gen.live);
}

static void another_trace(void **state)
{
	struct files *files = *state;
	uint8_t *live = files->gen.live.data;

	live[16] ^= 1;
	write_live(files);
	check(files, "another trace");
	live[8] = 1;
	write_live(files);
	check(files, "older version");
	live[8] = 3;
	write_live(files);
	check(files, "newer version");
	live[0] ^= 1;
	write_live(files);
	check(files, "damaged head");
	files->gen.live.len = 20;
	write_live(files);
	check(files, "too short");
}

static void hostile_slot(void **state)
{
	struct files *files = *state;
	uint8_t *slot = used_slot(files);
	uint64_t len = UINT64_MAX - 7;

	memcpy(slot + 24, &len, sizeof(len));
	write_live(files);
	check_any(files, "more than there is room for");
	len = 12;
	memcpy(slot + 24, &len, sizeof(len));
	write_live(files);
	check_any(files, "within a word");
	slot[0] = 2;
	write_live(files);
	check_any(files, "in-use mark");
	memset(slot + 4, 0, 4);
	slot[0] = 1;
	write_live(files);
	check_any(files, "no thread");
	memset(files->gen.live.data + 12, 0xff, 4);
	write_live(files);
	check_any(files, "impossible size");
}

static void cut_and_flipped(void **state)
{
	struct files *files = *state;
	struct bytes *live = &files->gen.live;
	struct random random = {3};
	size_t whole_len = live->len;

	for (int i = 0; i < 1000; i++) {
		size_t at = random_below(&random, 32);
		struct trace_read read;
		uint8_t was;

		if (random_below(&random, 8))
			at = TRACE_LIVE_PAGE +
			     random_below(&random,
					  whole_len / TRACE_LIVE_PAGE - 1) *
				 TRACE_LIVE_PAGE +
			     random_below(&random, 300);
		was = live->data[at];
		live->data[at] = (uint8_t)random_u64(&random);
		if (i % 4 == 0)
			live->len = random_below(&random, whole_len);
		write_live(files);
		trace_read_open_path(&read, files->path);
		assert_int_equal(read.status, 0);
		assert_int_equal(trace_read_events(&read, NULL), 0);
		trace_read_close(&read);
		live->data[at] = was;
		live->len = whole_len;
	}
}

/* --- files written by hand ----------------------------------------------- */

enum { SLOTS = 4, START = 1000 };

static void put_word(struct bytes *out, unsigned tag, uint64_t pop,
		     uint64_t push, uint64_t ticks)
{
	bytes_u64(out, tag | pop << 8 | push << 24 | ticks << 40);
}

/* @count frees of 16, 32, … without frames, one tick apart. */
static void put_frees(struct bytes *out, uint32_t count)
{
	for (uint32_t i = 1; i <= count; i++) {
		put_word(out, TRACE_EVENT_FREE, 0, 0, 1);
		bytes_u64(out, 16 * (uint64_t)i);
	}
}

/* A trace with buffers 0 to SLOTS - 1 of thread 1 in one chunk, one event in
   each.  Return: where the chunk is. */
static size_t put_trace(struct bytes *out)
{
	struct trace_process process = { .clock = TRACE_CLOCK_MONOTONIC,
					 .tick = START };
	struct trace_chunk_header header = { .type = TRACE_CHUNK_EVENTS,
					     .thread = 1,
					     .first_tick = START,
					     .last_tick = START + SLOTS,
					     .event_count = SLOTS,
					     .buffer_count = SLOTS };
	struct bytes payload = {0};
	size_t at;

	trace_put_preamble(out, 1);
	trace_put_process(out, &process);
	for (int i = 0; i < SLOTS; i++) {
		bytes_u8(&payload, TRACE_EVENT_FREE);
		bytes_varint(&payload, 1);
		bytes_zero(&payload, 2);
		bytes_svarint(&payload, 16);
	}
	at = trace_put_chunk(out, &header, &payload, TRACE_PACK_PLAIN);
	bytes_done(&payload);
	return at;
}

/* @records in each of the slots, which are buffers @first and on. */
static void put_slots(struct bytes *out, uint32_t first, uint32_t count,
		      const struct bytes *records)
{
	struct trace_live_header header = { .version_major = 2,
					    .slot_stride = 2 * TRACE_LIVE_PAGE,
					    .run_id = 1,
					    .slot_count = count };

	memcpy(header.magic, TRACE_LIVE_MAGIC, TRACE_MAGIC_LEN);
	bytes_put(out, &header, sizeof(header));
	bytes_zero(out, TRACE_LIVE_PAGE - sizeof(header));
	for (uint32_t i = 0; i < count; i++) {
		struct trace_live_slot slot = {
		    .in_use = 1,
		    .thread = 1,
		    .sequence = first + i,
		    .first_tick = START + i,
		    .committed_len = records->len,
		};

		bytes_put(out, &slot, sizeof(slot));
		bytes_zero(out, TRACE_LIVE_PAGE - sizeof(slot));
		bytes_put(out, records->data, records->len);
		bytes_zero(out, TRACE_LIVE_PAGE - records->len);
	}
}

/* Reads the two files.  Return: the number of events; of the findings there
   must be @findings, the last of them with @text. */
static size_t read_both(struct files *files, const struct bytes *trace,
			const struct bytes *live, size_t findings,
			const char *text)
{
	const struct findings *damage;
	struct seen_events seen = {0};
	struct trace_read read;
	size_t count;

	write_file(files->path, trace);
	write_file(files->live, live);
	trace_read_open_path(&read, files->path);
	assert_int_equal(read.status, 0);
	assert_int_equal(trace_read_events(&read, &seen), 0);
	damage = &read.run.damage;
	if (damage->count != findings ||
	    (text && !strstr(damage->items[findings - 1].text, text))) {
		trace_read_complain(&read);
		fail_msg("expected: %zu findings, %s", findings,
			 text ? text : "");
	}
	count = seen.count;
	vec_done(&seen);
	trace_read_close(&read);
	return count;
}

/* Slots in the trace already, and not. */
static void chunk_of_buffers(void **state)
{
	struct bytes trace = {0}, live = {0}, records = {0};
	struct files *files = *state;
	size_t at = put_trace(&trace);

	put_frees(&records, 1);
	put_slots(&live, 0, SLOTS, &records);
	assert_int_equal(read_both(files, &trace, &live, 0, NULL), SLOTS);
	live.len = 0;
	put_slots(&live, 1, SLOTS + 2, &records);
	assert_int_equal(read_both(files, &trace, &live, 0, NULL), SLOTS + 3);
	live.len = 0;
	put_slots(&live, SLOTS + 2, 2, &records);
	assert_int_equal(read_both(files, &trace, &live, 1,
				   "2 buffers of events before this one"),
			 SLOTS + 2);

	/* Damaged: the buffers are read. */
	trace.data[at + 72 + 5] ^= 1;
	live.len = 0;
	put_slots(&live, 0, SLOTS + 1, &records);
	assert_int_equal(read_both(files, &trace, &live, 0, NULL), SLOTS + 1);
	live.len = 0;
	put_slots(&live, 3, 2, &records);
	assert_int_equal(read_both(files, &trace, &live, 2,
				   "3 buffers of events before this one"),
			 2);
	live.len = 0;
	put_slots(&live, SLOTS, 2, &records);
	assert_int_equal(read_both(files, &trace, &live, 1,
				   "its checksum differs; 4 events"),
			 2);

	/* Cut off. */
	trace.len--;
	live.len = 0;
	put_slots(&live, 0, SLOTS + 1, &records);
	assert_int_equal(read_both(files, &trace, &live, 0, NULL), SLOTS + 1);
	live.len = 0;
	put_slots(&live, 1, SLOTS, &records);
	assert_int_equal(
	    read_both(files, &trace, &live, 2, "1 buffer of events before"),
	    SLOTS);
	bytes_done(&trace);
	bytes_done(&live);
	bytes_done(&records);
}

/* Records with stacks and times that build upon each other.  Return: how many;
   @ret_starts: the words they begin at, then the end; @ret_events: struct
   events of those before. */
static size_t put_chain(struct bytes *out, size_t ret_starts[16],
			size_t ret_events[16])
{
	static const struct {
		unsigned tag;
		uint64_t pop, push, ticks;
		size_t body;
		size_t events;
	} rows[] = {
	    {TRACE_EVENT_FREE, 0, 3, 5, 1, 1},
	    {TRACE_EVENT_REALLOC, 1, 0, 2, 4, 2},
	    {TRACE_EVENT_MALLOC, 0, 0, 0xffffff, 2, 1},
	    {TRACE_EVENT_RSS, 0, 0, 1, 1, 1},
	    {TRACE_EVENT_FREE | TRACE_EVENT_NO_STACK, 0, 0, 1, 1, 1},
	    {TRACE_EVENT_NEW, 2, 2, 1, 2, 1},
	    {TRACE_EVENT_MUNMAP, 1, 1, 1, 2, 1},
	};
	size_t count = sizeof(rows) / sizeof(rows[0]), events = 0;

	for (size_t i = 0; i < count; i++) {
		ret_starts[i] = out->len / 8;
		ret_events[i] = events;
		events += rows[i].events;
		put_word(out, rows[i].tag, rows[i].pop, rows[i].push,
			 rows[i].ticks);
		if (rows[i].ticks == 0xffffff)
			bytes_u64(out, 7);
		for (size_t j = 0; j < rows[i].body + rows[i].push; j++)
			bytes_u64(out, 100 * (i + 1) + j);
	}
	ret_starts[count] = out->len / 8;
	ret_events[count] = events;
	return count;
}

/* Reads the one slot from word @from on. */
static void read_rest(struct files *files, const struct bytes *records,
		      size_t from, struct seen_events *ret)
{
	struct bytes trace = {0}, live = {0};
	struct trace_read read;
	uint32_t word = (uint32_t)from;

	put_trace(&trace);
	put_slots(&live, SLOTS, 1, records);
	memcpy(live.data + TRACE_LIVE_PAGE +
		   offsetof(struct trace_live_slot, from),
	       &word, sizeof(word));
	write_file(files->path, &trace);
	write_file(files->live, &live);
	trace_read_open_path(&read, files->path);
	assert_int_equal(read.status, 0);
	assert_int_equal(trace_read_events(&read, ret), 0);
	assert_int_equal(read.run.damage.count, 0);
	trace_read_close(&read);
	bytes_done(&trace);
	bytes_done(&live);
}

/* A buffer whose first records the trace has already. */
static void rest_of_buffer(void **state)
{
	struct bytes records = {0}, trace = {0}, live = {0};
	struct seen_events all = {0};
	struct files *files = *state;
	size_t starts[16], events[16];
	size_t count = put_chain(&records, starts, events);

	read_rest(files, &records, 0, &all);
	assert_int_equal(all.count, SLOTS + events[count]);
	for (size_t i = 0; i <= count; i++) {
		struct seen_events rest = {0};
		size_t left = events[count] - events[i];

		read_rest(files, &records, starts[i], &rest);
		assert_int_equal(rest.count, SLOTS + left);
		for (size_t j = 1; j <= left; j++) {
			struct seen_event *got = &rest.items[rest.count - j];
			struct seen_event *want = &all.items[all.count - j];

			assert_int_equal(got->fields, want->fields);
			assert_int_equal(got->frames, want->frames);
		}
		vec_done(&rest);
	}
	put_trace(&trace);
	put_slots(&live, SLOTS, 1, &records);
	live.data[TRACE_LIVE_PAGE + offsetof(struct trace_live_slot, from)] = 1;
	assert_int_equal(read_both(files, &trace, &live, 1, "a record begins"),
			 SLOTS);
	live.data[TRACE_LIVE_PAGE + offsetof(struct trace_live_slot, from)] =
	    (uint8_t)(starts[count] + 1);
	assert_int_equal(read_both(files, &trace, &live, 1,
				   "it begins behind its end"),
			 SLOTS);
	vec_done(&all);
	bytes_done(&records);
	bytes_done(&trace);
	bytes_done(&live);
}

/* What is wrong with a record ends its buffer. */
static void bad_records(void **state)
{
	enum { ALL_ONES = 0xffffff };
	static const struct {
		unsigned tag;
		uint64_t pop, push, ticks;
		size_t more;
		const char *problem;
	} cases[] = {
	    {0, 0, 0, 1, 8, "tag is not known"},
	    {31, 0, 0, 1, 8, "tag is not known"},
	    {TRACE_EVENT_MARKER, 0, 0, 1, 8, "tag is not known"},
	    {0x80 | TRACE_EVENT_MALLOC, 0, 0, 1, 8, "tag is not known"},
	    {TRACE_EVENT_FREE, 1, 0, 1, 8, "removes more frames"},
	    {TRACE_EVENT_FREE, 0, 3, 1, 3, "ends within its frames"},
	    {TRACE_EVENT_FREE | TRACE_EVENT_NO_STACK, 0, 1, 1, 8, "no stack"},
	    {TRACE_EVENT_RSS, 1, 0, 1, 8, "no stack"},
	    {TRACE_EVENT_FREE, 0, 0, ALL_ONES, 0, "ends within it"},
	    {TRACE_EVENT_FREE, 0, 0, 1, 0, "ends within it"},
	    {TRACE_EVENT_REALLOC, 0, 0, 1, 3, "ends within it"},
	    {TRACE_EVENT_MMAP, 0, 0, 1, 5, "ends within it"},
	    {TRACE_EVENT_MALLOC, 0, 0, 1, 3, "beyond the address space"},
	};
	struct bytes trace = {0};
	struct files *files = *state;

	put_trace(&trace);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bytes live = {0}, records = {0};

		put_frees(&records, 3);
		put_word(&records, cases[i].tag, cases[i].pop, cases[i].push,
			 cases[i].ticks);
		for (size_t j = 0; j < cases[i].more; j++)
			bytes_u64(&records, UINT64_MAX);
		put_slots(&live, SLOTS, 1, &records);
		assert_int_equal(read_both(files, &trace, &live, 1,
					   cases[i].problem),
				 SLOTS + 3);
		assert_int_equal(
		    read_both(files, &trace, &live, 1,
			      "buffer of thread 1: event 4: "),
		    SLOTS + 3);
		bytes_done(&live);
		bytes_done(&records);
	}
	bytes_done(&trace);
}

/* The program goes on between the two looks at the file: what is reported is
   the moment of the first, and what came later is no gap. */
static void running(void **state)
{
	struct bytes trace = {0}, live = {0}, records = {0};
	struct files *files = *state;
	struct findings damage = {0};
	struct live_file file = {0};
	struct source source;
	struct diag diag;
	uint64_t *len;

	put_trace(&trace);
	put_frees(&records, 3);
	put_slots(&live, SLOTS, 2, &records);
	write_file(files->path, &trace);
	write_file(files->live, &live);
	assert_int_equal(source_open(&source, files->path, &diag), 0);
	assert_int_equal(source_open_live(&file.source, &source, &diag), 0);
	file.is_open = true;
	assert_int_equal(live_file_take(&file, &damage, &diag), 0);
	assert_int_equal(file.slots.count, 2);
	assert_int_equal(live_file_settle(&file, false, &diag), 0);
	assert_false(file.is_moving);

	/* As seen later, the last slot has another length. */
	len = (uint64_t *)(void *)(live.data + 3 * TRACE_LIVE_PAGE + 24);
	*len -= 16;
	write_file(files->live, &live);
	assert_int_equal(live_file_settle(&file, false, &diag), 0);
	assert_true(file.is_moving);
	assert_int_equal(file.moment, START + 1 + 3);
	live_file_choose(&file, 2, 0, &damage);
	assert_int_equal(file.slots.count, 0);
	assert_int_equal(damage.count, 1);
	live_file_done(&file);
	source_close(&source);
	findings_done(&damage);
	bytes_done(&trace);
	bytes_done(&live);
	bytes_done(&records);
}

/* The file is that of the run: only slots of the trace's piece count. */
static void of_pieces(void **state)
{
	struct bytes trace = {0}, live = {0}, records = {0};
	struct files *files = *state;
	uint16_t piece = 1;

	put_trace(&trace);
	put_frees(&records, 1);
	put_slots(&live, SLOTS, 2, &records);
	memcpy(live.data + 3 * TRACE_LIVE_PAGE + 14, &piece, sizeof(piece));
	assert_int_equal(read_both(files, &trace, &live, 0, NULL), SLOTS + 1);
	bytes_done(&trace);
	bytes_done(&live);
	bytes_done(&records);
}

/* While a buffer is being written, what comes after has another place. */
static void in_two_parts(void **state)
{
	struct bytes trace = {0}, live = {0}, records = {0};
	struct files *files = *state;
	uint64_t after = (SLOTS + 1) | UINT64_C(4) << 32;

	put_trace(&trace);
	put_frees(&records, 3);
	put_slots(&live, SLOTS, 1, &records);
	memcpy(live.data + TRACE_LIVE_PAGE + 32, &after, sizeof(after));
	assert_int_equal(read_both(files, &trace, &live, 0, NULL), SLOTS + 3);
	/* Of the next piece: not of this trace. */
	after = UINT64_C(4) << 32 | UINT64_C(1) << 48;
	memcpy(live.data + TRACE_LIVE_PAGE + 32, &after, sizeof(after));
	assert_int_equal(read_both(files, &trace, &live, 0, NULL), SLOTS + 2);
	after = UINT64_C(7) << 32;
	memcpy(live.data + TRACE_LIVE_PAGE + 32, &after, sizeof(after));
	assert_int_equal(read_both(files, &trace, &live, 1, "behind its end"),
			 SLOTS);
	bytes_done(&trace);
	bytes_done(&live);
	bytes_done(&records);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(whole, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(missing, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(standard_input, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(another_trace, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(hostile_slot, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(cut_and_flipped, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(chunk_of_buffers, set_up,
					    tear_down),
	    cmocka_unit_test_setup_teardown(rest_of_buffer, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(bad_records, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(running, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(of_pieces, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(in_two_parts, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
