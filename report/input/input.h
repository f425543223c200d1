/* SPDX-License-Identifier: MIT */
/*
 * Reading traces: one file and one line in input_list.h a format.
 *
 * A trace is a set of lanes (one a thread, or one in all for formats without
 * threads), each a sequence of event batches in time order.  The engine merges
 * lanes.  A format's open() reads everything but the events: it walks the
 * chunks, fills struct run and finds the lanes.
 *
 * Nothing in the file is trusted.  Damage is added to run->damage and skipped;
 * only what leaves nothing to report is an error.
 *
 * Layer: input.  May include core/, source/, event/ and tracer/trace_format.h.
 */
#ifndef REPORT_INPUT_INPUT_H
#define REPORT_INPUT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diag;
struct event_batch;
struct run;
struct run_piece;
struct source;
struct stacks;

struct input; /* one open trace; its first member is its format */

/**
 * struct input_format
 * @name:    [a-z0-9-]+, unique
 * @summary: one line for --help and the manual
 * @probe:   whether the first @len bytes (at most 4096) look like this format,
 *           damaged or not
 * @open:    reads everything but events into @run (zeroed by the caller), from
 *           the pieces of one run, @source_count of them in their order.
 *           Borrows @sources, @stacks and @run until close().  Return: 0;
 *           negative errno with @diag filled when nothing can be reported
 * @identify: which piece of which run a file is; NULL where the format has no
 *           pieces.  Return: 0, also when it is not said; negative errno
 * @lane_count: lanes are numbered from 0
 * @lane_thread: thread number of a lane, 0 where the format has none
 * @lane_start: first tick of a lane, before anything of it is decoded
 * @lane_next: fills a batch, zeroed or used before, with the lane's next
 *           events.  Return: 1 batch, 0 end of the lane, negative errno (out of
 *           memory, file unreadable now).  Interns stacks.  Damage met while
 *           decoding goes to run->damage once, also when lanes are read again
 * @rewind:  back to the start of all lanes
 * @close:   frees
 */
struct input_format {
	const char *name;
	const char *summary;
	bool (*probe)(const uint8_t *head, size_t len);
	int (*open)(struct source *sources, size_t source_count,
		    struct stacks *stacks, struct run *run, struct input **ret,
		    struct diag *diag);
	int (*identify)(const struct source *source, struct run_piece *ret,
			struct diag *diag);
	size_t (*lane_count)(const struct input *input);
	uint32_t (*lane_thread)(const struct input *input, size_t lane);
	uint64_t (*lane_start)(const struct input *input, size_t lane);
	int (*lane_next)(struct input *input, size_t lane,
			 struct event_batch *ret, struct diag *diag);
	void (*rewind)(struct input *input);
	void (*close)(struct input *input);
};

/**
 * struct input
 * @bytes_read: of the trace, since open() or rewind(); another thread may add
 *              to it
 */
struct input {
	const struct input_format *format;
	uint64_t bytes_read;
};

/**
 * input_open() - find the format and open
 * @source: borrowed until input_close()
 * @diag:   filled on failure: not a trace (names what it looks like: empty,
 *          gzip, heaptrack, ELF, text …), newer version, nothing readable
 *
 * Return: 0, or negative errno: -EPROTO not a trace, -ENOTSUP newer version,
 * -ENODATA nothing readable, -ENOMEM, or from reading.
 */
int input_open(struct source *source, struct stacks *stacks, struct run *run,
	       struct input **ret, struct diag *diag);

/* The same for the pieces of one run, in their order. */
int input_open_pieces(struct source *sources, size_t source_count,
		      struct stacks *stacks, struct run *run,
		      struct input **ret, struct diag *diag);

/* Which piece of which run @source is; ret->is_known is false where that is not
   said.  Return: 0; negative errno, @diag filled. */
int input_identify(const struct source *source, struct run_piece *ret,
		   struct diag *diag);
void input_close(struct input *input);

/* NULL-terminated list of all formats, in the order --help lists them. */
extern const struct input_format *const input_formats[];

#endif /* REPORT_INPUT_INPUT_H */
