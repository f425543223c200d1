/* SPDX-License-Identifier: MIT */
/*
 * pread() on a descriptor, never mmap(): a file that shrinks while it is read
 * is then a short read instead of a signal.
 */
#include "report/source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/core/diag.h"
#include "report/core/temporary.h"

enum { SPOOL_BYTES = 64 * 1024 };

static int write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static int spool_copy(int to, int from, const char *path, const char *dir,
		      uint64_t *ret_size, struct diag *diag)
{
	char buf[SPOOL_BYTES];
	uint64_t size = 0;

	for (;;) {
		ssize_t n = read(from, buf, sizeof(buf));
		int error;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return diag_set(diag, -errno, path, size,
					"cannot be read: %s", strerror(errno));
		if (n == 0)
			break;
		error = write_all(to, buf, (size_t)n);
		if (error)
			return diag_set(diag, error, dir, DIAG_NO_OFFSET,
					"cannot hold a copy of %s: %s", path,
					strerror(-error));
		size += (uint64_t)n;
	}
	*ret_size = size;
	return 0;
}

const char *source_scratch_directory(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && *dir ? dir : "/tmp";
}

/* A pipe cannot be read at an offset: work on a copy of what comes from it. */
static int source_spool(struct source *source, int from, struct diag *diag)
{
	const char *dir = source_scratch_directory();
	int error;
	int fd;

	fd = temporary_open(dir);
	if (fd < 0)
		return diag_set(diag, fd, dir, DIAG_NO_OFFSET,
				"no temporary file can be made here: %s",
				strerror(-fd));
	error = spool_copy(fd, from, source->path, dir, &source->size, diag);
	if (error) {
		close(fd);
		return error;
	}
	source->fd = fd;
	return 0;
}

/* Takes @fd over, also on failure. */
static int source_open_fd(struct source *source, int fd, struct diag *diag)
{
	struct stat st;
	int error = 0;

	if (fstat(fd, &st) < 0)
		error = diag_set(diag, -errno, source->path, DIAG_NO_OFFSET,
				 "cannot be read: %s", strerror(errno));
	else if (S_ISDIR(st.st_mode))
		error = diag_set(diag, -EISDIR, source->path, DIAG_NO_OFFSET,
				 "is a directory");
	else if (S_ISREG(st.st_mode)) {
		source->fd = fd;
		source->size = (uint64_t)st.st_size;
		return 0;
	} else if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))
		error = source_spool(source, fd, diag);
	else
		error = diag_set(diag, -ENODEV, source->path, DIAG_NO_OFFSET,
				 "is a device, not a file");
	close(fd);
	return error;
}

int source_open(struct source *source, const char *path, struct diag *diag)
{
	int error;
	int fd;

	memset(source, 0, sizeof(*source));
	source->fd = -1;
	source->path = strdup(path);
	if (!source->path)
		return diag_set(diag, -ENOMEM, path, DIAG_NO_OFFSET,
				"out of memory");
	if (strcmp(path, "-") == 0)
		fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0) {
		error = errno;
		diag_set(diag, -error, path, DIAG_NO_OFFSET,
			 "cannot be opened: %s", strerror(error));
		error = -error;
	} else {
		error = source_open_fd(source, fd, diag);
	}
	if (error)
		source_close(source);
	return error;
}

bool source_is_stdin(const struct source *source)
{
	return strcmp(source->path, "-") == 0;
}

int source_open_live(struct source *source, const struct source *main_source,
		     struct diag *diag)
{
	static const char suffix[] = ".live";
	size_t len = strlen(main_source->path);
	char *path;
	int error;

	memset(source, 0, sizeof(*source));
	source->fd = -1;
	if (source_is_stdin(main_source))
		return -ENOENT;
	path = malloc(len + sizeof(suffix));
	if (!path)
		return diag_set(diag, -ENOMEM, main_source->path,
				DIAG_NO_OFFSET, "out of memory");
	memcpy(path, main_source->path, len);
	memcpy(path + len, suffix, sizeof(suffix));
	/* A name that is too long with the suffix cannot be there either. */
	error = source_open(source, path, diag);
	if (error == -ENOTDIR || error == -ENAMETOOLONG)
		error = -ENOENT;
	free(path);
	return error;
}

int source_look_again(struct source *source, struct diag *diag)
{
	struct stat st;

	if (fstat(source->fd, &st) < 0)
		return diag_set(diag, -errno, source->path, DIAG_NO_OFFSET,
				"cannot be read: %s", strerror(errno));
	source->size = (uint64_t)st.st_size;
	return 0;
}

void source_close(struct source *source)
{
	if (source->fd >= 0)
		close(source->fd);
	free(source->path);
	memset(source, 0, sizeof(*source));
	source->fd = -1;
}

ssize_t source_read(const struct source *source, uint64_t offset, void *buf,
		    size_t len, struct diag *diag)
{
	char *out = buf;
	size_t done = 0;

	if (offset >= source->size)
		return 0;
	if (len > source->size - offset)
		len = (size_t)(source->size - offset);
	while (done < len) {
		ssize_t n = pread(source->fd, out + done, len - done,
				  (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return diag_set(diag, -errno, source->path,
					offset + done, "cannot be read: %s",
					strerror(errno));
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}
