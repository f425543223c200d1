/* SPDX-License-Identifier: MIT */
#include "tracer/log.h"

#include <string.h>

#include "tracer/output_name.h"
#include "tracer/sys.h"
#include "tracer/text.h"

static const char *log_path; /* NULL: standard error */
static char log_path_buf[OPTIONS_PATH_MAX];

void log_init(void)
{
	if (!options.log_file[0])
		return;
	output_name_expand(options.log_file, log_path_buf,
			   sizeof(log_path_buf));
	log_path = log_path_buf;
}

/*
 * The log file is opened for each line: messages are rare, and a descriptor
 * kept open is one more number that the program may close or reuse.
 */
static void emit(const char *line, size_t len)
{
	int fd;

	if (!log_path) {
		sys_write(2, line, len);
		return;
	}
	fd =
	    sys_open(log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	sys_write(fd, line, len);
	sys_close(fd);
}

/* Safety: pure. */
static struct text begin_line(char *buf, size_t cap)
{
	struct text line = text_init(buf, cap);

	text_add(&line, "memprof[");
	text_add_int(&line, sys_getpid());
	text_add(&line, "]: ");
	return line;
}

void log_line(enum log_level level, const char *text, const char *detail,
	      int error)
{
	char buf[1400];
	struct text line;

	if (level > options.log_level)
		return;
	line = begin_line(buf, sizeof(buf) - 1);
	text_add(&line, text);
	if (detail) {
		text_add(&line, " ");
		text_add(&line, detail);
	}
	if (error) {
		const char *name = strerrordesc_np(error);

		text_add(&line, ": ");
		text_add(&line, name ? name : "unknown error");
	}
	line.buf[line.len++] = '\n';
	emit(line.buf, line.len);
}

void log_number(enum log_level level, const char *text, long long value)
{
	char buf[200];
	struct text line;

	if (level > options.log_level)
		return;
	line = begin_line(buf, sizeof(buf) - 1);
	text_add(&line, text);
	text_add(&line, " ");
	text_add_int(&line, value);
	line.buf[line.len++] = '\n';
	emit(line.buf, line.len);
}
