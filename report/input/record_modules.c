/* SPDX-License-Identifier: MIT */
/*
 * A library that is loaded again at the address it had, with nothing else in
 * between, is one module: its stacks stay comparable, and a program that loads
 * a plugin ten thousand times does not fill the map.
 */
#include "report/input/records.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/text.h"
#include "report/core/vec.h"
#include "report/event/run.h"
#include "report/input/chunk.h"
#include "report/input/cursor.h"

enum { SEGMENTS_MAX = 64, BUILD_ID_MAX = 64 };

static const uint64_t addr_end = UINT64_C(1) << PC_KEY_ADDR_BITS;

/* Return: what forbids to use the record, NULL if nothing. */
static const char *module_problem(const struct module *module,
				  uint32_t segment_count, uint32_t build_id_len)
{
	if (!module->number)
		return "has no number";
	if (module->start >= module->end)
		return "ends before it starts";
	if (module->end > addr_end)
		return "lies beyond 48 bits of address";
	if (segment_count > SEGMENTS_MAX)
		return "has too many segments";
	if (build_id_len > BUILD_ID_MAX)
		return "has too long a build ID";
	return NULL;
}

static void module_refuse(struct records *records, uint64_t offset,
			  uint32_t number, const char *problem)
{
	findings_add(&records->run->damage, records->file, offset,
		     "module %" PRIu32 " %s and is ignored", number, problem);
}

/* Reads what follows the fixed part.  Return: 0 or -ENOMEM. */
static int module_read_rest(struct records *records, struct cursor *cursor,
			    struct module *module, uint32_t segment_count,
			    uint32_t build_id_len)
{
	struct arena *arena = &records->run->arena;
	struct module_segment *segments =
	    arena_array(arena, segment_count, sizeof(*segments));
	const uint8_t *build_id;
	struct cursor_text path;

	if (!segments)
		return -ENOMEM;
	for (uint32_t i = 0; i < segment_count; i++) {
		segments[i].vaddr = cursor_u64(cursor);
		segments[i].mem_bytes = cursor_u64(cursor);
		segments[i].file_off = cursor_u64(cursor);
		segments[i].file_bytes = cursor_u64(cursor);
		segments[i].flags = cursor_u64(cursor);
	}
	module->segments = segments;
	module->segment_count = segment_count;
	build_id = cursor_bytes(cursor, build_id_len);
	path = cursor_string(cursor, TRACE_STRING_LEN_MAX);
	if (cursor->failed)
		return 0;
	module->build_id = (const uint8_t *)arena_copy(
	    arena, (const char *)build_id, build_id_len);
	module->build_id_len = build_id_len;
	module->name = records_text(records, path.data, path.len);
	module->path = arena->used_bytes < RECORDS_ARENA_MAX
			   ? arena_copy(arena, path.data, path.len)
			   : "";
	if (!module->build_id || !module->name || !module->path)
		return -ENOMEM;
	return 0;
}

int records_add_module(struct records *records, const struct chunk *chunk,
		       struct cursor *cursor)
{
	struct module module = {0};
	struct module_record *item;
	uint32_t flags, segment_count, build_id_len;
	const char *problem;
	int error;

	module.number = cursor_u32(cursor);
	flags = cursor_u32(cursor);
	module.load_tick = cursor_u64(cursor);
	module.bias = cursor_u64(cursor);
	module.start = cursor_u64(cursor);
	module.end = cursor_u64(cursor);
	segment_count = cursor_u32(cursor);
	build_id_len = cursor_u32(cursor);
	module.unload_tick = MODULE_NEVER_UNLOADED;
	module.is_program = flags & TRACE_MODULE_EXECUTABLE;
	module.is_tracer = flags & TRACE_MODULE_TRACER;
	module.is_vdso = flags & TRACE_MODULE_VDSO;
	problem = cursor->failed
		      ? "has too short a chunk"
		      : module_problem(&module, segment_count, build_id_len);
	if (!problem) {
		error = module_read_rest(records, cursor, &module,
					 segment_count, build_id_len);
		if (error)
			return error;
		if (cursor->failed)
			problem = "has too short a chunk";
	}
	if (problem) {
		module_refuse(records, chunk->offset, module.number, problem);
		return 0;
	}
	item = vec_push(&records->modules);
	if (!item)
		return -ENOMEM;
	item->module = module;
	item->piece = records->piece.index;
	item->offset = chunk->offset;
	return 0;
}

int records_add_unload(struct records *records, const struct chunk *chunk,
		       struct cursor *cursor)
{
	struct unload_record *item;
	uint32_t number = cursor_u32(cursor);
	uint64_t tick;

	cursor_u32(cursor);
	tick = cursor_u64(cursor);
	if (cursor->failed) {
		findings_add(&records->run->damage, records->file,
			     chunk->offset,
			     "an UNLOAD chunk is too short and is ignored");
		return 0;
	}
	item = vec_push(&records->unloads);
	if (!item)
		return -ENOMEM;
	item->number = number;
	item->piece = records->piece.index;
	item->tick = tick;
	item->offset = chunk->offset;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const struct module_record *x = a, *y = b;

	if (x->piece != y->piece)
		return x->piece < y->piece ? -1 : 1;
	if (x->module.number != y->module.number)
		return x->module.number < y->module.number ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static int by_load(const void *a, const void *b)
{
	const struct module_record *x = a, *y = b;

	if (x->module.start != y->module.start)
		return x->module.start < y->module.start ? -1 : 1;
	if (x->module.load_tick != y->module.load_tick)
		return x->module.load_tick < y->module.load_tick ? -1 : 1;
	return by_number(a, b);
}

/* Sorted by number: the first of each counts.  Return: how many are left. */
static size_t drop_duplicates(struct records *records)
{
	struct module_record *items = records->modules.items;
	size_t kept = 0;

	for (size_t i = 0; i < records->modules.count; i++) {
		if (kept && items[kept - 1].piece == items[i].piece &&
		    items[kept - 1].module.number == items[i].module.number)
			module_refuse(records, items[i].offset,
				      items[i].module.number, "is there twice");
		else if (kept == RECORDS_MODULES_MAX)
			module_refuse(records, items[i].offset,
				      items[i].module.number,
				      "is one too many");
		else
			items[kept++] = items[i];
	}
	return kept;
}

static void apply_unloads(struct records *records)
{
	for (size_t i = 0; i < records->unloads.count; i++) {
		const struct unload_record *unload = &records->unloads.items[i];
		struct module_record *items = records->modules.items;
		size_t low = 0, high = records->modules.count;
		struct module *module;

		while (low < high) {
			size_t middle = low + (high - low) / 2;

			if (items[middle].piece < unload->piece ||
			    (items[middle].piece == unload->piece &&
			     items[middle].module.number < unload->number))
				low = middle + 1;
			else
				high = middle;
		}
		if (low == records->modules.count ||
		    items[low].piece != unload->piece ||
		    items[low].module.number != unload->number) {
			findings_add(&records->run->damage, records->file,
				     unload->offset,
				     "module %" PRIu32
				     " is unloaded but not known",
				     unload->number);
			continue;
		}
		module = &items[low].module;
		module->unload_tick = unload->tick > module->load_tick
					  ? unload->tick
					  : module->load_tick;
	}
}

static bool module_same_file(const struct module *a, const struct module *b)
{
	return a->start == b->start && a->end == b->end && a->bias == b->bias &&
	       a->is_program == b->is_program && a->is_tracer == b->is_tracer &&
	       a->is_vdso == b->is_vdso && a->build_id_len == b->build_id_len &&
	       memcmp(a->build_id, b->build_id, a->build_id_len) == 0 &&
	       a->segment_count == b->segment_count &&
	       memcmp(a->segments, b->segments,
		      a->segment_count * sizeof(*a->segments)) == 0 &&
	       strcmp(a->path, b->path) == 0;
}

/* Return: whether @b may be what @a is in a later piece of the run. */
static bool goes_on(const struct module_record *a,
		    const struct module_record *b)
{
	return a->piece != b->piece &&
	       a->module.unload_tick == MODULE_NEVER_UNLOADED;
}

/*
 * Sorted by start, then load time.  Joins a module with the one before it if
 * they are the same file; that is only right when nothing else was mapped
 * there in between, so what starts at this address must share nothing with
 * modules that start at others.  Return: how many are left.
 */
static size_t join_reloaded(struct module_record *items, size_t count)
{
	uint64_t reach = 0; /* end of all that start lower */
	size_t kept = 0;

	for (size_t i = 0, next; i < count; i = next) {
		uint64_t start = items[i].module.start;
		uint64_t end = reach;
		size_t group = kept;
		bool alone;

		for (next = i;
		     next < count && items[next].module.start == start; next++)
			if (items[next].module.end > end)
				end = items[next].module.end;
		alone = reach <= start &&
			(next == count || items[next].module.start >= end);
		for (size_t j = i; j < next; j++) {
			const struct module *module = &items[j].module;

			if (kept > group &&
			    (alone || goes_on(&items[kept - 1], &items[j])) &&
			    module_same_file(&items[kept - 1].module, module)) {
				items[kept - 1].module.unload_tick =
				    module->unload_tick;
				items[kept - 1].piece = items[j].piece;
			} else {
				items[kept++] = items[j];
			}
		}
		reach = end;
	}
	return kept;
}

int records_finish_modules(struct records *records)
{
	struct module_record *items = records->modules.items;
	struct run *run = records->run;
	struct module *modules;
	size_t count;

	if (!records->modules.count) {
		apply_unloads(records);
		module_map_build(&run->modules, NULL, 0);
		return 0;
	}
	qsort(items, records->modules.count, sizeof(*items), by_number);
	records->modules.count = drop_duplicates(records);
	apply_unloads(records);
	qsort(items, records->modules.count, sizeof(*items), by_load);
	count = join_reloaded(items, records->modules.count);
	modules = arena_array(&run->arena, count, sizeof(*modules));
	if (!modules)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		modules[i] = items[i].module;
	module_map_build(&run->modules, modules, count);
	return 0;
}
