/* SPDX-License-Identifier: MIT */
/* Reading traces through report/input in tests. */
#ifndef TESTS_LIB_TRACE_READ_H
#define TESTS_LIB_TRACE_READ_H

#include <stddef.h>
#include <stdint.h>

#include "report/core/diag.h"
#include "report/event/run.h"
#include "report/event/stacks.h"
#include "report/source/source.h"

struct event;
struct input;

/**
 * struct seen_event - what tells events apart
 * @fields: hash of everything but the stack
 * @frames: hash of the stack's frames
 */
struct seen_event {
	uint32_t thread;
	uint64_t fields;
	uint64_t frames;
};

struct seen_events {
	struct seen_event *items;
	size_t count;
	size_t capacity;
};

void seen_add(struct seen_events *seen, uint32_t thread,
	      const struct event *event, const uint64_t *keys, size_t depth);
/* As a trace_gen_expect; @context is a struct seen_events. */
void seen_expect(void *context, uint32_t thread, const struct event *event,
		 const uint64_t *keys, size_t depth);
/* By thread; the order within a thread stays. */
void seen_sort(struct seen_events *seen);
/* Return: whether @part, sorted, is @whole, sorted, with some left out; stacks
   are not compared: a module that is lost changes them. */
int seen_within(const struct seen_events *part,
		const struct seen_events *whole);

/**
 * struct trace_read - an open trace
 * @status: of opening; @diag says why if it is not 0
 */
struct trace_read {
	struct source source;
	struct stacks stacks;
	struct run run;
	struct input *input;
	struct diag diag;
	int status;
	uint64_t *keys;
	size_t capacity;
};

/* @data is copied.  There is no PATH.live. */
void trace_read_open_memory(struct trace_read *read, const void *data,
			    size_t len);
void trace_read_open_path(struct trace_read *read, const char *path);

/* Reads all lanes into @seen, which may be NULL.  Asserts what input.h
   promises: ticks do not fall and lie within the run, stacks are nodes.
   Return: 0 or negative errno. */
int trace_read_events(struct trace_read *read, struct seen_events *seen);

/* Writes all findings to standard error. */
void trace_read_complain(const struct trace_read *read);
void trace_read_close(struct trace_read *read);

#endif /* TESTS_LIB_TRACE_READ_H */
