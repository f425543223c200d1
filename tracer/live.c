/* SPDX-License-Identifier: MIT */
#include "tracer/live.h"

#include <errno.h>
#include <string.h>

#include "tracer/log.h"
#include "tracer/options.h"
#include "tracer/pool.h"
#include "tracer/state.h"
#include "tracer/sys.h"
#include "tracer/text.h"
#include "tracer/trace_file.h"

#define SEGMENT_BYTES ((size_t)LIVE_STRIDE * LIVE_SEGMENT_SLOTS)

/**
 * struct live - the file
 * @paths:         its name, absolute, and the one before or after it; empty
 *                 where there is none
 * @path:          which of them; another thread may look at it any time
 * @dev, @ino:     its identity
 * @header:        page 0, mapped shared
 * @run_id:        as in PIECE
 * @segments:      mapped slots, NULL where not yet
 * @segment_count: segments[0 .. segment_count - 1] are not NULL
 */
static struct {
	char paths[2][OPTIONS_PATH_MAX + 32];
	char *_Atomic path;
	dev_t dev;
	ino_t ino;
	struct trace_live_header *header;
	uint64_t run_id;
	uint8_t *segments[LIVE_SEGMENT_COUNT];
	uint32_t segment_count;
} live = {.path = live.paths[0]};

/* Safety: pure. */
static off_t segment_offset(uint32_t segment)
{
	return (off_t)(TRACE_LIVE_PAGE + (uint64_t)segment * SEGMENT_BYTES);
}

static const char zeros[4096];

/*
 * File systems without fallocate get zeros.  Safety: system calls.
 * Return: 0 or -errno.
 */
static int reserve_with_zeros(int fd, off_t off, size_t len)
{
	for (size_t done = 0; done < len; done += sizeof(zeros)) {
		ssize_t n =
		    sys_pwrite(fd, zeros, sizeof(zeros), off + (off_t)done);

		if (n != (ssize_t)sizeof(zeros))
			return n < 0 ? (int)n : -ENOSPC;
	}
	return 0;
}

/* Safety: system call.  Whether a write up to there does not raise SIGXFSZ. */
static bool may_grow_to(uint64_t bytes)
{
	struct rlimit lim;

	return sys_getrlimit(RLIMIT_FSIZE, &lim) != 0 ||
	       lim.rlim_cur == RLIM_INFINITY || bytes <= lim.rlim_cur;
}

/* Safety: system calls.  Never raises SIGXFSZ.  Return: 0 or -errno. */
static int reserve(int fd, off_t off, size_t len)
{
	int err;

	if (!may_grow_to((uint64_t)off + len))
		return -EFBIG;
	err = sys_fallocate(fd, off, (off_t)len);
	if (err == -EOPNOTSUPP || err == -ENOSYS)
		err = reserve_with_zeros(fd, off, len);
	return err;
}

/* Safety: system calls.  Return: descriptor of the file, still ours, -1. */
static int open_existing(void)
{
	struct stat st;
	int fd;

	if (!live.path[0])
		return -1;
	fd = sys_open(live.path, O_RDWR | O_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (sys_fstat(fd, &st) == 0 && st.st_dev == live.dev &&
	    st.st_ino == live.ino)
		return fd;
	sys_close(fd);
	return -1;
}

/* Safety: system call.  @fixed may be NULL.  Return: mapping or NULL. */
static void *map_reserved(int fd, off_t off, size_t len, void *fixed)
{
	void *p = sys_mmap(fixed, len, PROT_READ | PROT_WRITE,
			   MAP_SHARED | (fixed ? MAP_FIXED : 0), fd, off);

	if (sys_mmap_failed(p))
		return NULL;
	sys_madvise(p, len, MADV_RANDOM); /* there is nothing to read ahead */
	return p;
}

/* Safety: system calls.  @fixed may be NULL.  Return: mapping or NULL. */
static void *map_file(int fd, off_t off, size_t len, void *fixed)
{
	if (reserve(fd, off, len) != 0)
		return NULL;
	return map_reserved(fd, off, len, fixed);
}

/*
 * Fills page 0 of a new file, which is empty until the header is there.
 *
 * Safety: system calls.
 */
static bool write_header(int fd)
{
	struct trace_live_header head = {
		.version_major = TRACE_VERSION_MAJOR,
		.version_minor = TRACE_VERSION_MINOR,
		.slot_stride = LIVE_STRIDE,
		.run_id = live.run_id,
		.pid = (uint32_t)state_pid(),
	};
	struct trace_live_header *page;

	memcpy(head.magic, TRACE_LIVE_MAGIC, TRACE_MAGIC_LEN);
	if (!may_grow_to(sizeof(head)) ||
	    sys_pwrite(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    reserve(fd, sizeof(head), TRACE_LIVE_PAGE - sizeof(head)) != 0)
		return false;
	page = map_reserved(fd, 0, TRACE_LIVE_PAGE, live.header);
	if (page)
		live.header = page;
	return page != NULL;
}

/*
 * Whether a file of that name is somebody's own.  A PATH.live that was not
 * even begun is empty.
 *
 * Safety: system calls.
 */
static bool is_foreign(const char *path)
{
	char magic[TRACE_MAGIC_LEN] = "";
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
			  0);
	ssize_t len;

	if (fd < 0)
		return false;
	len = sys_read(fd, magic, sizeof(magic));
	sys_close(fd);
	return len > 0 && memcmp(magic, TRACE_LIVE_MAGIC, sizeof(magic)) != 0;
}

/*
 * What has the name already is replaced, never truncated: another process may
 * have it mapped, and would die of SIGBUS.
 *
 * Safety: system calls.  Return: descriptor of the new file, or -1.
 */
static int create_file(void)
{
	struct stat st;
	int fd;

	if (!is_foreign(live.path))
		sys_unlink(live.path);
	fd = sys_open(live.path,
		      O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -1;
	if (sys_fstat(fd, &st) == 0 && write_header(fd)) {
		live.dev = st.st_dev;
		live.ino = st.st_ino;
		trace_file_give(fd, live.path);
		return fd;
	}
	sys_unlink(live.path);
	sys_close(fd);
	return -1;
}

/* Safety: pure.  @path is one of live.paths. */
static void set_path(char *path, const char *trace_path)
{
	struct text text = text_init(path, sizeof(live.paths[0]));

	text_add(&text, trace_path);
	text_add(&text, ".live");
}

/* Safety: pure.  Return: the one of live.paths that is not live.path. */
static char *other_path(void)
{
	return live.paths[live.path == live.paths[0]];
}

/* Safety: as live_create().  The first segment may be a new one. */
static void map_segments(int fd)
{
	uint32_t count = live.segment_count ? live.segment_count : 1;

	for (uint32_t i = 0; i < count; i++) {
		uint8_t *p = map_file(fd, segment_offset(i), SEGMENT_BYTES,
				      live.segments[i]);

		if (!p)
			continue;
		live.segments[i] = p;
		live.segment_count = count;
		live.header->slot_count = (i + 1) * LIVE_SEGMENT_SLOTS;
	}
}

/* Safety: as live_slot(), which calls it for each slot once. */
static void count_outside(void)
{
	char *page = (char *)live.header;

	++*(uint32_t *)(void *)(page + TRACE_LIVE_OUTSIDE);
}

bool live_create(const char *trace_path, uint64_t run_id)
{
	int fd;

	set_path(live.path, trace_path);
	live.run_id = run_id;
	fd = create_file();
	if (fd < 0) {
		live.path[0] = '\0';
		log_line(LOG_WARN,
			 "cannot make the .live file; if the program is "
			 "killed, its last events are lost",
			 NULL, 0);
		return false;
	}
	map_segments(fd);
	sys_close(fd);
	return true;
}

bool live_follow(const char *trace_path)
{
	char *path = other_path(), *old_path = live.path;
	int fd = open_existing();

	if (fd < 0) { /* somebody has removed it */
		old_path[0] = '\0';
		return true;
	}
	sys_close(fd);
	set_path(path, trace_path);
	if (is_foreign(path))
		return false;
	sys_unlink(path);
	if (sys_link(old_path, path) != 0) {
		if (sys_rename(old_path, path) != 0)
			return false;
		old_path[0] = '\0';
	}
	live.path = path;
	return true;
}

void live_leave(void)
{
	char *path = other_path();
	struct stat st;

	if (path[0] && sys_stat(path, &st) == 0 && st.st_dev == live.dev &&
	    st.st_ino == live.ino)
		sys_unlink(path);
	path[0] = '\0';
}

/* Safety: as live_slot().  Return: slots of a new segment, or NULL. */
static uint8_t *map_segment(uint32_t segment)
{
	int fd = open_existing();
	uint8_t *p = NULL;

	if (fd >= 0) {
		p = map_file(fd, segment_offset(segment), SEGMENT_BYTES, NULL);
		sys_close(fd);
	}
	if (p)
		live.header->slot_count = (segment + 1) * LIVE_SEGMENT_SLOTS;
	else
		p = pool_map(SEGMENT_BYTES);
	return p;
}

struct trace_live_slot *live_slot(uint32_t index)
{
	uint32_t segment = index / LIVE_SEGMENT_SLOTS;
	size_t off = (size_t)(index % LIVE_SEGMENT_SLOTS) * LIVE_STRIDE;

	if (segment >= LIVE_SEGMENT_COUNT)
		return NULL;
	if (!live.segments[segment]) {
		uint8_t *p = map_segment(segment);

		if (!p)
			return NULL;
		live.segments[segment] = p;
		live.segment_count = segment + 1;
	}
	if (live.header && index >= live.header->slot_count)
		count_outside();
	return (struct trace_live_slot *)(void *)(live.segments[segment] + off);
}

/*
 * A write brings the slot's pages into memory together, in few large pieces
 * where the file system has them, and the mapping then takes what is there:
 * a third of what it costs to fault them in one by one.
 */
void live_warm_slot(uint32_t index)
{
	struct iovec parts[LIVE_STRIDE / sizeof(zeros)];
	off_t off = segment_offset(index / LIVE_SEGMENT_SLOTS) +
		    (off_t)(index % LIVE_SEGMENT_SLOTS) * LIVE_STRIDE;
	int fd = -1;

	if (live.header && index < live.header->slot_count &&
	    may_grow_to((uint64_t)off + LIVE_STRIDE))
		fd = open_existing();
	if (fd < 0)
		return;
	for (size_t i = 0; i < LIVE_STRIDE / sizeof(zeros); i++)
		parts[i] = (struct iovec){(void *)(uintptr_t)zeros,
					  sizeof(zeros)};
	sys_pwritev(fd, parts, LIVE_STRIDE / sizeof(zeros), off);
	sys_close(fd);
}

void live_set_helper(int pid)
{
	char *page = (char *)live.header;

	if (page)
		*(uint32_t *)(void *)(page + TRACE_LIVE_HELPER) = (uint32_t)pid;
}

void live_set_lost(enum trace_lost_reason reason, uint64_t count)
{
	char *page = (char *)live.header;

	if (!page)
		return;
	page += reason == TRACE_LOST_WRITE ? TRACE_LIVE_LOST_WRITE
					   : TRACE_LIVE_LOST_MEMORY;
	*(uint64_t *)(void *)page = count;
}

void live_remove(void)
{
	int fd = open_existing(); /* another file of that name is not ours */

	if (fd < 0)
		return;
	sys_unlink(live.path);
	sys_close(fd);
}

void live_restore(void)
{
	int fd;

	if (!live.path[0])
		return;
	fd = create_file();
	if (fd < 0) {
		live.path[0] = '\0';
		return;
	}
	map_segments(fd);
	sys_close(fd);
}

void live_detach_child(void)
{
	for (uint32_t i = 0; i < live.segment_count; i++)
		sys_mmap(live.segments[i], SEGMENT_BYTES,
			 PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (live.header)
		sys_mmap(live.header, TRACE_LIVE_PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	live.paths[0][0] = '\0';
	live.paths[1][0] = '\0';
}

bool live_has_file(void)
{
	return live.path[0] != '\0';
}

bool live_is_path(const char *name)
{
	size_t len = strlen(live.path);

	return len && strncmp(name, live.path, len) == 0 &&
	       (!name[len] || strcmp(name + len, " (deleted)") == 0);
}
