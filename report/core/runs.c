/* SPDX-License-Identifier: MIT */
/*
 * Knuth, The Art of Computer Programming 3, 5.4.1: runs of what the buffer
 * holds, a heap over the first item of each.  Runs are merged to longer ones as
 * soon as FAN_IN of one length have come together, so that the file is never
 * read at more than a few hundred places at once, however long it is.
 */
#include "report/core/runs.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/core/diag.h"
#include "report/core/temporary.h"
#include "report/core/vec.h"

enum { FIRST_ITEMS = 64, FAN_IN_MAX = 128, READ_ITEMS_MIN = 4 };

/* A sorted run in the file. @level: how often it was merged. */
struct run_range {
	uint64_t offset;
	uint64_t count;
	unsigned level;
};

/**
 * struct run_reader - where a merge is in one run
 * @number: of the run: items of earlier runs come first
 */
struct run_reader {
	unsigned char *items;
	size_t at;
	size_t count;
	uint64_t offset;
	uint64_t left;
	size_t number;
};

void runs_init(struct runs *runs, size_t item_size, runs_compare_fn compare,
	       void *context, size_t buffer_bytes, const char *directory)
{
	memset(runs, 0, sizeof(*runs));
	runs->item_size = item_size;
	runs->compare = compare;
	runs->context = context;
	runs->buffer_bytes = buffer_bytes;
	runs->directory = directory;
	runs->fd = -1;
}

void runs_done(struct runs *runs)
{
	free(runs->buffer);
	free(runs->order);
	free(runs->ranges);
	free(runs->readers);
	free(runs->heap);
	if (runs->fd >= 0)
		close(runs->fd);
	memset(runs, 0, sizeof(*runs));
	runs->fd = -1;
}

static int file_fail(struct runs *runs, int error)
{
	runs->error = error;
	return error;
}

/* --- the buffer ---------------------------------------------------------- */

static const void *buffered(const struct runs *runs, uint32_t number)
{
	return runs->buffer + number * runs->item_size;
}

static int compare_buffered(const void *a, const void *b, void *context)
{
	const struct runs *runs = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int result = runs->compare(buffered(runs, x), buffered(runs, y),
				   runs->context);

	return result ? result : (x > y) - (x < y);
}

/* Numbers are sorted and not items: stable whatever qsort_r() does, and what it
   takes beside is small. */
static void buffer_sort(struct runs *runs)
{
	for (size_t i = 0; i < runs->buffered; i++)
		runs->order[i] = (uint32_t)i;
	if (runs->buffered)
		qsort_r(runs->order, runs->buffered, sizeof(*runs->order),
			compare_buffered, runs);
}

/* How many items @buffer_bytes hold, with their numbers twice (qsort_r() copies
   them) and an eighth to write them from. */
static size_t buffer_most(const struct runs *runs)
{
	size_t each = runs->item_size + 2 * sizeof(*runs->order);
	size_t most = runs->buffer_bytes / 8 * 7 / each;

	if (most > UINT32_MAX / 2)
		most = UINT32_MAX / 2;
	return most < FIRST_ITEMS ? FIRST_ITEMS : most;
}

/* Doubles the buffer.  Return: 0 or -ENOMEM. */
static int buffer_grow(struct runs *runs)
{
	size_t most = buffer_most(runs);
	size_t capacity = runs->capacity ? runs->capacity * 2 : FIRST_ITEMS;
	unsigned char *buffer;
	uint32_t *order;

	capacity = capacity < most ? capacity : most;
	buffer = realloc(runs->buffer, capacity * runs->item_size);
	if (!buffer)
		return -ENOMEM;
	runs->buffer = buffer;
	order = realloc(runs->order, capacity * sizeof(*order));
	if (!order)
		return -ENOMEM;
	runs->order = order;
	runs->capacity = capacity;
	return 0;
}

/* --- the file ------------------------------------------------------------ */

/* Items on their way into the file. */
struct run_writer {
	struct runs *runs;
	unsigned char *items;
	size_t capacity;
	size_t count;
	struct run_range range;
};

static int writer_init(struct run_writer *writer, struct runs *runs,
		       size_t bytes)
{
	memset(writer, 0, sizeof(*writer));
	writer->runs = runs;
	if (runs->fd < 0) {
		int fd = temporary_open(runs->directory);

		if (fd < 0)
			return file_fail(runs, fd);
		runs->fd = fd;
	}
	writer->capacity = bytes / runs->item_size;
	if (writer->capacity < READ_ITEMS_MIN)
		writer->capacity = READ_ITEMS_MIN;
	writer->range.offset = runs->file_bytes;
	writer->items = malloc(writer->capacity * runs->item_size);
	return writer->items ? 0 : -ENOMEM;
}

static int writer_flush(struct run_writer *writer)
{
	struct runs *runs = writer->runs;
	size_t len = writer->count * runs->item_size;
	int error = temporary_write(runs->fd, runs->file_bytes, writer->items,
				    len);

	runs->file_bytes += len;
	writer->count = 0;
	return error ? file_fail(runs, error) : 0;
}

static int writer_add(struct run_writer *writer, const void *item)
{
	size_t size = writer->runs->item_size;

	memcpy(writer->items + writer->count * size, item, size);
	writer->range.count++;
	return ++writer->count == writer->capacity ? writer_flush(writer) : 0;
}

/* Ends the run, which becomes the last range.  Return: @status or the first
   error. */
static int writer_done(struct run_writer *writer, unsigned level, int status)
{
	struct runs *runs = writer->runs;
	struct run_range *ranges = runs->ranges;

	if (status == 0)
		status = writer_flush(writer);
	free(writer->items);
	if (status)
		return status;
	if (runs->range_count == runs->range_capacity) {
		ranges = vec_grow(ranges, &runs->range_capacity,
				  runs->range_count + 1, sizeof(*ranges));
		if (!ranges)
			return -ENOMEM;
		runs->ranges = ranges;
	}
	writer->range.level = level;
	ranges[runs->range_count++] = writer->range;
	return 0;
}

/* --- merging ------------------------------------------------------------- */

static int reader_fill(struct runs *runs, struct run_reader *reader,
		       size_t most)
{
	size_t count = reader->left < most ? (size_t)reader->left : most;
	size_t len = count * runs->item_size;
	int error = temporary_read(runs->fd, reader->offset, reader->items,
				   len);

	if (error)
		return file_fail(runs, error);
	reader->at = 0;
	reader->count = count;
	reader->offset += len;
	reader->left -= count;
	return 0;
}

static const void *reader_item(const struct runs *runs,
			       const struct run_reader *reader)
{
	return reader->items + reader->at * runs->item_size;
}

static bool reader_before(const struct runs *runs, const struct run_reader *a,
			  const struct run_reader *b)
{
	int result = runs->compare(reader_item(runs, a), reader_item(runs, b),
				   runs->context);

	return result ? result < 0 : a->number < b->number;
}

static void heap_sift_down(struct runs *runs, size_t at)
{
	struct run_reader *moving = runs->heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= runs->heap_count)
			break;
		if (child + 1 < runs->heap_count &&
		    reader_before(runs, runs->heap[child + 1],
				  runs->heap[child]))
			child++;
		if (!reader_before(runs, runs->heap[child], moving))
			break;
		runs->heap[at] = runs->heap[child];
		at = child;
	}
	runs->heap[at] = moving;
}

/* The buffer, which holds nothing any more, is shared out to the readers of the
   ranges from @first on.  Return: 0 or negative errno. */
static int merge_begin(struct runs *runs, size_t first)
{
	size_t ways = runs->range_count - first;
	size_t share = runs->capacity / ways;

	assert(runs->buffered == 0 && share);
	if (!runs->readers)
		runs->readers = calloc(FAN_IN_MAX, sizeof(*runs->readers));
	if (!runs->heap)
		runs->heap = calloc(FAN_IN_MAX, sizeof(*runs->heap));
	if (!runs->readers || !runs->heap)
		return -ENOMEM;
	for (size_t i = 0; i < ways; i++) {
		struct run_reader *reader = &runs->readers[i];
		int error;

		*reader = (struct run_reader){
			.items = runs->buffer + i * share * runs->item_size,
			.offset = runs->ranges[first + i].offset,
			.left = runs->ranges[first + i].count,
			.number = i,
		};
		error = reader_fill(runs, reader, share);
		if (error)
			return error;
		runs->heap[i] = reader;
	}
	runs->heap_count = ways;
	runs->share = share;
	for (size_t i = ways / 2; i-- > 0;)
		heap_sift_down(runs, i);
	return 0;
}

/* Leaves the item on top.  Return: 0 or negative errno. */
static int merge_advance(struct runs *runs)
{
	struct run_reader *top = runs->heap[0];

	if (++top->at == top->count) {
		int error = top->left ? reader_fill(runs, top, runs->share) : 0;

		if (error)
			return error;
		if (top->at == top->count)
			runs->heap[0] = runs->heap[--runs->heap_count];
	}
	if (runs->heap_count)
		heap_sift_down(runs, 0);
	return 0;
}

/* How many runs are read at once: few enough that each has some items. */
static size_t fan_in(const struct runs *runs)
{
	size_t ways = buffer_most(runs) / READ_ITEMS_MIN;

	return ways < FAN_IN_MAX ? ways : FAN_IN_MAX;
}

/* Makes one run of those from @first on; gives the file's space back. */
static int merge_tail(struct runs *runs, size_t first, unsigned level)
{
	uint64_t from = runs->ranges[first].offset, to = runs->file_bytes;
	struct run_writer writer;
	int status = writer_init(&writer, runs, runs->buffer_bytes / 8);

	if (status == 0)
		status = merge_begin(runs, first);
	while (status == 0 && runs->heap_count) {
		status = writer_add(&writer, reader_item(runs, runs->heap[0]));
		if (status == 0)
			status = merge_advance(runs);
	}
	if (status == 0)
		runs->range_count = first;
	status = writer_done(&writer, level, status);
	/* Where the file system cannot, the file only takes more room. */
	if (status == 0)
		(void)fallocate(runs->fd,
				FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				(off_t)from, (off_t)(to - from));
	return status;
}

/* Merges while the last runs are as many of one level as can be read at once. */
static int merge_full(struct runs *runs)
{
	size_t ways = fan_in(runs);

	while (runs->range_count >= ways) {
		size_t first = runs->range_count - ways;
		unsigned level = runs->ranges[runs->range_count - 1].level;
		int status;

		if (runs->ranges[first].level != level)
			break;
		status = merge_tail(runs, first, level + 1);
		if (status)
			return status;
	}
	return 0;
}

/* Writes the buffer as a run. */
static int spill(struct runs *runs)
{
	struct run_writer writer;
	int status;

	buffer_sort(runs);
	status = writer_init(&writer, runs, runs->buffer_bytes / 8);
	for (size_t i = 0; status == 0 && i < runs->buffered; i++)
		status = writer_add(&writer, buffered(runs, runs->order[i]));
	status = writer_done(&writer, 0, status);
	runs->buffered = 0;
	return status ? status : merge_full(runs);
}

/* --- for others ---------------------------------------------------------- */

int runs_add(struct runs *runs, const void *item)
{
	int status = 0;

	if (runs->buffered == runs->capacity)
		status = runs->capacity < buffer_most(runs) ? buffer_grow(runs)
							    : spill(runs);
	if (status)
		return status;
	memcpy(runs->buffer + runs->buffered * runs->item_size, item,
	       runs->item_size);
	runs->buffered++;
	runs->count++;
	return 0;
}

int runs_rewind(struct runs *runs)
{
	size_t ways = fan_in(runs);
	int status = 0;

	if (!runs->range_count) {
		if (!runs->at)
			buffer_sort(runs);
		runs->at = 0;
		return 0;
	}
	runs->given = false;
	if (runs->buffered)
		status = spill(runs);
	while (status == 0 && runs->range_count > ways)
		status = merge_tail(runs, runs->range_count - ways, 0);
	return status ? status : merge_begin(runs, 0);
}

int runs_next(struct runs *runs, const void **ret)
{
	int status = 0;

	if (!runs->range_count) {
		if (runs->at == runs->buffered)
			return 0;
		*ret = buffered(runs, runs->order[runs->at++]);
		return 1;
	}
	/* The item given out last must stay where it is until now. */
	if (runs->given)
		status = merge_advance(runs);
	if (status)
		return status;
	runs->given = runs->heap_count > 0;
	if (!runs->given)
		return 0;
	*ret = reader_item(runs, runs->heap[0]);
	return 1;
}

int runs_explain(const struct runs *runs, int status, struct diag *diag)
{
	if (!runs->error || status != runs->error)
		return status;
	return diag_set(diag, status, runs->directory, DIAG_NO_OFFSET,
			"no room for rows that are being sorted: %s "
			"(TMPDIR names another directory)",
			strerror(-status));
}
