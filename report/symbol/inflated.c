/* SPDX-License-Identifier: MIT */
#include "report/symbol/inflated.h"

#include <gelf.h>
#include <libdeflate.h>
#include <stdbool.h>
#include <stdlib.h>

#include "report/core/vec.h"

/* More than this no stream of zlib's can become; a damaged header may ask for
   any amount. */
enum { RATIO_MAX = 1032 };

/* Return: whether @section is compressed by zlib, and how. */
static bool is_compressed(Elf_Scn *section, GElf_Shdr *ret_header,
			  GElf_Chdr *ret_compression)
{
	return gelf_getshdr(section, ret_header) &&
	       ret_header->sh_type != SHT_NOBITS &&
	       (ret_header->sh_flags & SHF_COMPRESSED) &&
	       gelf_getchdr(section, ret_compression) &&
	       ret_compression->ch_type == ELFCOMPRESS_ZLIB;
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

static void inflate_section(struct inflated *inflated, Elf_Scn *section,
			    struct libdeflate_decompressor *inflater)
{
	GElf_Chdr compression;
	GElf_Shdr header;
	Elf_Data *data;
	void **slot;

	if (!is_compressed(section, &header, &compression))
		return;
	slot = vec_push(inflated);
	if (!slot)
		return;
	data = elf_getdata(section, NULL);
	*slot = inflate_data(inflater, data, compression.ch_size);
	if (!*slot)
		return;
	header.sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
	header.sh_size = compression.ch_size;
	header.sh_addralign = compression.ch_addralign;
	if (!gelf_update_shdr(section, &header))
		return;
	data->d_buf = *slot;
	data->d_size = compression.ch_size;
	data->d_align = compression.ch_addralign;
	data->d_type = ELF_T_BYTE;
}

void inflated_add(struct inflated *inflated, Elf *elf)
{
	struct libdeflate_decompressor *inflater =
		libdeflate_alloc_decompressor();
	Elf_Scn *section = NULL;

	while (inflater && (section = elf_nextscn(elf, section)))
		inflate_section(inflated, section, inflater);
	libdeflate_free_decompressor(inflater);
}

void inflated_done(struct inflated *inflated)
{
	for (size_t i = 0; i < inflated->count; i++)
		free(inflated->items[i]);
	vec_done(inflated);
}
