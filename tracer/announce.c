/* SPDX-License-Identifier: MIT */
#include "tracer/announce.h"

#include <string.h>

#include "tracer/options.h"
#include "tracer/sys.h"
#include "tracer/text.h"

/*
 * A program that outlives memprof-record has a name that leads to nothing, or,
 * once the process ID is used again, to a file of somebody else.
 * Safety: system call.
 */
static bool is_there(const char *name)
{
	static const char memory[] = "/memfd:" ANNOUNCE_MEMORY;
	const ssize_t len = sizeof(memory) - 1;
	char found[sizeof(memory)];

	if (!name[0])
		return false;
	if (strncmp(name, "/proc/", 6) != 0)
		return true;
	return sys_readlink(name, found, sizeof(found)) >= len &&
	       memcmp(found, memory, (size_t)len) == 0;
}

void announce_trace(uint64_t trace_id, const char *path)
{
	static char entry[1 + ANNOUNCE_ID_DIGITS + OPTIONS_PATH_MAX + 32];
	struct text text = text_init(entry, sizeof(entry));
	int fd;

	if (!is_there(options.name_file))
		return;
	fd = sys_open(options.name_file, O_WRONLY | O_APPEND | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	text_add_char(&text, '\0');
	for (int shift = 4 * (ANNOUNCE_ID_DIGITS - 1); shift >= 0; shift -= 4)
		text_add_char(&text,
			      "0123456789abcdef"[(trace_id >> shift) & 15]);
	text_add(&text, path);
	sys_write(fd, entry, text.len + 1); /* and the zero behind it */
	sys_close(fd);
}

bool announce_has_others(void)
{
	struct stat st;

	return is_there(options.name_file) &&
	       sys_stat(options.name_file, &st) == 0 && st.st_size > 0;
}
