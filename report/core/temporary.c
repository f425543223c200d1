/* SPDX-License-Identifier: MIT */
#include "report/core/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* O_TMPFILE never has a name; where the file system does not know it, the file
   has one for as long as it takes to remove it. */
int temporary_open(const char *directory)
{
	static const char suffix[] = "/memprof-XXXXXX";
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	size_t len = strlen(directory);
	char *path;

	if (fd >= 0)
		return fd;
	path = malloc(len + sizeof(suffix));
	if (!path)
		return -ENOMEM;
	memcpy(path, directory, len);
	memcpy(path + len, suffix, sizeof(suffix));
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	else
		unlink(path);
	free(path);
	return fd;
}

int temporary_write(int fd, uint64_t offset, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = pwrite(fd, at, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int temporary_read(int fd, uint64_t offset, void *data, size_t len)
{
	char *at = data;

	while (len) {
		ssize_t n = pread(fd, at, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		at += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}
