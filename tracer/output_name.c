/* SPDX-License-Identifier: MIT */
#include "tracer/output_name.h"

#include <string.h>
#include <sys/param.h>

#include "tracer/clock.h"
#include "tracer/state.h"
#include "tracer/sys.h"
#include "tracer/text.h"

static char path[PATH_MAX]; /* not on the program's stack */

/* Relative names are relative to it; a slash at the end, or empty. */
static char directory[PATH_MAX + 1];

/* Where the working directory cannot be reached from the root, the kernel
   names no absolute one. */
void output_name_init(const char *base)
{
	struct text out = text_init(directory, sizeof(directory));

	if (!base && sys_getcwd(path, sizeof(path)) > 0)
		base = path;
	if (!base || base[0] != '/')
		return;
	text_add(&out, base);
	if (out.buf[out.len - 1] != '/')
		text_add_char(&out, '/');
}

const char *output_name_directory(void)
{
	return directory;
}

bool output_name_varies(const char *pattern)
{
	while ((pattern = strchr(pattern, '%'))) {
		if (pattern[1] != '%')
			return true;
		pattern += 2;
	}
	return false;
}

void output_name_executable(char *ret, size_t cap)
{
	ssize_t len = sys_readlink("/proc/self/exe", ret, cap - 1);

	ret[len < 0 ? 0 : len] = '\0';
}

/* Safety: system call.  Appends the base name of the executable. */
static void add_executable_name(struct text *out)
{
	const char *slash;

	output_name_executable(path, sizeof(path));
	slash = strrchr(path, '/');
	text_add(out, slash ? slash + 1 : path);
}

/* Safety: vDSO.  Appends the seconds since 1970. */
static void add_time(struct text *out)
{
	struct timespec ts = {0};

	clock_read(CLOCK_REALTIME, &ts);
	text_add_int(out, ts.tv_sec);
}

/* Safety: as the callees.  Appends what the placeholder @letter stands for. */
static void add_placeholder(struct text *out, char letter, uint32_t number)
{
	switch (letter) {
	case 'p':
		text_add_int(out, state_pid());
		break;
	case 't':
		add_time(out);
		break;
	case 'e':
		add_executable_name(out);
		break;
	case 'n':
		text_add_uint(out, number);
		break;
	case '%':
		text_add_char(out, '%');
		break;
	default:
		break;
	}
}

void output_name_expand(const char *pattern, uint32_t number, char *ret,
			size_t cap)
{
	struct text out = text_init(ret, cap);

	if (pattern[0] != '/')
		text_add(&out, directory);
	for (; *pattern; pattern++) {
		if (*pattern != '%')
			text_add_char(&out, *pattern);
		else if (pattern[1])
			add_placeholder(&out, *++pattern, number);
	}
}
