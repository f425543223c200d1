/* SPDX-License-Identifier: MIT */
#include "report/symbol/dwarf_unit.h"

#include <dwarf.h>
#include <errno.h>

#include "report/core/vec.h"
#include "report/symbol/die_walk.h"

/* Limits that only damaged or crafted files reach. */
enum {
	RANGES_PER_DIE_MAX = 1 << 16,
	RANGES_PER_UNIT_MAX = 1 << 22,
	RANGES_PER_FUNCTION_MAX = 1 << 20,
	SCOPE_DEPTH_MAX = 256,
};

struct open_scope {
	unsigned int depth;
	uint32_t index;
};

/* What is open above the current entry, outermost first. */
struct scope_stack {
	struct open_scope items[SCOPE_DEPTH_MAX];
	size_t count;
};

static void scope_stack_leave(struct scope_stack *stack, unsigned int depth)
{
	while (stack->count && stack->items[stack->count - 1].depth >= depth)
		stack->count--;
}

static uint32_t scope_stack_top(const struct scope_stack *stack)
{
	return stack->count ? stack->items[stack->count - 1].index : SCOPE_NONE;
}

/* Deeper than the limit nothing is opened: names just lose a part. */
static void scope_stack_enter(struct scope_stack *stack, unsigned int depth,
			      uint32_t index)
{
	if (stack->count < SCOPE_DEPTH_MAX)
		stack->items[stack->count++] =
		    (struct open_scope){ .depth = depth, .index = index };
}

struct unit_loader {
	struct dwarf_unit *unit;
	uint64_t code_start;
	struct scope_stack scopes;
};

static enum die_visit open_scope(struct unit_loader *loader, Dwarf_Die *die,
				 unsigned int depth)
{
	struct unit_scope *scope;

	if (!dwarf_haschildren(die))
		return DIE_SKIP;
	scope = vec_push(&loader->unit->scopes);
	if (!scope)
		return DIE_STOP;
	scope->die = *die;
	scope->parent = scope_stack_top(&loader->scopes);
	scope_stack_enter(&loader->scopes, depth,
			  (uint32_t)(loader->unit->scopes.count - 1));
	return DIE_DESCEND;
}

/* Adds the code of @die to the table.  Return: ranges added, negative when out
   of memory. */
static int add_function_ranges(struct unit_loader *loader, Dwarf_Die *die,
			       uint32_t value)
{
	struct dwarf_unit *unit = loader->unit;
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	int added = 0;

	while (added < RANGES_PER_DIE_MAX &&
	       unit->ranges.count < RANGES_PER_UNIT_MAX &&
	       (at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (start >= end || start < loader->code_start)
			continue;
		if (range_table_add(&unit->ranges, start, end, value) < 0)
			return -ENOMEM;
		added++;
	}
	return added;
}

static enum die_visit visit_function(struct unit_loader *loader, Dwarf_Die *die,
				     unsigned int depth)
{
	struct dwarf_unit *unit = loader->unit;
	struct unit_member *member = vec_push(&unit->members);
	struct unit_function *function;
	int ranges;

	if (!member)
		return DIE_STOP;
	member->offset = dwarf_dieoffset(die);
	member->scope = scope_stack_top(&loader->scopes);
	ranges =
	    add_function_ranges(loader, die, (uint32_t)unit->functions.count);
	if (ranges < 0)
		return DIE_STOP;
	if (ranges) {
		function = vec_push(&unit->functions);
		if (!function)
			return DIE_STOP;
		function->die = *die;
	} else if (dwarf_hasattr(die, DW_AT_declaration)) {
		return DIE_SKIP;
	}
	return open_scope(loader, die, depth);
}

static enum die_visit visit_unit(Dwarf_Die *die, int tag, unsigned int depth,
				 void *opaque)
{
	struct unit_loader *loader = opaque;

	scope_stack_leave(&loader->scopes, depth);
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		return open_scope(loader, die, depth);
	case DW_TAG_subprogram:
		return visit_function(loader, die, depth);
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		return DIE_DESCEND;
	default:
		return DIE_SKIP;
	}
}

int dwarf_unit_load(struct dwarf_unit *unit, uint64_t code_start)
{
	struct unit_loader loader = { .unit = unit, .code_start = code_start };
	int status;

	if (unit->loaded)
		return 0;
	unit->loaded = true;
	status = die_walk(&unit->code, unit->end, visit_unit, &loader);
	range_table_ready(&unit->ranges);
	return status ? -ENOMEM : 0;
}

void dwarf_unit_done(struct dwarf_unit *unit)
{
	for (size_t i = 0; i < unit->functions.count; i++) {
		vec_done(&unit->functions.items[i].inlines);
		vec_done(&unit->functions.items[i].ranges);
	}
	vec_done(&unit->functions);
	vec_done(&unit->scopes);
	vec_done(&unit->members);
	range_table_done(&unit->ranges);
}

/* --- inlined calls ------------------------------------------------------- */

static int add_inline_ranges(struct unit_function *function,
			     struct unit_inline *call)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	call->first_range = (uint32_t)function->ranges.count;
	while (call->range_count < RANGES_PER_DIE_MAX &&
	       function->ranges.count < RANGES_PER_FUNCTION_MAX &&
	       (at = dwarf_ranges(&call->die, at, &base, &start, &end)) > 0) {
		struct unit_range *range = vec_push(&function->ranges);

		if (!range)
			return -ENOMEM;
		range->start = start;
		range->end = end;
		call->range_count++;
	}
	return 0;
}

/* @open: the calls around the current entry, outermost first */
struct body_loader {
	struct unit_function *function;
	struct {
		struct open_scope *items;
		size_t count;
		size_t capacity;
	} open;
};

/* Ends the calls that an entry at @depth is not inside of. */
static void leave_inlines(struct body_loader *loader, unsigned int depth)
{
	struct unit_function *function = loader->function;

	while (loader->open.count) {
		struct open_scope top =
		    loader->open.items[loader->open.count - 1];

		if (top.depth < depth)
			break;
		function->inlines.items[top.index].skip =
		    (uint32_t)function->inlines.count;
		loader->open.count--;
	}
}

static enum die_visit enter_inline(struct body_loader *loader,
				   const Dwarf_Die *die, unsigned int depth)
{
	struct unit_function *function = loader->function;
	struct unit_inline *call = vec_push(&function->inlines);
	struct open_scope *open;

	if (!call)
		return DIE_STOP;
	call->die = *die;
	if (add_inline_ranges(function, call) < 0)
		return DIE_STOP;
	open = vec_push(&loader->open);
	if (!open)
		return DIE_STOP;
	open->depth = depth;
	open->index = (uint32_t)(function->inlines.count - 1);
	return DIE_DESCEND;
}

static enum die_visit visit_body(Dwarf_Die *die, int tag, unsigned int depth,
				 void *opaque)
{
	struct body_loader *loader = opaque;

	leave_inlines(loader, depth);
	switch (tag) {
	case DW_TAG_inlined_subroutine:
		return enter_inline(loader, die, depth);
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		return DIE_DESCEND;
	default:
		return DIE_SKIP;
	}
}

/* A walk that failed leaves what was found before. */
static void load_inlines(struct dwarf_unit *unit,
			 struct unit_function *function)
{
	struct body_loader loader = { .function = function };

	function->loaded = true;
	die_walk(&function->die, unit->end, visit_body, &loader);
	leave_inlines(&loader, 0);
	vec_done(&loader.open);
}

struct unit_function *dwarf_unit_find(struct dwarf_unit *unit, uint64_t addr)
{
	struct range_cursor cursor = range_table_seek(&unit->ranges, addr);
	struct unit_function *function;
	uint32_t value;

	if (!range_table_next(&unit->ranges, addr, &cursor, &value) ||
	    value >= unit->functions.count)
		return NULL;
	function = &unit->functions.items[value];
	if (!function->loaded)
		load_inlines(unit, function);
	return function;
}

static bool inline_covers(const struct unit_function *function,
			  const struct unit_inline *call, uint64_t addr)
{
	for (uint32_t i = 0; i < call->range_count; i++) {
		const struct unit_range *range =
		    &function->ranges.items[call->first_range + i];

		if (addr >= range->start && addr < range->end)
			return true;
	}
	return false;
}

size_t unit_function_chain(const struct unit_function *function, uint64_t addr,
			   struct unit_inline **chain, size_t max)
{
	uint32_t end = (uint32_t)function->inlines.count;
	size_t count = 0;

	for (uint32_t i = 0; i < end && count < max;) {
		struct unit_inline *call = &function->inlines.items[i];

		if (!inline_covers(function, call, addr)) {
			i = call->skip > i ? call->skip : end;
			continue;
		}
		chain[count++] = call;
		end = call->skip < end ? call->skip : end;
		i++;
	}
	return count;
}

uint32_t dwarf_unit_scope(const struct dwarf_unit *unit, uint64_t offset)
{
	size_t low = 0, high = unit->members.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (unit->members.items[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == unit->members.count ||
	    unit->members.items[low].offset != offset)
		return SCOPE_NONE;
	return unit->members.items[low].scope;
}
