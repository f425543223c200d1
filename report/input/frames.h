/* SPDX-License-Identifier: MIT */
/*
 * From return addresses to nodes of struct stacks, and the stack that the
 * next event of a lane builds on.
 *
 * What depends on modules (generation of an address, frames of the tracer) is
 * worked out once for each frame under its caller; caches in front of the tree
 * answer from then on.
 *
 * Layer: input.
 */
#ifndef REPORT_INPUT_FRAMES_H
#define REPORT_INPUT_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/core/module.h"

struct module_map;
struct stacks;

enum {
	INTERN_CACHE_COUNT = 4096,
	INTERN_PATH_NODES = 13, /* makes struct intern_path a cache line */
};

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
 * struct intern_path - nodes of some frames under their caller
 * @key:    the caller's node, what frames, the epoch: see columns.c
 * @serial: of the payload that @key belongs to, 0 while the entry is empty
 * @nodes:  of the frames, outermost first; what is beyond them means nothing
 */
struct intern_path {
	uint64_t key;
	uint32_t serial;
	uint32_t nodes[INTERN_PATH_NODES];
};

/**
 * struct interner - turns frames into nodes of struct stacks, for all lanes
 * @stacks, @modules: borrowed
 * @epochs:  load ticks after which an address may mean another module, rising;
 *           owned.  An epoch is the number of them that have passed
 * @tracer_start, @tracer_end: range outside of which no frame is the tracer's
 * @paths:   direct-mapped, 2^(64 - @paths_shift) of them, see interner_paths();
 *           in @paths_memory, owned
 * @serial:  payloads that used @paths so far
 * @cache:   direct-mapped by frame_hash(), in front of the tree's table
 */
struct interner {
	struct stacks *stacks;
	const struct module_map *modules;
	uint64_t *epochs;
	size_t epoch_count;
	uint64_t tracer_start;
	uint64_t tracer_end;
	struct intern_path *paths;
	void *paths_memory;
	unsigned paths_shift;
	uint32_t serial;
	struct intern_entry cache[INTERN_CACHE_COUNT];
};

enum { INTERN_EPOCHS_MAX = 0xffff };

/* Return: 0 or -ENOMEM.  @modules must be complete. */
int interner_init(struct interner *interner, struct stacks *stacks,
		  const struct module_map *modules);
void interner_done(struct interner *interner);

/* Makes @interner->paths large enough for a payload of @len bytes, within
   bounds.  Return: a number that no payload had before, for struct intern_path;
   0 when out of memory. */
uint32_t interner_paths(struct interner *interner, size_t len);

/* Return: node of @pc under @parent, @parent itself for the tracer's own
   frames, STACKS_NONE when out of memory. */
uint32_t interner_add(struct interner *interner, uint32_t parent, uint64_t pc,
		      uint64_t tick);

/* The same for @count frames, outermost first, under nodes[0]; writes nodes[1]
   and on.  Return: 0 or -ENOMEM. */
int interner_path(struct interner *interner, const uint64_t *pcs,
		  uint32_t count, uint64_t tick, uint32_t *nodes);

/* The cache is indexed by the path of pcs and not by the caller's node, so that
   the processor need not wait for one lookup to start the next. */
static inline uint32_t frame_hash(uint32_t hash, uint64_t pc)
{
	return (uint32_t)((hash + pc) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* As interner_add(), by the cache if it has the answer.  @hash: frame_hash() of
   all frames up to this one. */
static inline uint32_t interner_node(struct interner *interner, uint32_t hash,
				     uint32_t parent, uint64_t pc, size_t epoch,
				     uint64_t tick)
{
	uint64_t key = PC_KEY_ADDR(pc) | (uint64_t)epoch << PC_KEY_ADDR_BITS;
	struct intern_entry *entry =
	    &interner->cache[hash & (INTERN_CACHE_COUNT - 1)];

	if (__builtin_expect(entry->key != key || entry->parent != parent, 0)) {
		uint32_t node =
		    interner_add(interner, parent, pc, tick);

		if (node == UINT32_MAX)
			return node;
		*entry = (struct intern_entry){key, parent, node};
	}
	return entry->node;
}

/**
 * struct frames - the stack that the next event builds on, zero-initialised
 * @nodes:     nodes[0] stands for the empty stack; nodes[1 … depth] for the
 *             frames; a frame of the tracer has its caller's node; owned
 * @other:     the same under the root that is not @truncated's; NULL until it
 *             is needed; owned
 * @other_depth: as far as @other is right, at most @depth
 * @capacity:  of both, 0 or more than @depth + FRAMES_SLACK
 * @truncated: nodes[0] stands for frames that were cut off
 */
struct frames {
	uint32_t *nodes;
	uint32_t *other;
	uint32_t other_depth;
	uint32_t capacity;
	uint32_t depth;
	bool truncated;
};

/* As many nodes behind the last frame may be written without a look. */
enum { FRAMES_SLACK = INTERN_PATH_NODES };

void frames_done(struct frames *frames);

/* The empty stack. */
void frames_start(struct frames *frames);

/* frames_reserve() where there is not room enough. */
int frames_grow(struct frames *frames, uint32_t depth);

/* Makes room for @depth frames.  Return: 0 or -ENOMEM. */
static inline int frames_reserve(struct frames *frames, uint32_t depth)
{
	if (__builtin_expect(depth + FRAMES_SLACK < frames->capacity, 1))
		return 0;
	return frames_grow(frames, depth);
}

/* Only the @depth outermost frames stay; @depth is not more than there are. */
static inline void frames_cut(struct frames *frames, uint32_t depth)
{
	frames->depth = depth;
	if (__builtin_expect(depth < frames->other_depth, 0))
		frames->other_depth = depth;
}

/* Hangs the frames under the root or, when the tracer cut the outer frames off,
   under a node that stands for those: the two are different stacks.  What the
   frames mean was settled when they were pushed.  Cost: once for each frame that
   is pushed, however often it is called.  Return: 0 or -ENOMEM. */
int frames_reroot(struct frames *frames, struct stacks *stacks, bool truncated);

#endif /* REPORT_INPUT_FRAMES_H */
