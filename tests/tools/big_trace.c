/* SPDX-License-Identifier: MIT */
/*
 * big_trace [-n EVENTS] [-b BLOCKS] [-c EVENTS] FILE - write a valid trace of
 * any length with at most BLOCKS live blocks, as fast as the disk takes it.
 *
 * First BLOCKS allocations, then rounds of the same -c events, which free and
 * allocate until all addresses are in use again.  A COLUMNS chunk knows nothing
 * of those before it, and its times count from its header's: so a round is coded
 * once, and written again with other headers.  Between the rounds no event
 * differs but in its time: the reader does not know, and what it does is the
 * work of a trace whose every event was coded by itself.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/core/vec.h"
#include "tests/lib/random.h"
#include "tests/lib/trace_code.h"

enum {
	CHUNK_EVENTS = 32 * 1024,
	CLASSES = 48,
	SITES = 3000,
	TASKS = 600,
	TASK_STEPS = 8,
	DEPTH_MAX = 24,
	LOOP_MAX = 60,
};

#define START_TICK UINT64_C(1000000000)
#define PROGRAM_START UINT64_C(0x555555554000)
#define HEAP_START UINT64_C(0x7f0000000000)

struct addresses {
	uint64_t *items;
	size_t count, capacity;
};

/* One place that allocates: its stack, outermost frame first. */
struct site {
	uint64_t pcs[DEPTH_MAX];
	uint32_t depth;
	uint32_t size_class;
};

/* What a program does again and again: site + 1 allocates, 0 frees. */
struct task {
	uint32_t steps[TASK_STEPS];
	uint32_t count;
};

/* A coded chunk, to be written many times. */
struct part {
	size_t offset; /* of its header in maker.bytes */
	size_t len;
	uint32_t events;
	uint64_t duration;
};

struct maker {
	struct random random;
	struct site *sites;
	struct task tasks[TASKS];
	struct addresses live[CLASSES], freed[CLASSES];
	uint64_t heap_end;
	const struct site *last;
	struct coded_events events;
	uint64_t duration; /* of @events */
	struct bytes bytes;
	struct {
		struct part *items;
		size_t count, capacity;
	} parts;
};

struct writer {
	FILE *file;
	uint64_t tick;
	uint64_t events;
	uint32_t sequence;
};

static uint64_t class_size(uint32_t size_class)
{
	uint64_t step = size_class / 4;

	return (16 + 4 * (size_class % 4)) << (step > 9 ? 9 : step);
}

static uint64_t pick(struct maker *maker, uint64_t count)
{
	return random_below(&maker->random, count);
}

/* Small numbers more often. */
static uint64_t pick_low(struct maker *maker, uint64_t count)
{
	uint64_t a = pick(maker, count), b = pick(maker, count);

	a = a < b ? a : b;
	b = pick(maker, count);
	return a < b ? a : b;
}

static void make_program(struct maker *maker)
{
	maker->sites = calloc(SITES, sizeof(*maker->sites));
	if (!maker->sites)
		abort();
	for (size_t i = 0; i < SITES; i++) {
		struct site *site = &maker->sites[i];
		uint32_t kept = 0;

		site->depth = 6 + (uint32_t)pick(maker, DEPTH_MAX - 5);
		/* Callers are shared with a site before it. */
		if (i) {
			const struct site *like = &maker->sites[pick(maker, i)];

			kept = 2 + (uint32_t)pick(maker, like->depth - 1);
			kept = kept < site->depth ? kept : site->depth - 1;
			kept = kept < like->depth ? kept : like->depth;
			memcpy(site->pcs, like->pcs, kept * sizeof(*site->pcs));
		}
		for (; kept < site->depth; kept++)
			site->pcs[kept] = PROGRAM_START + pick(maker, 1 << 20);
		site->size_class = (uint32_t)pick_low(maker, CLASSES);
	}
	for (size_t i = 0; i < TASKS; i++) {
		struct task *task = &maker->tasks[i];

		task->count = 2 + (uint32_t)pick(maker, TASK_STEPS - 1);
		for (uint32_t j = 0; j < task->count; j++)
			task->steps[j] =
			    j % 2 ? 0 : 1 + (uint32_t)pick(maker, SITES);
	}
}

static void push(struct addresses *addresses, uint64_t addr)
{
	uint64_t *slot = vec_push(addresses);

	if (!slot)
		abort();
	*slot = addr;
}

static void add_event(struct maker *maker, unsigned kind, uint64_t addr,
		      const struct site *site)
{
	struct coded_event *event = vec_push(&maker->events);
	const struct site *last = maker->last;
	uint32_t same = 0;

	if (!event)
		abort();
	event->tag = (uint8_t)kind;
	event->ticks = 20 + pick_low(maker, 60);
	event->addr = addr;
	event->first = maker->events.pcs.count;
	event->fresh = maker->events.count == 1;
	if (event->fresh)
		last = NULL;
	while (last && same < last->depth && same < site->depth &&
	       last->pcs[same] == site->pcs[same])
		same++;
	event->pop = last ? last->depth - same : 0;
	event->push = site->depth - same;
	if (!vec_reserve(&maker->events.pcs, event->first + event->push))
		abort();
	memcpy(maker->events.pcs.items + event->first, site->pcs + same,
	       event->push * sizeof(*site->pcs));
	maker->events.pcs.count += event->push;
	if (kind == TRACE_EVENT_MALLOC) {
		event->size = class_size(site->size_class);
		event->a = 8;
	}
	maker->last = site;
	maker->duration += event->ticks;
}

/* Codes what has come together as a chunk. */
static void end_chunk(struct maker *maker)
{
	struct trace_chunk_header header = {
	    .type = TRACE_CHUNK_COLUMNS,
	    .thread = 1,
	    .event_count = (uint32_t)maker->events.count,
	};
	struct part *part = vec_push(&maker->parts);
	struct bytes payload = {0};

	if (!part)
		abort();
	code_columns(&payload, &maker->events, 0, maker->events.count, 0, 0,
		     NULL);
	part->offset = trace_put_chunk(&maker->bytes, &header, &payload,
				       TRACE_PACK_ZSTD);
	part->len = maker->bytes.len - part->offset;
	part->events = header.event_count;
	part->duration = maker->duration;
	bytes_done(&payload);
	coded_events_clear(&maker->events);
	maker->duration = 0;
}

static void event_done(struct maker *maker)
{
	if (maker->events.count == CHUNK_EVENTS)
		end_chunk(maker);
}

static void free_one(struct maker *maker, uint32_t size_class,
		     const struct site *site)
{
	struct addresses *live = &maker->live[size_class];
	/* Most of what is freed is young. */
	size_t at = pick(maker, 64) ? live->count - 1 : pick(maker, live->count);
	uint64_t addr = live->items[at];

	live->items[at] = live->items[--live->count];
	push(&maker->freed[size_class], addr);
	add_event(maker, TRACE_EVENT_FREE, addr, site);
	event_done(maker);
}

static void allocate(struct maker *maker, const struct site *site)
{
	struct addresses *freed = &maker->freed[site->size_class];
	uint64_t addr;

	if (!freed->count && maker->live[site->size_class].count)
		free_one(maker, site->size_class, site);
	if (!freed->count)
		return;
	addr = freed->items[--freed->count];
	push(&maker->live[site->size_class], addr);
	add_event(maker, TRACE_EVENT_MALLOC, addr, site);
	event_done(maker);
}

/* @blocks allocations, all new. */
static void make_start(struct maker *maker, uint64_t blocks)
{
	maker->heap_end = HEAP_START;
	for (uint64_t i = 0; i < blocks; i++) {
		const struct site *site =
		    &maker->sites[pick_low(maker, SITES)];

		push(&maker->freed[site->size_class], maker->heap_end);
		maker->heap_end += (class_size(site->size_class) + 23) & ~15ull;
		allocate(maker, site);
	}
	if (maker->events.count)
		end_chunk(maker);
}

static void run_task(struct maker *maker, const struct task *task)
{
	const struct site *site = &maker->sites[0];

	for (uint32_t i = 0; i < task->count; i++) {
		if (task->steps[i]) {
			site = &maker->sites[task->steps[i] - 1];
			allocate(maker, site);
		} else if (maker->live[site->size_class].count) {
			free_one(maker, site->size_class, site);
		}
	}
}

static void loop(struct maker *maker, const struct task *task)
{
	for (uint64_t i = 1 + pick(maker, LOOP_MAX); i; i--)
		run_task(maker, task);
}

/* Every address that was freed is allocated again. */
static void refill(struct maker *maker)
{
	for (size_t i = 0; i < SITES; i++)
		while (maker->freed[maker->sites[i].size_class].count)
			allocate(maker, &maker->sites[i]);
}

static void make_round(struct maker *maker, uint64_t events)
{
	size_t first = maker->parts.count;

	while ((maker->parts.count - first) * CHUNK_EVENTS +
		       maker->events.count < events)
		loop(maker, &maker->tasks[pick_low(maker, TASKS)]);
	refill(maker);
	if (maker->events.count)
		end_chunk(maker);
}

static void write_part(struct writer *writer, struct maker *maker,
		       const struct part *part)
{
	uint8_t *at = maker->bytes.data + part->offset;
	struct trace_chunk_header header;

	memcpy(&header, at, sizeof(header));
	header.first_tick = writer->tick;
	header.last_tick = writer->tick + part->duration;
	header.sequence = writer->sequence++;
	memcpy(at, &header, sizeof(header));
	trace_seal_header(at);
	if (fwrite(at, 1, part->len, writer->file) != part->len) {
		perror("big_trace");
		exit(1);
	}
	writer->tick += part->duration;
	writer->events += part->events;
}

static void write_bytes(struct writer *writer, struct bytes *bytes)
{
	if (fwrite(bytes->data, 1, bytes->len, writer->file) != bytes->len) {
		perror("big_trace");
		exit(1);
	}
	bytes_done(bytes);
}

static void write_trace(struct writer *writer, struct maker *maker,
			size_t start_parts, uint64_t events)
{
	const struct trace_process process = {
	    .clock = TRACE_CLOCK_MONOTONIC,
	    .tick = START_TICK,
	    .monotonic_ns = START_TICK,
	    .realtime_ns = UINT64_C(1700000000) * 1000000000,
	};
	struct bytes bytes = {0};
	size_t i = start_parts;

	trace_put_preamble(&bytes, 1);
	trace_put_process(&bytes, &process);
	trace_put_module(&bytes, 1, TRACE_MODULE_EXECUTABLE, START_TICK,
			 PROGRAM_START, PROGRAM_START + (1 << 20) + 1,
			 "/usr/bin/generated");
	write_bytes(writer, &bytes);
	writer->tick = START_TICK;
	for (size_t j = 0; j < start_parts; j++)
		write_part(writer, maker, &maker->parts.items[j]);
	while (writer->events < events) {
		write_part(writer, maker, &maker->parts.items[i]);
		i = i + 1 < maker->parts.count ? i + 1 : start_parts;
	}
	trace_put_end(&bytes, TRACE_END_EXIT, writer->tick, writer->tick,
		      writer->events, 0);
	write_bytes(writer, &bytes);
}

static uint64_t number(const char *text)
{
	char *end;
	double value = strtod(text, &end); /* 1e9 is a number here */

	if (end == text || *end || value < 1 || value > 1e15) {
		fprintf(stderr, "big_trace: not a number: %s\n", text);
		exit(2);
	}
	return (uint64_t)value;
}

int main(int argc, char **argv)
{
	struct maker *maker = calloc(1, sizeof(*maker));
	uint64_t events = 1000000, blocks = 0, round = 4000000;
	struct writer writer = {0};
	size_t start_parts;
	int c;

	if (!maker)
		abort();
	while ((c = getopt(argc, argv, "n:b:c:")) != -1) {
		if (c == 'n')
			events = number(optarg);
		else if (c == 'b')
			blocks = number(optarg);
		else if (c == 'c')
			round = number(optarg);
		else
			optind = argc;
	}
	if (optind != argc - 1) {
		fputs("usage: big_trace [-n EVENTS] [-b BLOCKS] [-c EVENTS] "
		      "FILE\n",
		      stderr);
		return 2;
	}
	if (!blocks)
		blocks = events / 4 < 1000000 ? events / 4 + 1 : 1000000;
	maker->random.state = 1;
	make_program(maker);
	make_start(maker, blocks);
	start_parts = maker->parts.count;
	make_round(maker, events > blocks + round ? round : events);
	writer.file = fopen(argv[optind], "wb");
	if (writer.file)
		write_trace(&writer, maker, start_parts, events);
	if (!writer.file || fclose(writer.file)) {
		fprintf(stderr, "big_trace: %s: %s\n", argv[optind],
			strerror(errno));
		return 1;
	}
	printf("%" PRIu64 " events, at most %" PRIu64 " live blocks\n",
	       writer.events, blocks);
	return 0;
}
