/* SPDX-License-Identifier: MIT */
#include "report/output_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/core/diag.h"
#include "report/core/text.h"

static int fail(const struct output_file *out, int error, struct diag *diag)
{
	return diag_set(diag, error, out->path, DIAG_NO_OFFSET,
			"cannot write: %s", strerror(-error));
}

/* Return: ".NAME.tmp" beside @path; NULL when out of memory. */
static char *temporary_name(const char *path)
{
	const char *base = text_basename(path);
	size_t size = strlen(path) + sizeof("..tmp");
	char *name = malloc(size);

	if (name)
		snprintf(name, size, "%.*s.%s.tmp", (int)(base - path), path,
			 base);
	return name;
}

/* Another file in the place of one that is there has its rights. */
static void take_mode(const struct output_file *out, const struct stat *info)
{
	if (fchmod(fileno(out->file), info->st_mode & 07777))
		return; /* some file systems have none */
}

int output_file_open(struct output_file *out, const char *path,
		     struct diag *diag)
{
	struct stat info;
	bool is_there = lstat(path, &info) == 0;

	*out = (struct output_file){ .path = path };
	if (!is_there || (S_ISREG(info.st_mode) && info.st_nlink == 1)) {
		out->temporary = temporary_name(path);
		if (!out->temporary)
			return fail(out, -ENOMEM, diag);
		out->file = leftover_create(&out->leftover, out->temporary);
	}
	if (out->file && is_there)
		take_mode(out, &info);
	if (!out->file) { /* or the directory takes no file */
		free(out->temporary);
		out->temporary = NULL;
		out->file = fopen(path, "wbe");
	}
	if (!out->file)
		return fail(out, -errno, diag);
	sink_init_file(&out->sink, out->file);
	return 0;
}

/* Half a file is worse than none; what is not a file stays. */
static void remove_half(const struct output_file *out)
{
	struct stat info;

	if (out->temporary)
		unlink(out->temporary);
	else if (lstat(out->path, &info) == 0 && S_ISREG(info.st_mode))
		unlink(out->path);
}

int output_file_close(struct output_file *out, int status, struct diag *diag)
{
	int done = sink_done(&out->sink);

	if (fclose(out->file) && !done)
		done = -errno;
	if (status == 0 && done)
		status = fail(out, done, diag);
	if (status == 0 && out->temporary &&
	    rename(out->temporary, out->path))
		status = fail(out, -errno, diag);
	if (status)
		remove_half(out);
	leftover_settle(&out->leftover);
	free(out->temporary);
	return status;
}
