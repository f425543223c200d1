/* SPDX-License-Identifier: MIT */
/*
 * watch OUTPUT ADDRESS_SPACE_BYTES PROGRAM [ARGUMENT]... - run PROGRAM and say
 * what it and everything it started used, down to the last process.
 *
 * A tracer may leave work to processes that its caller does not wait for, so
 * this one adopts what is orphaned below it.  It is a small program of its own
 * and not a part of the script because a process takes over the peak of what
 * it was forked from: Python's 20 MiB would hide the peak of a small program.
 * ADDRESS_SPACE_BYTES limits each process; 0: no limit.
 *
 * OUTPUT gets a line for each process that ended and each that was seen:
 *   end PID WAIT_STATUS CPU_US MAXRSS_KIB WALL_NS
 *   peak PID PEAK_KIB EXECUTABLE
 * Wall time counts from the start of PROGRAM, which is the first line's
 * `start PID`.  An end includes the CPU time of the children that the process
 * itself waited for; the sum of all ends counts everything once.  A process that
 * shares its parent's memory has no peak.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	PROCESSES_MAX = 256,
	SAMPLE_NS = 20 * 1000 * 1000,
};

/* What was seen of one process while it ran. */
static struct {
	pid_t pid;
	long peak_kib;
	char executable[512];
} seen[PROCESSES_MAX];
static size_t seen_count;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Return: the peak of @pid's present program, 0 when it has ended. */
static long read_peak_kib(pid_t pid)
{
	char path[64], line[256];
	long peak_kib = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "VmHWM: %ld", &peak_kib) == 1)
			break;
	fclose(file);
	return peak_kib;
}

/* A tracer's helper, or a child between vfork() and exec. */
static bool shares_memory(pid_t pid, pid_t parent)
{
	return syscall(SYS_kcmp, pid, parent, KCMP_VM, 0, 0) == 0;
}

static void note_process(pid_t pid, pid_t parent)
{
	long peak_kib = shares_memory(pid, parent) ? 0 : read_peak_kib(pid);
	char path[64];
	ssize_t len;
	size_t i = 0;

	while (i < seen_count && seen[i].pid != pid)
		i++;
	if (peak_kib == 0 || i == PROCESSES_MAX)
		return;
	if (i == seen_count)
		seen[seen_count++].pid = pid;
	if (seen[i].peak_kib < peak_kib)
		seen[i].peak_kib = peak_kib;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	len = readlink(path, seen[i].executable,
		       sizeof(seen[i].executable) - 1);
	if (len > 0)
		seen[i].executable[len] = '\0';
}

/* Calls @visit for every process below @pid. */
static void walk_children(pid_t pid, void (*visit)(pid_t pid, pid_t parent))
{
	char path[320];
	struct dirent *task;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	if (!tasks)
		return;
	while ((task = readdir(tasks)) != NULL) {
		FILE *file;
		int child;

		if (task->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/children",
			 (int)pid, task->d_name);
		file = fopen(path, "r");
		while (file && fscanf(file, "%d", &child) == 1) {
			walk_children(child, visit);
			visit(child, pid);
		}
		if (file)
			fclose(file);
	}
	closedir(tasks);
}

static void kill_process(pid_t pid, pid_t parent)
{
	(void)parent;
	kill(pid, SIGKILL);
}

static pid_t start(char *const argv[], rlim_t address_space_bytes,
		   const sigset_t *old_mask)
{
	struct rlimit limit = { address_space_bytes, address_space_bytes };
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	sigprocmask(SIG_SETMASK, old_mask, NULL);
	if (address_space_bytes)
		setrlimit(RLIMIT_AS, &limit);
	execvp(argv[0], argv);
	fprintf(stderr, "watch: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* Return: whether there are processes left to wait for. */
static bool reap(FILE *out, uint64_t start_ns)
{
	struct rusage usage;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG | __WALL, &usage)) > 0)
		fprintf(out, "end %d %d %lld %ld %llu\n", (int)pid, status,
			(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) *
					1000000LL +
				usage.ru_utime.tv_usec + usage.ru_stime.tv_usec,
			usage.ru_maxrss,
			(unsigned long long)(now_ns() - start_ns));
	return pid == 0;
}

/* Waits for all of them; a signal other than SIGCHLD ends all of them. */
static void wait_for_all(FILE *out, const sigset_t *set, uint64_t start_ns)
{
	const struct timespec sample = { .tv_nsec = SAMPLE_NS };

	while (reap(out, start_ns)) {
		int sig = sigtimedwait(set, NULL, &sample);

		if (sig > 0 && sig != SIGCHLD)
			walk_children(getpid(), kill_process);
		else if (sig < 0)
			walk_children(getpid(), note_process);
	}
}

int main(int argc, char **argv)
{
	sigset_t set, old_mask;
	uint64_t start_ns;
	FILE *out;
	pid_t pid;

	if (argc < 4 || !(out = fopen(argv[1], "we"))) {
		fprintf(stderr, "usage: watch OUTPUT ADDRESS_SPACE_BYTES "
				"PROGRAM [ARGUMENT]...\n");
		return 2;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, &old_mask);
	start_ns = now_ns();
	pid = start(argv + 3, strtoull(argv[2], NULL, 10), &old_mask);
	if (pid < 0)
		perror("watch: fork");
	fprintf(out, "start %d\n", (int)pid);
	wait_for_all(out, &set, start_ns);
	for (size_t i = 0; i < seen_count; i++)
		fprintf(out, "peak %d %ld %s\n", (int)seen[i].pid,
			seen[i].peak_kib, seen[i].executable);
	return fclose(out) == 0 ? 0 : 1;
}
