/* SPDX-License-Identifier: MIT */
#include "tracer/log.h"

#include <stdatomic.h>
#include <string.h>

#include "tracer/output_name.h"
#include "tracer/state.h"
#include "tracer/sys.h"
#include "tracer/text.h"

enum {
	DIGITS_BYTES = 24, /* of a number, with sign and terminator */
	PARTS_MAX = 10,
};

static const char *log_path; /* NULL: standard error */
static char log_path_buf[OPTIONS_PATH_MAX];

/**
 * struct standard_error - what descriptor 2 was at the start
 * @is_open: it was open
 *
 * A program may close it and get the number again for a file of its own.
 */
static struct {
	bool is_open;
	dev_t dev;
	ino_t ino;
	dev_t rdev;
} standard_error;

/**
 * struct line - a message being put together, in place
 * @parts: borrowed until it is written
 * @count: of them
 */
struct line {
	struct iovec parts[PARTS_MAX];
	int count;
};

void log_init(void)
{
	struct stat st;

	if (sys_fstat(2, &st) == 0) {
		standard_error.is_open = true;
		standard_error.dev = st.st_dev;
		standard_error.ino = st.st_ino;
		standard_error.rdev = st.st_rdev;
	}
	if (!options.log_file[0])
		return;
	output_name_expand(options.log_file, 0, log_path_buf,
			   sizeof(log_path_buf));
	log_path = log_path_buf;
}

/* Safety: pure. */
static bool is_standard_error(const struct stat *st)
{
	return standard_error.is_open && st->st_dev == standard_error.dev &&
	       st->st_ino == standard_error.ino &&
	       st->st_rdev == standard_error.rdev;
}

/*
 * A write past the limit of file sizes would raise SIGXFSZ.
 *
 * Safety: system call.
 */
static bool is_full(const struct stat *st)
{
	struct rlimit lim;

	return S_ISREG(st->st_mode) && sys_getrlimit(RLIMIT_FSIZE, &lim) == 0 &&
	       (rlim_t)st->st_size >= lim.rlim_cur;
}

/* Safety: system calls.  Return: a descriptor, or -errno. */
static int open_log(void)
{
	return sys_open(log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC,
			0600);
}

/*
 * Puts a log that is too long aside, the first of the process and then the
 * last one before the present.
 *
 * Safety: system calls.  Return: descriptor of the log, as open_log().
 */
static int put_aside(int fd, const struct stat *st)
{
	static char aside[OPTIONS_PATH_MAX + 16];
	static atomic_flag busy = ATOMIC_FLAG_INIT;
	static bool has_initial;
	struct stat now;

	if (atomic_flag_test_and_set(&busy)) /* a signal handler, a thread */
		return fd;
	if (sys_stat(log_path, &now) == 0 && now.st_ino == st->st_ino &&
	    now.st_dev == st->st_dev) {
		struct text path = text_init(aside, sizeof(aside));

		text_add(&path, log_path);
		text_add(&path, has_initial ? ".old" : ".initial");
		has_initial |= sys_rename(log_path, aside) == 0;
	}
	atomic_flag_clear(&busy);
	sys_close(fd);
	return open_log();
}

/* Safety: pure.  @text is borrowed. */
static void add(struct line *line, const char *text)
{
	if (line->count == PARTS_MAX)
		return;
	line->parts[line->count++] = (struct iovec){
		.iov_base = (void *)(uintptr_t)text,
		.iov_len = strlen(text),
	};
}

/*
 * The log file is opened for each line: messages are rare, and a descriptor
 * kept open is one more number that the program may close or reuse.
 *
 * Safety: system calls.
 */
static void emit(const struct line *line)
{
	struct stat st;
	int fd = 2;

	if (log_path)
		fd = open_log();
	if (log_path && options.log_bytes_max && sys_fstat(fd, &st) == 0 &&
	    S_ISREG(st.st_mode) &&
	    (uint64_t)st.st_size > options.log_bytes_max)
		fd = put_aside(fd, &st);
	if (fd < 0)
		return;
	if (sys_fstat(fd, &st) == 0 && !is_full(&st) &&
	    (log_path || is_standard_error(&st)))
		sys_writev(fd, line->parts, line->count);
	if (log_path)
		sys_close(fd);
}

/* Safety: pure.  Return: @digits, filled with @value. */
static const char *format_int(char digits[DIGITS_BYTES], long long value)
{
	struct text text = text_init(digits, DIGITS_BYTES);

	text_add_int(&text, value);
	return digits;
}

/* Safety: pure.  @digits lives as long as the line. */
static void begin(struct line *line, char digits[DIGITS_BYTES])
{
	line->count = 0;
	add(line, "memprof[");
	add(line, format_int(digits, state_pid()));
	add(line, "]: ");
}

void log_line(enum log_level level, const char *text, const char *detail,
	      int error)
{
	char pid[DIGITS_BYTES];
	struct line line;

	if (level > options.log_level)
		return;
	begin(&line, pid);
	add(&line, text);
	if (detail) {
		add(&line, " ");
		add(&line, detail);
	}
	if (error) {
		const char *name = strerrordesc_np(error);

		add(&line, ": ");
		add(&line, name ? name : "unknown error");
	}
	add(&line, "\n");
	emit(&line);
}

void log_number(enum log_level level, const char *text, long long value)
{
	char pid[DIGITS_BYTES], digits[DIGITS_BYTES];
	struct line line;

	if (level > options.log_level)
		return;
	begin(&line, pid);
	add(&line, text);
	add(&line, " ");
	add(&line, format_int(digits, value));
	add(&line, "\n");
	emit(&line);
}
