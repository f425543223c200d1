/* SPDX-License-Identifier: MIT */
#include "tracer/record.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/auxv.h>

#include "tracer/chunk.h"
#include "tracer/clock.h"
#include "tracer/cull_stamps.h"
#include "tracer/encode.h"
#include "tracer/output_name.h"
#include "tracer/pool.h"
#include "tracer/state.h"
#include "tracer/sys.h"
#include "tracer/version.h"

enum {
	PROCESS_FIXED = 40,
	PROCESS_FLAG_FREE_STACKS = 1,
	PROCESS_FLAG_LIVE = 2,
	PROCESS_FLAG_CULLED = 4,
	TAIL_BYTES = 64, /* kept for the tracer's version */
	PROCESS_BYTES = CHUNK_PAYLOAD_MAX + PATH_MAX, /* payload and a path */
	END_FIXED = 56,
};

/* Safety: pure.  Return: AT_PAGESZ as a power of two. */
static uint8_t get_page_shift(void)
{
	return (uint8_t)__builtin_ctzl(getauxval(AT_PAGESZ));
}

/* Safety: pure.  Return: byte after the arguments; *@ret_count written. */
static uint8_t *put_arguments(uint8_t *p, const uint8_t *end,
			      const struct program_start *start,
			      uint32_t *ret_count)
{
	uint32_t n = 0;

	for (; (int)n < start->argc && start->argv[n]; n++) {
		size_t len = strlen(start->argv[n]);

		if (len + 4 + TAIL_BYTES > (size_t)(end - p))
			break;
		p = put_string(p, start->argv[n], len);
	}
	*ret_count = n;
	return p;
}

/* PROCESS of all pieces: programs write over their arguments. */
static struct {
	uint8_t *payload;
	size_t len;
} process;

/*
 * Fills @payload, of PROCESS_BYTES: the program's stack has no room for a path.
 *
 * Safety: system calls.  Return: the payload's length.
 */
static size_t fill_process(uint8_t *payload, const struct program_start *start)
{
	char *path = (char *)payload + CHUNK_PAYLOAD_MAX;
	uint8_t *p = payload + PROCESS_FIXED;
	uint32_t argument_count;

	output_name_executable(path, PATH_MAX);
	p = put_string(p, path, strlen(path));
	if (sys_getcwd(path, PATH_MAX) <= 0)
		path[0] = '\0';
	p = put_string(p, path, strlen(path));
	p = put_arguments(p, payload + CHUNK_PAYLOAD_MAX, start,
			  &argument_count);
	p = put_string(p, MEMPROF_VERSION, strlen(MEMPROF_VERSION));

	payload[8] = clock_is_tsc ? TRACE_CLOCK_TSC : TRACE_CLOCK_MONOTONIC;
#if defined(__x86_64__)
	payload[9] = TRACE_ARCH_X86_64;
#else
	payload[9] = TRACE_ARCH_AARCH64;
#endif
	payload[10] = get_page_shift();
	put_u32(payload + 12, argument_count);
	return (size_t)(p - payload);
}

int record_process_init(const struct program_start *start)
{
	process.payload = pool_map(PROCESS_BYTES);
	if (!process.payload)
		return -ENOMEM;
	process.len = fill_process(process.payload, start);
	return 0;
}

int record_process(uint32_t piece, bool has_live)
{
	struct clock_pair now = clock_read_pair();
	uint8_t *payload = process.payload;
	struct chunk chunk = {.type = TRACE_CHUNK_PROCESS,
			      .payload = payload,
			      .len = process.len,
			      .tick = now.tick};

	put_u32(payload, (uint32_t)state_pid());
	put_u32(payload + 4, (uint32_t)sys_getppid());
	payload[11] =
	    (uint8_t)((options.free_stacks ? PROCESS_FLAG_FREE_STACKS : 0) |
		      (has_live ? PROCESS_FLAG_LIVE : 0) |
		      (cull_stamps ? PROCESS_FLAG_CULLED : 0));
	put_u64(payload + 16, now.tick);
	put_u64(payload + 24, now.monotonic_ns);
	put_u64(payload + 32, now.realtime_ns);
	return chunk_write_in(piece, &chunk);
}

int record_piece(const struct record_piece *piece)
{
	uint8_t payload[TRACE_PIECE_BYTES], *p = payload;
	struct chunk chunk = {.type = TRACE_CHUNK_PIECE,
			      .payload = payload,
			      .len = sizeof(payload),
			      .tick = clock_now()};

	p = put_u64(p, piece->run_id);
	p = put_u64(p, piece->previous_id);
	p = put_u64(p, piece->parent_run);
	p = put_u32(p, piece->index);
	put_u32(p, (uint32_t)piece->why |
		       (piece->has_gap ? TRACE_PIECE_GAP << 8 : 0));
	return chunk_write_in(piece->index, &chunk);
}

void record_clock(void)
{
	struct clock_pair now = clock_read_pair();
	uint8_t payload[24], *p = payload;

	p = put_u64(p, now.tick);
	p = put_u64(p, now.monotonic_ns);
	put_u64(p, now.realtime_ns);
	chunk_write(&(struct chunk){ .type = TRACE_CHUNK_CLOCK,
				     .payload = payload,
				     .len = sizeof(payload),
				     .tick = now.tick });
}

/* Takes a byte of /proc/self/status, of which @at have been those before the
   number.  Safety: pure.  Return: whether that ends here. */
static bool take_high_water(char c, size_t *at, uint64_t *kib)
{
	static const char before[] = "\nVmHWM:";

	if (before[*at]) {
		*at = c == before[*at] ? *at + 1 : c == before[0];
		return false;
	}
	if (c < '0' || c > '9')
		return *kib;
	*kib = *kib * 10 + (uint64_t)(c - '0');
	return false;
}

/* Safety: system calls.  Return: the kernel's high-water mark, or 0. */
static uint64_t read_high_water(void)
{
	int fd = sys_open("/proc/self/status", O_RDONLY | O_CLOEXEC, 0);
	uint64_t kib = 0;
	bool ends = false;
	char buf[256];
	size_t at = 0;
	ssize_t len;

	if (fd < 0)
		return 0;
	while (!ends && (len = sys_read(fd, buf, sizeof(buf))) > 0)
		for (ssize_t i = 0; i < len && !ends; i++)
			ends = take_high_water(buf[i], &at, &kib);
	sys_close(fd);
	return ends ? kib * 1024 : 0;
}

/*
 * The mark that getrusage() tells is of all that the process executed, and of
 * the parent's memory where a vfork() was before.
 *
 * Safety: system calls.
 */
static uint64_t get_peak_rss(void)
{
	uint64_t bytes = read_high_water();
	struct rusage ru = {0};

	if (bytes)
		return bytes;
	sys_getrusage(RUSAGE_SELF, &ru);
	return (uint64_t)ru.ru_maxrss * 1024;
}

int record_end(uint32_t piece, const struct record_end *end)
{
	struct clock_pair now = clock_read_pair();
	uint8_t without_program[END_FIXED + 4], *payload = NULL, *p;
	size_t len = end->program ? strnlen(end->program, PATH_MAX) : 0;
	int err;

	if (len)
		payload = pool_map(END_FIXED + 4 + PATH_MAX);
	if (!payload) {
		payload = without_program;
		len = 0;
	}
	p = payload;
	p = put_u32(p, end->how);
	p = put_u32(p, (uint32_t)end->status);
	p = put_u64(p, now.tick);
	p = put_u64(p, now.monotonic_ns);
	p = put_u64(p, now.realtime_ns);
	p = put_u64(p, end->event_count);
	p = put_u64(p, end->lost_count);
	p = put_u64(p, get_peak_rss());
	p = put_string(p, len ? end->program : "", len);
	err = chunk_write_in(piece,
			     &(struct chunk){.type = TRACE_CHUNK_END,
					     .payload = payload,
					     .len = (size_t)(p - payload),
					     .tick = now.tick});
	if (payload != without_program)
		pool_unmap(payload, END_FIXED + 4 + PATH_MAX);
	return err;
}

uint64_t record_resident_bytes(void)
{
	int fd = sys_open("/proc/self/statm", O_RDONLY | O_CLOEXEC, 0);
	char buf[64];
	uint64_t pages = 0;
	ssize_t len, i = 0;

	if (fd < 0)
		return 0;
	len = sys_read(fd, buf, sizeof(buf));
	sys_close(fd);
	while (i < len && buf[i] != ' ')
		i++;
	for (i++; i < len && buf[i] >= '0' && buf[i] <= '9'; i++)
		pages = pages * 10 + (uint64_t)(buf[i] - '0');
	return pages << get_page_shift();
}
