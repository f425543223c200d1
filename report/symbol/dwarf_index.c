/* SPDX-License-Identifier: MIT */
#include "report/symbol/dwarf_index.h"

#include <dwarf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/core/memory.h"
#include "report/core/vec.h"
#include "report/symbol/dwarf_unit.h"
#include "report/symbol/names.h"

/* Limits that only damaged or crafted files reach. */
enum {
	CHAIN_MAX = 512,
	UNITS_MAX = 1 << 24,
	RANGES_MAX = 1 << 23,
	UNIT_TRIES_MAX = 64,
	SCOPE_PARTS_MAX = 64,
};

/**
 * struct dwarf_index
 * @units:  in file order
 * @ranges: units by address
 * @alt:    index of the shared file, for names only; NULL if there is none
 */
struct dwarf_index {
	Dwarf *dwarf;
	struct names *names;
	uint64_t code_start;
	struct dwarf_index *alt;
	struct range_table ranges;
	struct {
		struct dwarf_unit *items;
		size_t count;
		size_t capacity;
	} units;
};

/* --- the table of units -------------------------------------------------- */

static const char *die_text(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr(die, name, &attribute));
}

/* libdw opens the file of a split unit on its own, whatever lies there: a
   FIFO would stop the report. */
static bool split_file_is_sane(Dwarf_Die *die)
{
	const char *name = die_text(die, DW_AT_dwo_name);
	const char *directory = die_text(die, DW_AT_comp_dir);
	char path[PATH_MAX];
	struct stat info;
	int len;

	if (!name)
		name = die_text(die, DW_AT_GNU_dwo_name);
	if (!name)
		return false;
	len = name[0] == '/' || !directory
		  ? snprintf(path, sizeof(path), "%s", name)
		  : snprintf(path, sizeof(path), "%s/%s", directory, name);
	if (len < 0 || (size_t)len >= sizeof(path))
		return false;
	return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static const unsigned char *unit_end(Dwarf_Die *die, uint64_t end_off)
{
	return (unsigned char *)die->addr + (end_off - dwarf_dieoffset(die));
}

/* Points @unit at the entries of its split file, if that can be read. */
static void use_split_unit(struct dwarf_unit *unit)
{
	Dwarf_Off offset = 0, next;
	size_t header_bytes;
	Dwarf_Die split;
	uint8_t type;
	Dwarf *dwarf;

	if (dwarf_cu_info(unit->lines.cu, NULL, &type, NULL, NULL, NULL, NULL,
			  NULL) < 0 ||
	    type != DW_UT_skeleton || !split_file_is_sane(&unit->lines) ||
	    dwarf_cu_info(unit->lines.cu, NULL, NULL, NULL, &split, NULL, NULL,
			  NULL) < 0 ||
	    dwarf_tag(&split) != DW_TAG_compile_unit)
		return;
	dwarf = dwarf_cu_getdwarf(split.cu);
	while (dwarf_nextcu(dwarf, offset, &next, &header_bytes, NULL, NULL,
			    NULL) == 0) {
		if (offset + header_bytes == dwarf_dieoffset(&split)) {
			unit->code = split;
			unit->end = unit_end(&split, next);
			return;
		}
		offset = next;
	}
}

static bool is_skeleton_like(Dwarf_Die *die)
{
	return dwarf_hasattr(die, DW_AT_dwo_name) ||
	       dwarf_hasattr(die, DW_AT_GNU_dwo_name);
}

/* Return: ranges added, negative when out of memory. */
static int add_unit_ranges(struct dwarf_index *index, Dwarf_Die *die,
			   uint32_t value)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	int added = 0;

	while (index->ranges.count < RANGES_MAX &&
	       (at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (start >= end || start < index->code_start)
			continue;
		if (range_table_add(&index->ranges, start, end, value) < 0)
			return -ENOMEM;
		added++;
	}
	return added;
}

/* Return: the unit whose bytes @offset is in, NULL if none. */
static struct dwarf_unit *find_unit(const struct dwarf_index *index,
				    uint64_t offset)
{
	size_t low = 0, high = index->units.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (index->units.items[middle].end_off <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == index->units.count ||
	    offset < index->units.items[low].start_off)
		return NULL;
	return &index->units.items[low];
}

/* Some producers give ranges only in .debug_aranges. */
static int add_aranges(struct dwarf_index *index, const bool *lacks_ranges)
{
	Dwarf_Aranges *aranges;
	size_t count;
	int status;

	/* The library would end the process. */
	memory_insist(true);
	status = dwarf_getaranges(index->dwarf, &aranges, &count);
	memory_insist(false);
	if (status < 0)
		return 0;
	for (size_t i = 0; i < count; i++) {
		Dwarf_Addr start;
		Dwarf_Word len;
		Dwarf_Off offset;
		const struct dwarf_unit *unit;

		if (dwarf_getarangeinfo(dwarf_onearange(aranges, i), &start,
					&len, &offset) < 0)
			continue;
		unit = find_unit(index, offset);
		if (!unit || start < index->code_start ||
		    !lacks_ranges[unit - index->units.items])
			continue;
		if (range_table_add(&index->ranges, start, start + len,
				    (uint32_t)(unit - index->units.items)) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int index_unit(struct dwarf_index *index, Dwarf_Off offset,
		      size_t header_bytes, Dwarf_Off next)
{
	struct dwarf_unit *unit;
	Dwarf_Die die;

	if (!dwarf_offdie(index->dwarf, offset + header_bytes, &die))
		return 0;
	unit = vec_push(&index->units);
	if (!unit)
		return -ENOMEM;
	unit->lines = die;
	unit->code = die;
	unit->start_off = offset;
	unit->end_off = next;
	unit->end = unit_end(&die, next);
	return 0;
}

static int index_ranges(struct dwarf_index *index)
{
	bool *lacks_ranges = calloc(index->units.count + 1, 1);
	bool any = false;
	int status = lacks_ranges ? 0 : -ENOMEM;

	for (uint32_t i = 0; !status && i < index->units.count; i++) {
		Dwarf_Die *die = &index->units.items[i].lines;
		int added;

		if (dwarf_tag(die) != DW_TAG_compile_unit &&
		    dwarf_tag(die) != DW_TAG_skeleton_unit)
			continue;
		added = add_unit_ranges(index, die, i);
		lacks_ranges[i] = !added;
		any |= !added;
		if (added < 0)
			status = -ENOMEM;
	}
	if (!status && any)
		status = add_aranges(index, lacks_ranges);
	range_table_ready(&index->ranges);
	free(lacks_ranges);
	return status;
}

static int index_units(struct dwarf_index *index)
{
	Dwarf_Off offset = 0, next;
	size_t header_bytes;

	while (index->units.count < UNITS_MAX &&
	       dwarf_next_unit(index->dwarf, offset, &next, &header_bytes, NULL,
			       NULL, NULL, NULL, NULL, NULL) == 0) {
		if (next <= offset ||
		    index_unit(index, offset, header_bytes, next) < 0)
			return -ENOMEM;
		offset = next;
	}
	return 0;
}

struct dwarf_index *dwarf_index_new(Dwarf *dwarf, Dwarf *alt,
				    struct names *names, uint64_t code_start)
{
	struct dwarf_index *index = calloc(1, sizeof(*index));

	if (!index)
		return NULL;
	index->dwarf = dwarf;
	index->names = names;
	index->code_start = code_start;
	if (index_units(index) < 0 || index_ranges(index) < 0) {
		dwarf_index_free(index);
		return NULL;
	}
	if (!alt)
		return index;
	index->alt = calloc(1, sizeof(*index));
	if (!index->alt) {
		dwarf_index_free(index);
		return NULL;
	}
	index->alt->dwarf = alt;
	index->alt->names = names;
	if (index_units(index->alt) < 0) {
		dwarf_index_free(index);
		return NULL;
	}
	return index;
}

void dwarf_index_free(struct dwarf_index *index)
{
	if (!index)
		return;
	dwarf_index_free(index->alt);
	for (size_t i = 0; i < index->units.count; i++)
		dwarf_unit_done(&index->units.items[i]);
	vec_done(&index->units);
	range_table_done(&index->ranges);
	free(index);
}

/* --- names --------------------------------------------------------------- */

/* Follows DW_AT_abstract_origin and DW_AT_specification to the entry that
   stands where the function was declared. */
static void die_declaration(Dwarf_Die *die)
{
	static const unsigned int links[] = {DW_AT_abstract_origin,
					     DW_AT_specification};

	for (int hops = 0; hops < 16; hops++) {
		Dwarf_Attribute attribute;
		Dwarf_Die target;
		bool moved = false;

		for (size_t i = 0; !moved && i < 2; i++)
			moved = dwarf_attr(die, links[i], &attribute) &&
				dwarf_formref_die(&attribute, &target);
		if (!moved)
			return;
		*die = target;
	}
}

static struct dwarf_unit *index_unit_of(struct dwarf_index *index,
					Dwarf_Die *die)
{
	Dwarf *dwarf = dwarf_cu_getdwarf(die->cu);

	if (index->alt && dwarf == index->alt->dwarf)
		index = index->alt;
	if (dwarf != index->dwarf)
		return NULL;
	return find_unit(index, dwarf_dieoffset(die));
}

/* @member: the name inside of the scope */
static const char *scope_name(Dwarf_Die *die, const char *member)
{
	const char *name = dwarf_diename(die);

	if (name && name[0])
		return name;
	if (dwarf_tag(die) == DW_TAG_namespace)
		return "(anonymous namespace)";
	return strcmp(member, "operator()") == 0 ? "{lambda}" : "{unnamed}";
}

/* @name with @count @parts before it, the outermost of which comes last. */
static const char *join_scopes(struct names *names, const char *const *parts,
			       size_t count, const char *name)
{
	size_t len = strlen(name);
	const char *result;
	char *text, *out;

	if (!count)
		return names_text(names, name, len);
	for (size_t i = 0; i < count; i++)
		len += strlen(parts[i]) + 2;
	out = text = malloc(len + 1);
	if (!text)
		return NULL;
	while (count) {
		out = stpcpy(out, parts[--count]);
		out = stpcpy(out, "::");
	}
	stpcpy(out, name);
	result = names_text(names, text, len);
	free(text);
	return result;
}

/* @name with the namespaces, classes and functions around its declaration. */
static const char *qualified_name(struct dwarf_index *index,
				  struct dwarf_unit *unit, Dwarf_Die *die,
				  const char *name)
{
	const char *parts[SCOPE_PARTS_MAX];
	size_t count = 0;
	uint32_t scope;

	die_declaration(die);
	if (die->cu != unit->code.cu)
		unit = index_unit_of(index, die);
	if (!unit || dwarf_unit_load(unit, index->code_start) < 0)
		return join_scopes(index->names, parts, 0, name);
	scope = dwarf_unit_scope(unit, dwarf_dieoffset(die));
	while (scope < unit->scopes.count && count < SCOPE_PARTS_MAX) {
		parts[count] = scope_name(&unit->scopes.items[scope].die,
					  count ? parts[count - 1] : name);
		count++;
		scope = unit->scopes.items[scope].parent;
	}
	return join_scopes(index->names, parts, count, name);
}

/* A linker name that is not mangled is an alias from an asm label, such as
   __GI___libc_malloc: what the source says reads better.

   Return: name of the function that @die (a copy) is or was inlined from, NULL
   if it has none. */
static const char *die_function(struct dwarf_index *index,
				struct dwarf_unit *unit, Dwarf_Die die)
{
	static const unsigned int linker_names[] = {
	    DW_AT_linkage_name,
	    DW_AT_MIPS_linkage_name,
	};
	Dwarf_Attribute attribute;
	const char *name;

	for (size_t i = 0; i < 2; i++) {
		name = dwarf_formstring(
		    dwarf_attr_integrate(&die, linker_names[i], &attribute));
		if (name && name[0] == '_' &&
		    (name[1] == 'Z' || name[1] == 'R'))
			return names_function(index->names, name);
	}
	name = dwarf_formstring(
	    dwarf_attr_integrate(&die, DW_AT_name, &attribute));
	if (!name || !name[0])
		return NULL;
	return qualified_name(index, unit, &die, name);
}

static const char *function_name(struct dwarf_index *index,
				 struct dwarf_unit *unit,
				 struct unit_function *function)
{
	if (!function->name)
		function->name = die_function(index, unit, function->die);
	return function->name;
}

static const char *inline_name(struct dwarf_index *index,
			       struct dwarf_unit *unit,
			       struct unit_inline *call)
{
	if (!call->name)
		call->name = die_function(index, unit, call->die);
	return call->name;
}

/* --- frames -------------------------------------------------------------- */

static const char *unit_path(struct dwarf_index *index, struct dwarf_unit *unit,
			     const char *path)
{
	if (!path || !path[0])
		return NULL;
	path = names_path(index->names, die_text(&unit->lines, DW_AT_comp_dir),
			  path);
	return path && path[0] ? path : NULL;
}

static void fill_line(struct dwarf_index *index, struct dwarf_unit *unit,
		      uint64_t addr, struct code_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->lines, addr);
	int number = 0;

	if (!line)
		return;
	frame->file = unit_path(index, unit, dwarf_linesrc(line, NULL, NULL));
	if (frame->file && dwarf_lineno(line, &number) == 0 && number > 0)
		frame->line = (uint32_t)number;
}

static uint32_t die_number(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attribute) ||
	    dwarf_formudata(&attribute, &value) < 0 || value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

/* Where the call that became @call was written. */
static void fill_call(struct dwarf_index *index, struct dwarf_unit *unit,
		      struct unit_inline *call, struct code_frame *frame)
{
	uint32_t file = die_number(&call->die, DW_AT_call_file);
	Dwarf_Files *files;
	size_t count;

	if (dwarf_getsrcfiles(&unit->code, &files, &count) < 0 || file >= count)
		return;
	frame->file =
	    unit_path(index, unit, dwarf_filesrc(files, file, NULL, NULL));
	if (frame->file)
		frame->line = die_number(&call->die, DW_AT_call_line);
}

/* Frames of @function, outer ones as callers of those inlined. */
static int fill_frames(struct dwarf_index *index, struct dwarf_unit *unit,
		       struct unit_function *function, uint64_t addr,
		       struct code_frames *ret)
{
	struct unit_inline *chain[CHAIN_MAX];
	size_t count = unit_function_chain(function, addr, chain, CHAIN_MAX);

	for (size_t i = count + 1; i-- > 0;) {
		struct code_frame *frame = vec_push(ret);

		if (!frame)
			return -ENOMEM;
		frame->is_inlined = i > 0;
		frame->function = i ? inline_name(index, unit, chain[i - 1])
				    : function_name(index, unit, function);
		if (i == count)
			fill_line(index, unit, addr, frame);
		else
			fill_call(index, unit, chain[i], frame);
	}
	return 0;
}

static int find(struct dwarf_index *index, uint64_t addr,
		struct code_frames *ret)
{
	struct range_cursor cursor = range_table_seek(&index->ranges, addr);
	struct code_frame line = {0};
	uint32_t value;

	ret->count = 0;
	for (int tries = 0;
	     tries < UNIT_TRIES_MAX &&
	     range_table_next(&index->ranges, addr, &cursor, &value);
	     tries++) {
		struct dwarf_unit *unit = &index->units.items[value];
		struct unit_function *function;

		if (!unit->loaded && is_skeleton_like(&unit->lines))
			use_split_unit(unit);
		if (dwarf_unit_load(unit, index->code_start) < 0)
			return -ENOMEM;
		function = dwarf_unit_find(unit, addr);
		if (function)
			return fill_frames(index, unit, function, addr, ret);
		if (!line.file)
			fill_line(index, unit, addr, &line);
	}
	if (line.file) {
		struct code_frame *frame = vec_push(ret);

		if (!frame)
			return -ENOMEM;
		*frame = line;
	}
	return 0;
}

int dwarf_index_find(struct dwarf_index *index, uint64_t addr,
		     struct code_frames *ret)
{
	int status;

	if (memory_refused())
		return -ENOMEM;
	/* The library would end the process: a unit's lines may be many. */
	memory_insist(true);
	status = find(index, addr, ret);
	memory_insist(false);
	return status;
}
