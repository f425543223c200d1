/* SPDX-License-Identifier: MIT */
/* PATH.live: the input is the file, beside a trace that is whole.  Its magic
   and trace_id are put right. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tests/lib/trace_read.h"
#include "tests/lib/trace_write.h"

static void write_file(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, data, len) != (ssize_t)len || close(fd))
		abort();
}

static void write_trace(const char *path)
{
	struct trace_process process = { .clock = TRACE_CLOCK_MONOTONIC };
	struct bytes out = {0};

	trace_put_preamble(&out, 7);
	trace_put_process(&out, &process);
	write_file(path, out.data, out.len);
	bytes_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char dir[] = "/tmp/memprof-fuzz-XXXXXX";
	struct trace_live_header header = {0};
	struct trace_read read;
	char path[64], live[80];
	uint8_t *copy;

	if (size < sizeof(header) || !mkdtemp(dir))
		return 0;
	snprintf(path, sizeof(path), "%s/t", dir);
	snprintf(live, sizeof(live), "%s.live", path);
	write_trace(path);
	copy = malloc(size);
	if (!copy)
		abort();
	memcpy(&header, data, sizeof(header));
	memcpy(header.magic, TRACE_LIVE_MAGIC, TRACE_MAGIC_LEN);
	header.run_id = 7;
	header.version_major = TRACE_VERSION_MAJOR;
	if (header.slot_stride % TRACE_LIVE_PAGE)
		header.slot_stride = 2 * TRACE_LIVE_PAGE;
	memcpy(copy, data, size);
	memcpy(copy, &header, sizeof(header));
	write_file(live, copy, size);
	free(copy);
	trace_read_open_path(&read, path);
	if (read.status == 0)
		trace_read_events(&read, NULL);
	trace_read_close(&read);
	unlink(path);
	unlink(live);
	rmdir(dir);
	return 0;
}
