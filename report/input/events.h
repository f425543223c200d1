/* SPDX-License-Identifier: MIT */
/*
 * The decoder of EVENTS payloads.
 *
 * Layer: input.
 */
#ifndef REPORT_INPUT_EVENTS_H
#define REPORT_INPUT_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event;
struct module_map;
struct stacks;

enum { INTERN_CACHE_COUNT = 4096 };

/**
 * struct intern_entry - node of a frame under its caller
 * @key:    address in the low 48 bits, epoch above
 * @parent: STACKS_NONE while the entry is empty
 */
struct intern_entry {
	uint64_t key;
	uint32_t parent;
	uint32_t node;
};

/**
 * struct interner - turns frames into nodes of struct stacks, for all lanes
 * @stacks, @modules: borrowed
 * @epochs:  load ticks after which an address may mean another module, rising;
 *           owned.  An epoch is the number of them that have passed
 * @tracer_start, @tracer_end: range outside of which no frame is the tracer's
 * @cache:   direct-mapped by event_frame.hash, in front of the tree's table
 */
struct interner {
	struct stacks *stacks;
	const struct module_map *modules;
	uint64_t *epochs;
	size_t epoch_count;
	uint64_t tracer_start;
	uint64_t tracer_end;
	struct intern_entry cache[INTERN_CACHE_COUNT];
};

/* Return: 0 or -ENOMEM.  @modules must be complete. */
int interner_init(struct interner *interner, struct stacks *stacks,
		  const struct module_map *modules);
void interner_done(struct interner *interner);

/* One frame of the stack that the next event builds on.  @hash: of all pcs up
   to this one. */
struct event_frame {
	uint64_t pc;
	uint32_t node;
	uint32_t hash;
};

/**
 * struct event_decoder - one lane's decoder, zero-initialised
 * @interner:  borrowed
 * @data, @len: payload, borrowed; CURSOR_SLACK zero bytes follow
 * @position:  in the payload, of the next event
 * @end:       of the payload, private
 * @frames:    frames[0] stands for the empty stack; frames[1 … depth]; owned
 * @tick:      of the chunk, as coded
 * @floor:     no event is earlier (the last one of the lane)
 * @limit:     no event is later (the end of the run)
 * @decoded:   events of the chunk so far, as coded: a realloc is one
 * @lost:      sum of its LOST events
 * @problem:   why decoding stopped early; static storage
 * @problem_at: offset of the event in the payload
 */
struct event_decoder {
	struct interner *interner;
	const uint8_t *data;
	size_t len;
	size_t position;
	const uint8_t *end;
	struct event_frame *frames;
	uint32_t capacity;
	uint32_t depth;
	bool truncated; /* frames[0] stands for frames that were cut off */
	uint64_t tick;
	uint64_t addr;
	uint64_t floor;
	uint64_t limit;
	uint64_t decoded;
	uint64_t lost;
	size_t epoch;
	const char *problem;
	size_t problem_at;
};

void event_decoder_done(struct event_decoder *decoder);

/* Starts a payload: @len bytes, then CURSOR_SLACK zero bytes; borrowed. */
void event_decoder_start(struct event_decoder *decoder, const uint8_t *data,
			 size_t len, uint64_t first_tick);

/* The same payload was loaded again, at another address.  Return: whether it
   can be the same, by its length. */
bool event_decoder_move(struct event_decoder *decoder, const uint8_t *data,
			size_t len);

enum event_decode {
	EVENT_DECODE_MORE, /* @max reached */
	EVENT_DECODE_END,  /* the payload is used up, or decoder->problem set */
};

/**
 * event_decode() - the next events
 * @items: room for @max events, at least 2
 * @ret_count: events written, also on failure
 *
 * Return: enum event_decode; -ENOMEM.
 */
int event_decode(struct event_decoder *decoder, struct event *items, size_t max,
		 size_t *ret_count);

#endif /* REPORT_INPUT_EVENTS_H */
