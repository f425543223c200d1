/* SPDX-License-Identifier: MIT */
/*
 * Does what its arguments say, one after another, and prints what a program
 * can see of a process beside it; untraced it prints the same.
 *   churn:N   N blocks of 500 bytes, each freed at once
 *   find      truth: "helper PID USER", 0 for none
 *   tasks     number of threads
 *   wait      what wait() says without a child, then with one
 *   chld      number of SIGCHLD so far
 *   pipe      whether a pipe ends when its writer is closed; opens one first
 *   stop, kill  sends that to the helper
 *   killsoon  sends SIGKILL to it from a thread, at some moment
 *   abandon   closes all descriptors but the first three and the truth's
 *   noclone   forbids itself processes, by a filter
 *   newpid    the next child is the first of a namespace of process ids
 *   child     forks one that prints whether it is the first of its namespace
 *   user:N    takes user id N
 *   root:D    makes D the root directory
 *   session   begins one
 *   vfork     a vfork() child allocates, then executes true
 *   noexec    tries to execute what does not exist
 *   raw:FILE  executes FILE without the C library
 *   raw_exit  ends without it
 *   die       is killed
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "truth.h"

static int fds[2];
static int helper;
static volatile sig_atomic_t children;

static void churn(long n)
{
	for (long i = 0; i < n; i++) {
		void *p = malloc(500);

		TRUTH_KEEP(p);
		free(p);
	}
}

/* Return: effective user of a process, -1 when there is none. */
static int user_of(int pid)
{
	char path[64], line[256];
	int user = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = pid ? fopen(path, "r") : NULL;
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Uid: %*d %d", &user) == 1)
			break;
	if (f)
		fclose(f);
	return user;
}

static void find(void)
{
	char path[64], line[64] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	fd = open(path, O_RDONLY);
	if (fd >= 0 && read(fd, line, sizeof(line) - 1) > 0)
		helper = atoi(line);
	close(fd);
	truth("helper %d %d\n", helper, user_of(helper));
}

static void count_tasks(void)
{
	struct stat st;

	if (stat("/proc/self/task", &st) == 0)
		printf("tasks %d\n", (int)st.st_nlink - 2);
}

static void wait_for_child(void)
{
	int status, pid = waitpid(-1, &status, 0);

	printf("wait %d %d\n", pid, errno == ECHILD);
	pid = fork();
	if (pid == 0)
		_exit(3);
	pid -= wait(&status);
	printf("wait %d %d\n", pid, WEXITSTATUS(status));
	pid = wait(&status);
	printf("wait %d %d\n", pid, errno == ECHILD);
}

static void on_child(int sig)
{
	(void)sig;
	children++;
}

static void end_pipe(void)
{
	char c;

	close(fds[1]);
	alarm(200);
	printf("read %d\n", (int)read(fds[0], &c, 1));
	alarm(0);
}

static void send(int sig)
{
	if (helper)
		kill(helper, sig);
}

static void *kill_soon(void *arg)
{
	usleep((useconds_t)(getpid() % 50) * 400);
	send(SIGKILL);
	return arg;
}

static void start_kill_soon(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, kill_soon, NULL);
	pthread_detach(thread);
}

static void abandon(void)
{
	const char *truth_fd = getenv("MEMPROF_TRUTH_FD");

	for (int fd = 3; fd < 1024; fd++)
		if (!truth_fd || fd != atoi(truth_fd))
			close(fd);
}

static void make_child(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(syscall(SYS_getpid) == 1);
	if (pid > 0 && waitpid(pid, &status, 0) == pid)
		printf("first %d\n", WEXITSTATUS(status));
}

static void forbid_clone(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, filter };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	printf("filter %d\n",
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

static void vfork_and_allocate(void)
{
	int status = 0;
	pid_t pid = vfork();

	if (pid == 0) {
		churn(60000);
		execl("/bin/true", "true", (char *)NULL);
		_exit(9);
	}
	waitpid(pid, &status, 0);
	printf("status %d\n", status);
}

static void fail_to_execute(void)
{
	char *argv[] = { "x", NULL };

	if (execv("/nonexistent", argv) != -1)
		_exit(98);
}

static void execute(char *file)
{
	char *argv[] = { file, NULL };

	fflush(stdout);
	syscall(SYS_execve, file, argv, environ);
	_exit(97);
}

/* Return: what follows @name and its colon in @step, or NULL. */
static char *argument(char *step, const char *name)
{
	size_t len = strlen(name);

	return strncmp(step, name, len) == 0 && step[len] == ':'
		   ? step + len + 1
		   : NULL;
}

static void take_argument(char *step)
{
	char *value;

	if ((value = argument(step, "churn")))
		churn(atol(value));
	else if ((value = argument(step, "user")))
		printf("user %d\n", setuid((uid_t)atoi(value)));
	else if ((value = argument(step, "root")))
		printf("root %d\n", chroot(value));
	else if ((value = argument(step, "raw")))
		execute(value);
	else
		exit(96);
}

static const struct {
	const char *name;
	void (*run)(void);
} steps[] = {
	{ "find", find },
	{ "tasks", count_tasks },
	{ "wait", wait_for_child },
	{ "pipe", end_pipe },
	{ "killsoon", start_kill_soon },
	{ "abandon", abandon },
	{ "noclone", forbid_clone },
	{ "child", make_child },
	{ "vfork", vfork_and_allocate },
	{ "noexec", fail_to_execute },
};

static void take_step(char *step)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (!strcmp(step, steps[i].name)) {
			steps[i].run();
			return;
		}
	if (!strcmp(step, "chld"))
		printf("signals %d\n", (int)children);
	else if (!strcmp(step, "stop"))
		send(SIGSTOP);
	else if (!strcmp(step, "kill"))
		send(SIGKILL);
	else if (!strcmp(step, "newpid"))
		printf("newpid %d\n", unshare(CLONE_NEWPID));
	else if (!strcmp(step, "session"))
		printf("session %d\n", setsid() > 0);
	else if (!strcmp(step, "raw_exit"))
		fflush(stdout), syscall(SYS_exit_group, 21);
	else if (!strcmp(step, "die"))
		fflush(stdout), kill(getpid(), SIGKILL);
	else
		take_argument(step);
}

int main(int argc, char **argv)
{
	if (pipe(fds) != 0)
		return 95;
	signal(SIGCHLD, on_child);
	for (int i = 1; i < argc; i++)
		take_step(argv[i]);
	return 5;
}
