/* SPDX-License-Identifier: MIT */
#include "tracer/cfi_debug.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "tracer/cfi_record.h"
#include "tracer/compiler.h"
#include "tracer/pool.h"
#include "tracer/sys.h"

enum {
	FILE_MAX = 256,
	MODULE_MAX = 1024,
	SECTION_COUNT_MAX = 65000,
	NAMES_BYTES_MAX = 1 << 20,
	FRAMES_BYTES_MAX = 128 << 20,
};

/**
 * struct place - one FDE
 * @start:  address of its function in the file
 * @offset: in the section
 */
struct place {
	uintptr_t start;
	uint32_t length;
	uint32_t offset;
};

/**
 * struct file - one that was opened; files are never forgotten
 * @device, @inode, @bytes, @time: what it is known by
 * @data:   copy of the section; NULL where there is none
 * @len:    of it
 * @places: of its FDEs, by address
 * @count:  of them
 */
struct file {
	uint64_t device;
	uint64_t inode;
	uint64_t bytes;
	uint64_t time;
	uint8_t *data;
	size_t len;
	struct place *places;
	size_t count;
};

/**
 * struct seen - a module, and its file
 * @headers: where it is in memory
 * @file:    NULL where there is nothing to be had
 */
struct seen {
	const uint8_t *headers;
	const struct file *file;
};

/**
 * struct cache - all of them
 * @stale: modules may have gone
 */
static struct {
	struct spinlock lock;
	atomic_bool stale;
	size_t file_count;
	size_t seen_count;
	struct file files[FILE_MAX];
	struct seen seen[MODULE_MAX];
} cache;

void cfi_debug_forget(void)
{
	cache.stale = true;
}

/* Safety: system calls.  Return: whether all of it was read. */
static bool read_at(int fd, void *buf, size_t len, uint64_t offset)
{
	uint8_t *p = buf;

	while (len) {
		ssize_t n = SYS_CALL4(SYS_pread64, fd, p, len, offset);

		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return true;
}

/* Safety: allocates: mmap.  Return: that part of the file, or NULL. */
static void *copy_part(int fd, size_t len, uint64_t offset)
{
	void *p = len ? pool_map(len) : NULL;

	if (p && !read_at(fd, p, len, offset)) {
		pool_unmap(p, len);
		return NULL;
	}
	return p;
}

/* Safety: system calls.  Return: whether the file begins with @want. */
static bool begins_with(int fd, const uint8_t *want, size_t len)
{
	uint8_t bytes[256];

	for (size_t at = 0; at < len; at += sizeof(bytes)) {
		size_t n = len - at;

		if (n > sizeof(bytes))
			n = sizeof(bytes);
		if (!read_at(fd, bytes, n, at) ||
		    memcmp(bytes, want + at, n) != 0)
			return false;
	}
	return true;
}

/*
 * The ELF and program headers are the same in memory and in the file: no other
 * file has been put in its place.
 *
 * Safety: system calls.
 */
static bool is_loaded(int fd, const struct cfi_module *module, ElfW(Ehdr) * ret)
{
	size_t len = module->header_bytes;

	if (len < sizeof(*ret))
		return false;
	memcpy(ret, module->headers, sizeof(*ret));
	if (memcmp(ret->e_ident, ELFMAG, SELFMAG) != 0 ||
	    ret->e_phentsize != sizeof(ElfW(Phdr)) || ret->e_phoff > len ||
	    ret->e_phnum > (len - ret->e_phoff) / sizeof(ElfW(Phdr)))
		return false;
	return begins_with(fd, module->headers, sizeof(*ret)) &&
	       begins_with(fd, module->headers,
			   ret->e_phoff + ret->e_phnum * sizeof(ElfW(Phdr)));
}

/* Safety: pure.  Return: the section with the frames; offset 0: none. */
static ElfW(Shdr) find_frames(const ElfW(Shdr) * sections, size_t count,
			      const char *names, size_t names_len)
{
	static const char wanted[] = ".debug_frame";
	ElfW(Shdr) none = {0};

	for (size_t i = 0; i < count; i++) {
		const ElfW(Shdr) *one = &sections[i];

		if (one->sh_type == SHT_PROGBITS &&
		    !(one->sh_flags & SHF_COMPRESSED) &&
		    one->sh_name < names_len &&
		    names_len - one->sh_name >= sizeof(wanted) &&
		    memcmp(names + one->sh_name, wanted, sizeof(wanted)) == 0 &&
		    one->sh_size <= FRAMES_BYTES_MAX)
			return *one;
	}
	return none;
}

/* Safety: allocates: mmap. */
static ElfW(Shdr) read_sections(int fd, const ElfW(Ehdr) * ehdr)
{
	size_t bytes = ehdr->e_shnum * sizeof(ElfW(Shdr));
	ElfW(Shdr) * sections;
	ElfW(Shdr) found = {0}, strings;
	char *names;

	if (ehdr->e_shentsize != sizeof(*sections) ||
	    ehdr->e_shnum > SECTION_COUNT_MAX ||
	    ehdr->e_shstrndx >= ehdr->e_shnum)
		return found;
	sections = copy_part(fd, bytes, ehdr->e_shoff);
	if (!sections)
		return found;
	strings = sections[ehdr->e_shstrndx];
	if (strings.sh_size <= NAMES_BYTES_MAX) {
		names = copy_part(fd, strings.sh_size, strings.sh_offset);
		if (names)
			found = find_frames(sections, ehdr->e_shnum, names,
					    strings.sh_size);
		pool_unmap(names, strings.sh_size);
	}
	pool_unmap(sections, bytes);
	return found;
}

/* Safety: pure.  The section of a module with this bias. */
static struct cfi_section get_section(const struct file *file, uintptr_t bias)
{
	uintptr_t start = (uintptr_t)file->data;

	return (struct cfi_section){.start = start,
				    .end = start + file->len,
				    .bias = bias,
				    .is_debug = true};
}

/* Safety: pure.  Moves the place at @at down to where it belongs. */
static void sift(struct place *places, size_t at, size_t count)
{
	for (;;) {
		size_t child = 2 * at + 1;
		struct place moved = places[at];

		if (child + 1 < count &&
		    places[child + 1].start > places[child].start)
			child++;
		if (child >= count || places[child].start <= moved.start)
			return;
		places[at] = places[child];
		places[child] = moved;
		at = child;
	}
}

/* Safety: pure.  By address; a heap, because it needs no more memory. */
static void sort(struct place *places, size_t count)
{
	for (size_t i = count / 2; i-- > 0;)
		sift(places, i, count);
	for (size_t n = count; n-- > 1;) {
		struct place last = places[n];

		places[n] = places[0];
		places[0] = last;
		sift(places, 0, n);
	}
}

/*
 * What the linker has dropped has the address 0.
 *
 * Safety: pure.  Return: FDEs; stored at @ret, if that is not NULL.
 */
static size_t list_places(const struct file *file, struct place *ret)
{
	struct cfi_section section = get_section(file, 0);
	uintptr_t addr = section.start, before = addr;
	struct cfi_range range;
	size_t n = 0;

	while (cfi_next(&section, &addr, &range)) {
		uintptr_t length = range.end - range.start;

		if (range.start && length && length <= UINT32_MAX) {
			if (ret)
				ret[n] = (struct place){
				    .start = range.start,
				    .length = (uint32_t)length,
				    .offset = (uint32_t)(before -
							 section.start)};
			n++;
		}
		before = addr;
	}
	return n;
}

/* Safety: lock held.  Allocates: mmap. */
static void load(struct file *file, int fd, const ElfW(Ehdr) * ehdr)
{
	ElfW(Shdr) found = read_sections(fd, ehdr);

	file->len = found.sh_size;
	file->data = copy_part(fd, found.sh_size, found.sh_offset);
	if (!file->data)
		return;
	file->count = list_places(file, NULL);
	if (file->count)
		file->places = pool_map(file->count * sizeof(*file->places));
	if (!file->places) {
		file->count = 0;
		return;
	}
	list_places(file, file->places);
	sort(file->places, file->count);
}

/* Safety: lock held.  Return: the file, opened before or now, or NULL. */
static const struct file *get_file(int fd, const struct cfi_module *module)
{
	struct file wanted = {0};
	struct file *file = cache.files;
	ElfW(Ehdr) ehdr;
	struct stat st;

	if (sys_fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    !is_loaded(fd, module, &ehdr))
		return NULL;
	wanted.device = (uint64_t)st.st_dev;
	wanted.inode = (uint64_t)st.st_ino;
	wanted.bytes = (uint64_t)st.st_size;
	wanted.time = (uint64_t)st.st_mtim.tv_sec * 1000000000 +
		      (uint64_t)st.st_mtim.tv_nsec;
	for (; file < cache.files + cache.file_count; file++)
		if (file->device == wanted.device &&
		    file->inode == wanted.inode &&
		    file->bytes == wanted.bytes && file->time == wanted.time)
			return file;
	if (cache.file_count == FILE_MAX)
		return NULL;
	*file = wanted;
	load(file, fd, &ehdr);
	cache.file_count++;
	return file;
}

/* Safety: lock held.  Return: the module's file, or NULL. */
static const struct file *find_file(const struct cfi_module *module)
{
	const struct file *file = NULL;
	int fd;

	if (atomic_exchange(&cache.stale, false))
		cache.seen_count = 0;
	for (size_t i = 0; i < cache.seen_count; i++)
		if (cache.seen[i].headers == module->headers)
			return cache.seen[i].file;
	fd = sys_open(module->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		      0);
	if (fd >= 0) {
		file = get_file(fd, module);
		sys_close(fd);
	}
	if (cache.seen_count < MODULE_MAX)
		cache.seen[cache.seen_count++] =
		    (struct seen){.headers = module->headers, .file = file};
	return file;
}

/* Safety: pure. */
static enum cfi_status find_in(const struct file *file, uintptr_t bias,
			       uintptr_t pc, struct cfi_row *ret)
{
	struct cfi_section section = get_section(file, bias);
	size_t low = 0, high = file->count;
	const struct place *place;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (file->places[middle].start <= pc - bias)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return CFI_NONE;
	place = &file->places[low - 1];
	if (pc - bias - place->start >= place->length)
		return CFI_NONE;
	return cfi_read_fde(&section, section.start + place->offset, pc, ret);
}

enum cfi_status cfi_find_debug(const struct cfi_module *module, uintptr_t pc,
			       struct cfi_row *ret)
{
	const struct file *file = NULL;
	uint64_t signals;

	sys_signals_block(&signals);
	if (spinlock_take_bounded(&cache.lock)) {
		file = find_file(module);
		spinlock_give(&cache.lock);
	}
	sys_signals_restore(&signals);
	return file ? find_in(file, module->bias, pc, ret) : CFI_NONE;
}
