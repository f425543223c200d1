/* SPDX-License-Identifier: MIT */
#include "tracer/record/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const int forwarded[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
				SIGUSR1, SIGUSR2, SIGWINCH};

/* Safety: pure.  The signals this process waits for. */
static void fill_set(sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		sigaddset(set, forwarded[i]);
	sigaddset(set, SIGCHLD);
}

/**
 * struct start - what of this process's own start the program is to have
 * @mask:  of signals
 * @child: what to do about SIGCHLD
 */
struct start {
	sigset_t mask;
	struct sigaction child;
};

/* Safety: child.  Does not return; tells the parent when exec fails. */
static _Noreturn void run_child(char *const argv[], int report_fd,
				const struct start *start)
{
	int err;

	sigaction(SIGCHLD, &start->child, NULL);
	sigprocmask(SIG_SETMASK, &start->mask, NULL);
	execvp(argv[0], argv);
	err = errno;
	while (write(report_fd, &err, sizeof(err)) < 0 && errno == EINTR)
		;
	_exit(err == ENOENT ? 127 : 126);
}

/* Safety: parent.  Return: 0 once exec has succeeded, or its errno. */
static int read_exec_error(int fd)
{
	int err = 0;
	ssize_t n;

	do
		n = read(fd, &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(err) ? err : 0;
}

/* Safety: parent, signals of @set blocked.  Waits for the child's end. */
static void wait_for_end(const sigset_t *set, struct launch_result *ret)
{
	struct rusage usage = {0};
	siginfo_t info;

	for (;;) {
		pid_t pid = wait4(ret->pid, &ret->wait_status, WNOHANG, &usage);

		if (pid == ret->pid)
			break;
		if (sigwaitinfo(set, &info) < 0 || info.si_signo == SIGCHLD)
			continue;
		/* The terminal signals its whole foreground group. */
		if (info.si_code != SI_KERNEL)
			kill(ret->pid, info.si_signo);
	}
	ret->peak_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
}

int launch_run(char *const argv[], struct launch_result *ret)
{
	const struct sigaction default_action = {.sa_handler = SIG_DFL};
	struct start start;
	sigset_t set;
	int report[2];
	int err;

	if (pipe2(report, O_CLOEXEC) != 0)
		return errno;
	fill_set(&set);
	sigprocmask(SIG_BLOCK, &set, &start.mask);
	/* Who ignores it does not learn how a child ended, nor when. */
	sigaction(SIGCHLD, &default_action, &start.child);
	ret->pid = fork();
	if (ret->pid < 0)
		return errno;
	if (ret->pid == 0)
		run_child(argv, report[1], &start);
	close(report[1]);
	err = read_exec_error(report[0]);
	close(report[0]);
	wait_for_end(&set, ret);
	return err;
}

_Noreturn void launch_exit_like(int wait_status)
{
	struct rlimit no_core = {0, 0};
	sigset_t set;
	int sig;

	if (!WIFSIGNALED(wait_status))
		exit(WEXITSTATUS(wait_status));
	sig = WTERMSIG(wait_status);
	setrlimit(RLIMIT_CORE, &no_core); /* the program's own is the one */
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	kill(getpid(), sig);
	exit(128 + sig);
}
