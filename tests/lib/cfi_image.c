/* SPDX-License-Identifier: MIT */
#include "tests/lib/cfi_image.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/modules.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif

#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, len) ((void)(p), (void)(len))
#define ASAN_UNPOISON_MEMORY_REGION(p, len) ((void)(p), (void)(len))
#endif

/* What the tracer's rules ask of its other modules. */
struct loader modules_loader;

static const struct cfi_image *placed;
static struct link_map map = { .l_name = (char[]){ "image" } };

/* Hidden: the sanitizers' own unwinders ask the real one. */
__attribute__((visibility("hidden"))) int
_dl_find_object(void *pc, struct dl_find_object *ret)
{
	(void)pc;
	if (!placed)
		return -1;
	memset(ret, 0, sizeof(*ret));
	map.l_addr = (ElfW(Addr))placed->memory;
	ret->dlfo_map_start = placed->memory;
	ret->dlfo_map_end = placed->data + placed->len;
	ret->dlfo_link_map = &map;
	ret->dlfo_eh_frame = placed->data;
	return 0;
}

static void write_headers(const struct cfi_image *image)
{
	ElfW(Ehdr) ehdr = { .e_phoff = sizeof(ehdr),
			    .e_phentsize = sizeof(ElfW(Phdr)),
			    .e_phnum = 3 };
	ElfW(Phdr) headers[3] = {
		{ .p_memsz = CFI_IMAGE_HEADERS },
		{ .p_vaddr = CFI_IMAGE_HEADERS, .p_memsz = image->split },
		{ .p_vaddr = CFI_IMAGE_HEADERS + image->split + image->gap,
		  .p_memsz = image->len - image->split - image->gap },
	};

	memcpy(ehdr.e_ident, ELFMAG, SELFMAG);
	for (size_t i = 0; i < 3; i++) {
		headers[i].p_type = PT_LOAD;
		headers[i].p_flags = PF_R;
	}
	memcpy(image->memory, &ehdr, sizeof(ehdr));
	memcpy((char *)image->memory + sizeof(ehdr), headers, sizeof(headers));
}

void cfi_image_place(struct cfi_image *image, const uint8_t *data, size_t len,
		     size_t split, size_t gap)
{
	if (posix_memalign(&image->memory, CFI_IMAGE_HEADERS,
			   CFI_IMAGE_HEADERS + len))
		abort();
	memset(image->memory, 0, CFI_IMAGE_HEADERS);
	image->data = (uint8_t *)image->memory + CFI_IMAGE_HEADERS;
	image->len = len;
	image->split = split < len ? split : len;
	image->gap = gap < len - image->split ? gap : len - image->split;
	if (len)
		memcpy(image->data, data, len);
	write_headers(image);
	ASAN_POISON_MEMORY_REGION(image->data + image->split, image->gap);
	placed = image;
}

void cfi_image_remove(struct cfi_image *image)
{
	ASAN_UNPOISON_MEMORY_REGION(image->data + image->split, image->gap);
	placed = NULL;
	free(image->memory);
	memset(image, 0, sizeof(*image));
}

/* Return: the section of that name, or NULL. */
static const ElfW(Shdr) *
find_section(const uint8_t *file, size_t len, const char *name)
{
	const ElfW(Ehdr) *ehdr = (const void *)file;
	const ElfW(Shdr) *first = (const void *)(file + ehdr->e_shoff);
	const char *names;

	if (len < sizeof(*ehdr) || memcmp(file, ELFMAG, SELFMAG) != 0 ||
	    ehdr->e_shoff + ehdr->e_shnum * sizeof(*first) > len)
		return NULL;
	names = (const char *)file + first[ehdr->e_shstrndx].sh_offset;
	for (size_t i = 0; i < ehdr->e_shnum; i++)
		if (strcmp(names + first[i].sh_name, name) == 0)
			return &first[i];
	return NULL;
}

static uint8_t *extract(const uint8_t *file, size_t len, size_t *ret_len)
{
	const ElfW(Shdr) *header = find_section(file, len, ".eh_frame_hdr");
	const ElfW(Shdr) *frames = find_section(file, len, ".eh_frame");
	uint8_t *data;
	size_t at;

	if (!header || !frames || frames->sh_addr < header->sh_addr)
		return NULL;
	at = frames->sh_addr - header->sh_addr;
	*ret_len = at + frames->sh_size;
	data = calloc(1, *ret_len);
	if (!data)
		abort();
	memcpy(data, file + header->sh_offset, header->sh_size);
	memcpy(data + at, file + frames->sh_offset, frames->sh_size);
	return data;
}

uint8_t *cfi_image_read(const char *path, size_t *ret_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t *data = NULL;
	struct stat st;
	void *file;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE,
			    fd, 0);
		if (file != MAP_FAILED) {
			data = extract(file, (size_t)st.st_size, ret_len);
			munmap(file, (size_t)st.st_size);
		}
	}
	close(fd);
	return data;
}
