/* SPDX-License-Identifier: MIT */
/*
 * Whole traces.  The first byte chooses: bit 0, checksums are made right
 * again, so that what lies behind them is reached; bit 1, lanes are read in
 * turns and twice.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/kept.h"
#include "report/event/event.h"
#include "report/input/input.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/trace_read.h"
#include "tests/lib/trace_write.h"

enum {
	ROUNDS_MAX = 100000,
	FILES_MAX = 100,
	FILE_BYTES_MAX = 1 << 20,
};

/* One batch of each lane after the other, as a merge would. */
static void read_in_turns(struct trace_read *read)
{
	const struct input_format *format = read->input->format;
	size_t lanes = format->lane_count(read->input);
	struct event_batch batch = { 0 };
	int more = 1;

	for (int round = 0; more && round < ROUNDS_MAX; round++) {
		more = 0;
		for (size_t i = 0; i < lanes; i++)
			more |= format->lane_next(read->input, i, &batch,
						  &read->diag) > 0;
	}
	format->rewind(read->input);
	event_batch_done(&batch);
}

static void load_files(const struct run *run)
{
	for (size_t i = 0; i < run->file_count && i < FILES_MAX; i++) {
		const struct kept_file *file = &run->files[i];
		uint8_t *bytes;

		if (file->bytes <= FILE_BYTES_MAX &&
		    kept_load(file, &bytes) == 0)
			free(bytes);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_read read;
	size_t findings;
	uint8_t *copy;

	if (!size)
		return 0;
	copy = malloc(size);
	if (!copy)
		abort();
	memcpy(copy, data, size);
	if (data[0] & 1)
		trace_repair(copy + 1, size - 1);
	trace_read_open_memory(&read, copy + 1, size - 1);
	if (read.status == 0) {
		if (data[0] & 2)
			read_in_turns(&read);
		findings = read.run.damage.count;
		trace_read_events(&read, NULL);
		load_files(&read.run);
		/* What was said once is not said again. */
		if ((data[0] & 2) && read.run.damage.count != findings)
			abort();
	} else if (!read.diag.text[0]) {
		abort();
	}
	trace_read_close(&read);
	free(copy);
	return 0;
}
