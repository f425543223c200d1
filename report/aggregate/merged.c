/* SPDX-License-Identifier: MIT */
/*
 * For every backtrace the path from the root is mapped node by node, and each
 * mapping is kept, so a shared prefix is walked once.  No step recurses: stacks
 * may be 65,536 deep.
 *
 * Nearly all nodes have one child, which was most often made right after them:
 * it is looked at in the node itself.  Only where there are more does a table,
 * far away in memory, find the others.
 */
#include "report/aggregate/merged.h"

#include <stdlib.h>
#include <string.h>

#include "report/aggregate/scope.h"
#include "report/core/vec.h"
#include "report/event/stacks.h"
#include "report/symbol/symbol.h"

void merged_done(struct merged *merged)
{
	vec_done(&merged->lines);
	vec_done(&merged->functions);
	vec_done(&merged->path);
	vec_done(&merged->frames);
	vec_done(&merged->first);
	free(merged->line_table.slots);
	free(merged->function_table.slots);
	free(merged->of_stack);
	free(merged->by_name);
	arena_done(&merged->arena);
	memset(merged, 0, sizeof(*merged));
}

/* --- functions by name --------------------------------------------------- */

static uint32_t hash_text(const char *text, uint32_t seed)
{
	uint32_t h = seed ^ UINT32_C(2166136261); /* FNV-1a */

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT32_C(16777619);
	return h;
}

static uint32_t hash_name(const struct symbol_frame *frame)
{
	return hash_text(frame->function, hash_text(frame->module, 0));
}

static bool by_name_grow(struct merged *merged)
{
	uint32_t mask = merged->by_name_mask ? merged->by_name_mask * 2 + 1
					     : 1023;
	uint32_t *table = calloc((size_t)mask + 1, sizeof(*table));

	if (!table)
		return false;
	for (uint32_t i = 0; i < merged->first.count; i++) {
		uint32_t at = hash_name(merged->first.items[i]) & mask;

		while (table[at])
			at = (at + 1) & mask;
		table[at] = i + 1;
	}
	free(merged->by_name);
	merged->by_name = table;
	merged->by_name_mask = mask;
	return true;
}

/* Number + 1 of the function of @frame, 0 when out of memory. */
static uint32_t function_intern(struct merged *merged,
				const struct symbol_frame *frame)
{
	const struct symbol_frame **slot;
	uint32_t at;

	if (merged->first.count * 2 >= merged->by_name_mask &&
	    !by_name_grow(merged))
		return 0;
	at = hash_name(frame) & merged->by_name_mask;
	for (; merged->by_name[at]; at = (at + 1) & merged->by_name_mask) {
		const struct symbol_frame *other =
			merged->first.items[merged->by_name[at] - 1];

		if (strcmp(other->function, frame->function) == 0 &&
		    strcmp(other->module, frame->module) == 0)
			return merged->by_name[at];
	}
	slot = vec_push(&merged->first);
	if (!slot)
		return 0;
	*slot = frame;
	merged->by_name[at] = (uint32_t)merged->first.count;
	return (uint32_t)merged->first.count;
}

/* Return: what there is of the id of @frame, NULL when out of memory. */
static struct merged_frame *frame_get(struct merged *merged,
				      const struct symbol_frame *frame)
{
	struct merged_frame *slot;

	while (merged->frames.count <= frame->id)
		if (!vec_push(&merged->frames))
			return NULL;
	slot = &merged->frames.items[frame->id];
	if (!slot->function)
		slot->function = function_intern(merged, frame);
	return slot->function ? slot : NULL;
}

/* Return: @frame as figures show it, NULL when out of memory. */
static const struct figure_frame *frame_show(struct merged *merged,
					     const struct symbol_frame *frame,
					     uint64_t pc_key)
{
	const struct scope scope = { .arena = &merged->arena };
	struct merged_frame *slot = frame_get(merged, frame);

	if (!slot)
		return NULL;
	if (!slot->shown[frame->is_inlined])
		slot->shown[frame->is_inlined] =
			scope_frame(&scope, frame, pc_key);
	return slot->shown[frame->is_inlined];
}

/* --- nodes --------------------------------------------------------------- */

static uint32_t hash_pair(uint32_t a, uint32_t b)
{
	uint64_t h = ((uint64_t)a << 32 | b) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(h >> 32);
}

/* Makes room for one more.  Return: whether memory sufficed. */
static bool table_make_room(struct merged_table *table)
{
	uint32_t mask = table->mask ? table->mask * 4 + 3 : 4095;
	uint64_t *slots;

	if (table->slots && table->count < table->mask / 2)
		return true;
	slots = calloc((size_t)mask + 1, sizeof(*slots));
	if (!slots)
		return false;
	for (size_t i = 0; table->slots && i <= table->mask; i++) {
		uint64_t entry = table->slots[i];
		uint32_t at = (uint32_t)(entry >> 32) & mask;

		while (entry && slots[at])
			at = (at + 1) & mask;
		if (entry)
			slots[at] = entry;
	}
	free(table->slots);
	table->slots = slots;
	table->mask = mask;
	return true;
}

/* After table_make_room(). */
static void table_insert(struct merged_table *table, uint32_t hash,
			 uint32_t node)
{
	uint32_t at = hash & table->mask;

	while (table->slots[at])
		at = (at + 1) & table->mask;
	table->slots[at] = (uint64_t)hash << 32 | node;
	table->count++;
}

/* The nodes of either tree: @stride bytes apart, their links first. */
struct nodes {
	char *items;
	size_t stride;
	struct merged_table *table;
};

static inline struct nodes functions_of(struct merged *merged)
{
	return (struct nodes){ (char *)merged->functions.items,
			       sizeof(*merged->functions.items),
			       &merged->function_table };
}

static inline struct nodes lines_of(struct merged *merged)
{
	return (struct nodes){ (char *)merged->lines.items,
			       sizeof(*merged->lines.items),
			       &merged->line_table };
}

static inline struct merged_link *link_of(struct nodes nodes, uint32_t number)
{
	return (struct merged_link *)(void *)(nodes.items +
					      number * nodes.stride);
}

/* Return: the child of @parent with @key, 0 if there is none. */
static inline uint32_t child_find(struct nodes nodes, uint32_t parent,
				  uint32_t key, uint32_t hash)
{
	const struct merged_table *table = nodes.table;
	uint32_t child = link_of(nodes, parent)->child;
	uint64_t entry;

	if (!child || link_of(nodes, child)->key == key)
		return child;
	for (uint32_t at = hash & table->mask; (entry = table->slots[at]) != 0;
	     at = (at + 1) & table->mask) {
		const struct merged_link *link =
			link_of(nodes, (uint32_t)entry);

		if (entry >> 32 == hash && link->parent == parent &&
		    link->key == key)
			return (uint32_t)entry;
	}
	return 0;
}

/* Has child_find() find the node @child.  After table_make_room(). */
static void child_link(struct nodes nodes, uint32_t child, uint32_t parent,
		       uint32_t key, uint32_t hash)
{
	struct merged_link *link = link_of(nodes, child);

	link->parent = parent;
	link->key = key;
	if (link_of(nodes, parent)->child)
		table_insert(nodes.table, hash, child);
	else
		link_of(nodes, parent)->child = child;
}

/* Return: the node of functions below @parent, MERGED_NONE when out of
   memory. */
static uint32_t function_child(struct merged *merged, uint32_t parent,
			       uint32_t key)
{
	uint32_t hash = hash_pair(parent, key);
	uint32_t number = (uint32_t)merged->functions.count, found;

	if (!table_make_room(&merged->function_table))
		return MERGED_NONE;
	found = child_find(functions_of(merged), parent, key, hash);
	if (found)
		return found;
	if (!vec_push(&merged->functions))
		return MERGED_NONE;
	child_link(functions_of(merged), number, parent, key, hash);
	return number;
}

/* Return: whether both trees have their root. */
static bool has_root(struct merged *merged)
{
	return merged->lines.count || (vec_push(&merged->functions) &&
				       vec_push(&merged->lines));
}

static uint32_t line_add(struct merged *merged,
			 const struct symbol_frame *frame, uint64_t pc_key)
{
	const struct figure_frame *shown = frame_show(merged, frame, pc_key);
	struct merged_line *node;

	if (!shown || merged->lines.count >= UINT32_MAX / 4)
		return MERGED_NONE;
	node = vec_push(&merged->lines);
	if (!node)
		return MERGED_NONE;
	node->frame = shown;
	return (uint32_t)(merged->lines.count - 1);
}

uint32_t merged_child(struct merged *merged, uint32_t parent,
		      const struct symbol_frame *frame, uint64_t pc_key)
{
	uint32_t hash = hash_pair(parent, frame->id), node;

	if (!has_root(merged) || !table_make_room(&merged->line_table))
		return MERGED_NONE;
	node = child_find(lines_of(merged), parent, frame->id, hash);
	if (node) {
		struct merged_line *line = &merged->lines.items[node];

		if (line->frame->is_inlined && !frame->is_inlined)
			line->frame = frame_show(merged, frame, pc_key);
		return line->frame ? node : MERGED_NONE;
	}
	node = line_add(merged, frame, pc_key);
	if (node != MERGED_NONE)
		child_link(lines_of(merged), node, parent, frame->id, hash);
	return node;
}

bool merged_functions(struct merged *merged)
{
	if (!has_root(merged))
		return false;
	for (size_t i = merged->named + 1; i < merged->lines.count; i++) {
		struct merged_line *line = &merged->lines.items[i];
		uint32_t parent = line->link.parent;
		uint32_t function = function_child(
			merged, merged->lines.items[parent].function,
			merged->frames.items[line->link.key].function);

		if (function == MERGED_NONE)
			return false;
		line->function = function;
		merged->named = i;
	}
	return true;
}

/* --- stacks -------------------------------------------------------------- */

static bool stacks_cover(struct merged *merged, const struct stacks *stacks)
{
	uint32_t *grown;

	if (merged->stack_count >= stacks->count)
		return true;
	grown = calloc(stacks->count, sizeof(*grown));
	if (!grown)
		return false;
	if (merged->stack_count)
		memcpy(grown, merged->of_stack,
		       merged->stack_count * sizeof(*grown));
	free(merged->of_stack);
	merged->of_stack = grown;
	merged->stack_count = stacks->count;
	return true;
}

/* Return: as merged_child(), of all frames at @pc_key. */
static uint32_t add_address(struct merged *merged, struct symbols *symbols,
			    uint32_t parent, uint64_t pc_key)
{
	size_t count;
	const struct symbol_frame *frames =
		symbols_resolve(symbols, pc_key, &count);
	uint32_t at = parent;

	while (count-- > 0 && at != MERGED_NONE)
		at = merged_child(merged, at, &frames[count], pc_key);
	return at;
}

uint32_t merged_stack(struct merged *merged, const struct stacks *stacks,
		      struct symbols *symbols, uint32_t stack)
{
	const struct stacks_node *nodes = stacks->nodes;
	uint32_t at = 0;

	if (!has_root(merged) || !stacks_cover(merged, stacks))
		return MERGED_NONE;
	merged->path.count = 0;
	for (; stack != STACKS_ROOT; stack = nodes[stack].parent) {
		uint32_t *step;

		if (merged->of_stack[stack]) {
			at = merged->of_stack[stack] - 1;
			break;
		}
		step = vec_push(&merged->path);
		if (!step)
			return MERGED_NONE;
		*step = stack;
	}
	for (size_t i = merged->path.count; i-- > 0;) {
		stack = merged->path.items[i];
		at = add_address(merged, symbols, at, nodes[stack].pc_key);
		if (at == MERGED_NONE)
			return MERGED_NONE;
		merged->of_stack[stack] = at + 1;
	}
	return at;
}
