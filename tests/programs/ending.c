/* SPDX-License-Identifier: MIT */
/*
 * Allocates 1000 blocks of 1000 + i bytes, then ends in the way the argument
 * names.  Truth: "blocks 1000" and what else the case adds.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "truth.h"

extern char **environ;
static jmp_buf back;

static void jump(int sig)
{
	(void)sig;
	longjmp(back, 1);
}

static void leave_a_mark(void)
{
	void *p = malloc(77777);

	TRUTH_KEEP(p);
}

static void fork_and_wait(int use_raw)
{
	int status = 0;
	pid_t pid = use_raw ? (pid_t)syscall(SYS_fork) : fork();

	if (pid == 0) {
		for (int i = 0; i < 20000; i++) {
			void *p = malloc(66666); /* not the parent's */

			TRUTH_KEEP(p);
			free(p);
		}
		exit(5);
	}
	waitpid(pid, &status, 0);
	if (WEXITSTATUS(status) != 5)
		abort();
	leave_a_mark();
}

static void vfork_and_exec(void)
{
	int status = 0;
	pid_t pid = vfork();

	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(9);
	}
	waitpid(pid, &status, 0);
	if (status != 0)
		abort();
	pid = vfork();
	if (pid == 0)
		_exit(4);
	waitpid(pid, &status, 0);
	if (WEXITSTATUS(status) != 4)
		abort();
	leave_a_mark();
}

static void spawn(void)
{
	char *argv[] = {"true", NULL};
	int status = 0;
	pid_t pid;

	if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ))
		abort();
	waitpid(pid, &status, 0);
	if (status != 0 || system("exit 3") != 3 << 8)
		abort();
	leave_a_mark();
}

/* The child, which is this program, too, is made by one that is big. */
static void grow_and_spawn(void)
{
	char *argv[] = {"ending", "return", NULL};
	int status = 0;
	pid_t pid;

	memset(malloc(100 << 20), 1, 100 << 20);
	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ))
		abort();
	waitpid(pid, &status, 0);
	if (status != 0)
		abort();
}

static void failing_exec(void)
{
	char *argv[] = {"x", NULL};

	if (execve("/nonexistent", argv, environ) != -1 || errno != ENOENT)
		abort();
	if (execl("/etc/passwd", "x", (char *)NULL) != -1 || errno != EACCES)
		abort();
	leave_a_mark();
}

static void end(const char *how)
{
	char *argv[] = {"sh", "-c", "exit 6", NULL};

	if (!strcmp(how, "exit"))
		exit(11);
	else if (!strcmp(how, "_exit"))
		_exit(12);
	else if (!strcmp(how, "_Exit"))
		_Exit(13);
	else if (!strcmp(how, "quick_exit"))
		quick_exit(14);
	else if (!strcmp(how, "raw_exit"))
		syscall(SYS_exit_group, 15);
	else if (!strcmp(how, "abort"))
		abort();
	else if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	else if (!strcmp(how, "segv"))
		*(volatile int *)8 = 1;
	else if (!strcmp(how, "exec"))
		execv("/bin/sh", argv);
	else if (!strcmp(how, "execlp"))
		execlp("sh", "sh", "-c", "exit 6", (char *)NULL);
	else if (!strcmp(how, "fexec_fail"))
		failing_exec();
	else if (!strcmp(how, "fork"))
		fork_and_wait(0);
	else if (!strcmp(how, "raw_fork"))
		fork_and_wait(1);
	else if (!strcmp(how, "vfork"))
		vfork_and_exec();
	else if (!strcmp(how, "spawn"))
		spawn();
	else if (!strcmp(how, "grow_and_spawn"))
		grow_and_spawn();
	else if (!strcmp(how, "abort_caught")) {
		signal(SIGABRT, jump);
		if (!setjmp(back))
			abort();
		leave_a_mark();
	}
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 1000; i++) {
		void *p = malloc(1000 + (size_t)i);

		TRUTH_KEEP(p);
	}
	truth("blocks 1000\n");
	if (argc > 1)
		end(argv[1]);
	return 0;
}
