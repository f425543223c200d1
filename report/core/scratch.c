/* SPDX-License-Identifier: MIT */
#include "report/core/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SCRATCH_FIRST = 1 << 16, SCRATCH_STEP = 64 << 20 };

int scratch_open(struct scratch *scratch, const char *directory)
{
	char path[4096];

	memset(scratch, 0, sizeof(*scratch));
	if ((size_t)snprintf(path, sizeof(path), "%s/memprof-XXXXXX",
			     directory) >= sizeof(path))
		return -ENAMETOOLONG;
	scratch->fd = mkostemp(path, O_CLOEXEC);
	if (scratch->fd < 0)
		return -errno;
	unlink(path);
	scratch->is_open = 1;
	return 0;
}

void scratch_close(struct scratch *scratch)
{
	if (scratch->data)
		munmap(scratch->data, scratch->bytes);
	if (scratch->is_open)
		close(scratch->fd);
	memset(scratch, 0, sizeof(*scratch));
}

/* Doubles up to a step, then grows by steps. */
static size_t next_size(size_t bytes)
{
	if (!bytes)
		return SCRATCH_FIRST;
	return bytes < SCRATCH_STEP ? bytes * 2 : bytes + SCRATCH_STEP;
}

int scratch_reserve(struct scratch *scratch, size_t bytes)
{
	size_t size = scratch->bytes;
	void *data;
	int error;

	while (size < bytes)
		size = next_size(size);
	if (size == scratch->bytes)
		return 0;
	error = posix_fallocate(scratch->fd, 0, (off_t)size);
	if (error)
		return -error;
	data = scratch->data
		       ? mremap(scratch->data, scratch->bytes, size,
				MREMAP_MAYMOVE)
		       : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
			      scratch->fd, 0);
	if (data == MAP_FAILED)
		return -errno;
	scratch->data = data;
	scratch->bytes = size;
	return 0;
}
