/* SPDX-License-Identifier: MIT */
#include "report/manifest.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "report/core/diag.h"

static bool is_listed(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* A manifest may have been edited: nothing outside the directory. */
static bool is_base_name(const char *name)
{
	return name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0;
}

static void remove_stale(const char *directory, FILE *old,
			 const char *const *names, size_t count)
{
	char line[NAME_MAX + 2], path[PATH_MAX];

	while (fgets(line, sizeof(line), old)) {
		line[strcspn(line, "\n")] = '\0';
		if (!is_base_name(line) || is_listed(line, names, count))
			continue;
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory,
				     line) < sizeof(path))
			unlink(path);
	}
}

int manifest_update(const char *directory, const char *const *names,
		    size_t count, struct diag *diag)
{
	char path[PATH_MAX];
	FILE *file;
	int error = 0;

	if ((size_t)snprintf(path, sizeof(path), "%s/" MANIFEST_NAME,
			     directory) >= sizeof(path))
		return diag_set(diag, -ENAMETOOLONG, directory, DIAG_NO_OFFSET,
				"path too long");
	file = fopen(path, "re");
	if (file) {
		remove_stale(directory, file, names, count);
		fclose(file);
	}
	file = fopen(path, "we");
	if (!file)
		return diag_set(diag, -errno, path, DIAG_NO_OFFSET,
				"cannot write: %s", strerror(errno));
	for (size_t i = 0; i < count; i++)
		fprintf(file, "%s\n", names[i]);
	if (ferror(file))
		error = -EIO;
	if (fclose(file) && !error)
		error = -errno;
	if (error)
		diag_set(diag, error, path, DIAG_NO_OFFSET, "cannot write: %s",
			 strerror(-error));
	return error;
}
