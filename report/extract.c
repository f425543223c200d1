/* SPDX-License-Identifier: MIT */
#include "report/extract.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/core/diag.h"
#include "report/core/kept.h"
#include "report/core/units.h"
#include "report/event/run.h"
#include "report/report_files.h"
#include "report/symbol/text_table.h"

/* A trace of a megabyte can hold a terabyte of zeros. */
#define BYTES_MAX ((uint64_t)64 << 30)

/**
 * struct extraction
 * @root:  the directory
 * @names: below it, of what was written: keys are values
 * @arena: owns them
 */
struct extraction {
	const char *directory;
	int root;
	struct text_table names;
	struct arena arena;
	FILE *out;
};

/* --- names --------------------------------------------------------------- */

/* Copies the parts of @path that name something; what leads up does not.
   Return: NULL when out of memory. */
static char *plain_path(struct arena *arena, const char *path)
{
	char *result = arena_alloc(arena, strlen(path) + 2);
	size_t len = 0;

	if (!result)
		return NULL;
	while (*path) {
		size_t part = strcspn(path, "/");
		bool is_up = part == 2 && memcmp(path, "..", 2) == 0;

		if (part && !is_up && !(part == 1 && path[0] == '.')) {
			if (len)
				result[len++] = '/';
			memcpy(result + len, path, part);
			len += part;
		}
		path += part;
		path += *path == '/';
	}
	if (!len)
		result[len++] = '_';
	return result;
}

/* Return: where @file goes, below the directory; NULL when out of memory. */
static const char *choose_name(struct extraction *extraction,
			       const struct kept_file *file)
{
	struct arena *arena = &extraction->arena;
	const char *base, *name;

	base = file->name[0] ? plain_path(arena, file->name)
			     : arena_printf(arena, "jit/%012" PRIx64,
					    file->addr);
	name = base;
	for (unsigned n = 2; name; n++) {
		size_t len = strlen(name);

		if (!text_table_find(&extraction->names, name, len))
			return text_table_add(&extraction->names, name, len,
					      name);
		name = arena_printf(arena, "%s.%u", base, n);
	}
	return NULL;
}

/* --- files --------------------------------------------------------------- */

/* Return: a descriptor of the directory that @name is to lie in, made if need
   be; or -errno. */
static int open_parent(int root, const char *name)
{
	int at = fcntl(root, F_DUPFD_CLOEXEC, 0);
	size_t len;

	for (; at >= 0 && name[len = strcspn(name, "/")]; name += len + 1) {
		char *part = strndup(name, len);
		int next = -1, error = ENOMEM;

		if (part && (mkdirat(at, part, 0777) == 0 || errno == EEXIST))
			next = openat(at, part,
				      O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
					      O_CLOEXEC);
		if (part && next < 0)
			error = errno;
		free(part);
		close(at);
		if (next < 0)
			return -error;
		at = next;
	}
	return at < 0 ? -errno : at;
}

/* Return: a descriptor of a new file called @name, in the place of an old one;
   or -errno. */
static int create(int root, const char *name)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	const char *slash = strrchr(name, '/');
	const char *base = slash ? slash + 1 : name;
	int parent = open_parent(root, name);
	int fd;

	if (parent < 0)
		return parent;
	fd = openat(parent, base, flags, 0666);
	if (fd < 0 && errno == EEXIST && unlinkat(parent, base, 0) == 0)
		fd = openat(parent, base, flags, 0666);
	if (fd < 0)
		fd = -errno;
	close(parent);
	return fd;
}

static int write_all(int fd, const uint8_t *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Part by part: a file may be larger than memory. */
static int write_parts(int fd, const struct kept_file *file)
{
	int error = 0;

	for (size_t i = 0; i < file->part_count && !error; i++) {
		const struct kept_part *part = &file->parts[i];
		uint8_t *bytes = malloc((size_t)part->len + 1);

		error = bytes ? file->read(file, part, bytes) : -ENOMEM;
		if (!error)
			error = write_all(fd, bytes, part->len);
		free(bytes);
	}
	return error;
}

/* Return: -ENOMEM, or another negative errno of this file alone. */
static int extract_file(struct extraction *extraction,
			const struct kept_file *file, struct diag *diag)
{
	const char *name = choose_name(extraction, file);
	char size[UNITS_TEXT_SIZE];
	const char *path;
	int fd, error;

	if (!name)
		return -ENOMEM;
	fd = create(extraction->root, name);
	error = fd < 0 ? fd : write_parts(fd, file);
	if (fd >= 0 && close(fd) && !error)
		error = -errno;
	path = arena_printf(&extraction->arena, "%s/%s", extraction->directory,
			    name);
	if (!path)
		return -ENOMEM;
	if (error)
		return diag_set(diag, error, path, DIAG_NO_OFFSET,
				"cannot write: %s", strerror(-error));
	if (!extraction->out)
		return 0;
	units_format_bytes(size, sizeof(size), file->bytes);
	fprintf(extraction->out, "%s  %s, %s%s\n", path,
		kept_kind_name(file->kind), size,
		!file->is_whole ? ", incomplete"
		: file->is_cut	? ", its beginning"
				: "");
	return 0;
}

static int extract_all(struct extraction *extraction, const struct run *run,
		       struct findings *more, struct diag *diag)
{
	uint64_t bytes = 0;
	int result = 0;

	for (size_t i = 0; i < run->file_count; i++) {
		struct diag own = { .offset = DIAG_NO_OFFSET };
		bool is_too_much = run->files[i].bytes > BYTES_MAX - bytes;
		int error;

		if (is_too_much)
			error = diag_set(&own, -EFBIG, run->trace_path,
					 DIAG_NO_OFFSET,
					 "holds more than 64 GiB of files; the "
					 "rest is not written");
		else
			error = extract_file(extraction, &run->files[i], &own);
		bytes += run->files[i].bytes;
		if (error && result)
			findings_add_diag(more, &own);
		else if (error)
			*diag = own;
		result = result ? result : error;
		if (error == -ENOMEM || is_too_much)
			return error;
	}
	return result;
}

int extract_files(const struct run *run, const char *directory, FILE *out,
		  struct findings *more, struct diag *diag)
{
	struct extraction extraction = { .directory = directory, .out = out };
	int error;

	if (!run->file_count) {
		if (out)
			fprintf(out, "%s: holds no files\n", run->trace_path);
		return 0;
	}
	error = report_files_make_directory(directory, diag);
	if (error)
		return error;
	extraction.root = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (extraction.root < 0)
		return diag_set(diag, -errno, directory, DIAG_NO_OFFSET,
				"cannot be opened: %s", strerror(errno));
	error = extract_all(&extraction, run, more, diag);
	if (error == -ENOMEM && !diag->text[0])
		diag_set(diag, error, run->trace_path, DIAG_NO_OFFSET,
			 "out of memory");
	close(extraction.root);
	text_table_done(&extraction.names);
	arena_done(&extraction.arena);
	return error;
}
