/* SPDX-License-Identifier: MIT */
#include "tracer/record/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracer/announce.h"
#include "tracer/record/settings.h"

/* Where there is no /proc. */
#define ON_DISK "/tmp/memprof-record-XXXXXX"

void names_open(struct names *ret)
{
	ret->fd = memfd_create(ANNOUNCE_MEMORY, MFD_CLOEXEC);
	ret->is_on_disk = false;
	if (ret->fd >= 0) {
		snprintf(ret->path, sizeof(ret->path), "/proc/%d/fd/%d",
			 (int)getpid(), ret->fd);
		if (access(ret->path, W_OK) == 0)
			return;
		close(ret->fd);
	}
	snprintf(ret->path, sizeof(ret->path), "%s", ON_DISK);
	ret->is_on_disk = true;
	ret->fd = mkostemp(ret->path, O_CLOEXEC);
	if (ret->fd < 0)
		fail(EXIT_OWN_FAILURE,
		     "no file for the names of traces, neither in memory nor "
		     "in /tmp",
		     errno);
}

char *names_take(struct names *names, size_t *ret_len)
{
	off_t size = lseek(names->fd, 0, SEEK_END);
	char *text = calloc(1, size > 0 ? (size_t)size + 1 : 1);
	ssize_t len;

	if (!text)
		fail(EXIT_OWN_FAILURE, "trace names", ENOMEM);
	len = pread(names->fd, text, size > 0 ? (size_t)size : 0, 0);
	close(names->fd);
	if (names->is_on_disk)
		unlink(names->path);
	*ret_len = len > 0 ? (size_t)len : 0;
	return text;
}
