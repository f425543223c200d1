/* SPDX-License-Identifier: MIT */
#include "tracer/record/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/clock.h"
#include "tracer/columns.h"
#include "tracer/columns_record.h"
#include "tracer/record/chunks.h"
#include "tracer/record/walk.h"
#include "tracer/trace_format.h"

/**
 * struct slot - a buffer that the trace lacks
 * @off:       of its control page, in the file
 * @bytes:     of records, as it says itself
 * @input:     its valid records, once loaded; the words are owned
 * @last_tick: of the last one
 */
struct slot {
	uint32_t thread;
	uint32_t sequence;
	off_t off;
	size_t bytes;
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

/**
 * struct group - loaded slots that make one chunk
 */
struct group {
	struct slot slots[COLUMNS_BUFFERS_MAX];
	size_t count;
	size_t words;
};

/* Safety: reads.  Return: whether all @len bytes are there. */
static bool read_at(const struct live_file *live, off_t off, void *ret,
		    size_t len)
{
	return live->fd >= 0 && pread(live->fd, ret, len, off) == (ssize_t)len;
}

/* Safety: reads.  Return: whether there is a header, now in @ret. */
static bool read_header(const struct live_file *live,
			struct trace_live_header *ret)
{
	return read_at(live, 0, ret, sizeof(*ret)) &&
	       memcmp(ret->magic, TRACE_LIVE_MAGIC, TRACE_MAGIC_LEN) == 0;
}

/* Safety: opens.  Return: 0, also when there is none; or -errno. */
static int open_regular(struct live_file *ret, const char *path)
{
	struct stat st;

	ret->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (ret->fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(ret->fd, &st) != 0 || !S_ISREG(st.st_mode) || !st.st_size)
		live_close(ret);
	return 0;
}

int live_open(struct live_file *ret, const char *path, uint64_t run_id)
{
	struct trace_live_header head;
	int err = open_regular(ret, path);

	if (err || !live_is_there(ret) ||
	    (read_header(ret, &head) && head.run_id == run_id))
		return err;
	live_close(ret);
	return -ESTALE;
}

void live_discard(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char magic[TRACE_MAGIC_LEN];
	ssize_t len;

	if (fd < 0)
		return;
	len = read(fd, magic, sizeof(magic));
	close(fd);
	if (len == 0 || (len == (ssize_t)sizeof(magic) &&
			 memcmp(magic, TRACE_LIVE_MAGIC, sizeof(magic)) == 0))
		unlink(path);
}

void live_close(struct live_file *live)
{
	if (live->fd >= 0)
		close(live->fd);
	live->fd = -1;
}

void live_shrink(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
	    st.st_size > TRACE_LIVE_PAGE && ftruncate(fd, TRACE_LIVE_PAGE) != 0)
		errno = 0; /* then there is no room, and that shows */
	close(fd);
}

bool live_is_there(const struct live_file *live)
{
	return live->fd >= 0;
}

struct live_owner live_get_owner(const struct live_file *live)
{
	struct trace_live_header head;
	struct live_owner owner = {0};

	if (!read_header(live, &head))
		return owner;
	owner.program = (int)head.pid;
	if (!read_at(live, TRACE_LIVE_HELPER, &owner.helper,
		     sizeof(owner.helper)))
		owner.helper = 0;
	return owner;
}

uint32_t live_get_outside(const struct live_file *live)
{
	struct trace_live_header head;
	uint32_t count;

	if (!read_header(live, &head) ||
	    !read_at(live, TRACE_LIVE_OUTSIDE, &count, sizeof(count)))
		return 0;
	return count;
}

struct live_lost live_get_lost(const struct live_file *live)
{
	struct trace_live_header head;
	struct live_lost lost = {0};

	if (!read_header(live, &head) ||
	    !read_at(live, TRACE_LIVE_LOST_WRITE, &lost.write,
		     sizeof(lost.write)) ||
	    !read_at(live, TRACE_LIVE_LOST_MEMORY, &lost.memory,
		     sizeof(lost.memory)))
		return (struct live_lost){0};
	return lost;
}

/**
 * struct share - whose some of a buffer's words are
 * @sequence, @from, @piece: as in the control page
 * @end: word after the last one
 */
struct share {
	uint32_t sequence;
	uint16_t from;
	uint16_t piece;
	uint64_t end;
};

/* Safety: pure.  A buffer that is just being cut has two.  Return: how many
   there are. */
static int get_shares(const struct trace_live_slot *slot, struct share ret[2])
{
	uint64_t end = slot->committed_len / sizeof(uint64_t);

	ret[0] = (struct share){slot->sequence, slot->from, slot->piece, end};
	if (!slot->after)
		return 1;
	ret[1] = (struct share){.end = end};
	memcpy(&ret[1].sequence, &slot->after, sizeof(ret[1].sequence));
	ret[1].from = (uint16_t)(slot->after >> 32);
	ret[1].piece = (uint16_t)(slot->after >> 48);
	if (ret[0].end > ret[1].from)
		ret[0].end = ret[1].from;
	return 2;
}

/* Safety: reads.  Adds what there is at @off and the trace lacks; there is
   room for two more.  @room: bytes of a buffer. */
static void add_slot(const struct live_file *live, off_t off, size_t room,
		     const struct summary *sum, struct slots *ret,
		     uint64_t *damaged_bytes)
{
	struct trace_live_slot slot;
	struct share shares[2];
	int count;

	if (!read_at(live, off, &slot, sizeof(slot)) || slot.in_use != 1 ||
	    !slot.committed_len)
		return;
	count = get_shares(&slot, shares);
	for (int i = 0; i < count; i++) {
		if (shares[i].piece != (uint16_t)sum->piece ||
		    summary_has(sum, slot.thread, shares[i].sequence))
			continue;
		if (slot.committed_len > room || !slot.thread) {
			*damaged_bytes += room;
			return;
		}
		ret->items[ret->count++] = (struct slot){
			.thread = slot.thread,
			.sequence = shares[i].sequence,
			.off = off,
			.bytes = (size_t)shares[i].end * sizeof(uint64_t),
			.input = {
				.from = shares[i].from,
				.first_tick = slot.first_tick,
			},
		};
		if (slot.thread > ret->threads)
			ret->threads = slot.thread;
	}
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

/* Safety: reads, allocates.  Return: 0 or -errno; free @ret->items. */
static int find_slots(const struct live_file *live, const struct summary *sum,
		      size_t count, size_t stride, struct slots *ret,
		      uint64_t *damaged_bytes)
{
	size_t room = stride - TRACE_LIVE_PAGE;

	ret->items = calloc(2 * count + 1, sizeof(*ret->items));
	if (!ret->items)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		add_slot(live, (off_t)(TRACE_LIVE_PAGE + i * stride), room,
			 sum, ret, damaged_bytes);
	qsort(ret->items, ret->count, sizeof(*ret->items), compare_slots);
	return 0;
}

/* Safety: as find_slots().  Return: the same. */
static int read_slots(const struct summary *sum, const struct live_file *live,
		      struct slots *ret, uint64_t *damaged_bytes)
{
	struct trace_live_header head;

	*ret = (struct slots){.threads = sum->threads};
	if (!read_header(live, &head) || head.run_id != sum->run_id ||
	    head.version_major != TRACE_VERSION_MAJOR ||
	    head.slot_stride <= TRACE_LIVE_PAGE ||
	    head.slot_stride % TRACE_LIVE_PAGE ||
	    head.slot_stride - TRACE_LIVE_PAGE >
		COLUMNS_WORDS_MAX * sizeof(uint64_t))
		return -EINVAL;
	if (head.slot_count > LIVE_SLOT_MAX)
		head.slot_count = LIVE_SLOT_MAX;
	return find_slots(live, sum, head.slot_count, head.slot_stride, ret,
			  damaged_bytes);
}

/* What the marks are for is not done here.  Safety: pure; the records are
   valid. */
static void clear_marks(uint64_t *words, size_t len)
{
	for (size_t i = 0; i < len;) {
		struct record r;
		const uint64_t *next;

		next = record_read(words + i, &r);
		record_take_maker(words + i, &r, 0);
		i += (size_t)(next - (words + i));
	}
}

/*
 * Loads a slot's records; what is damaged in them is left out.
 *
 * Safety: reads, allocates.  Return: 0; 1 when nothing of it is missing in the
 * trace; -ENOMEM.  The caller frees the words of a loaded one.
 */
static int load_slot(const struct live_file *live, const struct summary *sum,
		     struct slot *slot, uint64_t *damaged_bytes)
{
	uint64_t *words = malloc(slot->bytes + 1);
	struct walk_result walk;
	ssize_t n;

	if (!words)
		return -ENOMEM;
	n = pread(live->fd, words, slot->bytes,
		  slot->off + (off_t)TRACE_LIVE_PAGE);
	slot->input.words = words;
	slot->input.len = n < 0 ? 0 : (size_t)n / sizeof(uint64_t);
	walk = walk_records(&slot->input, summary_tick(sum));
	*damaged_bytes += slot->bytes - walk.words * sizeof(uint64_t);
	slot->input.len = walk.words;
	clear_marks(words, walk.words);
	slot->last_tick = walk.last_tick;
	if (walk.has_from && walk.words > slot->input.from)
		return 0;
	free(words);
	return 1;
}

/* Safety: pure.  Return: whether @slot can be in the same chunk. */
static bool can_join(const struct group *group, const struct slot *slot)
{
	const struct slot *last = &group->slots[group->count - 1];

	return group->count < COLUMNS_BUFFERS_MAX &&
	       slot->thread == last->thread &&
	       slot->sequence == last->sequence + 1 && !slot->input.from &&
	       slot->input.first_tick >= last->last_tick &&
	       group->words + slot->input.len <= COLUMNS_WORDS_MAX;
}

/* Safety: frees. */
static void group_clear(struct group *group)
{
	for (size_t i = 0; i < group->count; i++) {
		union {
			const uint64_t *in;
			void *out;
		} words = {.in = group->slots[i].input.words};

		free(words.out);
	}
	group->count = group->words = 0;
}

/**
 * struct appending - the trace that grows
 */
struct appending {
	int fd;
	const struct summary *sum;
	struct columns *columns;
	unsigned time_shift;
	struct slots_result *result;
};

/* Safety: allocates.  Appends one chunk.  Return: 0 or -errno. */
static int append(const struct appending *to, const struct group *group)
{
	struct part parts[COLUMNS_PARTS_MAX];
	struct columns_output out;
	struct trace_chunk_header head = {
		.type = TRACE_CHUNK_COLUMNS,
		.thread = group->slots->thread,
		.sequence = group->slots->sequence,
		.buffer_count = (uint16_t)group->count,
	};

	for (size_t i = 0; i < group->count; i++) {
		int err = summary_erase_broken(to->sum, to->fd,
					       group->slots[i].thread,
					       group->slots[i].sequence);

		if (err)
			return err;
	}
	columns_begin(to->columns, to->time_shift);
	for (size_t i = 0; i < group->count; i++)
		columns_add(to->columns, &group->slots[i].input);
	columns_end(to->columns, &out);
	head.first_tick = out.first_tick;
	head.last_tick = out.last_tick;
	head.event_count = out.event_count;
	for (size_t i = 0; i < out.part_count; i++)
		parts[i] = (struct part){out.parts[i], out.lens[i]};
	return chunks_append(to->fd, &head, parts, out.part_count);
}

/* Safety: allocates.  Appends the group, if there is one, and empties it.
   Return: 0 or -errno. */
static int append_group(const struct appending *to, struct group *group)
{
	int err = 0;

	if (group->count) {
		err = append(to, group);
		to->result->chunks += err == 0;
	}
	group_clear(group);
	return err;
}

/* Safety: allocates.  Return: 0 or -errno. */
static int append_slots(const struct appending *to,
			const struct live_file *live, struct slots *slots)
{
	struct group group = {0};
	int err = 0;

	for (size_t i = 0; i < slots->count && err >= 0; i++) {
		struct slot *slot = &slots->items[i];

		err = load_slot(live, to->sum, slot,
				&to->result->damaged_bytes);
		if (err)
			continue;
		if (group.count && !can_join(&group, slot))
			err = append_group(to, &group);
		group.slots[group.count++] = *slot;
		group.words += slot->input.len;
	}
	if (err >= 0)
		err = append_group(to, &group);
	group_clear(&group);
	return err;
}

int slots_append(int fd, const struct summary *sum,
		 const struct live_file *live, struct slots_result *ret)
{
	struct appending to = {.fd = fd, .sum = sum, .result = ret};
	struct slots slots = {0};
	int err;

	*ret = (struct slots_result){0};
	if (!live_is_there(live))
		return 0;
	err = read_slots(sum, live, &slots, &ret->damaged_bytes);
	if (err == 0 && slots.count) {
		to.time_shift =
		    clock_shift_for(sum->clock == TRACE_CLOCK_TSC,
				    slots.threads > 1);
		to.columns = calloc(1, columns_bytes());
		err = to.columns ? append_slots(&to, live, &slots) : -ENOMEM;
		free(to.columns);
	}
	free(slots.items);
	return err;
}
