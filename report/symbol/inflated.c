/* SPDX-License-Identifier: MIT */
#include "report/symbol/inflated.h"

#include <gelf.h>
#include <libdeflate.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/vec.h"

enum {
	/* More than this no stream of zlib's can become; a damaged header may
	   ask for any amount. */
	RATIO_MAX = 1032,
	/* What all sections of a file may become, in sizes of the file.  Debug
	   information becomes four times as long. */
	FILE_RATIO_MAX = 100,
};

/* What libdw is asked for.  The position is a bit of struct inflation. */
static const char *const wanted[] = {
	".debug_abbrev",      ".debug_addr",	 ".debug_aranges",
	".debug_info",	      ".debug_line",	 ".debug_line_str",
	".debug_ranges",      ".debug_rnglists", ".debug_str",
	".debug_str_offsets", ".debug_types",
};

enum { WANTED_COUNT = sizeof(wanted) / sizeof(wanted[0]) };

/**
 * struct inflation - the sections of one file on their way
 * @names:      number of the section with the names
 * @seen:       bit i: wanted[i] was there; another of that name is no use
 * @bytes_left: that sections may still become
 */
struct inflation {
	struct inflated *inflated;
	struct libdeflate_decompressor *inflater;
	Elf *elf;
	size_t names;
	uint32_t seen;
	uint64_t bytes_left;
};

/* Return: position in wanted[], WANTED_COUNT if @name is none of them. */
static size_t wanted_at(const char *name)
{
	size_t at = 0;

	while (at < WANTED_COUNT && strcmp(wanted[at], name) != 0)
		at++;
	return at;
}

/* Return: whether @section is compressed and may hold debug information. */
static bool is_compressed(const struct inflation *inflation, Elf_Scn *section,
			  GElf_Shdr *ret_header, const char **ret_name)
{
	if (!gelf_getshdr(section, ret_header) ||
	    ret_header->sh_type == SHT_NOBITS ||
	    !(ret_header->sh_flags & SHF_COMPRESSED))
		return false;
	*ret_name = elf_strptr(inflation->elf, inflation->names,
			       ret_header->sh_name);
	return *ret_name && strncmp(*ret_name, ".debug_", 7) == 0;
}

/* Return: whether the section called @name, of @bytes, may be decompressed. */
static bool may_grow(struct inflation *inflation, const char *name,
		     uint64_t bytes)
{
	size_t at = wanted_at(name);
	uint32_t bit = UINT32_C(1) << at;

	if (at == WANTED_COUNT || (inflation->seen & bit) ||
	    bytes > inflation->bytes_left)
		return false;
	inflation->seen |= bit;
	inflation->bytes_left -= bytes;
	return true;
}

/* Return: @bytes of what is compressed in @data, owned by the caller; NULL if
   that is impossible. */
static void *inflate_data(struct libdeflate_decompressor *inflater,
			  const Elf_Data *data, uint64_t bytes)
{
	const size_t header_bytes = sizeof(Elf64_Chdr);
	const unsigned char *from = data ? data->d_buf : NULL;
	void *result;

	if (!from || data->d_size <= header_bytes || !bytes ||
	    bytes / RATIO_MAX > data->d_size)
		return NULL;
	result = malloc(bytes);
	if (result && libdeflate_zlib_decompress(
			      inflater, from + header_bytes,
			      data->d_size - header_bytes, result, bytes,
			      NULL) == LIBDEFLATE_SUCCESS)
		return result;
	free(result);
	return NULL;
}

/* @header, @compression: those of @section, by zlib. */
static void inflate_section(struct inflation *inflation, Elf_Scn *section,
			    GElf_Shdr *header, const GElf_Chdr *compression)
{
	void **slot = vec_push(inflation->inflated);
	Elf_Data *data;

	if (!slot)
		return;
	data = elf_getdata(section, NULL);
	*slot = inflate_data(inflation->inflater, data, compression->ch_size);
	if (!*slot)
		return;
	header->sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
	header->sh_size = compression->ch_size;
	header->sh_addralign = compression->ch_addralign;
	if (!gelf_update_shdr(section, header))
		return;
	data->d_buf = *slot;
	data->d_size = compression->ch_size;
	data->d_align = compression->ch_addralign;
	data->d_type = ELF_T_BYTE;
}

/* libdw would decompress whatever it knows: it does not see what may not
   grow. */
static void settle_section(struct inflation *inflation, Elf_Scn *section)
{
	GElf_Chdr compression;
	GElf_Shdr header;
	const char *name;

	if (!is_compressed(inflation, section, &header, &name))
		return;
	if (!gelf_getchdr(section, &compression) ||
	    !may_grow(inflation, name, compression.ch_size)) {
		header.sh_type = SHT_NOBITS;
		gelf_update_shdr(section, &header);
	} else if (compression.ch_type == ELFCOMPRESS_ZLIB) {
		inflate_section(inflation, section, &header, &compression);
	}
}

void inflated_add(struct inflated *inflated, Elf *elf)
{
	struct inflation inflation = { .inflated = inflated, .elf = elf };
	Elf_Scn *section = NULL;
	size_t file_bytes;

	if (gelf_getclass(elf) != ELFCLASS64 || !elf_rawfile(elf, &file_bytes) ||
	    elf_getshdrstrndx(elf, &inflation.names) < 0)
		return;
	inflation.bytes_left = (uint64_t)file_bytes * FILE_RATIO_MAX;
	inflation.inflater = libdeflate_alloc_decompressor();
	while (inflation.inflater && (section = elf_nextscn(elf, section)))
		settle_section(&inflation, section);
	libdeflate_free_decompressor(inflation.inflater);
}

void inflated_done(struct inflated *inflated)
{
	for (size_t i = 0; i < inflated->count; i++)
		free(inflated->items[i]);
	vec_done(inflated);
}
