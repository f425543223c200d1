/* SPDX-License-Identifier: MIT */
#include "report/input/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/event/stacks.h"

_Static_assert(sizeof(struct intern_path) == 64, "a cache line");
_Static_assert(STACKS_NONE == UINT32_MAX, "interner_node() tests for it");

enum { FRAMES_INITIAL = 64, PATHS_COUNT = 1 << INTERN_PATHS_BITS };

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

/* Zero pages from the system: what is not used costs nothing. */
static int interner_paths(struct interner *interner)
{
	size_t line = sizeof(*interner->paths);
	uintptr_t at;

	interner->paths_memory = calloc(PATHS_COUNT + 1, line);
	if (!interner->paths_memory)
		return -ENOMEM;
	at = (uintptr_t)interner->paths_memory;
	at = (at + line - 1) / line * line;
	interner->paths = (struct intern_path *)at;
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

uint32_t interner_serial(struct interner *interner)
{
	if (!interner->paths && interner_paths(interner))
		return 0;
	if (++interner->serial == 0) {
		memset(interner->paths, 0,
		       PATHS_COUNT * sizeof(*interner->paths));
		interner->serial = 1;
	}
	return interner->serial;
}

uint32_t interner_add(struct interner *interner, uint32_t parent, uint64_t addr,
		      uint64_t tick)
{
	uint64_t key = module_map_key(interner->modules, addr, tick);

	if (addr - 1 >= interner->tracer_start &&
	    addr - 1 < interner->tracer_end) {
		const struct module *module =
		    module_map_find(interner->modules, key);

		if (module && module->is_tracer)
			return parent;
	}
	return stacks_child(interner->stacks, parent, key);
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
