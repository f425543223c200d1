/* SPDX-License-Identifier: MIT */
#include "tracer/record/launch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
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

/* Safety: child.  Does not return; @ret_error is the parent's, too. */
static _Noreturn void run_child(char *const argv[], int *ret_error,
				const struct start *start)
{
	sigaction(SIGCHLD, &start->child, NULL);
	sigprocmask(SIG_SETMASK, &start->mask, NULL);
	execvp(argv[0], argv);
	*ret_error = errno;
	_exit(errno == ENOENT ? 127 : 126);
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

/* A mapping tells why exec failed: unlike a pipe it takes no descriptors. */
int launch_run(char *const argv[], struct launch_result *ret)
{
	const struct sigaction default_action = {.sa_handler = SIG_DFL};
	int *error = mmap(NULL, sizeof(*error), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct start start;
	sigset_t set;
	int err;

	if (error == MAP_FAILED)
		return errno;
	fill_set(&set);
	sigprocmask(SIG_BLOCK, &set, &start.mask);
	/* Who ignores it does not learn how a child ended, nor when. */
	sigaction(SIGCHLD, &default_action, &start.child);
	ret->pid = fork();
	if (ret->pid < 0)
		return errno;
	if (ret->pid == 0)
		run_child(argv, error, &start);
	signal(SIGXFSZ, SIG_IGN); /* a file too long already is one for errno */
	wait_for_end(&set, ret);
	err = *error;
	munmap(error, sizeof(*error));
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
