/* SPDX-License-Identifier: MIT */
#include "tracer/trace_file.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>

#include "tracer/announce.h"
#include "tracer/compiler.h"
#include "tracer/filters.h"
#include "tracer/helper.h"
#include "tracer/log.h"
#include "tracer/options.h"
#include "tracer/output_name.h"
#include "tracer/sys.h"
#include "tracer/text.h"
#include "tracer/tls.h"

enum {
	NAME_TRIES = 10000, /* NAME.1 to NAME.9999 */
	FD_CEILING = 1024,  /* far from the program's, yet a small table */
	FD_ROOM = 40,
};

/**
 * struct trace_file - an open trace
 * @piece: of the run
 * @fd:    the program's descriptor and the helper's, each -1 where there is
 *         none
 * @dev:   identity of the file, to notice a reused descriptor
 * @ino:   the same
 * @bytes: that it has, as far as this process knows
 * @path:  absolute
 */
struct trace_file {
	uint32_t piece;
	atomic_int fd[2];
	dev_t dev;
	ino_t ino;
	_Atomic uint64_t bytes;
	char path[OPTIONS_PATH_MAX + 16];
};

/* One, or two while a piece follows another; by the piece's lowest bit. */
static struct trace_file files[2] = {{.fd = {-1, -1}}, {.fd = {-1, -1}}};

/* Safety: pure. */
static struct trace_file *get(uint32_t piece)
{
	return &files[piece & 1];
}

const char *trace_file_path(uint32_t piece)
{
	return get(piece)->path;
}

uint64_t trace_file_bytes(uint32_t piece)
{
	return get(piece)->bytes;
}

/*
 * Moves @fd to a high number, so that the program gets the numbers it would
 * get without us.  Safety: system calls.  Return: the new descriptor.
 */
static int move_up(int fd)
{
	struct rlimit lim;
	int high, lowest = 3;

	if (sys_getrlimit(RLIMIT_NOFILE, &lim) == 0) {
		rlim_t top =
		    lim.rlim_cur < FD_CEILING ? lim.rlim_cur : FD_CEILING;
		if (top > FD_ROOM + 3)
			lowest = (int)top - FD_ROOM;
	}
	high = sys_fcntl(fd, F_DUPFD_CLOEXEC, lowest);
	if (high < 0)
		return fd;
	sys_close(fd);
	return high;
}

/*
 * Locks the file that was just opened, where files can be locked.
 *
 * Safety: system calls.  Return: false when it is not for us to write: a living
 * tracer has it, or memprof-record took it for one that a dead tracer left
 * empty, and removed it.
 */
static bool claim(int fd, const char *path)
{
	struct stat st, named;

	return sys_flock(fd, LOCK_EX | LOCK_NB) != -EWOULDBLOCK &&
	       sys_fstat(fd, &st) == 0 && sys_stat(path, &named) == 0 &&
	       st.st_dev == named.st_dev && st.st_ino == named.st_ino;
}

/* Safety: system calls.  Return: descriptor of an emptied file, or -errno. */
static int take_over(const char *path)
{
	struct stat st;
	int fd = sys_open(
	    path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	int err = 0;

	if (fd < 0)
		return fd;
	if (sys_fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    sys_flock(fd, LOCK_EX | LOCK_NB) != 0 || !claim(fd, path))
		err = -EEXIST;
	else
		err = sys_ftruncate(fd, 0);
	if (err == 0)
		return fd;
	sys_close(fd);
	return err;
}

/* Safety: system calls.  Return: descriptor of a new, locked file, -errno. */
static int create(const char *path)
{
	int fd = sys_open(
	    path, O_WRONLY | O_APPEND | O_CLOEXEC | O_CREAT | O_EXCL, 0600);

	if (fd < 0 || claim(fd, path))
		return fd;
	sys_close(fd);
	return -EEXIST;
}

/*
 * Whether what is at @path is not a file that could be left alone or
 * overwritten, but a device, a directory, or the program's own output by the
 * name of /dev/stdout.
 *
 * Safety: system calls.
 */
static bool is_special(const char *path)
{
	struct stat st, out;

	if (sys_stat(path, &st) != 0)
		return false;
	for (int fd = 1; fd <= 2; fd++)
		if (sys_fstat(fd, &out) == 0 && out.st_dev == st.st_dev &&
		    out.st_ino == st.st_ino)
			return true;
	return !S_ISREG(st.st_mode);
}

/*
 * A name that another file has is announced only to take that over: what
 * memprof-record finds empty must be ours.
 *
 * Safety: system calls.  Return: descriptor, -EEXIST where the name is another
 * file's, or another -errno.
 */
static int try_name(const char *path, bool may_overwrite, uint64_t trace_id)
{
	struct stat st;
	bool exists = sys_lstat(path, &st) == 0;
	int fd;

	if (exists && !may_overwrite)
		return -EEXIST;
	announce_trace(trace_id, path);
	fd = exists ? -EEXIST : create(path);
	if (fd == -EEXIST && may_overwrite)
		fd = take_over(path);
	return fd;
}

/* Safety: system calls.  Tries names in turn.  Return: descriptor, -errno. */
static int create_under_free_name(struct trace_file *file, bool may_overwrite,
				  uint64_t trace_id)
{
	size_t base_len = strlen(file->path);
	int fd = -EEXIST;

	if (is_special(file->path))
		return -EEXIST;
	for (unsigned n = 0; fd == -EEXIST && n < NAME_TRIES; n++) {
		struct text name = {file->path, base_len, sizeof(file->path)};

		if (n) {
			text_add_char(&name, '.');
			text_add_uint(&name, n);
		}
		fd = try_name(file->path, may_overwrite && !n, trace_id);
	}
	return fd;
}

void trace_file_give(int fd, const char *path)
{
	int err = 0;

	if (options.owner != OPTIONS_NO_OWNER)
		err = sys_fchown(fd, options.owner);
	if (err)
		log_line(LOG_WARN, "the trace keeps its owner:", path,
			 -err);
}

int trace_file_open(uint32_t piece, bool keep_existing, uint64_t trace_id)
{
	bool may_overwrite =
	    !keep_existing && !output_name_varies(options.output);
	struct trace_file *file = get(piece);
	struct stat st;
	int fd;

	output_name_expand(options.output, piece, file->path,
			   OPTIONS_PATH_MAX);
	fd = create_under_free_name(file, may_overwrite, trace_id);
	if (fd < 0)
		return fd;
	fd = move_up(fd);
	trace_file_give(fd, file->path);
	sys_fstat(fd, &st);
	file->piece = piece;
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	file->bytes = 0;
	file->fd[0] = file->fd[1] = fd;
	return 0;
}

/* Safety: pure.  Return: whether @st is of the trace. */
static bool is_file(const struct trace_file *file, const struct stat *st)
{
	return st->st_dev == file->dev && st->st_ino == file->ino;
}

/* Safety: system call.  Fills @st.  Return: whether @fd is the trace. */
static bool is_ours(const struct trace_file *file, int fd, struct stat *st)
{
	return fd >= 0 && sys_fstat(fd, st) == 0 && is_file(file, st);
}

/*
 * The program closed our descriptor, and may have its own under that number
 * now, so the old one is left alone.  Two threads may both come here: one
 * descriptor is then held twice, which harms nobody.
 *
 * Safety: system calls.  Return: descriptor, or -errno.
 */
static int reopen(struct trace_file *file, struct stat *st)
{
	int fd = sys_open(file->path, O_WRONLY | O_APPEND | O_CLOEXEC, 0);

	if (fd < 0)
		return fd;
	if (!is_ours(file, fd, st)) {
		sys_close(fd);
		return -ESTALE;
	}
	fd = move_up(fd);
	sys_flock(fd, LOCK_EX | LOCK_NB);
	file->fd[tls.is_helper] = fd;
	return fd;
}

/*
 * The program's limit, which it may have changed since the helper was made.
 *
 * Safety: system calls.
 */
static uint64_t get_size_limit(void)
{
	struct rlimit lim = { .rlim_cur = RLIM_INFINITY };

	if (!tls.is_helper ||
	    sys_prlimit(sys_getppid(), RLIMIT_FSIZE, &lim) != 0)
		sys_getrlimit(RLIMIT_FSIZE, &lim);
	return lim.rlim_cur;
}

/*
 * Writes below a limit of file sizes.  The file may reach it by another's
 * write after the size was looked at, and the signal is then not for the
 * program.
 *
 * Safety: system calls.  Return: bytes written, or -errno.
 */
static COLD ssize_t write_limited(int fd, const void *bytes, size_t len)
{
	uint64_t signals;
	ssize_t done;

	sys_signals_block(&signals);
	done = sys_write(fd, bytes, len);
	if (done == -EFBIG)
		sys_signal_drop(SIGXFSZ);
	sys_signals_restore(&signals);
	return done;
}

/* Safety: as trace_file_append(). */
static int append(uint32_t piece, const void *bytes, size_t len)
{
	struct trace_file *file = get(piece);
	uint64_t limit = get_size_limit();
	struct stat st;
	ssize_t done;
	int fd = file->fd[tls.is_helper];

	if ((uint16_t)file->piece != (uint16_t)piece)
		return -ESTALE;
	if (!is_ours(file, fd, &st)) {
		fd = reopen(file, &st);
		if (fd < 0)
			return fd;
	}
	if (limit == RLIM_INFINITY)
		done = sys_write(fd, bytes, len);
	else if ((uint64_t)st.st_size + len > limit)
		done = -EFBIG;
	else
		done = write_limited(fd, bytes, len);
	if (done < 0)
		return (int)done;
	file->bytes = (uint64_t)st.st_size + (uint64_t)done;
	return (size_t)done == len ? 0 : -ENOSPC;
}

/**
 * struct request - what the helper is asked to append
 */
struct request {
	uint32_t piece;
	const void *bytes;
	size_t len;
	int err;
};

/* Safety: the helper. */
static void append_for_thread(void *arg)
{
	struct request *request = arg;

	request->err = append(request->piece, request->bytes, request->len);
}

int trace_file_append(uint32_t piece, const void *bytes, size_t len)
{
	struct request request = {piece, bytes, len, 0};

	if (UNLIKELY(filters_hinder) &&
	    helper_call(append_for_thread, &request))
		return request.err;
	return append(piece, bytes, len);
}

int trace_file_inherit(uint32_t piece)
{
	struct trace_file *file = get(piece);
	struct stat st;

	file->fd[1] = is_ours(file, file->fd[0], &st) ? (int)file->fd[0] : -1;
	return file->fd[1];
}

bool trace_file_is(const struct stat *st)
{
	return is_file(&files[0], st) || is_file(&files[1], st);
}

void trace_file_close(uint32_t piece)
{
	struct trace_file *file = get(piece);
	struct stat st;
	int fd = file->fd[0];

	if (is_ours(file, fd, &st))
		sys_close(fd);
	file->fd[0] = file->fd[1] = -1;
	file->dev = 0; /* nor is it opened again */
	file->ino = 0;
}

void trace_file_remove(uint32_t piece)
{
	struct trace_file *file = get(piece);
	struct stat st;

	if (sys_stat(file->path, &st) == 0 && is_file(file, &st))
		sys_unlink(file->path);
	trace_file_close(piece);
}
