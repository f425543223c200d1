/* SPDX-License-Identifier: MIT */
#include "tracer/record/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tracer/kept_head.h"
#include "tracer/record/chunks.h"

enum {
	PIECE_BYTES = 1 << 20,
};

static struct timespec started; /* on the clock of files */

void perf_map_init(void)
{
	/* Files are stamped with the time of the last timer interrupt. */
	clock_gettime(CLOCK_REALTIME_COARSE, &started);
}

/* Safety: pure. */
static bool is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec
				      : a->tv_nsec < b->tv_nsec;
}

/* Safety: system calls.  Return: descriptor of the map, -1 when there is none
   that can be relied on. */
static int open_map(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK |
				O_NOFOLLOW);
	uid_t user = geteuid();
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    (!user || st.st_uid == user || !st.st_uid) &&
	    !is_before(&st.st_mtim, &started))
		return fd;
	close(fd);
	return -1;
}

/* Safety: system calls.  Return: bytes read, fewer at the end. */
static size_t read_part(int fd, uint8_t *buf)
{
	size_t done = 0;
	ssize_t n;

	while (done < PIECE_BYTES &&
	       (n = read(fd, buf + done, PIECE_BYTES - done)) > 0)
		done += (size_t)n;
	return done;
}

/* Safety: allocates.  @buf has PIECE_BYTES.  Return: 0 or -errno. */
static int append_parts(int trace, const struct summary *sum,
			 const struct kept *what, int map, uint8_t *buf)
{
	uint8_t fixed[KEPT_HEAD_MAX];
	uint64_t offset = 0;
	uint32_t flags = 0;
	int err = 0;

	while (!err && !(flags & TRACE_FILE_LAST)) {
		uint64_t tick = summary_tick(sum);
		struct trace_chunk_header head = {.type = TRACE_CHUNK_FILE,
						  .first_tick = tick,
						  .last_tick = tick};
		size_t len = read_part(map, buf);
		struct part parts[2] = {{fixed, 0}, {buf, len}};
		char more;

		if (len < PIECE_BYTES)
			flags = TRACE_FILE_LAST;
		else if (offset + len >= KEPT_BYTES_MAX)
			flags = TRACE_FILE_LAST |
				(read(map, &more, 1) == 1 ? TRACE_FILE_CUT : 0);
		parts[0].len =
		    (size_t)(kept_put_head(fixed, what, offset, flags) - fixed);
		err = chunks_append(trace, &head, parts, 2);
		offset += len;
	}
	if (flags & TRACE_FILE_CUT)
		fprintf(stderr,
			"memprof-record: %s: too long, kept in part: code "
			"that was generated later may have no name\n",
			what->path);
	return err;
}

int perf_map_append(int fd, const struct summary *sum)
{
	char path[64];
	const struct kept what = {.kind = TRACE_FILE_PERF_MAP, .path = path};
	uint8_t *buf;
	int err = -ENOMEM;
	int map;

	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", sum->pid);
	map = open_map(path);
	if (map < 0)
		return 0;
	buf = malloc(PIECE_BYTES);
	if (buf)
		err = append_parts(fd, sum, &what, map, buf);
	free(buf);
	close(map);
	return err;
}
