/* SPDX-License-Identifier: MIT */
/*
 * What processes do to themselves.  Arguments: steps, in turn.
 *   churn:SIZE:COUNT   allocates and frees
 *   threads:COUNT      short threads, 50 at once, each allocates 47001 once
 *   race               ends while threads begin, allocate and end
 *   raw                a child by clone(CLONE_VM) that allocates nothing
 *   mainexits          the first thread ends; another one ends the process
 *   daemon             forks twice; the grandchild goes on
 *   closeall           close_range() from 3 on
 *   over               puts its own files in the place of all descriptors
 *   leave:DIR          works in DIR, which it removes
 *   rename:OLD:NEW     a directory
 *   limit:NAME:VALUE   setrlimit(); memory: that much more than it has
 *   fill               allocates blocks of 1 MiB until there is none
 *   user:ID            gives up being root
 *   overflow           its stack; a handler on another one allocates 47002
 *   crash              in a signal handler
 *   hold:COUNT         threads that stay; each allocates 47004 once
 *   kill               by SIGKILL
 *   waitall            waits for every child there is, with __WALL
 *   spaces             unshare(CLONE_VM): only for a process by itself
 *   backtrace          asks the C library for its own stack
 *   exit:STATUS        by exit()
 *   live:STATUS        by _exit(), with threads that never end
 * Truth: "has SIZE COUNT".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "truth.h"

static void churn(size_t size, int count)
{
	for (int i = 0; i < count; i++) {
		void *p = malloc(size);

		TRUTH_KEEP(p);
		free(p);
	}
	truth("has %zu %d\n", size, count);
}

static void one_block_of(size_t size)
{
	void *p = malloc(size);

	TRUTH_KEEP(p);
	free(p);
}

static void *one_block(void *arg)
{
	one_block_of(47001);
	return arg;
}

static void many_threads(int count)
{
	pthread_t threads[50];

	for (int made = 0; made < count; made += 50) {
		for (int i = 0; i < 50; i++)
			if (pthread_create(&threads[i], NULL, one_block, NULL))
				abort();
		for (int i = 0; i < 50; i++)
			pthread_join(threads[i], NULL);
	}
	truth("has 47001 %d\n", count);
}

static void *stay(void *arg)
{
	one_block_of(47004);
	pthread_barrier_wait(arg);
	pause();
	return arg;
}

static void hold(int count)
{
	static pthread_barrier_t all_there;
	pthread_t thread;

	if (pthread_barrier_init(&all_there, NULL, (unsigned)count + 1))
		abort();
	for (int i = 0; i < count; i++)
		if (pthread_create(&thread, NULL, stay, &all_there))
			abort();
	pthread_barrier_wait(&all_there);
}

static void *breed(void *arg)
{
	pthread_attr_t detached;
	pthread_t thread;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	for (;;)
		if (pthread_create(&thread, &detached, one_block, NULL))
			usleep(100);
	return arg;
}

static void race(void)
{
	pthread_t thread;

	for (int i = 0; i < 3; i++)
		if (pthread_create(&thread, NULL, breed, NULL))
			abort();
	usleep(50000);
}

static int say_hello(void *arg)
{
	return write(1, arg, strlen(arg)) > 0 ? 7 : 8;
}

static void raw_clone(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	static char text[] = "hello\n";
	int status = 0;
	int pid = clone(say_hello, stack + sizeof(stack), CLONE_VM | SIGCHLD,
			text);

	fflush(stdout);
	if (pid < 0 || waitpid(pid, &status, 0) != pid ||
	    WEXITSTATUS(status) != 7)
		abort();
}

static void *end_all(void *arg)
{
	pthread_join(*(pthread_t *)arg, NULL);
	churn(47003, 300);
	exit(17);
}

static void main_exits(void)
{
	static pthread_t self, other;

	self = pthread_self();
	pthread_create(&other, NULL, end_all, &self);
	pthread_exit(NULL);
}

static void become_daemon(void)
{
	int status;

	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();

		if (pid < 0)
			abort();
		if (pid && i == 0) {
			waitpid(pid, &status, 0);
			exit(WEXITSTATUS(status));
		}
		if (pid && waitpid(pid, &status, 0) == pid)
			_exit(WEXITSTATUS(status));
		setsid();
	}
	for (int i = 0; i < 50000; i++) {
		void *p = malloc(47004);

		TRUTH_KEEP(p);
		free(p);
	}
	exit(5);
}

static void put_own_files_over_all(void)
{
	int own = open("/dev/zero", O_RDWR);

	for (int fd = 3; fd < 1100; fd++)
		if (fd != own && fd != 200) /* where truth goes */
			dup2(own, fd);
}

/* All but the one where truth goes. */
static void close_all(void)
{
	syscall(SYS_close_range, 3, 199, 0);
	syscall(SYS_close_range, 201, ~0u, 0);
}

static void leave(const char *dir)
{
	char from_inside[256];

	snprintf(from_inside, sizeof(from_inside), "../%s", dir);
	if (mkdir(dir, 0700) || chdir(dir) || rmdir(from_inside))
		abort();
	if (getcwd(NULL, 0) || errno != ENOENT)
		abort();
}

static size_t get_address_space(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	size_t pages = 0;

	if (!f || fscanf(f, "%zu", &pages) != 1)
		abort();
	fclose(f);
	return pages * 4096;
}

static void limit(const char *name, rlim_t value)
{
	static const struct {
		const char *name;
		int which;
	} names[] = {{"files", RLIMIT_NOFILE},
		     {"processes", RLIMIT_NPROC},
		     {"memory", RLIMIT_AS},
		     {"bytes", RLIMIT_FSIZE},
		     {"data", RLIMIT_DATA},
		     {"locked", RLIMIT_MEMLOCK}};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct rlimit lim = {value, value};

		if (strcmp(name, names[i].name) != 0)
			continue;
		if (names[i].which == RLIMIT_AS)
			lim.rlim_cur = lim.rlim_max =
			    get_address_space() + value;
		if (setrlimit(names[i].which, &lim))
			abort();
	}
}

static void fill(void)
{
	void *first = NULL;
	int count = 0;

	for (void **p; (p = malloc(1 << 20)); count++) {
		*p = first;
		first = p;
	}
	if (errno != ENOMEM)
		abort();
	truth("has 1048576 %d\n", count);
	while (first) {
		void *next = *(void **)first;

		free(first);
		first = next;
	}
	puts(count > 10 ? "filled" : "not much");
}

static void on_overflow(int sig)
{
	void *p = malloc(47002);

	(void)sig;
	TRUTH_KEEP(p);
	free(p);
	truth("has 47002 1\n");
	_exit(23);
}

static volatile int depth;

static int recurse(void)
{
	volatile char frame[4096];

	frame[0] = (char)depth++;
	return depth < 0 ? 0 : recurse() + frame[0];
}

static void overflow(void)
{
	static char bytes[65536];
	stack_t stack = {.ss_sp = bytes, .ss_size = sizeof(bytes)};
	struct sigaction action = {.sa_handler = on_overflow,
				   .sa_flags = SA_ONSTACK};

	sigaltstack(&stack, NULL);
	sigaction(SIGSEGV, &action, NULL);
	recurse();
}

static void on_signal(int sig)
{
	void *p = malloc(47005);

	TRUTH_KEEP(p);
	truth("has 47005 1\n");
	*(volatile int *)(intptr_t)sig = 1;
}

static void crash(void)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
}

static void wait_for_all(void)
{
	int status, children = 0;

	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(i);
	}
	while (waitpid(-1, &status, __WALL) > 0)
		children++;
	printf("children %d, %d\n", children, errno == ECHILD);
	children = 0;
	if (fork() == 0)
		_exit(3);
	while (wait4(-1, &status, __WALL, NULL) > 0)
		children++;
	if (fork() == 0)
		_exit(3);
	while (waitid(P_ALL, 0, NULL, WEXITED | __WALL) == 0)
		children++;
	printf("children %d, %d\n", children, errno == ECHILD);
}

static void show_backtrace(void)
{
	void *frames[64];
	int count;
	char **names;

	one_block(NULL);
	count = backtrace(frames, 64);
	names = backtrace_symbols(frames, count);
	printf("frames %d, names %d\n", count, names != NULL);
	free(names);
	truth("has 47001 1\n");
}

static void *never_end(void *arg)
{
	one_block(NULL);
	pthread_barrier_wait(arg);
	for (;;)
		pause();
	return NULL;
}

static void end_among_threads(int status)
{
	static pthread_barrier_t barrier;
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 4);
	for (int i = 0; i < 3; i++)
		if (pthread_create(&thread, NULL, never_end, &barrier))
			abort();
	pthread_barrier_wait(&barrier);
	truth("has 47001 3\n");
	_exit(status);
}

static void step(const char *name, char *argument)
{
	char *more = argument ? strchr(argument, ':') : NULL;

	if (more)
		*more++ = '\0';
	if (!strcmp(name, "churn"))
		churn((size_t)atol(argument), atoi(more));
	else if (!strcmp(name, "threads"))
		many_threads(atoi(argument));
	else if (!strcmp(name, "race"))
		race();
	else if (!strcmp(name, "raw"))
		raw_clone();
	else if (!strcmp(name, "mainexits"))
		main_exits();
	else if (!strcmp(name, "daemon"))
		become_daemon();
	else if (!strcmp(name, "closeall"))
		close_all();
	else if (!strcmp(name, "over"))
		put_own_files_over_all();
	else if (!strcmp(name, "leave"))
		leave(argument);
	else if (!strcmp(name, "rename") && rename(argument, more))
		abort();
	else if (!strcmp(name, "rename"))
		return;
	else if (!strcmp(name, "limit"))
		limit(argument, (rlim_t)atoll(more));
	else if (!strcmp(name, "fill"))
		fill();
	else if (!strcmp(name, "user"))
		printf("user %d\n", setuid((uid_t)atoi(argument)));
	else if (!strcmp(name, "overflow"))
		overflow();
	else if (!strcmp(name, "crash"))
		crash();
	else if (!strcmp(name, "hold"))
		hold(atoi(argument));
	else if (!strcmp(name, "kill"))
		kill(getpid(), SIGKILL);
	else if (!strcmp(name, "waitall"))
		wait_for_all();
	else if (!strcmp(name, "spaces"))
		printf("unshare %d\n", unshare(CLONE_VM));
	else if (!strcmp(name, "backtrace"))
		show_backtrace();
	else if (!strcmp(name, "live"))
		end_among_threads(atoi(argument));
	else if (!strcmp(name, "exit"))
		exit(atoi(argument));
	else
		abort();
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		char name[256];
		char *colon;

		snprintf(name, sizeof(name), "%s", argv[i]);
		colon = strchr(name, ':');
		if (colon)
			*colon++ = '\0';
		step(name, colon);
	}
	puts("done");
	return 0;
}
