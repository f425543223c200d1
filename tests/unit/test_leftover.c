/* SPDX-License-Identifier: MIT */
/* What a signal finds under temporary names goes; each time in a process of its
   own, which the signal ends. */
#include "tests/lib/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/core/diag.h"
#include "report/leftover.h"
#include "report/output_file.h"

enum { BUS_STATUS = 57, OTHER_STATUS = 58 };

static char directory[] = "/tmp/memprof-leftover-XXXXXX";

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

static void wait_for_the_end(void)
{
	for (;;)
		pause();
}

/* Return: how a process ends that does @what. */
static int in_child(void (*what)(void))
{
	int status;
	pid_t child;

	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		what();
		_exit(OTHER_STATUS);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void end_of_mapped_file(void)
{
	_exit(BUS_STATUS);
}

static void leave(void)
{
	static struct leftover folder, file, named;

	leftovers_watch(end_of_mapped_file);
	mkdir("new", 0777);
	leftover_add(&folder, "new");
	leftover_create(&file, "new/.file.tmp");
	leftover_create(&named, "new/.named.tmp");
	rename("new/.named.tmp", "named");
	leftover_settle(&named);
}

static int signal_to_send;

static void be_interrupted(void)
{
	leave();
	kill(getpid(), signal_to_send);
	wait_for_the_end();
}

static void ignore_and_leave(void)
{
	signal(SIGINT, SIG_IGN);
	leave();
	kill(getpid(), SIGINT);
	_exit(is_there("new/.file.tmp") ? OTHER_STATUS : 0);
}

static void read_what_became_shorter(void)
{
	int fd = open("shorter", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	volatile char *map;

	leave();
	if (fd < 0 || ftruncate(fd, 1 << 16))
		_exit(1);
	map = mmap(NULL, 1 << 16, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED || ftruncate(fd, 0))
		_exit(1);
	_exit(map[1 << 15]);
}

static void test_signal(void **state)
{
	static const int signals[] = { SIGINT,	SIGTERM, SIGXCPU,
				       SIGALRM, SIGUSR1, SIGUSR2 };

	(void)state;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		int status;

		signal_to_send = signals[i];
		status = in_child(be_interrupted);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), signals[i]);
		assert_false(is_there("new"));
		assert_true(is_there("named"));
	}
}

static void test_ignored_signal(void **state)
{
	int status = in_child(ignore_and_leave);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), OTHER_STATUS);
	unlink("new/.file.tmp");
	rmdir("new");
}

static void test_shorter_file(void **state)
{
	int status = in_child(read_what_became_shorter);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), BUS_STATUS);
	assert_false(is_there("new"));
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void assert_holds(const char *path, const char *text)
{
	char found[64] = "";
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_non_null(fgets(found, sizeof(found), file));
	fclose(file);
	assert_string_equal(found, text);
}

/* @status: of what was written. */
static int write_file(const char *path, int status)
{
	struct diag diag = { .offset = DIAG_NO_OFFSET };
	struct output_file out;
	int error = output_file_open(&out, path, &diag);

	if (error)
		return error;
	sink_puts(&out.sink, "new");
	return output_file_close(&out, status, &diag);
}

/* A file is as it was until another is complete, and keeps its rights. */
static void test_output_file(void **state)
{
	struct stat info;

	(void)state;
	put("out", "old");
	assert_int_equal(chmod("out", 0640), 0);
	assert_int_equal(write_file("out", -EIO), -EIO);
	assert_holds("out", "old");
	assert_int_equal(write_file("out", 0), 0);
	assert_holds("out", "new");
	assert_int_equal(stat("out", &info), 0);
	assert_int_equal(info.st_mode & 0777, 0640);
	assert_false(is_there(".out.tmp"));
}

static void test_output_link(void **state)
{
	struct stat info;

	(void)state;
	put("target", "old");
	assert_int_equal(symlink("target", "link"), 0);
	assert_int_equal(write_file("link", 0), 0);
	assert_holds("target", "new");
	assert_int_equal(lstat("link", &info), 0);
	assert_true(S_ISLNK(info.st_mode));
}

/* What has the temporary name is not written to. */
static void test_temporary_taken(void **state)
{
	(void)state;
	put("victim", "old");
	assert_int_equal(symlink("victim", ".fresh.tmp"), 0);
	assert_int_equal(write_file("fresh", 0), 0);
	assert_holds("victim", "old");
	assert_holds("fresh", "new");
	assert_int_equal(mkfifo(".fresh.tmp", 0600), 0);
	assert_int_equal(write_file("fresh", 0), 0);
	assert_false(is_there(".fresh.tmp"));
}

static int enter(void **state)
{
	(void)state;
	return mkdtemp(directory) ? chdir(directory) : -1;
}

static int leave_nothing(void **state)
{
	static const char *const names[] = { "named", "shorter", "out",
					     "target", "link", "victim",
					     "fresh" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(names[i]);
	return chdir("/") || rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_ignored_signal),
		cmocka_unit_test(test_shorter_file),
		cmocka_unit_test(test_output_file),
		cmocka_unit_test(test_output_link),
		cmocka_unit_test(test_temporary_taken),
	};

	return cmocka_run_group_tests(tests, enter, leave_nothing);
}
