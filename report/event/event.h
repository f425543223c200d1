/* SPDX-License-Identifier: MIT */
/*
 * What happened in the traced program, one event after another, whatever
 * format it was read from.
 *
 * Layer: event.
 */
#ifndef REPORT_EVENT_EVENT_H
#define REPORT_EVENT_EVENT_H

#include <stddef.h>
#include <stdint.h>

enum event_kind {
	EVENT_ALLOC,   /* a block came to be */
	EVENT_FREE,    /* a block is gone */
	EVENT_MMAP,
	EVENT_MUNMAP,
	EVENT_MREMAP,
	EVENT_MALLOPT,
	EVENT_RSS,     /* resident memory of the process was measured */
	EVENT_LOST,    /* the tracer could not record something here */
	EVENT_MARKER,  /* the program called for a mark in the trace */
	/* Of allocations that the trace has only in sums.  They come after the
	   events that these were among, not at their time: */
	EVENT_CULLED_MOST,  /* how much of them was alive at once */
	EVENT_CULLED_TIMES, /* when those of the next event were made, and lived */
	EVENT_CULLED,       /* some that are alike, made and freed */
};

/* Which function of the program's allocator was called. */
enum event_call {
	CALL_NONE,
	CALL_MALLOC,
	CALL_CALLOC,
	CALL_MEMALIGN, /* posix_memalign, aligned_alloc, memalign, valloc, … */
	CALL_NEW,
	CALL_FREE,
	CALL_DELETE,
	CALL_REALLOC,
	CALL_COUNT,
};

/* Return: "malloc", "operator new", …; static storage. */
const char *event_call_name(enum event_call call);

/**
 * struct event
 * @tick:  trace clock; within a lane never falling
 * @addr:  block or map; MALLOPT: param; CULLED: of @b, those whose free was the
 *         thread's next such event; CULLED_TIMES: tick of the first
 * @size:  requested bytes, below 2^48, or map length; RSS: bytes; LOST: count;
 *         MALLOPT: value; CULLED: of each; CULLED_TIMES: tick of the last;
 *         CULLED_MOST: bytes
 * @a:     ALLOC, CULLED: slack (usable - requested) bytes; MMAP: prot |
 *         flags << 32; MREMAP: new address; MALLOPT: result; LOST: enum
 *         trace_lost_reason; CULLED_TIMES: ticks that one lived at least;
 *         CULLED_MOST: blocks
 * @b:     ALLOC: alignment asked for or 0; MMAP: offset; MREMAP: new length;
 *         FREE: not 0 if others came before it that are in sums, so that it is
 *         not the next event after that before it; CULLED: how many;
 *         CULLED_TIMES: ticks that one lived at most
 * @stack: node in struct stacks
 * @fd:    MMAP: descriptor; MREMAP: flags
 * @kind:  enum event_kind
 * @call:  enum event_call, ALLOC, FREE and CULLED only
 *
 * A realloc is a FREE of the old block followed in the same lane by an ALLOC
 * of the new one, both with CALL_REALLOC.  Between the two no other event of
 * the lane occurs, but events of other lanes may.
 * Signed values (MALLOPT) are cast from int64_t.
 */
struct event {
	uint64_t tick;
	uint64_t addr;
	uint64_t size;
	uint64_t a;
	uint64_t b;
	uint32_t stack;
	int32_t fd;
	uint8_t kind;
	uint8_t call;
};

/**
 * struct event_batch - events of one lane in the order they happened
 * @items: @count of them, with room for @capacity; owned by whoever holds the
 *         batch, who may hand them on and begin again with a zeroed one
 */
struct event_batch {
	struct event *items;
	size_t count;
	size_t capacity;
};

/* Makes room for @capacity events; what was there is gone if it was less.
   Return: 0 or -ENOMEM. */
int event_batch_reserve(struct event_batch *batch, size_t capacity);
void event_batch_done(struct event_batch *batch);

#endif /* REPORT_EVENT_EVENT_H */
