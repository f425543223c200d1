/* SPDX-License-Identifier: MIT */
#include "tracer/record/output.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/options.h"

/* Safety: system calls.  Return: errno for which no file can be made in the
   directory @path, or 0. */
static int check_directory(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return errno;
	if (!S_ISDIR(st.st_mode))
		return ENOTDIR;
	return access(path, W_OK | X_OK) != 0 ? errno : 0;
}

/* Safety: system calls.  Whether it is where messages go: by the name of
   /dev/stdout a regular file can be. */
static bool is_own_output(const struct stat *st)
{
	struct stat own;

	for (int fd = 1; fd <= 2; fd++)
		if (fstat(fd, &own) == 0 && own.st_dev == st->st_dev &&
		    own.st_ino == st->st_ino)
			return true;
	return false;
}

/*
 * A file that is there is overwritten, unless another process has it, and the
 * tracer takes another name.
 *
 * Safety: system calls.  Return: 0 or an errno.
 */
static int check_file(const char *path, const char *directory)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return errno == ENOENT ? check_directory(directory) : errno;
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	if (!S_ISREG(st.st_mode) || is_own_output(&st))
		return EEXIST;
	return access(path, W_OK) != 0 ? errno : 0;
}

/* Safety: pure.  @ret has room for twice as much.  Return: its end. */
static char *double_percents(char *ret, const char *path)
{
	for (; *path; path++) {
		if (*path == '%')
			*ret++ = '%';
		*ret++ = *path;
	}
	*ret = '\0';
	return ret;
}

char *output_make_absolute(const char *pattern)
{
	char directory[PATH_MAX], *ret, *p;

	if (pattern[0] == '/')
		return strdup(pattern);
	if (!getcwd(directory, sizeof(directory)))
		return NULL;
	ret = malloc(2 * strlen(directory) + strlen(pattern) + 2);
	if (!ret)
		return NULL;
	p = double_percents(ret, directory);
	if (p[-1] != '/')
		*p++ = '/';
	memcpy(p, pattern, strlen(pattern) + 1);
	return ret;
}

int output_check(const char *pattern)
{
	char directory[OPTIONS_PATH_MAX];
	const char *slash;

	if (!pattern)
		return check_directory(".");
	if (!*pattern)
		return 0; /* not to be traced */
	if (strlen(pattern) >= OPTIONS_PATH_MAX)
		return ENAMETOOLONG;
	slash = strrchr(pattern, '/');
	snprintf(directory, sizeof(directory), "%.*s",
		 slash ? (int)(slash - pattern) + 1 : 2, slash ? pattern : "./");
	if (strchr(directory, '%'))
		return 0;
	if (strchr(pattern, '%'))
		return check_directory(directory);
	return check_file(pattern, directory);
}
