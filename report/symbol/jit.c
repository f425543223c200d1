/* SPDX-License-Identifier: MIT */
#include "report/symbol/jit.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/core/kept.h"
#include "report/core/memory.h"
#include "report/core/vec.h"
#include "report/symbol/dwarf_index.h"
#include "report/symbol/elf_file.h"
#include "report/symbol/image.h"
#include "report/symbol/names.h"
#include "report/symbol/perf_map.h"
#include "report/symbol/range_table.h"

#define MAP_BYTES_MAX ((size_t)64 << 20)

/* Files are stamped with the time of a timer interrupt; a program writes on
   after its last allocation. */
#define EARLY_NS UINT64_C(20000000)
#define LATE_NS UINT64_C(60000000000)

/* One object.  @image: NULL before an address in it was asked for. */
struct jit_object {
	const struct kept_file *file;
	struct image *image;
};

/**
 * struct jit
 * @objects: in the order of the trace
 * @ranges:  code to index into @objects
 * @texts:   of @map, to be freed
 */
struct jit {
	struct {
		struct jit_object *items;
		size_t count;
		size_t capacity;
	} objects;
	struct range_table ranges;
	struct {
		uint8_t **items;
		size_t count;
		size_t capacity;
	} texts;
	struct perf_map map;
};

/* --- the perf map -------------------------------------------------------- */

/* Takes @text over.  Return: 0 or -ENOMEM. */
static int add_text(struct jit *jit, uint8_t *text, size_t len)
{
	uint8_t **slot = vec_push(&jit->texts);

	if (!slot) {
		free(text);
		return -ENOMEM;
	}
	*slot = text;
	return perf_map_add(&jit->map, (const char *)text, len);
}

/* Whether the file that @info is of can be the map of @run. */
static bool is_map_of(const struct jit_run *run, const struct stat *info)
{
	uint64_t written = (uint64_t)info->st_mtim.tv_sec * 1000000000u +
			   (uint64_t)info->st_mtim.tv_nsec;
	uid_t user = geteuid();

	return S_ISREG(info->st_mode) &&
	       (!user || info->st_uid == user || !info->st_uid) &&
	       info->st_size > 0 && (uint64_t)info->st_size <= MAP_BYTES_MAX &&
	       memory_spares((size_t)info->st_size) &&
	       written + EARLY_NS >= run->start_ns &&
	       written <= run->end_ns + LATE_NS;
}

/* Adds what the program wrote, if it is still where it did.  Return: 0 or
   -ENOMEM. */
static int add_file(struct jit *jit, const struct jit_run *run)
{
	char path[64];
	struct stat info;
	size_t len = 0;
	uint8_t *text = NULL;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", run->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK |
				O_NOFOLLOW);
	if (fd < 0)
		return 0;
	if (fstat(fd, &info) == 0 && is_map_of(run, &info))
		text = malloc((size_t)info.st_size);
	while (text && len < (size_t)info.st_size &&
	       (n = read(fd, text + len, (size_t)info.st_size - len)) > 0)
		len += (size_t)n;
	close(fd);
	return text ? add_text(jit, text, len) : 0;
}

/* --- objects ------------------------------------------------------------- */

static int add_ranges(struct jit *jit, const struct elf_file *file,
		      uint32_t number)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(file->elf, section))) {
		GElf_Shdr header;
		uint64_t end;

		if (gelf_getshdr(section, &header) &&
		    (header.sh_flags & SHF_ALLOC) &&
		    (header.sh_flags & SHF_EXECINSTR) &&
		    !__builtin_add_overflow(header.sh_addr, header.sh_size,
					    &end) &&
		    range_table_add(&jit->ranges, header.sh_addr, end, number))
			return -ENOMEM;
	}
	return 0;
}

/* What its code covers is read now; the rest is read again when it is needed:
   there may be thousands.  Return: 0 or -ENOMEM. */
static int add_object(struct jit *jit, const struct kept_file *kept)
{
	struct jit_object *object = vec_push(&jit->objects);
	const char *note;
	struct elf_file *file;
	int error;

	if (!object)
		return -ENOMEM;
	object->file = kept;
	file = elf_file_open_kept(kept, ELF_FILE_AUXILIARY, &note);
	if (!file)
		return 0;
	error = add_ranges(jit, file, (uint32_t)(jit->objects.count - 1));
	elf_file_close(file);
	return error;
}

/* --- all ----------------------------------------------------------------- */

static int load(struct jit *jit, const struct jit_run *run)
{
	bool has_map = false;
	int error = 0;

	for (size_t i = 0; i < run->file_count && !error; i++) {
		const struct kept_file *file = &run->files[i];
		uint8_t *text;

		if (file->kind == KEPT_JIT_OBJECT && file->is_whole)
			error = add_object(jit, file);
		if (file->kind != KEPT_PERF_MAP)
			continue;
		has_map = true;
		if (file->bytes <= MAP_BYTES_MAX && kept_load(file, &text) == 0)
			error = add_text(jit, text, file->bytes);
	}
	if (!error && !has_map && run->pid)
		error = add_file(jit, run);
	range_table_ready(&jit->ranges);
	return error ? error : perf_map_ready(&jit->map);
}

struct jit *jit_new(const struct jit_run *run)
{
	struct jit *jit = calloc(1, sizeof(*jit));

	if (jit && load(jit, run)) {
		jit_free(jit);
		return NULL;
	}
	return jit;
}

void jit_free(struct jit *jit)
{
	if (!jit)
		return;
	for (size_t i = 0; i < jit->objects.count; i++)
		image_close(jit->objects.items[i].image);
	vec_done(&jit->objects);
	range_table_done(&jit->ranges);
	perf_map_done(&jit->map);
	for (size_t i = 0; i < jit->texts.count; i++)
		free(jit->texts.items[i]);
	vec_done(&jit->texts);
	free(jit);
}

/* Memory of code is used again: the last object counts. */
static int find_in_objects(struct jit *jit, struct names *names, uint64_t addr,
			   struct code_frames *ret)
{
	struct range_cursor cursor = range_table_seek(&jit->ranges, addr);
	struct jit_object *last = NULL;
	uint32_t number;

	while (range_table_next(&jit->ranges, addr, &cursor, &number))
		if (!last || last < &jit->objects.items[number])
			last = &jit->objects.items[number];
	if (!last)
		return 0;
	if (!last->image)
		last->image = image_open_object(last->file, names);
	return last->image ? image_find(last->image, names, addr, ret)
			   : -ENOMEM;
}

/* Runtimes write names for people; compilers, linker names. */
static const char *map_name(struct names *names,
			    const struct perf_map_entry *entry)
{
	const char *text;
	char *copy;

	if (entry->name_len < 2 || entry->name[0] != '_' ||
	    (entry->name[1] != 'Z' && entry->name[1] != 'R'))
		return names_text(names, entry->name, entry->name_len);
	copy = strndup(entry->name, entry->name_len);
	text = copy ? names_function(names, copy) : NULL;
	free(copy);
	return text;
}

int jit_find(struct jit *jit, struct names *names, uint64_t addr,
	     struct code_frames *ret)
{
	const struct perf_map_entry *entry;
	struct code_frame *frame;
	int error;

	ret->count = 0;
	error = find_in_objects(jit, names, addr, ret);
	if (error || ret->count)
		return error;
	entry = perf_map_find(&jit->map, addr);
	if (!entry)
		return 0;
	frame = vec_push(ret);
	if (!frame)
		return -ENOMEM;
	frame->function = map_name(names, entry);
	return frame->function ? 0 : -ENOMEM;
}
