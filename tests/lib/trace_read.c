/* SPDX-License-Identifier: MIT */
#include "tests/lib/trace_read.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xxhash.h>

#include "report/core/vec.h"
#include "report/event/event.h"
#include "report/input/input.h"
#include "tests/lib/trace_text.h"

void seen_add(struct seen_events *seen, uint32_t thread,
	      const struct event *event, const uint64_t *keys, size_t depth)
{
	struct seen_event *item = vec_push(seen);
	uint64_t fields[7];

	if (!item)
		abort();
	fields[0] = event->tick;
	fields[1] = event->addr;
	fields[2] = event->size;
	fields[3] = event->a;
	fields[4] = event->b;
	fields[5] = (uint64_t)(int64_t)event->fd;
	fields[6] = event->kind | (uint64_t)event->call << 8;
	item->thread = thread;
	item->fields = XXH64(fields, sizeof(fields), 1);
	item->frames = depth ? XXH64(keys, depth * sizeof(*keys), 2) : 0;
}

void seen_expect(void *context, uint32_t thread, const struct event *event,
		 const uint64_t *keys, size_t depth)
{
	seen_add(context, thread, event, keys, depth);
}

/* Counting sort: stable. */
void seen_sort(struct seen_events *seen)
{
	struct seen_event *sorted = malloc((seen->count + 1) * sizeof(*sorted));
	uint32_t thread = 0;
	size_t count = 0;

	if (!sorted)
		abort();
	while (count < seen->count) {
		uint32_t next = UINT32_MAX;

		for (size_t i = 0; i < seen->count; i++) {
			uint32_t t = seen->items[i].thread;

			if (t == thread)
				sorted[count++] = seen->items[i];
			else if (t > thread && t < next)
				next = t;
		}
		thread = next;
	}
	if (count)
		memcpy(seen->items, sorted, count * sizeof(*sorted));
	free(sorted);
}

int seen_within(const struct seen_events *part, const struct seen_events *whole)
{
	size_t j = 0;

	for (size_t i = 0; i < part->count; i++, j++) {
		while (j < whole->count &&
		       (whole->items[j].thread != part->items[i].thread ||
			whole->items[j].fields != part->items[i].fields))
			j++;
		if (j == whole->count)
			return 0;
	}
	return 1;
}

static void read_open(struct trace_read *read)
{
	if (stacks_init(&read->stacks))
		abort();
	read->diag.offset = DIAG_NO_OFFSET;
	if (read->status == 0)
		read->status =
		    input_open(&read->source, &read->stacks, &read->run,
			       &read->input, &read->diag);
}

void trace_read_open_memory(struct trace_read *read, const void *data,
			    size_t len)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);
	char path[64];

	memset(read, 0, sizeof(*read));
	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	read->source.path = strdup(path);
	read->source.fd = fd;
	read->source.size = len;
	read_open(read);
}

void trace_read_open_path(struct trace_read *read, const char *path)
{
	memset(read, 0, sizeof(*read));
	read->status = source_open(&read->source, path, &read->diag);
	read_open(read);
}

int trace_read_events(struct trace_read *read, struct seen_events *seen)
{
	const struct input_format *format = read->input->format;
	struct event_batch batch = { 0 };
	int result = 0;

	for (size_t i = 0;
	     result >= 0 && i < format->lane_count(read->input); i++) {
		uint32_t thread = format->lane_thread(read->input, i);
		uint64_t tick = format->lane_start(read->input, i);

		assert(tick >= read->run.first_tick);
		while ((result = format->lane_next(read->input, i, &batch,
						   &read->diag)) > 0) {
			assert(batch.count > 0);
			for (size_t j = 0; j < batch.count; j++) {
				const struct event *event = &batch.items[j];

				assert(event->tick >= tick);
				assert(event->tick <= read->run.last_tick);
				assert(event->stack < read->stacks.count);
				assert(event->kind <= EVENT_CULLED);
				assert(event->call < CALL_COUNT);
				tick = event->tick;
				if (seen)
					seen_add(
					    seen, thread, event, read->keys,
					    trace_text_keys(
						&read->stacks, event->stack,
						&read->keys, &read->capacity));
			}
		}
	}
	event_batch_done(&batch);
	return result;
}

void trace_read_complain(const struct trace_read *read)
{
	char line[2048];

	if (read->status) {
		diag_format(&read->diag, line, sizeof(line));
		fprintf(stderr, "%s\n", line);
	}
	for (size_t i = 0; i < read->run.damage.stored; i++) {
		diag_format(&read->run.damage.items[i], line, sizeof(line));
		fprintf(stderr, "%s\n", line);
	}
}

void trace_read_close(struct trace_read *read)
{
	input_close(read->input);
	run_done(&read->run);
	stacks_done(&read->stacks);
	source_close(&read->source);
	free(read->keys);
	memset(read, 0, sizeof(*read));
}
