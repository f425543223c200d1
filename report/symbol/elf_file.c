/* SPDX-License-Identifier: MIT */
#include "report/symbol/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>

#include "report/core/kept.h"
#include "report/core/memory.h"
#include "report/core/module.h"

/* O_NONBLOCK: a FIFO must not stop the report. */
static int open_regular(const char *path, const char **ret_note)
{
	struct stat info;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0) {
		*ret_note = errno == ENOENT || errno == ENOTDIR ? "no such file"
			    : errno == EACCES || errno == EPERM
				? "no permission to read the file"
				: "the file cannot be opened";
		return -1;
	}
	if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode)) {
		*ret_note = "not a regular file";
		close(fd);
		return -1;
	}
	return fd;
}

/* Return: NULL if @elf is of a kind that can be read, otherwise why not. */
static const char *kind_objection(Elf *elf, enum elf_file_kind kind,
				  uint16_t *ret_machine)
{
	GElf_Ehdr header;

	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
		return "not an ELF file";
	if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    (header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64))
		return "the file is for another architecture";
	if (kind == ELF_FILE_LOADED && header.e_type != ET_EXEC &&
	    header.e_type != ET_DYN)
		return "neither an executable nor a shared library";
	*ret_machine = header.e_machine;
	return NULL;
}

/* Return: a file with nothing in it, NULL when out of memory. */
static struct elf_file *file_new(const char **ret_note)
{
	struct elf_file *file = calloc(1, sizeof(*file));

	if (!file || elf_version(EV_CURRENT) == EV_NONE) {
		*ret_note = "out of memory";
		free(file);
		return NULL;
	}
	file->fd = -1;
	return file;
}

/* Return: @file with all members filled; NULL if it is of no use, and then it
   is closed. */
static struct elf_file *file_check(struct elf_file *file, const char *path,
				   enum elf_file_kind kind,
				   const char **ret_note)
{
	const char *objection;
	ssize_t id_len;

	file->path = strdup(path);
	objection = !file->path ? "out of memory"
		    : !file->elf
			? "not an ELF file"
			: kind_objection(file->elf, kind, &file->machine);
	if (objection) {
		*ret_note = objection;
		elf_file_close(file);
		return NULL;
	}
	id_len = dwelf_elf_gnu_build_id(file->elf, &file->build_id);
	if (id_len > 0)
		file->build_id_len = (size_t)id_len;
	else
		file->build_id = NULL;
	return file;
}

struct elf_file *elf_file_open(const char *path, enum elf_file_kind kind,
			       const char **ret_note)
{
	struct elf_file *file = file_new(ret_note);

	if (!file)
		return NULL;
	file->fd = open_regular(path, ret_note);
	if (file->fd < 0) {
		elf_file_close(file);
		return NULL;
	}
	file->elf = elf_begin(file->fd, ELF_C_READ_MMAP_PRIVATE, NULL);
	return file_check(file, path, kind, ret_note);
}

struct elf_file *elf_file_open_kept(const struct kept_file *kept,
				    enum elf_file_kind kind,
				    const char **ret_note)
{
	struct elf_file *file = file_new(ret_note);

	if (!file)
		return NULL;
	if (kept_load(kept, &file->bytes)) {
		*ret_note = "the file in the trace cannot be read";
		elf_file_close(file);
		return NULL;
	}
	file->elf = elf_memory((char *)file->bytes, kept->bytes);
	return file_check(file, kept->path, kind, ret_note);
}

void elf_file_close(struct elf_file *file)
{
	if (!file)
		return;
	if (file->dwarf)
		dwarf_end(file->dwarf);
	if (file->elf)
		elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	inflated_done(&file->inflated);
	free(file->bytes);
	free(file->path);
	free(file);
}

void elf_file_settle(struct elf_file *file)
{
	if (file->fd < 0 || elf_cntl(file->elf, ELF_C_FDREAD) != 0)
		return;
	close(file->fd);
	file->fd = -1;
}

Elf_Scn *elf_file_section(Elf *elf, const char *name)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *found;

		if (!gelf_getshdr(section, &header) ||
		    header.sh_type == SHT_NOBITS || !header.sh_size)
			continue;
		found = elf_strptr(elf, names, header.sh_name);
		if (found && strcmp(found, name) == 0)
			return section;
	}
	return NULL;
}

Elf_Data *elf_file_data(Elf *elf, const char *name)
{
	Elf_Scn *section = elf_file_section(elf, name);
	GElf_Shdr header;
	Elf_Data *data;

	if (!section || !gelf_getshdr(section, &header))
		return NULL;
	if ((header.sh_flags & SHF_COMPRESSED) &&
	    elf_compress(section, 0, 0) < 0)
		return NULL;
	data = elf_rawdata(section, NULL);
	return data && data->d_buf && data->d_size ? data : NULL;
}

bool elf_file_has_symbols(Elf *elf, uint32_t type)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) && header.sh_type == type &&
		    header.sh_size)
			return true;
	}
	return false;
}

/* libdw decompresses all sections that it knows when it begins.  Those that
   nobody asks for are a fifth of them: they are hidden from it, in a private
   copy of the section headers. */
static void hide_unused(Elf *elf)
{
	static const char *const unused[] = {
		".debug_frame", ".debug_loc",	   ".debug_loclists",
		".debug_macro", ".debug_pubnames",
	};

	for (size_t i = 0; i < sizeof(unused) / sizeof(unused[0]); i++) {
		Elf_Scn *section = elf_file_section(elf, unused[i]);
		GElf_Shdr header;

		if (!section || !gelf_getshdr(section, &header))
			continue;
		header.sh_type = SHT_NOBITS;
		gelf_update_shdr(section, &header);
	}
}

Dwarf *elf_file_dwarf(struct elf_file *file)
{
	if (file->dwarf_tried)
		return file->dwarf;
	file->dwarf_tried = true;
	if (elf_file_section(file->elf, ".debug_info") ||
	    elf_file_section(file->elf, ".zdebug_info")) {
		hide_unused(file->elf);
		inflated_add(&file->inflated, file->elf);
		file->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
		if (file->dwarf) /* its own ends with another status */
			dwarf_new_oom_handler(file->dwarf, memory_end);
	}
	return file->dwarf;
}

/* Whether the n-th loaded segment of the file begins where the n-th of the
   module did.  Sizes in files of debug information only may differ. */
static bool segments_fit(Elf *elf, const struct module *module)
{
	size_t count, next = 0;

	if (elf_getphdrnum(elf, &count) < 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(elf, (int)i, &header))
			return false;
		if (header.p_type != PT_LOAD)
			continue;
		if (next >= module->segment_count ||
		    module->segments[next].vaddr != header.p_vaddr ||
		    module->segments[next].mem_bytes != header.p_memsz)
			return false;
		next++;
	}
	return next == module->segment_count;
}

bool elf_file_fits(const struct elf_file *file, const struct module *module)
{
	if (module->build_id_len)
		return file->build_id_len == module->build_id_len &&
		       memcmp(file->build_id, module->build_id,
			      module->build_id_len) == 0;
	if (module->segment_count)
		return segments_fit(file->elf, module);
	return true;
}
