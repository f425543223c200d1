/* SPDX-License-Identifier: MIT */
#include "tracer/record/finish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include "tracer/encode.h"
#include "tracer/record/walk.h"
#include "tracer/trace_format.h"

/**
 * struct summary - what the chunks of a trace say
 * @trace_id:  from the preamble
 * @clock:     from PROCESS
 * @end_how:   of the last END, 0 where there is none
 * @resumed:   the program went on after the last END
 * @seen:      (thread << 32 | sequence) of all EVENTS chunks
 * @seen_len:  number of them
 * @seen_cap:  room
 * @end:       offset after the last whole chunk
 */
struct summary {
	uint64_t trace_id;
	unsigned clock;
	uint32_t end_how;
	bool resumed;
	uint64_t *seen;
	size_t seen_len;
	size_t seen_cap;
	off_t end;
};

/* Safety: allocates.  Return: 0 or -ENOMEM. */
static int add_seen(struct summary *sum, uint32_t thread, uint32_t sequence)
{
	if (sum->seen_len == sum->seen_cap) {
		size_t cap = sum->seen_cap ? 2 * sum->seen_cap : 1024;
		uint64_t *grown = realloc(sum->seen, cap * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		sum->seen = grown;
		sum->seen_cap = cap;
	}
	sum->seen[sum->seen_len++] = (uint64_t)thread << 32 | sequence;
	return 0;
}

/* Safety: pure. */
static bool is_seen(const struct summary *sum, uint32_t thread,
		    uint32_t sequence)
{
	uint64_t key = (uint64_t)thread << 32 | sequence;

	for (size_t i = 0; i < sum->seen_len; i++)
		if (sum->seen[i] == key)
			return true;
	return false;
}

/*
 * An abort that was caught shows only by what comes after it.  Other threads
 * record until an exec takes place, but then nothing says that it failed.
 *
 * Safety: pure.
 */
static bool is_resumed_by(const struct summary *sum, unsigned chunk_type)
{
	return sum->end_how != TRACE_END_EXEC ||
	       chunk_type == TRACE_CHUNK_CLOCK;
}

/* Safety: reads @fd.  Takes what matters from the payload of one chunk. */
static void note_chunk(struct summary *sum, int fd, off_t off,
		       const struct trace_chunk_header *head)
{
	uint8_t first[12] = {0};

	if (head->type == TRACE_CHUNK_EVENTS || head->type == TRACE_CHUNK_CLOCK)
		sum->resumed |= is_resumed_by(sum, head->type);
	if (head->flags & TRACE_CHUNK_ZSTD)
		return;
	if (pread(fd, first, sizeof(first), off) < (ssize_t)sizeof(first))
		return;
	if (head->type == TRACE_CHUNK_PROCESS) {
		sum->clock = first[8];
	} else if (head->type == TRACE_CHUNK_END) {
		memcpy(&sum->end_how, first, sizeof(sum->end_how));
		sum->resumed = false;
	}
}

/* Safety: pure. */
static bool is_header(const struct trace_chunk_header *head)
{
	return memcmp(head->magic, TRACE_CHUNK_MAGIC, TRACE_MAGIC_LEN) == 0 &&
	       head->header_checksum == XXH64(head, sizeof(*head) - 8, 0);
}

/* Safety: reads @fd.  Return: whether a whole chunk is at @off. */
static bool read_header(int fd, off_t off, off_t size,
			struct trace_chunk_header *ret)
{
	return pread(fd, ret, sizeof(*ret), off) == (ssize_t)sizeof(*ret) &&
	       is_header(ret) &&
	       ret->stored_len <= size - off - (off_t)sizeof(*ret);
}

/* Safety: reads @fd, single thread.  Return: offset of a header, or -1. */
static off_t find_header(int fd, off_t off)
{
	static uint8_t buf[1 << 16];
	struct trace_chunk_header head;
	ssize_t n;

	while ((n = pread(fd, buf, sizeof(buf), off)) >=
	       (ssize_t)sizeof(head)) {
		const uint8_t *last = buf + n - sizeof(head);

		for (const uint8_t *p = buf; p <= last; p++) {
			if (*p != (uint8_t)TRACE_CHUNK_MAGIC[0])
				continue;
			memcpy(&head, p, sizeof(head));
			if (is_header(&head))
				return off + (p - buf);
		}
		off += n - (ssize_t)sizeof(head) + 1;
	}
	return -1;
}

/*
 * Reads chunks, stepping over what is damaged.  END is never compressed
 * unless its program name is very long, PROCESS may be: then the clock is
 * taken for the usual one.
 *
 * Safety: allocates.  Return: 0, or -errno where this is no trace of ours.
 */
static int read_summary(int fd, off_t size, struct summary *sum)
{
	struct trace_preamble pre;
	struct trace_chunk_header head;

	sum->clock = TRACE_CLOCK_TSC;
	sum->end = sizeof(pre);
	if (pread(fd, &pre, sizeof(pre), 0) != (ssize_t)sizeof(pre) ||
	    memcmp(pre.magic, TRACE_MAGIC, TRACE_MAGIC_LEN) != 0)
		return -EINVAL;
	sum->trace_id = pre.trace_id;
	while (sum->end < size) {
		if (!read_header(fd, sum->end, size, &head)) {
			off_t next = find_header(fd, sum->end + 1);

			if (next < 0)
				break;
			sum->end = next;
			continue;
		}
		if (head.type == TRACE_CHUNK_EVENTS &&
		    add_seen(sum, head.thread, head.sequence) != 0)
			return -ENOMEM;
		note_chunk(sum, fd, sum->end + (off_t)sizeof(head), &head);
		sum->end += (off_t)sizeof(head) + head.stored_len;
	}
	return 0;
}

/* Safety: allocates.  Fills in and appends @head and @payload.  Return: 0. */
static int append_chunk(int fd, struct trace_chunk_header *head,
			const void *payload, size_t len)
{
	size_t cap = ZSTD_compressBound(len);
	uint8_t *buf = malloc(sizeof(*head) + cap);
	size_t stored;
	ssize_t done;

	if (!buf)
		return -ENOMEM;
	stored = len < 512
		     ? 0
		     : ZSTD_compress(buf + sizeof(*head), cap, payload, len, 1);
	if (stored && !ZSTD_isError(stored) && stored < len) {
		head->flags = TRACE_CHUNK_ZSTD;
	} else {
		stored = len;
		memcpy(buf + sizeof(*head), payload, len);
	}
	memcpy(head->magic, TRACE_CHUNK_MAGIC, TRACE_MAGIC_LEN);
	head->raw_len = (uint32_t)len;
	head->stored_len = (uint32_t)stored;
	head->payload_checksum = XXH64(buf + sizeof(*head), stored, 0);
	head->header_checksum = XXH64(head, sizeof(*head) - 8, 0);
	memcpy(buf, head, sizeof(*head));
	done = write(fd, buf, sizeof(*head) + stored);
	free(buf);
	if (done < 0)
		return -errno;
	return (size_t)done == sizeof(*head) + stored ? 0 : -ENOSPC;
}

/* Safety: allocates.  Appends one slot's events.  Return: 0 or -errno. */
static int append_slot(int fd, const struct trace_live_slot *slot,
		       const uint8_t *buf)
{
	struct walk_result walk =
	    walk_events(buf, (size_t)slot->committed_len, slot->first_tick);
	struct trace_chunk_header head = {
	    .type = TRACE_CHUNK_EVENTS,
	    .thread = slot->thread,
	    .first_tick = slot->first_tick,
	    .last_tick = walk.last_tick,
	    .event_count = walk.count,
	    .sequence = slot->sequence,
	};

	if (!walk.count)
		return 0;
	return append_chunk(fd, &head, buf, walk.bytes);
}

/* Safety: allocates.  Appends what the trace lacks.  Return: chunks, -errno. */
static int append_slots(int fd, const struct summary *sum, const uint8_t *map,
			size_t len)
{
	struct trace_live_header head;
	int added = 0;

	if (len < sizeof(head))
		return 0;
	memcpy(&head, map, sizeof(head));
	if (memcmp(head.magic, TRACE_LIVE_MAGIC, TRACE_MAGIC_LEN) != 0 ||
	    head.trace_id != sum->trace_id ||
	    head.slot_stride <= TRACE_LIVE_PAGE ||
	    head.slot_stride > TRACE_RAW_LEN_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < head.slot_count; i++) {
		size_t off = TRACE_LIVE_PAGE + (size_t)i * head.slot_stride;
		struct trace_live_slot slot;
		int err;

		if (off + head.slot_stride > len)
			break;
		memcpy(&slot, map + off, sizeof(slot));
		if (!slot.committed_len ||
		    slot.committed_len > head.slot_stride - TRACE_LIVE_PAGE ||
		    is_seen(sum, slot.thread, slot.sequence))
			continue;
		err = append_slot(fd, &slot, map + off + TRACE_LIVE_PAGE);
		if (err)
			return err;
		added++;
	}
	return added;
}

/* Safety: allocates.  Return: chunks added from @live_path, or -errno. */
static int append_live(int fd, const struct summary *sum, const char *live_path)
{
	int live_fd = open(live_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	void *map;
	int ret;

	if (live_fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(live_fd, &st) != 0 || !S_ISREG(st.st_mode) || !st.st_size) {
		close(live_fd);
		return 0;
	}
	map =
	    mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, live_fd, 0);
	close(live_fd);
	if (map == MAP_FAILED)
		return -errno;
	ret = append_slots(fd, sum, map, (size_t)st.st_size);
	munmap(map, (size_t)st.st_size);
	return ret;
}

/* Safety: pure but for the clock. */
static uint64_t read_ns(clockid_t id)
{
	struct timespec ts = {0};

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Safety: pure but for the clock.  Return: the trace's clock now. */
static uint64_t read_tick(const struct summary *sum)
{
#if defined(__x86_64__)
	if (sum->clock == TRACE_CLOCK_TSC)
		return __rdtsc();
#endif
	(void)sum;
	return read_ns(CLOCK_MONOTONIC);
}

/*
 * A process that was killed left no second pair of clocks, without which
 * ticks mean nothing; the clock is the machine's, so ours is as good.
 */
static int append_clock(int fd, const struct summary *sum)
{
	uint64_t tick = read_tick(sum);
	uint8_t payload[24], *p = payload;
	struct trace_chunk_header head = {
	    .type = TRACE_CHUNK_CLOCK, .first_tick = tick, .last_tick = tick};

	p = put_u64(p, tick);
	p = put_u64(p, read_ns(CLOCK_MONOTONIC));
	put_u64(p, read_ns(CLOCK_REALTIME));
	return append_chunk(fd, &head, payload, sizeof(payload));
}

/* Safety: allocates. */
static int append_end(int fd, const struct summary *sum,
		      const struct launch_result *result)
{
	uint64_t tick = read_tick(sum);
	uint8_t payload[60], *p = payload;
	struct trace_chunk_header head = {
	    .type = TRACE_CHUNK_END, .first_tick = tick, .last_tick = tick};
	bool killed = WIFSIGNALED(result->wait_status);

	p = put_u32(p, killed ? TRACE_END_SIGNAL : TRACE_END__EXIT);
	p = put_u32(p, (uint32_t)(killed ? WTERMSIG(result->wait_status)
					 : WEXITSTATUS(result->wait_status)));
	p = put_u64(p, 0);
	p = put_u64(p, read_ns(CLOCK_MONOTONIC));
	p = put_u64(p, read_ns(CLOCK_REALTIME));
	p = put_u64(p, 0);
	p = put_u64(p, 0);
	p = put_u64(p, result->peak_rss_bytes);
	put_u32(p, 0);
	return append_chunk(fd, &head, payload, sizeof(payload));
}

/*
 * A process that was killed in the middle of a write leaves part of a chunk
 * at the end, which would swallow what is appended; its events are still in
 * PATH.live.
 *
 * Safety: allocates.  Return: 0 or -errno.
 */
static int prepare(int fd, struct summary *sum)
{
	struct stat st;
	int err;

	if (fstat(fd, &st) != 0)
		return -errno;
	err = read_summary(fd, st.st_size, sum);
	if (!err && sum->end < st.st_size && ftruncate(fd, sum->end) != 0)
		err = -errno;
	return err;
}

/* Safety: allocates.  Return: 0 or -errno. */
static int complete(int fd, const char *live_path,
		    const struct launch_result *result, uint32_t *ret_how)
{
	struct summary sum = {0};
	int err = prepare(fd, &sum);
	int added = 0;

	if (!err)
		added = append_live(fd, &sum, live_path);
	if (added < 0)
		err = added;
	sum.resumed |= added > 0 && is_resumed_by(&sum, TRACE_CHUNK_EVENTS);
	if (!err && (!sum.end_how || sum.resumed)) {
		err = append_clock(fd, &sum);
		if (!err && result)
			err = append_end(fd, &sum, result);
	}
	free(sum.seen);
	*ret_how = sum.resumed ? 0 : sum.end_how;
	return err;
}

int finish_trace(const char *path, const struct launch_result *result,
		 uint32_t *ret_how)
{
	char live_path[4096];
	int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
	int err;

	*ret_how = 0;
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		close(fd); /* still being written */
		return 0;
	}
	snprintf(live_path, sizeof(live_path), "%s.live", path);
	err = complete(fd, live_path, result, ret_how);
	close(fd);
	if (!err)
		unlink(live_path);
	return err;
}
