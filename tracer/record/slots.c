/* SPDX-License-Identifier: MIT */
#include "tracer/record/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/clock.h"
#include "tracer/columns.h"
#include "tracer/record/chunks.h"
#include "tracer/record/walk.h"
#include "tracer/trace_format.h"

/**
 * struct slot - a buffer that the trace lacks
 * @input:     its valid records
 * @last_tick: of the last one
 */
struct slot {
	uint32_t thread;
	uint32_t sequence;
	struct columns_input input;
	uint64_t last_tick;
};

/**
 * struct slots - all of them, sorted by thread and sequence
 * @threads: largest thread number
 */
struct slots {
	struct slot *items;
	size_t count;
	uint32_t threads;
};

int live_open(struct live_file *ret, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	void *map;
	int err = 0;

	*ret = (struct live_file){0};
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd,
			   0);
		if (map == MAP_FAILED)
			err = -errno;
		else
			*ret = (struct live_file){map, (size_t)st.st_size};
	}
	close(fd);
	return err;
}

void live_close(struct live_file *live)
{
	union {
		const uint8_t *in;
		void *out;
	} bytes = {.in = live->bytes};

	if (live->bytes)
		munmap(bytes.out, live->len);
	*live = (struct live_file){0};
}

/* Safety: pure.  Return: whether there is a header, now in @ret. */
static bool read_header(const struct live_file *live,
			struct trace_live_header *ret)
{
	if (live->len < TRACE_LIVE_PAGE)
		return false;
	memcpy(ret, live->bytes, sizeof(*ret));
	return memcmp(ret->magic, TRACE_LIVE_MAGIC, TRACE_MAGIC_LEN) == 0;
}

struct live_owner live_get_owner(const struct live_file *live)
{
	struct trace_live_header head;
	struct live_owner owner = {0};

	if (!read_header(live, &head))
		return owner;
	owner.program = (int)head.pid;
	memcpy(&owner.helper, live->bytes + TRACE_LIVE_HELPER,
	       sizeof(owner.helper));
	return owner;
}

/*
 * Reads a slot; what is damaged in it is left out.
 *
 * Safety: pure.  Return: whether something of it is missing in the trace.
 */
static bool read_slot(const uint8_t *bytes, size_t room,
		      const struct summary *sum, struct slot *ret,
		      uint64_t *damaged_bytes)
{
	const void *words = bytes + TRACE_LIVE_PAGE;
	struct trace_live_slot slot;
	struct walk_result walk;

	memcpy(&slot, bytes, sizeof(slot));
	if (slot.in_use != 1 || !slot.committed_len ||
	    summary_has(sum, slot.thread, slot.sequence))
		return false;
	if (slot.committed_len > room || !slot.thread) {
		*damaged_bytes += room;
		return false;
	}
	*ret = (struct slot){
		.thread = slot.thread,
		.sequence = slot.sequence,
		.input = {
			.words = words,
			.len = (size_t)slot.committed_len / sizeof(uint64_t),
			.from = slot.from,
			.first_tick = slot.first_tick,
		},
	};
	walk = walk_records(&ret->input, summary_tick(sum));
	*damaged_bytes += slot.committed_len - walk.words * sizeof(uint64_t);
	ret->input.len = walk.words;
	ret->last_tick = walk.last_tick;
	return walk.has_from && walk.words > slot.from;
}

/* Safety: pure.  For qsort(). */
static int compare_slots(const void *a, const void *b)
{
	const struct slot *left = a, *right = b;

	if (left->thread != right->thread)
		return left->thread < right->thread ? -1 : 1;
	return (left->sequence > right->sequence) -
	       (left->sequence < right->sequence);
}

/* Safety: allocates.  Return: 0 or -errno; free @ret->items. */
static int read_slots(const struct summary *sum, const struct live_file *live,
		      struct slots *ret, uint64_t *damaged_bytes)
{
	struct trace_live_header head;
	size_t room, count;

	*ret = (struct slots){.threads = sum->threads};
	if (!read_header(live, &head) || head.trace_id != sum->trace_id ||
	    head.version_major != TRACE_VERSION_MAJOR ||
	    head.slot_stride <= TRACE_LIVE_PAGE ||
	    head.slot_stride % TRACE_LIVE_PAGE)
		return -EINVAL;
	room = head.slot_stride - TRACE_LIVE_PAGE;
	if (room > COLUMNS_WORDS_MAX * sizeof(uint64_t))
		return -EINVAL;
	count = (live->len - TRACE_LIVE_PAGE) / head.slot_stride;
	if (count > head.slot_count)
		count = head.slot_count;
	ret->items = calloc(count ? count : 1, sizeof(*ret->items));
	if (!ret->items)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const uint8_t *slot =
		    live->bytes + TRACE_LIVE_PAGE + i * head.slot_stride;

		if (!read_slot(slot, room, sum, &ret->items[ret->count],
			       damaged_bytes))
			continue;
		if (ret->items[ret->count].thread > ret->threads)
			ret->threads = ret->items[ret->count].thread;
		ret->count++;
	}
	qsort(ret->items, ret->count, sizeof(*ret->items), compare_slots);
	return 0;
}

/* Safety: pure.  Return: how many of the @count slots make one chunk; at least
   one. */
static size_t count_joined(const struct slot *slots, size_t count)
{
	size_t words = slots[0].input.len;
	size_t n = 1;

	for (; n < count && n < COLUMNS_BUFFERS_MAX; n++) {
		const struct slot *last = &slots[n - 1], *next = &slots[n];

		words += next->input.len;
		if (next->thread != last->thread ||
		    next->sequence != last->sequence + 1 || next->input.from ||
		    next->input.first_tick < last->last_tick ||
		    words > COLUMNS_WORDS_MAX)
			break;
	}
	return n;
}

/* Safety: allocates.  Appends one chunk.  Return: 0 or -errno. */
static int append(int fd, const struct summary *sum, struct columns *columns,
		  unsigned time_shift, const struct slot *slots, size_t count)
{
	struct part parts[1 + TRACE_COLUMN_COUNT];
	struct columns_output out;
	size_t words = 0;
	struct trace_chunk_header head = {
		.type = TRACE_CHUNK_COLUMNS,
		.thread = slots->thread,
		.sequence = slots->sequence,
		.buffer_count = (uint32_t)count,
	};

	for (size_t i = 0; i < count; i++) {
		int err = summary_erase_broken(sum, fd, slots[i].thread,
					       slots[i].sequence);

		if (err)
			return err;
		words += slots[i].input.len;
	}
	columns_begin(columns, time_shift, words);
	for (size_t i = 0; i < count; i++)
		columns_add(columns, &slots[i].input);
	columns_end(columns, &out);
	head.first_tick = out.first_tick;
	head.last_tick = out.last_tick;
	head.event_count = out.event_count;
	for (size_t i = 0; i < 1 + TRACE_COLUMN_COUNT; i++)
		parts[i] = (struct part){out.parts[i], out.lens[i]};
	return chunks_append(fd, &head, parts, 1 + TRACE_COLUMN_COUNT);
}

/* Safety: allocates.  Return: 0 or -errno. */
static int append_all(int fd, const struct summary *sum,
		      const struct slots *slots, struct slots_result *ret)
{
	unsigned time_shift = clock_shift_for(sum->clock == TRACE_CLOCK_TSC,
					      slots->threads > 1);
	struct columns *columns = calloc(1, columns_bytes());
	int err = columns ? 0 : -ENOMEM;

	for (size_t i = 0; i < slots->count && err == 0;) {
		const struct slot *first = &slots->items[i];
		size_t count = count_joined(first, slots->count - i);

		err = append(fd, sum, columns, time_shift, first, count);
		ret->chunks += err == 0;
		i += count;
	}
	free(columns);
	return err;
}

int slots_append(int fd, const struct summary *sum,
		 const struct live_file *live, struct slots_result *ret)
{
	struct slots slots;
	int err;

	*ret = (struct slots_result){0};
	if (!live->bytes)
		return 0;
	err = read_slots(sum, live, &slots, &ret->damaged_bytes);
	if (err == 0 && slots.count)
		err = append_all(fd, sum, &slots, ret);
	free(slots.items);
	return err;
}
