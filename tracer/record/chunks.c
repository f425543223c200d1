/* SPDX-License-Identifier: MIT */
#include "tracer/record/chunks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include "tracer/clock.h"
#include "tracer/seal.h"

enum {
	COMPRESS_MIN = 512, /* shorter payloads are stored as they are */
	COMPRESS_LEVEL = 1,
	HEAD_CHUNKS = 2, /* PROCESS, PIECE */
};

/* Makes room for one more in an array.  Safety: allocates.  Return: the array
   or NULL. */
static void *grow(void *items, size_t count, size_t *cap, size_t item_bytes)
{
	size_t more = *cap ? 2 * *cap : 64;

	if (count < *cap)
		return items;
	items = realloc(items, more * item_bytes);
	if (items)
		*cap = more;
	return items;
}

/* Safety: pure. */
static struct buffer_range get_range(const struct trace_chunk_header *head)
{
	return (struct buffer_range){
		.first = (uint64_t)head->thread << 32 | head->sequence,
		.count = head->buffer_count ? head->buffer_count : 1,
		.batch = head->flags & TRACE_CHUNK_IN_BATCH ? head->batch : 0,
	};
}

/* Safety: allocates.  Return: 0 or -ENOMEM. */
static int add_range(struct summary *sum, const struct trace_chunk_header *head)
{
	struct buffer_range *items = grow(sum->ranges, sum->range_count,
					  &sum->range_cap, sizeof(*items));

	if (!items)
		return -ENOMEM;
	sum->ranges = items;
	sum->ranges[sum->range_count++] = get_range(head);
	return 0;
}

/* Safety: allocates.  Return: 0 or -ENOMEM. */
static int add_broken(struct summary *sum, off_t off, off_t end,
		      const struct trace_chunk_header *head)
{
	struct broken_chunk *items = grow(sum->broken, sum->broken_count,
					  &sum->broken_cap, sizeof(*items));

	if (!items)
		return -ENOMEM;
	sum->broken = items;
	sum->broken[sum->broken_count++] =
	    (struct broken_chunk){get_range(head), off, end};
	return 0;
}

/* Safety: pure. */
static bool range_has(const struct buffer_range *range, uint64_t key)
{
	return key >= range->first && key - range->first < range->count;
}

/* Safety: writes to @fd.  Return: 0 or -errno. */
static int overwrite(int fd, off_t off, const void *bytes, size_t len)
{
	int flags = fcntl(fd, F_GETFL);
	ssize_t n;
	int err = 0;

	/* With it, a write would go to the end. */
	if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_APPEND) != 0)
		return -errno;
	n = pwrite(fd, bytes, len, off);
	if (n != (ssize_t)len)
		err = n < 0 ? -errno : -EIO;
	if (fcntl(fd, F_SETFL, flags) != 0)
		return -errno;
	return err;
}

/* Safety: writes to @fd, allocates.  Return: 0 or -errno. */
static int erase(int fd, const struct broken_chunk *broken)
{
	struct trace_chunk_header head = {.type = TRACE_CHUNK_NOTHING};
	off_t bytes = broken->end - broken->off;
	size_t len = (size_t)bytes - sizeof(head);
	uint8_t *rest;
	int err;

	/* Not what a write that was cut off leaves. */
	if (bytes < (off_t)sizeof(head) || len > TRACE_RAW_LEN_MAX)
		return overwrite(fd, broken->off, &(char[TRACE_MAGIC_LEN]){0},
				 TRACE_MAGIC_LEN);
	rest = malloc(len ? len : 1);
	err = rest ? 0 : -ENOMEM;
	if (!err && pread(fd, rest, len, broken->off + (off_t)sizeof(head)) !=
			(ssize_t)len)
		err = -EIO;
	head.raw_len = (uint32_t)len;
	if (!err) {
		chunk_seal(&head, rest, len);
		err = overwrite(fd, broken->off, &head, sizeof(head));
	}
	free(rest);
	return err;
}

int summary_erase_broken(const struct summary *sum, int fd, uint32_t thread,
			 uint32_t sequence)
{
	uint64_t key = (uint64_t)thread << 32 | sequence;

	for (size_t i = 0; i < sum->broken_count; i++) {
		int err = 0;

		if (range_has(&sum->broken[i].range, key))
			err = erase(fd, &sum->broken[i]);
		if (err)
			return err;
	}
	return 0;
}

/* Safety: pure.  For qsort(). */
static int compare_ranges(const void *a, const void *b)
{
	const struct buffer_range *left = a, *right = b;

	return (left->first > right->first) - (left->first < right->first);
}

/* Ranges do not overlap, or begin with the same buffer. */
bool summary_has(const struct summary *sum, uint32_t thread, uint32_t sequence)
{
	uint64_t key = (uint64_t)thread << 32 | sequence;
	size_t low = 0, high = sum->range_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sum->ranges[middle].first <= key)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && range_has(&sum->ranges[low - 1], key);
}

/*
 * An abort that was caught shows only by what comes after it.  Other threads
 * record until an exec takes place, but then nothing says that it failed.  A
 * piece that has ended does not go on.
 */
bool summary_is_resumed_by(const struct summary *sum, unsigned type)
{
	if (sum->end_how == TRACE_END_CONTINUED ||
	    sum->end_how == TRACE_END_STOPPED)
		return false;
	return sum->end_how != TRACE_END_EXEC || type == TRACE_CHUNK_CLOCK;
}

/* Safety: pure. */
static bool is_of_events(const struct trace_chunk_header *head)
{
	return head->type == TRACE_CHUNK_EVENTS ||
	       head->type == TRACE_CHUNK_COLUMNS;
}

/* Safety: pure. */
static bool is_header(const struct trace_chunk_header *head)
{
	return memcmp(head->magic, TRACE_CHUNK_MAGIC, TRACE_MAGIC_LEN) == 0 &&
	       head->header_checksum == XXH64(head, sizeof(*head) - 8, 0);
}

/* Safety: reads @fd.  Return: whether a chunk's header is at @off. */
static bool read_header(int fd, off_t off, struct trace_chunk_header *ret)
{
	return pread(fd, ret, sizeof(*ret), off) == (ssize_t)sizeof(*ret) &&
	       is_header(ret);
}

/* Safety: reads @fd, allocates.  Return: the payload as stored, NULL where it
   is damaged. */
static uint8_t *load_payload(int fd, off_t off,
			     const struct trace_chunk_header *head)
{
	size_t len = head->stored_len;
	uint8_t *payload = malloc(len ? len : 1);

	off += (off_t)sizeof(*head);
	if (payload && pread(fd, payload, len, off) == (ssize_t)len &&
	    XXH64(payload, len, 0) == head->payload_checksum)
		return payload;
	free(payload);
	return NULL;
}

/*
 * Whether the chunk at @off was written to its end.  A thread that is killed
 * while it writes leaves a part of a chunk, behind which another may write.
 *
 * Safety: reads @fd, allocates.
 */
static bool is_whole(int fd, off_t off, off_t size,
		     const struct trace_chunk_header *head)
{
	off_t next = off + (off_t)sizeof(*head) + head->stored_len;
	struct trace_chunk_header following;
	uint8_t *payload;
	bool whole;

	if (next > size)
		return false;
	if (next < size && read_header(fd, next, &following))
		return true;
	payload = load_payload(fd, off, head);
	whole = payload != NULL;
	free(payload);
	return whole;
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

/* Safety: allocates.  Return: the payload's first @len bytes, at least; NULL
   where they cannot be had. */
static uint8_t *load_raw(int fd, off_t off,
			 const struct trace_chunk_header *head, size_t len)
{
	uint8_t *stored = load_payload(fd, off, head), *raw = NULL;
	size_t n;

	if (!stored || head->raw_len < len || head->raw_len > TRACE_RAW_LEN_MAX)
		goto out;
	if (!(head->flags & TRACE_CHUNK_ZSTD))
		return stored;
	raw = malloc(head->raw_len);
	n = raw ? ZSTD_decompress(raw, head->raw_len, stored, head->stored_len)
		: 0;
	if (n != head->raw_len) {
		free(raw);
		raw = NULL;
	}
out:
	free(stored);
	return raw;
}

/* Safety: pure.  Return: bytes of a payload that note_chunk() reads, or 0. */
static size_t get_needed(unsigned type)
{
	switch (type) {
	case TRACE_CHUNK_PROCESS:
		return 12;
	case TRACE_CHUNK_PIECE:
		return TRACE_PIECE_BYTES;
	case TRACE_CHUNK_END:
		return 4;
	default:
		return 0;
	}
}

/* Safety: reads @fd, allocates.  Takes what matters from one chunk. */
static void note_chunk(struct summary *sum, int fd, off_t off,
		       const struct trace_chunk_header *head)
{
	uint8_t *payload;

	if (is_of_events(head) || head->type == TRACE_CHUNK_CLOCK)
		sum->resumed |= summary_is_resumed_by(sum, head->type);
	if (head->thread > sum->threads)
		sum->threads = head->thread;
	if (!get_needed(head->type))
		return;
	payload = load_raw(fd, off, head, get_needed(head->type));
	if (!payload)
		return;
	if (head->type == TRACE_CHUNK_PROCESS) {
		memcpy(&sum->pid, payload, sizeof(sum->pid));
		sum->clock = payload[8];
	} else if (head->type == TRACE_CHUNK_PIECE) {
		memcpy(&sum->run_id, payload, sizeof(sum->run_id));
		if (payload[28] != TRACE_PIECE_FORK)
			memcpy(&sum->previous_id, payload + 8,
			       sizeof(sum->previous_id));
		memcpy(&sum->piece, payload + 24, sizeof(sum->piece));
		sum->has_piece = true;
	} else if (head->type == TRACE_CHUNK_END) {
		memcpy(&sum->end_how, payload, sizeof(sum->end_how));
		sum->resumed = false;
	}
	free(payload);
}

/* Safety: pure.  Those of chunks of the batch count from now on, the last
   @count of them; the writer of those before was killed. */
static void count_batch(struct summary *sum, uint16_t batch, uint32_t count)
{
	size_t end = sum->range_count > TRACE_BATCH_DISTANCE
			     ? sum->range_count - TRACE_BATCH_DISTANCE
			     : 0;

	for (size_t i = sum->range_count; i-- > end;) {
		struct buffer_range *range = &sum->ranges[i];

		if (range->batch != batch)
			continue;
		range->batch = 0;
		if (count)
			count--;
		else
			range->count = 0;
	}
}

/* Safety: allocates.  Takes the buffers of a chunk of events.  Return: 0 or
   -ENOMEM. */
static int note_range(struct summary *sum, int fd, off_t off,
		      const struct trace_chunk_header *head)
{
	uint32_t numbers[TRACE_BATCH_BYTES / sizeof(uint32_t)];
	uint8_t *payload;

	if (is_of_events(head))
		return add_range(sum, head);
	if (head->type != TRACE_CHUNK_BATCH)
		return 0;
	payload = load_raw(fd, off, head, sizeof(numbers));
	if (payload) {
		memcpy(numbers, payload, sizeof(numbers));
		count_batch(sum, (uint16_t)numbers[0], numbers[1]);
	}
	free(payload);
	return 0;
}

/* Safety: pure.  Drops the buffers of chunks that do not count. */
static void drop_ranges(struct summary *sum)
{
	size_t kept = 0;

	for (size_t i = 0; i < sum->range_count; i++)
		if (!sum->ranges[i].batch && sum->ranges[i].count)
			sum->ranges[kept++] = sum->ranges[i];
	sum->range_count = kept;
}

/* Safety: reads @fd, allocates.  Return: 0 or -errno. */
static int read_chunks(struct summary *sum, int fd, off_t size)
{
	while (sum->end < size) {
		struct trace_chunk_header head;
		bool has_header = read_header(fd, sum->end, &head);

		if (!has_header || !is_whole(fd, sum->end, size, &head)) {
			off_t next = find_header(fd, sum->end + 1);

			if (next < 0)
				break;
			if (has_header && is_of_events(&head) &&
			    add_broken(sum, sum->end, next, &head) != 0)
				return -ENOMEM;
			sum->end = next;
			continue;
		}
		if (note_range(sum, fd, sum->end, &head) != 0)
			return -ENOMEM;
		note_chunk(sum, fd, sum->end, &head);
		sum->end += (off_t)sizeof(head) + head.stored_len;
	}
	return 0;
}

/* Safety: reads @fd.  Return: 0, or -EINVAL where this is no trace. */
static int read_preamble(struct summary *ret, int fd)
{
	struct trace_preamble pre;

	*ret = (struct summary){
		.clock = TRACE_CLOCK_TSC,
		.end = sizeof(pre),
	};
	if (pread(fd, &pre, sizeof(pre), 0) != (ssize_t)sizeof(pre) ||
	    memcmp(pre.magic, TRACE_MAGIC, TRACE_MAGIC_LEN) != 0 ||
	    pre.version_major != TRACE_VERSION_MAJOR)
		return -EINVAL;
	ret->trace_id = ret->run_id = pre.trace_id;
	return 0;
}

int summary_read(struct summary *ret, int fd, off_t size)
{
	int err = read_preamble(ret, fd);

	if (err)
		return err;
	err = read_chunks(ret, fd, size);
	drop_ranges(ret);
	if (ret->range_count)
		qsort(ret->ranges, ret->range_count, sizeof(*ret->ranges),
		      compare_ranges);
	return err;
}

int summary_read_head(struct summary *ret, int fd, off_t size)
{
	int err = read_preamble(ret, fd);

	for (int i = 0; i < HEAD_CHUNKS && !err; i++) {
		struct trace_chunk_header head;

		if (!read_header(fd, ret->end, &head) ||
		    !is_whole(fd, ret->end, size, &head))
			break;
		note_chunk(ret, fd, ret->end, &head);
		ret->end += (off_t)sizeof(head) + head.stored_len;
	}
	return err;
}

void summary_done(struct summary *sum)
{
	free(sum->ranges);
	free(sum->broken);
}

uint64_t summary_tick(const struct summary *sum)
{
#if defined(__x86_64__)
	if (sum->clock == TRACE_CLOCK_TSC)
		return __rdtsc();
#endif
	(void)sum;
	return clock_read_ns(CLOCK_MONOTONIC);
}

/* Safety: allocates.  Return: all parts in one, NULL out of memory. */
static uint8_t *join(const struct part *parts, size_t count, size_t *ret_len)
{
	uint8_t *bytes, *p;

	*ret_len = 0;
	for (size_t i = 0; i < count; i++)
		*ret_len += parts[i].len;
	p = bytes = malloc(*ret_len ? *ret_len : 1);
	for (size_t i = 0; bytes && i < count; i++) {
		memcpy(p, parts[i].bytes, parts[i].len);
		p += parts[i].len;
	}
	return bytes;
}

/* Safety: pure.  @dst has room for @cap bytes, at least @len.  Return: bytes
   stored. */
static size_t store(uint8_t *dst, size_t cap, const uint8_t *payload,
		    size_t len, uint16_t *ret_flags)
{
	size_t stored = 0;

	if (len >= COMPRESS_MIN)
		stored = ZSTD_compress(dst, cap, payload, len, COMPRESS_LEVEL);
	if (stored && !ZSTD_isError(stored) && stored < len) {
		*ret_flags = TRACE_CHUNK_ZSTD;
		return stored;
	}
	memcpy(dst, payload, len);
	return len;
}

/* Safety: writes to @fd.  Return: 0 or -errno. */
static int write_all(int fd, const void *bytes, size_t len)
{
	ssize_t done = write(fd, bytes, len);

	if (done < 0)
		return -errno;
	return (size_t)done == len ? 0 : -ENOSPC;
}

int chunks_append(int fd, struct trace_chunk_header *head,
		  const struct part *parts, size_t part_count)
{
	size_t len, cap, stored;
	uint8_t *payload = join(parts, part_count, &len), *bytes = NULL;
	int err = -ENOMEM;

	cap = ZSTD_compressBound(len);
	if (payload)
		bytes = malloc(sizeof(*head) + cap);
	if (bytes) {
		stored = store(bytes + sizeof(*head), cap, payload, len,
			       &head->flags);
		head->raw_len = (uint32_t)len;
		chunk_seal(head, bytes + sizeof(*head), stored);
		memcpy(bytes, head, sizeof(*head));
		err = write_all(fd, bytes, sizeof(*head) + stored);
	}
	free(payload);
	free(bytes);
	return err;
}
