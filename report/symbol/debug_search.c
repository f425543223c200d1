/* SPDX-License-Identifier: MIT */
#include "report/symbol/debug_search.h"

#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <elfutils/libdwelf.h>

#include "report/core/module.h"
#include "report/core/text.h"
#include "report/symbol/crc32.h"
#include "report/symbol/elf_file.h"

#define SYSTEM_DEBUG_DIR "/usr/lib/debug"

enum { BUILD_ID_MAX = 64 };

static bool path_print(char path[static PATH_MAX], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Return: whether all of it fitted. */
static bool path_print(char path[static PATH_MAX], const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(path, PATH_MAX, format, args);
	va_end(args);
	return len > 0 && len < PATH_MAX;
}

/* "DIR/.build-id/xx/yyyy.debug"; @is_cache: "DIR/xxyyyy/debuginfo", as debuginfod's
   clients keep what they fetched. */
static bool path_by_build_id(char path[static PATH_MAX], const char *dir,
			     const uint8_t *id, size_t id_len, bool is_cache)
{
	char digits[2 * BUILD_ID_MAX + 1];

	if (id_len < 2 || id_len > BUILD_ID_MAX)
		return false;
	for (size_t i = 0; i < id_len; i++)
		snprintf(digits + 2 * i, 3, "%02x", id[i]);
	return is_cache ? path_print(path, "%s/%s/debuginfo", dir, digits)
			: path_print(path, "%s/.build-id/%.2s/%s.debug", dir,
				     digits, digits + 2);
}

/* The build ID that a file must have; NULL if nobody knows. */
static const uint8_t *wanted_id(const struct debug_search *search,
				size_t *ret_len)
{
	if (search->module->build_id_len) {
		*ret_len = search->module->build_id_len;
		return search->module->build_id;
	}
	*ret_len = search->main ? search->main->build_id_len : 0;
	return *ret_len ? search->main->build_id : NULL;
}

/* @checksum: of the debug link that led to @file, NULL if none did. */
static bool is_match(const struct debug_search *search,
		     const struct elf_file *file, const uint32_t *checksum)
{
	size_t id_len;
	const uint8_t *id = wanted_id(search, &id_len);
	uint32_t sum;

	if (search->main && search->main->machine != file->machine)
		return false;
	if (id && file->build_id_len)
		return file->build_id_len == id_len &&
		       memcmp(file->build_id, id, id_len) == 0;
	if (checksum)
		return crc32_file(file->path, &sum) == 0 && sum == *checksum;
	return !id && elf_file_fits(file, search->module);
}

static bool try_file(struct debug_search *search, const char *path,
		     const uint32_t *checksum)
{
	const char *note;
	struct elf_file *file = elf_file_open(path, ELF_FILE_LOADED, &note);

	if (!file)
		return false;
	if (!is_match(search, file, checksum)) {
		search->mismatch = true;
	} else if (elf_file_dwarf(file)) {
		search->found = file;
		return true;
	} else if (!search->symbols &&
		   elf_file_has_symbols(file->elf, SHT_SYMTAB)) {
		search->symbols = file;
		return false;
	}
	elf_file_close(file);
	return false;
}

static bool try_build_id(struct debug_search *search, const char *dir,
			 bool is_cache)
{
	char path[PATH_MAX];
	size_t id_len;
	const uint8_t *id = wanted_id(search, &id_len);

	return id && path_by_build_id(path, dir, id, id_len, is_cache) &&
	       try_file(search, path, NULL);
}

bool debug_search_user(struct debug_search *search)
{
	const char *name = search->module->path;
	const char *base = text_basename(name);
	char path[PATH_MAX];

	name += strspn(name, "/");
	for (size_t i = 0; i < search->dir_count; i++) {
		const char *dir = search->dirs[i];

		if (try_build_id(search, dir, false) ||
		    try_build_id(search, dir, true) ||
		    (path_print(path, "%s/%s.debug", dir, name) &&
		     try_file(search, path, NULL)) ||
		    (path_print(path, "%s/%s.debug", dir, base) &&
		     try_file(search, path, NULL)) ||
		    (path_print(path, "%s/%s", dir, base) &&
		     try_file(search, path, NULL)) ||
		    (path_print(path, "%s/%s", dir, name) &&
		     try_file(search, path, NULL)))
			return true;
	}
	return false;
}

/* The places of a debug link called @name, nearest first. */
static bool try_link(struct debug_search *search, const char *name,
		     const uint32_t *checksum)
{
	const char *file = search->main->path;
	const char *slash = strrchr(file, '/');
	int dir_len = slash ? (int)(slash - file) : 0;
	char path[PATH_MAX];

	for (size_t i = 0; i < search->dir_count; i++)
		if ((path_print(path, "%s%.*s/%s", search->dirs[i], dir_len,
				file, name) &&
		     try_file(search, path, checksum)) ||
		    (path_print(path, "%s/%s", search->dirs[i], name) &&
		     try_file(search, path, checksum)))
			return true;
	if (!slash)
		return false;
	return (path_print(path, "%.*s/%s", dir_len, file, name) &&
		strcmp(path, file) != 0 && try_file(search, path, checksum)) ||
	       (path_print(path, "%.*s/.debug/%s", dir_len, file, name) &&
		try_file(search, path, checksum)) ||
	       (path_print(path, SYSTEM_DEBUG_DIR "%.*s/%s", dir_len, file,
			   name) &&
		try_file(search, path, checksum));
}

bool debug_search_system(struct debug_search *search)
{
	GElf_Word checksum;
	const char *name;
	uint32_t sum;

	if (try_build_id(search, SYSTEM_DEBUG_DIR, false))
		return true;
	if (!search->main)
		return false;
	name = dwelf_elf_gnu_debuglink(search->main->elf, &checksum);
	if (!name || !name[0] || strchr(name, '/'))
		return false;
	sum = checksum;
	return try_link(search, name, &sum);
}

/* --- the shared file ----------------------------------------------------- */

static struct elf_file *try_alt(const char *path, const void *id, size_t id_len)
{
	const char *note;
	struct elf_file *file = elf_file_open(path, ELF_FILE_AUXILIARY, &note);

	if (file && file->build_id_len == id_len &&
	    memcmp(file->build_id, id, id_len) == 0 && elf_file_dwarf(file))
		return file;
	elf_file_close(file);
	return NULL;
}

static struct elf_file *try_alt_in(const char *dir, const char *name,
				   const void *id, size_t id_len)
{
	const char *below = strstr(name, "/.dwz/");
	struct elf_file *file = NULL;
	char path[PATH_MAX];

	if (path_by_build_id(path, dir, id, id_len, false))
		file = try_alt(path, id, id_len);
	if (!file && path_by_build_id(path, dir, id, id_len, true))
		file = try_alt(path, id, id_len);
	if (!file && below && path_print(path, "%s%s", dir, below))
		file = try_alt(path, id, id_len);
	if (!file && path_print(path, "%s/%s", dir, text_basename(name)))
		file = try_alt(path, id, id_len);
	return file;
}

/* The place as libdw reads it: relative to the real place of @file. */
static bool alt_place(char path[static PATH_MAX], const struct elf_file *file,
		      const char *name)
{
	char real[PATH_MAX];
	const char *slash;

	if (name[0] == '/')
		return path_print(path, "%s", name);
	if (!realpath(file->path, real))
		return false;
	slash = strrchr(real, '/');
	return slash &&
	       path_print(path, "%.*s/%s", (int)(slash - real), real, name);
}

struct elf_file *debug_search_alt(const struct debug_search *search,
				  struct elf_file *file, bool *ret_trap)
{
	struct elf_file *alt = NULL;
	char path[PATH_MAX];
	struct stat info;
	const char *name;
	const void *id;
	ssize_t id_len = dwelf_dwarf_gnu_debugaltlink(file->dwarf, &name, &id);

	*ret_trap = false;
	if (id_len <= 0 || !name[0])
		return NULL;
	for (size_t i = 0; !alt && i < search->dir_count; i++)
		alt = try_alt_in(search->dirs[i], name, id, (size_t)id_len);
	if (!alt)
		alt = try_alt_in(SYSTEM_DEBUG_DIR, name, id, (size_t)id_len);
	if (alt || !alt_place(path, file, name))
		return alt;
	alt = try_alt(path, id, (size_t)id_len);
	*ret_trap = !alt && stat(path, &info) == 0 && !S_ISREG(info.st_mode);
	return alt;
}
