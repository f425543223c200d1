/* SPDX-License-Identifier: MIT */
/*
 * glob() allocates.  Directories are read one within the other, as deep as the
 * pattern has wildcards.
 */
#include "tracer/include.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "tracer/glob.h"
#include "tracer/kept.h"
#include "tracer/log.h"
#include "tracer/options.h"
#include "tracer/pool.h"
#include "tracer/sys.h"

enum {
	FILES_MAX = 1000,
	DEPTH_MAX = 16, /* wildcards in one pattern */
	ENTRIES_BYTES = 32 << 10,
};

/* As the kernel writes it. */
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

/**
 * struct search - for the files of one pattern
 * @path:  so far, @len bytes; not on the program's stack
 * @files: kept so far, of all patterns
 * @depth: of directories that are being read
 */
static struct {
	char path[PATH_MAX];
	size_t len;
	int files;
	int depth;
} search;

/* Safety: as include_keep().  Adds to the path.  Return: false where it would
   be too long; it stays then. */
static bool add(const char *text, size_t len)
{
	if (search.len + len >= sizeof(search.path))
		return false;
	memcpy(search.path + search.len, text, len);
	search.len += len;
	search.path[search.len] = '\0';
	return true;
}

/* Safety: as include_keep(). */
static void cut(size_t len)
{
	search.len = len;
	search.path[len] = '\0';
}

/* Safety: as include_keep().  Keeps the file of the path. */
static void keep_file(bool is_named)
{
	const struct kept what = {.kind = TRACE_FILE_INCLUDED,
				  .path = search.path};
	int err;

	if (search.files == FILES_MAX)
		return;
	err = kept_write_path(&what, KEPT_BYTES_MAX);
	if (err == 0 && ++search.files == FILES_MAX)
		log_number(LOG_WARN, "files to include: no more than",
			   FILES_MAX);
	/* Directories and devices are among what wildcards match. */
	if (err && (is_named || (err != -EINVAL && err != -EBUSY)))
		log_line(LOG_WARN, "not kept in the trace:", search.path, -err);
}

static void find(const char *pattern, const char *end, bool is_named);

/* Safety: as include_keep().  @part of the pattern has wildcards, @rest is
   what follows. */
static void find_in_directory(const char *part, size_t len, const char *rest,
			      const char *end)
{
	size_t base = search.len;
	uint8_t *buf = pool_map(ENTRIES_BYTES);
	int fd = sys_open(base ? search.path : "/",
			  O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	ssize_t n;

	while (buf && fd >= 0 &&
	       (n = SYS_CALL3(SYS_getdents64, fd, buf, ENTRIES_BYTES)) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct entry *entry = (const void *)(buf + at);

			at += entry->bytes;
			if (strcmp(entry->name, ".") == 0 ||
			    strcmp(entry->name, "..") == 0 ||
			    !glob_match(part, len, entry->name))
				continue;
			if (add("/", 1) &&
			    add(entry->name, strlen(entry->name)))
				find(rest, end, false);
			cut(base);
		}
	}
	if (fd >= 0)
		sys_close(fd);
	pool_unmap(buf, ENTRIES_BYTES);
}

/* Safety: as include_keep().  @pattern is empty or begins with a slash. */
static void find(const char *pattern, const char *end, bool is_named)
{
	size_t base = search.len, len = 0;
	const char *part;

	while (pattern < end && *pattern == '/')
		pattern++;
	if (pattern == end) {
		keep_file(is_named);
		return;
	}
	part = pattern;
	while (part + len < end && part[len] != '/')
		len++;
	for (size_t i = 0; i < len; i++) {
		if (!strchr("*?[\\", part[i]))
			continue;
		if (search.depth < DEPTH_MAX) {
			search.depth++;
			find_in_directory(part, len, part + len, end);
			search.depth--;
		}
		return;
	}
	if (add("/", 1) && add(part, len))
		find(part + len, end, is_named);
	cut(base);
}

void include_keep(void)
{
	const char *list = options.include;

	search.files = 0;
	while (*list) {
		size_t len = strcspn(list, ":");

		cut(0);
		if (list[0] != '/' &&
		    sys_getcwd(search.path, sizeof(search.path)) > 1)
			search.len = strlen(search.path);
		if (search.len == 1) /* the root */
			cut(0);
		if (len)
			find(list, list + len, true);
		list += len;
		list += *list == ':';
	}
}
