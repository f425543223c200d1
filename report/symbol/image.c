/* SPDX-License-Identifier: MIT */
#include "report/symbol/image.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/kept.h"
#include "report/core/module.h"
#include "report/core/vec.h"
#include "report/symbol/debug_search.h"
#include "report/symbol/dwarf_index.h"
#include "report/symbol/elf_file.h"
#include "report/symbol/names.h"

/* /proc says this of files that were replaced while the program ran. */
static char *without_deleted_mark(const char *path)
{
	static const char mark[] = " (deleted)";
	size_t len = strlen(path);

	if (len <= sizeof(mark) - 1 ||
	    strcmp(path + len - (sizeof(mark) - 1), mark) != 0)
		return NULL;
	return strndup(path, len - (sizeof(mark) - 1));
}

static void open_main(struct image *image, const struct module *module)
{
	char *plain = without_deleted_mark(module->path);

	if (module->is_vdso || !module->path[0]) {
		image->note = "part of the kernel, no file";
		free(plain);
		return;
	}
	image->main =
	    elf_file_open(module->path, ELF_FILE_LOADED, &image->note);
	if (!image->main && plain && module->build_id_len)
		image->main =
		    elf_file_open(plain, ELF_FILE_LOADED, &image->note);
	free(plain);
	if (image->main && !elf_file_fits(image->main, module)) {
		image->note = module->build_id_len
				  ? "build ID differs: file was rebuilt"
				  : "segments differ: file was rebuilt";
		elf_file_close(image->main);
		image->main = NULL;
		image->is_rebuilt = true;
	}
}

static bool is_kept_for(const struct kept_file *kept,
			const struct module *module)
{
	if (kept->kind != KEPT_BINARY || !kept->is_whole || kept->is_cut)
		return false;
	if (module->build_id_len)
		return kept->build_id_len == module->build_id_len &&
		       memcmp(kept->build_id, module->build_id,
			      module->build_id_len) == 0;
	return strcmp(kept->path, module->path) == 0;
}

/* Takes the file from the trace, where there is none that fits. */
static void open_kept(struct image *image, const struct module *module,
		      const struct image_places *places)
{
	for (size_t i = places->kept_count; i-- > 0 && !image->main;) {
		const char *note;

		if (!is_kept_for(&places->kept[i], module))
			continue;
		image->main = elf_file_open_kept(&places->kept[i],
						 ELF_FILE_LOADED, &note);
		if (image->main && !elf_file_fits(image->main, module)) {
			elf_file_close(image->main);
			image->main = NULL;
		}
		if (image->main)
			image->note = "";
	}
}

/* Lowest address of code, 0 if unknown. */
static uint64_t code_start(Elf *elf)
{
	uint64_t lowest = UINT64_MAX;
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) &&
		    (header.sh_flags & SHF_ALLOC) &&
		    (header.sh_flags & SHF_EXECINSTR) &&
		    header.sh_addr < lowest)
			lowest = header.sh_addr;
	}
	return lowest == UINT64_MAX ? 0 : lowest;
}

/* Takes debug information from @file, which @image owns already. */
static void use_dwarf(struct image *image, struct elf_file *file,
		      const struct debug_search *search, struct names *names)
{
	bool is_trap;

	image->alt = debug_search_alt(search, file, &is_trap);
	if (is_trap) {
		image->note = "debug information links to a special file";
		return;
	}
	if (image->alt)
		dwarf_setalt(file->dwarf, image->alt->dwarf);
	image->index =
	    dwarf_index_new(file->dwarf, image->alt ? image->alt->dwarf : NULL,
			    names, code_start(file->elf));
	if (image->index)
		image->debug_path = file->path;
	else
		image->note = "debug information cannot be read";
}

static void open_debug(struct image *image, struct debug_search *search,
		       struct names *names)
{
	struct elf_file *file = NULL;

	if (debug_search_user(search) ||
	    (!(image->main && elf_file_dwarf(image->main)) &&
	     debug_search_system(search))) {
		image->debug = search->found;
		file = image->debug;
	} else if (image->main && image->main->dwarf) {
		file = image->main;
	}
	image->symbols = search->symbols;
	if (file)
		use_dwarf(image, file, search, names);
}

/* The fullest symbol table there is; out of memory leaves fewer symbols. */
static const char *open_symbols(struct image *image)
{
	struct elf_file *full[] = {image->main, image->debug, image->symbols};
	const char *kind = "no symbols";

	for (size_t i = 0; i < sizeof(full) / sizeof(full[0]); i++) {
		if (!full[i])
			continue;
		symtab_add(&image->symtab, full[i]->elf, SHT_SYMTAB);
		if (!image->symtab.count)
			continue;
		symtab_ready(&image->symtab);
		return "no debug information";
	}
	if (!image->main)
		return kind;
	symtab_add(&image->symtab, image->main->elf, SHT_DYNSYM);
	if (image->symtab.count)
		kind = "stripped: exported functions only";
	image->minidebug =
	    symtab_minidebug(image->main->elf, &image->minidebug_bytes);
	if (image->minidebug) {
		symtab_add(&image->symtab, image->minidebug, SHT_SYMTAB);
		kind = "stripped: functions from .gnu_debugdata";
	}
	symtab_ready(&image->symtab);
	return kind;
}

struct image *image_open(const struct module *module,
			 const struct image_places *places, struct names *names)
{
	struct debug_search search = {
	    .module = module,
	    .dirs = places->dirs,
	    .dir_count = places->dir_count,
	};
	struct image *image = calloc(1, sizeof(*image));
	struct elf_file *files[4];
	const char *kind;

	if (!image)
		return NULL;
	image->note = "";
	open_main(image, module);
	if (module->is_vdso)
		return image;
	if (!image->main)
		open_kept(image, module, places);
	search.main = image->main;
	open_debug(image, &search, names);
	kind = open_symbols(image);
	if (image->index)
		image->note = "";
	else if (search.mismatch && !image->note[0])
		image->note = "debug file is of another build";
	else if (!image->note[0])
		image->note = kind;
	if (image->main || image->index || image->symtab.count)
		image->is_rebuilt = false;
	files[0] = image->main;
	files[1] = image->debug;
	files[2] = image->symbols;
	files[3] = image->alt;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (files[i])
			elf_file_settle(files[i]);
	return image;
}

/* Whether debug information lacks its addresses, which a linker or a debugger
   would have filled in. */
static bool has_relocations(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Ehdr file;

	if (!gelf_getehdr(elf, &file) || file.e_type != ET_REL)
		return false;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header, target;

		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_RELA || header.sh_type == SHT_REL) &&
		    gelf_getshdr(elf_getscn(elf, header.sh_info), &target) &&
		    !(target.sh_flags & SHF_ALLOC))
			return true;
	}
	return false;
}

struct image *image_open_object(const struct kept_file *object,
				struct names *names)
{
	struct image *image = calloc(1, sizeof(*image));
	const char *note;

	if (!image)
		return NULL;
	image->note = "";
	image->main = elf_file_open_kept(object, ELF_FILE_AUXILIARY, &note);
	if (!image->main)
		return image;
	symtab_add(&image->symtab, image->main->elf, SHT_SYMTAB);
	symtab_ready(&image->symtab);
	if (!has_relocations(image->main->elf) && elf_file_dwarf(image->main))
		image->index = dwarf_index_new(image->main->dwarf, NULL, names,
					       0);
	return image;
}

void image_close(struct image *image)
{
	if (!image)
		return;
	dwarf_index_free(image->index);
	symtab_done(&image->symtab);
	if (image->minidebug)
		elf_end(image->minidebug);
	free(image->minidebug_bytes);
	elf_file_close(image->debug);
	elf_file_close(image->main);
	elf_file_close(image->symbols);
	elf_file_close(image->alt);
	free(image);
}

int image_find(struct image *image, struct names *names, uint64_t addr,
	       struct code_frames *ret)
{
	const struct symtab_entry *symbol;
	struct code_frame *outermost;

	ret->count = 0;
	if (image->index && dwarf_index_find(image->index, addr, ret) < 0)
		return -ENOMEM;
	symbol = symtab_find(&image->symtab, addr);
	if (!symbol)
		return 0;
	/* For a static C++ function DWARF has no linker name, and so no
	   parameters: two overloads would read the same. */
	if (ret->count && ret->items[ret->count - 1].function &&
	    (strncmp(symbol->name, "_Z", 2) != 0 ||
	     strchr(ret->items[ret->count - 1].function, '(')))
		return 0;
	outermost = ret->count ? &ret->items[ret->count - 1] : vec_push(ret);
	if (!outermost)
		return -ENOMEM;
	outermost->function = names_function(names, symbol->name);
	return outermost->function ? 0 : -ENOMEM;
}
