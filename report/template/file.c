/* SPDX-License-Identifier: MIT */
#include "report/template/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "report/core/arena.h"
#include "report/core/diag.h"
#include "report/core/sink.h"
#include "report/template/builtin.h"

static int file_read(struct template_file *ret, FILE *file, const char *path,
		     struct arena *arena, struct diag *diag)
{
	struct sink sink;
	char chunk[8192];
	size_t got;
	int error = 0;

	sink_init_memory(&sink);
	while ((got = fread(chunk, 1, sizeof(chunk), file)) > 0) {
		sink_write(&sink, chunk, got);
		if (sink.len > TEMPLATE_FILE_BYTES_MAX)
			break;
	}
	if (ferror(file))
		error = diag_set(diag, errno ? -errno : -EIO, path,
				 DIAG_NO_OFFSET, "cannot be read: %s",
				 strerror(errno ? errno : EIO));
	else if (sink.len > TEMPLATE_FILE_BYTES_MAX)
		error = diag_set(diag, -EFBIG, path, DIAG_NO_OFFSET,
				 "a template is at most %d bytes long",
				 TEMPLATE_FILE_BYTES_MAX);
	else if (sink.len && memchr(sink.data, '\0', sink.len))
		error = diag_set(diag, -EINVAL, path, DIAG_NO_OFFSET,
				 "not a text file: holds a NUL byte");
	else if (sink.error)
		error = sink.error;
	if (!error) {
		ret->path = path;
		ret->len = sink.len;
		ret->text = arena_copy(arena, sink.len ? sink.data : "",
				       sink.len);
		error = ret->text ? 0 : -ENOMEM;
	}
	sink_done(&sink);
	return error;
}

static int file_builtin(struct template_file *ret, const char *name,
			struct arena *arena, struct diag *diag)
{
	for (size_t i = 0; i < builtin_file_count; i++) {
		const struct builtin_file *file = &builtin_files[i];

		if (strcmp(file->name, name) != 0)
			continue;
		ret->path = arena_printf(arena, "%s (built in)", name);
		ret->text = file->data;
		ret->len = (size_t)(file->end - file->data);
		return ret->path ? 0 : -ENOMEM;
	}
	return diag_set(diag, -ENOENT, name, DIAG_NO_OFFSET,
			"no such template, neither built in nor in the "
			"directory of templates");
}

int template_file_load(struct template_file *ret, const char *dir,
		       const char *name, struct arena *arena,
		       struct diag *diag)
{
	const char *path;
	FILE *file;
	int error;

	if (!dir)
		return file_builtin(ret, name, arena, diag);
	path = arena_printf(arena, "%s/%s", dir, name);
	if (!path)
		return -ENOMEM;
	file = fopen(path, "re");
	if (!file && errno == ENOENT)
		return file_builtin(ret, name, arena, diag);
	if (!file)
		return diag_set(diag, -errno, path, DIAG_NO_OFFSET,
				"cannot be opened: %s", strerror(errno));
	errno = 0;
	error = file_read(ret, file, path, arena, diag);
	fclose(file);
	return error;
}
