/* SPDX-License-Identifier: MIT */
/* Read, not mapped: a file that becomes shorter must not end the program. */
#include "tracer/kept.h"

#include <errno.h>

#include "tracer/chunk.h"
#include "tracer/clock.h"
#include "tracer/log.h"
#include "tracer/pool.h"
#include "tracer/sys.h"
#include "tracer/trace_file.h"

/* Safety: system calls.  Return: bytes read, fewer at the end; or -errno. */
static ssize_t read_at(int fd, uint8_t *p, size_t len, uint64_t off)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = SYS_CALL4(SYS_pread64, fd, p + done, len - done,
				      off + done);

		if (n == -EINTR)
			continue;
		if (n < 0)
			return done ? (ssize_t)done : n;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/* Safety: system call.  Whether there is a byte at @off. */
static bool has_more(int fd, uint64_t off)
{
	uint8_t byte;

	return read_at(fd, &byte, 1, off) == 1;
}

/* Safety: as kept_write().  @payload has room for @cap bytes.  Return: as
   kept_write(). */
static int write_parts(uint8_t *payload, size_t cap, const struct kept *what,
		       int fd, uint64_t off, uint64_t most)
{
	size_t head = (size_t)(kept_put_head(payload, what, 0, 0) - payload);
	size_t part = cap - KEPT_HEAD_MAX;
	uint64_t done = 0;
	uint32_t flags = 0;
	int err = 0;

	while (!err && !(flags & TRACE_FILE_LAST)) {
		size_t want = most - done < part ? (size_t)(most - done) : part;
		ssize_t n = read_at(fd, payload + head, want, off + done);

		if (n < 0 && !done)
			return (int)n;
		n = n < 0 ? 0 : n;
		if ((size_t)n < want || done + want == most)
			flags = TRACE_FILE_LAST;
		if (done + (size_t)n == most &&
		    what->kind != TRACE_FILE_JIT_OBJECT &&
		    has_more(fd, off + most))
			flags |= TRACE_FILE_CUT;
		kept_put_head(payload, what, done, flags);
		err = chunk_write(&(struct chunk){.type = TRACE_CHUNK_FILE,
						  .payload = payload,
						  .len = head + (size_t)n,
						  .tick = clock_now()});
		done += (size_t)n;
	}
	if (flags & TRACE_FILE_CUT)
		log_line(LOG_WARN, "too long, kept in part:", what->path, 0);
	return err;
}

int kept_write(const struct kept *what, int fd, uint64_t off, uint64_t most)
{
	size_t cap = pool_is_scarce ? CHUNK_PAYLOAD_MAX : CHUNK_FILE_MAX;
	uint8_t *payload = pool_map(cap);
	int err;

	if (!payload)
		return -ENOMEM;
	err = write_parts(payload, cap, what, fd, off, most);
	pool_unmap(payload, cap);
	return err;
}

/* Opening a device may do something, and a pipe's writer waits for a reader:
   it is looked at first. */
int kept_open(const char *path, bool follow, struct stat *ret)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	int err = follow ? sys_stat(path, ret) : sys_lstat(path, ret);
	int fd;

	if (!err && !S_ISREG(ret->st_mode) && !S_ISLNK(ret->st_mode))
		err = -EINVAL;
	if (err)
		return err;
	fd = sys_open(path, follow ? flags : flags | O_NOFOLLOW, 0);
	if (fd < 0)
		return fd;
	err = sys_fstat(fd, ret);
	if (!err && !S_ISREG(ret->st_mode))
		err = -EINVAL;
	/* It would grow by what is read of it. */
	if (!err && trace_file_is(ret))
		err = -EBUSY;
	if (!err)
		return fd;
	sys_close(fd);
	return err;
}

int kept_write_path(const struct kept *what, uint64_t most)
{
	struct stat st;
	int fd = kept_open(what->path, true, &st);
	int err;

	if (fd < 0)
		return fd;
	err = kept_write(what, fd, 0, most);
	sys_close(fd);
	return err;
}
