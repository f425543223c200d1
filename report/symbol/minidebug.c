/* SPDX-License-Identifier: MIT */
/*
 * .gnu_debugdata: an ELF file with nothing but a symbol table, compressed
 * with xz.  The decoder is called by name: libdw brings liblzma along, and
 * this one function is not worth one more package for building.
 */
#include "report/symbol/symtab.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "report/symbol/elf_file.h"

enum {
	XZ_OK = 0,
	XZ_NO_ROOM = 10, /* LZMA_BUF_ERROR */
	DECODER_BYTES = 256 << 20,
	IMAGE_BYTES_MAX = 512 << 20,
};

typedef int xz_decode_fn(uint64_t *memory_limit, uint32_t flags,
			 const void *allocator, const uint8_t *in,
			 size_t *in_pos, size_t in_size, uint8_t *out,
			 size_t *out_pos, size_t out_size);

static xz_decode_fn *xz_decoder(void)
{
	void *found = dlsym(RTLD_DEFAULT, "lzma_stream_buffer_decode");
	xz_decode_fn *decode = NULL;

	memcpy(&decode, &found, sizeof(decode));
	return decode;
}

/* The size is not known before, so the room is doubled until it is enough:
   at most twice the work, and a few bytes cannot claim the machine. */
static void *xz_decode(const Elf_Data *in, size_t *ret_size)
{
	xz_decode_fn *decode = xz_decoder();
	size_t room = in->d_size > 1 << 20 ? in->d_size : 1 << 20;

	if (!decode)
		return NULL;
	for (room *= 8; room <= IMAGE_BYTES_MAX; room *= 4) {
		uint64_t memory_limit = DECODER_BYTES;
		size_t in_pos = 0, out_pos = 0;
		uint8_t *out = malloc(room);
		int status;

		if (!out)
			return NULL;
		status = decode(&memory_limit, 0, NULL, in->d_buf, &in_pos,
				in->d_size, out, &out_pos, room);
		if (status == XZ_OK) {
			*ret_size = out_pos;
			return out;
		}
		free(out);
		if (status != XZ_NO_ROOM)
			return NULL;
	}
	return NULL;
}

Elf *symtab_minidebug(Elf *elf, void **ret_image)
{
	const Elf_Data *data = elf_file_data(elf, ".gnu_debugdata");
	size_t size = 0;
	Elf *inner;
	char *image;

	if (!data)
		return NULL;
	image = xz_decode(data, &size);
	if (!image)
		return NULL;
	inner = elf_memory(image, size);
	if (!inner || elf_kind(inner) != ELF_K_ELF) {
		if (inner)
			elf_end(inner);
		free(image);
		return NULL;
	}
	*ret_image = image;
	return inner;
}
