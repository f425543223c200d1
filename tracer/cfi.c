/* SPDX-License-Identifier: MIT */
#include "tracer/cfi.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include "tracer/cfi_debug.h"
#include "tracer/cfi_record.h"
#include "tracer/cfi_registered.h"

#pragma weak _dl_find_object

/* Of a module's start, that hold its headers. */
enum { HEADER_BYTES = 4096 };

bool cfi_available(void)
{
	return _dl_find_object != NULL;
}

/**
 * struct headers - a module's program headers in memory
 * @end: addresses from here on are not the module's
 */
struct headers {
	const ElfW(Phdr) * first;
	size_t count;
	uintptr_t end;
};

/*
 * The kernel says where the program's are; its segments may lie apart, and the
 * index then knows the one with the code.  A library's follow the ELF header at
 * its start, if that is loaded.
 *
 * Safety: the module stays mapped.  Return: none when they are not found.
 */
static struct headers find_headers(const struct dl_find_object *object)
{
	const struct link_map *map = object->dlfo_link_map;
	const ElfW(Ehdr) *ehdr = object->dlfo_map_start;
	struct headers headers = {.end = (uintptr_t)object->dlfo_map_end};
	size_t bytes = headers.end - (uintptr_t)ehdr;

	if (bytes > HEADER_BYTES)
		bytes = HEADER_BYTES;
	if (!map->l_prev && !map->l_name[0]) {
		headers.first = (const void *)getauxval(AT_PHDR);
		headers.count = getauxval(AT_PHNUM);
		headers.end = UINTPTR_MAX;
	} else if (bytes >= sizeof(*ehdr) &&
		   memcmp(ehdr->e_ident, ELFMAG, SELFMAG) == 0 &&
		   ehdr->e_phentsize == sizeof(*headers.first) &&
		   ehdr->e_phoff % _Alignof(ElfW(Phdr)) == 0 &&
		   ehdr->e_phoff <= bytes &&
		   ehdr->e_phnum <=
		       (bytes - ehdr->e_phoff) / sizeof(*headers.first)) {
		headers.first =
		    (const void *)((const char *)ehdr + ehdr->e_phoff);
		headers.count = ehdr->e_phnum;
	}
	return headers;
}

/* Safety: pure.  Return: the segment, if it can be read; else an empty one. */
static struct cfi_section get_segment(const struct headers *headers,
				      const ElfW(Phdr) * ph, uintptr_t bias)
{
	uintptr_t start = bias + ph->p_vaddr;
	uintptr_t end = start + ph->p_memsz;

	if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_R) || end < start)
		return (struct cfi_section){0};
	if (end > headers->end)
		end = headers->end;
	return (struct cfi_section){.start = start, .end = end};
}

/*
 * The segment that holds @addr.  What lies between segments need not be mapped.
 *
 * Safety: the module stays mapped.
 */
static struct cfi_section find_segment(const struct dl_find_object *object,
				       uintptr_t addr)
{
	struct headers headers = find_headers(object);
	uintptr_t bias = object->dlfo_link_map->l_addr;

	for (size_t i = 0; i < headers.count; i++) {
		struct cfi_section segment =
		    get_segment(&headers, &headers.first[i], bias);

		if (addr >= segment.start && addr < segment.end)
			return segment;
	}
	return (struct cfi_section){0};
}

/* The segment that the file begins with.  Safety: the module stays mapped. */
static struct cfi_section find_start(const struct dl_find_object *object)
{
	struct headers headers = find_headers(object);
	uintptr_t bias = object->dlfo_link_map->l_addr;

	for (size_t i = 0; i < headers.count; i++)
		if (headers.first[i].p_type == PT_LOAD &&
		    headers.first[i].p_offset == 0)
			return get_segment(&headers, &headers.first[i], bias);
	return (struct cfi_section){0};
}

/*
 * The header's table is sorted by address: pairs of offsets from the header,
 * of a function and of its FDE.
 *
 * Safety: bounds checked.  Return: the FDE's address, or 0.
 */
static uintptr_t search_table(const struct cfi_section *section,
			      uintptr_t header, uintptr_t pc,
			      enum cfi_status *ret_status)
{
	struct cfi_cursor c = cfi_open(section, header);
	uint8_t version = cfi_u8(&c);
	uint8_t frame_encoding = cfi_u8(&c);
	uint8_t count_encoding = cfi_u8(&c);
	uint8_t table_encoding = cfi_u8(&c);
	size_t low = 0, high;
	int32_t pair[2];

	*ret_status = CFI_BAD;
	if (c.bad || version != 1 || count_encoding == CFI_ENC_OMIT ||
	    table_encoding != CFI_ENC_DATAREL_SDATA4)
		return 0;
	cfi_encoded(section, &c, frame_encoding);
	high = cfi_encoded(section, &c, count_encoding);
	if (c.bad || high > cfi_left(&c) / sizeof(pair))
		return 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		/* Whichever is next, it is in no cache yet. */
		__builtin_prefetch(c.p + (low + middle) / 2 * sizeof(pair));
		__builtin_prefetch(c.p + (middle + 1 + high) / 2 *
					     sizeof(pair));
		memcpy(pair, c.p + middle * sizeof(pair), sizeof(pair));
		if (header + (uintptr_t)(intptr_t)pair[0] <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_status = CFI_NONE;
	if (!low)
		return 0;
	memcpy(pair, c.p + (low - 1) * sizeof(pair), sizeof(pair));
	return header + (uintptr_t)(intptr_t)pair[1];
}

/*
 * Old linkers leave the table out.  Then the header says no more than where the
 * records are, and they are read one after the other.
 *
 * Safety: as cfi_find().
 */
static enum cfi_status find_without_table(const struct dl_find_object *object,
					  uintptr_t pc, struct cfi_row *ret)
{
	uintptr_t header = (uintptr_t)object->dlfo_eh_frame;
	struct cfi_section section = find_segment(object, header);
	struct cfi_cursor c = cfi_open(&section, header);
	uint8_t version = cfi_u8(&c);
	uint8_t frame_encoding = cfi_u8(&c);
	uint8_t count_encoding = cfi_u8(&c);
	uint8_t table_encoding = cfi_u8(&c);
	uintptr_t frames = cfi_encoded(&section, &c, frame_encoding);

	if (c.bad || version != 1 ||
	    (count_encoding != CFI_ENC_OMIT && table_encoding != CFI_ENC_OMIT))
		return CFI_BAD;
	section = find_segment(object, frames);
	if (section.start == section.end)
		return CFI_BAD;
	return cfi_scan(&section, frames, pc, ret);
}

/* Safety: as cfi_find().  By the table of the module. */
static enum cfi_status find_in_table(const struct dl_find_object *object,
				     uintptr_t pc, struct cfi_row *ret)
{
	uintptr_t header = (uintptr_t)object->dlfo_eh_frame;
	struct cfi_section section;
	enum cfi_status status;
	uintptr_t fde;

	if (!header)
		return CFI_NONE;
	section = find_segment(object, header);
	fde = search_table(&section, header, pc, &status);
	if (!fde && status == CFI_BAD)
		return find_without_table(object, pc, ret);
	if (!fde)
		return status;
	if (fde < section.start || fde >= section.end)
		section = find_segment(object, fde);
	return cfi_read_fde(&section, fde, pc, ret);
}

/* Safety: as cfi_find_debug().  By the file of the module. */
static enum cfi_status find_in_file(const struct dl_find_object *object,
				    uintptr_t pc, struct cfi_row *ret)
{
	const struct link_map *map = object->dlfo_link_map;
	struct cfi_section start = find_start(object);
	struct cfi_module module = {
	    .path = map->l_name,
	    .bias = map->l_addr,
	    .headers = (const uint8_t *)start.start,
	    .header_bytes = start.end - start.start,
	};

	if (!map->l_prev && !map->l_name[0])
		module.path = "/proc/self/exe";
	/* The kernel's has a name, and no file. */
	if (!strchr(module.path, '/'))
		return CFI_NONE;
	return cfi_find_debug(&module, pc, ret);
}

/* What the loader does not know of. */
static struct dl_find_object unlisted;

void cfi_add_unlisted(const struct dl_find_object *object)
{
	unlisted = *object;
}

/* Safety: as cfi_find().  Return: whether @pc lies in a module. */
static bool find_object(uintptr_t pc, struct dl_find_object *ret)
{
	if (_dl_find_object && _dl_find_object((void *)pc, ret) == 0)
		return true;
	if (pc < (uintptr_t)unlisted.dlfo_map_start ||
	    pc >= (uintptr_t)unlisted.dlfo_map_end)
		return false;
	*ret = unlisted;
	return true;
}

enum cfi_status cfi_find(uintptr_t pc, struct cfi_row *ret)
{
	enum cfi_status status = CFI_NONE;
	struct dl_find_object object;

	if (find_object(pc, &object)) {
		status = find_in_table(&object, pc, ret);
		if (status == CFI_NONE)
			status = find_in_file(&object, pc, ret);
	}
	return status == CFI_NONE ? cfi_find_registered(pc, ret) : status;
}
