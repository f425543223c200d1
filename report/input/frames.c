/* SPDX-License-Identifier: MIT */
#include "report/input/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/event/stacks.h"

_Static_assert(sizeof(struct intern_path) == 64, "a cache line");
_Static_assert(STACKS_NONE == UINT32_MAX, "interner_node() tests for it");

enum {
	FRAMES_INITIAL = 64,
	PATHS_BITS_MIN = 6,
	PATHS_BITS_MAX = 14,
	PATH_STEP = 16, /* frames that are looked up together */
};

/* --- the interner -------------------------------------------------------- */

static int by_tick(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int interner_epochs(struct interner *interner)
{
	const struct module_map *map = interner->modules;

	if (!map->reused)
		return 0;
	interner->epochs = calloc(map->count, sizeof(*interner->epochs));
	if (!interner->epochs)
		return -ENOMEM;
	for (size_t i = 0; i < map->count; i++)
		interner->epochs[i] = map->items[i].load_tick;
	qsort(interner->epochs, map->count, sizeof(*interner->epochs), by_tick);
	for (size_t i = 0; i < map->count; i++) {
		size_t n = interner->epoch_count;

		if ((!n || interner->epochs[n - 1] != interner->epochs[i]) &&
		    n < INTERN_EPOCHS_MAX)
			interner->epochs[interner->epoch_count++] =
			    interner->epochs[i];
	}
	return 0;
}

int interner_init(struct interner *interner, struct stacks *stacks,
		  const struct module_map *modules)
{
	memset(interner, 0, sizeof(*interner));
	interner->stacks = stacks;
	interner->modules = modules;
	interner->tracer_start = UINT64_MAX;
	for (size_t i = 0; i < modules->count; i++) {
		const struct module *module = &modules->items[i];

		if (!module->is_tracer)
			continue;
		if (module->start < interner->tracer_start)
			interner->tracer_start = module->start;
		if (module->end > interner->tracer_end)
			interner->tracer_end = module->end;
	}
	for (size_t i = 0; i < INTERN_CACHE_COUNT; i++)
		interner->cache[i].parent = STACKS_NONE;
	return interner_epochs(interner);
}

void interner_done(struct interner *interner)
{
	free(interner->epochs);
	free(interner->paths_memory);
	interner->epochs = NULL;
	interner->epoch_count = 0;
	interner->paths = NULL;
	interner->paths_memory = NULL;
}

/* Zero pages from the system: what is not used costs nothing.  Return: 0 or
   -ENOMEM. */
static int paths_alloc(struct interner *interner, unsigned bits)
{
	size_t line = sizeof(*interner->paths);
	void *memory = calloc(((size_t)1 << bits) + 1, line);
	uintptr_t at = ((uintptr_t)memory + line - 1) / line * line;

	if (!memory)
		return -ENOMEM;
	free(interner->paths_memory);
	interner->paths_memory = memory;
	interner->paths = (struct intern_path *)at;
	interner->paths_shift = 64 - bits;
	return 0;
}

uint32_t interner_paths(struct interner *interner, size_t len)
{
	unsigned bits = interner->paths ? 64 - interner->paths_shift : 0;
	unsigned want = PATHS_BITS_MIN;

	/* An event takes a few bytes, a path a line. */
	while (want < PATHS_BITS_MAX && (size_t)16 << want < len)
		want++;
	if (bits < want && paths_alloc(interner, want))
		return 0;
	if (++interner->serial == 0) {
		/* Numbers begin anew. */
		interner->serial = 1;
		if (paths_alloc(interner, want))
			return 0;
	}
	return interner->serial;
}

/* Stands for a frame of the tracer. */
#define KEY_NONE UINT64_MAX

/* Return: pc key of @pc at @tick, KEY_NONE for the tracer's own frames. */
static inline uint64_t interner_key(const struct interner *interner,
				    uint64_t pc, uint64_t tick)
{
	uint64_t key = PC_KEY_ADDR(pc);
	uint64_t before = key - 1;

	if (__builtin_expect(interner->modules->reused, 0))
		key = module_map_key(interner->modules, key, tick);
	if (__builtin_expect(before >= interner->tracer_start &&
				 before < interner->tracer_end,
			     0)) {
		const struct module *module =
		    module_map_find(interner->modules, key);

		if (module && module->is_tracer)
			return KEY_NONE;
	}
	return key;
}

uint32_t interner_add(struct interner *interner, uint32_t parent, uint64_t pc,
		      uint64_t tick)
{
	uint64_t key = interner_key(interner, pc, tick);

	return key == KEY_NONE ? parent
			       : stacks_child(interner->stacks, parent, key);
}

/* interner_path() of @count frames, at most PATH_STEP; *@hash is the path hash
   of nodes[0] and becomes that of the last. */
static int path_step(struct interner *interner, const uint64_t *pcs,
		     uint32_t count, uint64_t tick, uint32_t *nodes,
		     uint32_t *hash)
{
	struct stacks *stacks = interner->stacks;
	uint64_t keys[PATH_STEP];
	uint32_t hashes[PATH_STEP];

	for (uint32_t i = 0; i < count; i++) {
		keys[i] = interner_key(interner, pcs[i], tick);
		if (keys[i] == KEY_NONE)
			continue;
		*hash = hashes[i] = stacks_path_hash(*hash, keys[i]);
		stacks_prefetch(stacks, *hash);
	}
	for (uint32_t i = 0; i < count; i++) {
		nodes[i + 1] = nodes[i];
		if (keys[i] != KEY_NONE)
			nodes[i + 1] = stacks_child_hashed(stacks, nodes[i],
							   keys[i], hashes[i]);
		if (nodes[i + 1] == STACKS_NONE)
			return -ENOMEM;
	}
	return 0;
}

int interner_path(struct interner *interner, const uint64_t *pcs,
		  uint32_t count, uint64_t tick, uint32_t *nodes)
{
	uint32_t hash = interner->stacks->hashes[nodes[0]];

	for (uint32_t i = 0; i < count; i += PATH_STEP) {
		uint32_t left = count - i;

		if (path_step(interner, pcs + i,
			      left < PATH_STEP ? left : PATH_STEP, tick,
			      nodes + i, &hash))
			return -ENOMEM;
	}
	return 0;
}

/* --- the stack ----------------------------------------------------------- */

void frames_done(struct frames *frames)
{
	free(frames->nodes);
	free(frames->other);
	memset(frames, 0, sizeof(*frames));
}

void frames_start(struct frames *frames)
{
	frames->depth = 0;
	frames->other_depth = 0;
	frames->truncated = false;
	if (frames->nodes)
		frames->nodes[0] = STACKS_ROOT;
}

int frames_grow(struct frames *frames, uint32_t depth)
{
	uint32_t capacity =
	    frames->capacity ? frames->capacity : FRAMES_INITIAL;
	uint32_t *nodes;

	while (capacity <= depth + FRAMES_SLACK)
		capacity *= 2;
	if (frames->other) {
		nodes = realloc(frames->other, capacity * sizeof(*nodes));
		if (!nodes)
			return -ENOMEM;
		frames->other = nodes;
	}
	nodes = realloc(frames->nodes, capacity * sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	if (!frames->capacity)
		nodes[0] = STACKS_ROOT;
	frames->nodes = nodes;
	frames->capacity = capacity;
	return 0;
}

/* Brings @frames->other up to date.  Return: 0 or -ENOMEM. */
static int frames_complete(struct frames *frames, struct stacks *stacks)
{
	const uint32_t *nodes = frames->nodes;
	uint32_t *other = frames->other;

	for (uint32_t i = frames->other_depth + 1; i <= frames->depth; i++) {
		other[i] = other[i - 1];
		/* The tracer's frames have their caller's node. */
		if (nodes[i] != nodes[i - 1])
			other[i] = stacks_child(stacks, other[i],
						stacks->nodes[nodes[i]].pc_key);
		if (other[i] == STACKS_NONE)
			return -ENOMEM;
		frames->other_depth = i;
	}
	return 0;
}

int frames_reroot(struct frames *frames, struct stacks *stacks, bool truncated)
{
	uint32_t root = STACKS_ROOT;
	uint32_t *nodes;

	if (frames_reserve(frames, frames->depth))
		return -ENOMEM;
	if (!frames->other) {
		frames->other =
		    malloc(frames->capacity * sizeof(*frames->other));
		frames->other_depth = 0;
	}
	if (truncated)
		root = stacks_child(stacks, STACKS_ROOT, PC_KEY_TRUNCATED);
	if (!frames->other || root == STACKS_NONE)
		return -ENOMEM;
	frames->other[0] = root;
	if (frames_complete(frames, stacks))
		return -ENOMEM;
	nodes = frames->nodes;
	frames->nodes = frames->other;
	frames->other = nodes;
	frames->truncated = truncated;
	return 0;
}
