/* SPDX-License-Identifier: MIT */
#include "tracer/announce.h"

#include <string.h>

#include "tracer/options.h"
#include "tracer/sys.h"
#include "tracer/text.h"

/* Safety: system call.  Whether the link @name, in /proc, leads to
   memprof-record's memory. */
static bool is_memory(const char *name)
{
	static const char memory[] = "/memfd:" ANNOUNCE_MEMORY;
	const ssize_t len = sizeof(memory) - 1;
	char found[sizeof(memory)];

	return sys_readlink(name, found, sizeof(found)) >= len &&
	       memcmp(found, memory, (size_t)len) == 0;
}

/* Safety: pure. */
static bool is_in_proc(const char *name)
{
	return strncmp(name, "/proc/", 6) == 0;
}

/*
 * Opens the file to be appended to.  What a name in /proc led to is asked of
 * the open file: to a program that outlives memprof-record it may be a file of
 * somebody else, a trace that is being completed, or, once the process ID is
 * used again, anything.
 *
 * Safety: system calls.  Return: a descriptor, or negative.
 */
static int open_names(void)
{
	char buf[32];
	struct text path = text_init(buf, sizeof(buf));
	int fd = sys_open(options.name_file,
			  O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0);

	if (fd < 0 || !is_in_proc(options.name_file))
		return fd;
	text_add(&path, "/proc/self/fd/");
	text_add_int(&path, fd);
	if (is_memory(buf))
		return fd;
	sys_close(fd);
	return -1;
}

void announce_trace(uint64_t trace_id, const char *path)
{
	static char entry[1 + ANNOUNCE_ID_DIGITS + OPTIONS_PATH_MAX + 32];
	struct text text = text_init(entry, sizeof(entry));
	int fd;

	if (!options.name_file[0])
		return;
	fd = open_names();
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

	return options.name_file[0] &&
	       (!is_in_proc(options.name_file) ||
		is_memory(options.name_file)) &&
	       sys_stat(options.name_file, &st) == 0 && st.st_size > 0;
}
