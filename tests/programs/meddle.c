/* SPDX-License-Identifier: MIT */
/*
 * Meddles with a process at a system call of its choice.
 *     meddle kill|lift N COMMAND...
 * runs the command, follows all that it starts, and just before the N-th of the
 * system calls that the one which tells it to (meddle.h) makes from then on
 * sends that SIGKILL, or lifts its limit of file sizes.  Only calls count that
 * change files, or ask for that limit: what others see, or what it sees itself,
 * is the same between two of them.
 *
 * Exit: 0 it has; 3 there were not so many; 77 nothing can be followed here;
 * 1 other failures.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

#include "meddle.h"

enum {
	CANNOT = 77,
	NEVER = 3,
	OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK |
		  PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
		  PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL,
};

/**
 * struct plan - what to do
 * @lifts:   its limit, and does not kill
 * @nth:     of the victim's system calls, before which that is
 * @victim:  the process, once it is known
 * @parent:  the victim is this one's next child; 0: it is not
 * @count:   of them
 * @is_done: that was
 */
static struct {
	bool lifts;
	long nth;
	pid_t victim;
	pid_t parent;
	long count;
	bool is_done;
} plan;

/* Waits to be followed, then becomes the command. */
static void run_command(char **argv, int ready)
{
	char byte;

	if (read(ready, &byte, 1) != 1)
		_exit(1);
	execvp(argv[0], argv);
	perror(argv[0]);
	_exit(1);
}

static pid_t start(char **argv)
{
	int ready[2];
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) != 0)
		exit(1);
	pid = fork();
	if (pid == 0)
		run_command(argv, ready[0]);
	if (pid < 0 || ptrace(PTRACE_SEIZE, pid, NULL, OPTIONS) != 0) {
		kill(pid, SIGKILL);
		exit(CANNOT);
	}
	if (write(ready[1], "", 1) != 1)
		exit(1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static bool counts(unsigned long long call)
{
	switch (call) {
	case SYS_prlimit64:
		return plan.lifts;
	case SYS_openat:
	case SYS_write:
	case SYS_writev:
	case SYS_pwrite64:
	case SYS_ftruncate:
	case SYS_fallocate:
	case SYS_flock:
	case SYS_linkat:
	case SYS_unlinkat:
	case SYS_renameat2:
	case SYS_mmap:
		return true;
	default:
		return false;
	}
}

static void meddle(void)
{
	const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};

	plan.is_done = true;
	if (!plan.lifts)
		kill(plan.victim, SIGKILL);
	else if (prlimit(plan.victim, RLIMIT_FSIZE, &all, NULL) != 0)
		exit(CANNOT);
}

static void at_system_call(pid_t pid)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0)
		exit(CANNOT);
	if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	if (info.entry.nr == SYS_close) {
		switch ((int)info.entry.args[0]) {
		case MEDDLE_BEGIN:
			plan.victim = pid;
			return;
		case MEDDLE_NEXT_CHILD:
			plan.parent = pid;
			return;
		case MEDDLE_END:
			if (plan.victim == pid)
				plan.victim = 0;
			return;
		default:
			break;
		}
	}
	if (pid == plan.victim && counts(info.entry.nr) &&
	    ++plan.count == plan.nth)
		meddle();
}

static void note_child(pid_t parent)
{
	unsigned long child = 0;

	if (plan.parent != parent)
		return;
	ptrace(PTRACE_GETEVENTMSG, parent, NULL, &child);
	plan.victim = (pid_t)child;
	plan.parent = 0;
}

/* Return: the signal that the process is to have. */
static int get_signal(pid_t pid, int status)
{
	int signal = WSTOPSIG(status);

	switch (status >> 16) {
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		note_child(pid);
		return 0;
	case 0:
		break;
	default:
		return 0;
	}
	if (signal != (SIGTRAP | 0x80))
		return signal;
	at_system_call(pid);
	return 0;
}

int main(int argc, char **argv)
{
	pid_t pid;
	int status;

	if (argc < 4)
		return 1;
	plan.lifts = strcmp(argv[1], "lift") == 0;
	plan.nth = atol(argv[2]);
	start(argv + 3);
	while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR)
		if (pid > 0 && WIFSTOPPED(status))
			ptrace(PTRACE_SYSCALL, pid, NULL,
			       (long)get_signal(pid, status));
	return plan.is_done ? 0 : NEVER;
}
