/* SPDX-License-Identifier: MIT */
/*
 * Allocates, has the kernel refuse system calls from then on, and allocates
 * more.  Arguments: what is refused, blocks before, blocks after.
 *   all:   every call but exit_group and write to the first three descriptors
 *   files: all that opens, changes or maps files
 *   clone: new processes and threads
 *   identity: all that tells who the process is and what its children do
 *   getpid: that call; then children that vfork() made end, and execute
 *   kill: as all, but whoever makes another call is killed, and more memory
 *          may be asked for
 *   kill-all-threads: the same by seccomp()
 *   kill-some: what opens, writes and changes files kills; threads allocate
 *   children: nothing; children that vfork() made are killed for all but
 *          writing, executing and ending, and do that
 *   wrong: filters that the kernel does not take
 *   strict: seccomp's strict mode
 *   tsc: reading the time stamp counter
 * Truth: "has SIZE COUNT".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

enum { FILTER_MAX = 64 };

#define LOAD(member) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define IS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), yes, no)
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define REFUSE ANSWER(SECCOMP_RET_ERRNO | EPERM)

static void install(const struct sock_filter *filter, size_t count)
{
	struct sock_fprog program = {
		.len = (unsigned short)count,
		.filter = (struct sock_filter *)(uintptr_t)filter,
	};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		abort();
}

static void refuse_all(void)
{
	static const struct sock_filter filter[] = {
		LOAD(nr),
		IS(SYS_exit_group, 3, 0),
		IS(SYS_write, 0, 3),
		LOAD(args[0]),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 2, 1, 0),
		ANSWER(SECCOMP_RET_ALLOW),
		REFUSE,
	};

	install(filter, sizeof(filter) / sizeof(filter[0]));
}

static void refuse(const int *calls, size_t count)
{
	struct sock_filter filter[FILTER_MAX];
	size_t n = 0;

	filter[n++] = (struct sock_filter)LOAD(nr);
	for (size_t i = 0; i < count; i++) {
		filter[n++] = (struct sock_filter)IS((unsigned)calls[i], 0, 1);
		filter[n++] = (struct sock_filter)REFUSE;
	}
	filter[n++] = (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW);
	install(filter, n);
}

static void refuse_files(void)
{
	static const int calls[] = {
		SYS_open, SYS_openat, SYS_creat, SYS_ftruncate, SYS_fallocate,
		SYS_unlink, SYS_unlinkat, SYS_fcntl, SYS_flock, SYS_readlink,
		SYS_readlinkat, SYS_prlimit64, SYS_newfstatat, SYS_stat};

	refuse(calls, sizeof(calls) / sizeof(calls[0]));
}

static void refuse_clone(void)
{
	static const int calls[] = {SYS_clone, SYS_clone3, SYS_fork, SYS_vfork};

	refuse(calls, sizeof(calls) / sizeof(calls[0]));
}

static void refuse_identity(void)
{
	static const int calls[] = {
		SYS_getpid, SYS_gettid, SYS_getppid, SYS_tgkill, SYS_kill,
		SYS_kcmp, SYS_wait4, SYS_waitid, SYS_getrandom, SYS_prctl};

	refuse(calls, sizeof(calls) / sizeof(calls[0]));
}

static void refuse_getpid(void)
{
	static const int calls[] = {SYS_getpid};

	refuse(calls, sizeof(calls) / sizeof(calls[0]));
}

static void churn(size_t size, int count)
{
	truth("has %zu %d\n", size, count);
	for (int i = 0; i < count; i++) {
		void *p = malloc(size);

		TRUTH_KEEP(p);
		free(p);
	}
}

/* As all, but killing.  Return: of the filter. */
static struct sock_fprog get_killing(void)
{
	static struct sock_filter filter[] = {
		LOAD(nr),
		IS(SYS_exit_group, 5, 0),
		IS(SYS_exit, 4, 0),
		IS(SYS_brk, 3, 0),
		IS(SYS_write, 0, 3),
		LOAD(args[0]),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 2, 1, 0),
		ANSWER(SECCOMP_RET_ALLOW),
		ANSWER(SECCOMP_RET_KILL_PROCESS),
	};

	return (struct sock_fprog){sizeof(filter) / sizeof(filter[0]), filter};
}

static void kill_all(void)
{
	struct sock_fprog program = get_killing();

	install(program.filter, program.len);
}

static void kill_all_threads(void)
{
	struct sock_fprog program = get_killing();

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		    SECCOMP_FILTER_FLAG_TSYNC, &program))
		abort();
}

static void *churn_in_thread(void *arg)
{
	churn(503, *(int *)arg);
	return NULL;
}

/* A shift by 33 is one by 1, and to divide by 0 is to be killed. */
static void kill_some(void)
{
	static const struct sock_filter odd[] = {
		BPF_STMT(BPF_LDX | BPF_IMM, 33),
		BPF_STMT(BPF_LD | BPF_IMM, 1),
		BPF_STMT(BPF_ALU | BPF_LSH | BPF_X, 0),
		IS(2, 1, 0),
		ANSWER(SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_LDX | BPF_IMM, 0),
		LOAD(nr),
	};
	static const int calls[] = {SYS_fallocate, SYS_pwritev, SYS_pwrite64,
				    SYS_fstat, SYS_newfstatat, SYS_getrusage,
				    SYS_unlinkat, SYS_readlinkat, SYS_wait4};
	struct sock_filter filter[FILTER_MAX];
	pthread_t threads[3];
	int count = 8000;
	size_t n = 0;

	memcpy(filter, odd, sizeof(odd));
	n = sizeof(odd) / sizeof(odd[0]);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		filter[n++] = (struct sock_filter)IS((unsigned)calls[i], 0, 1);
		filter[n++] = i % 2 ? (struct sock_filter)ANSWER(
					  SECCOMP_RET_KILL_PROCESS)
				    : (struct sock_filter)BPF_STMT(
					  BPF_ALU | BPF_DIV | BPF_X, 0);
	}
	filter[n++] = (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW);
	install(filter, n);
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, churn_in_thread, &count))
			abort();
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

/* What such a child does before it ends.  One is refused its filter. */
enum { DOES_NOTHING, ALLOCATES, EXECUTES, WRITES, IS_REFUSED, WAYS };

static __attribute__((noinline)) void be_filtered_child(int way)
{
	struct sock_filter filter[] = {
		LOAD(nr),
		IS(SYS_exit_group, 2, 0),
		IS(SYS_execve, 1, 0),
		IS(SYS_write, 0, 1),
		ANSWER(SECCOMP_RET_ALLOW),
		ANSWER(SECCOMP_RET_KILL_PROCESS),
	};

	if (way == IS_REFUSED &&
	    !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL))
		_exit(1);
	if (way != IS_REFUSED)
		install(filter, sizeof(filter) / sizeof(filter[0]));
	if (way == ALLOCATES)
		for (int i = 0; i < 100; i++) {
			void *p = malloc(32);

			TRUTH_KEEP(p);
			free(p);
		}
	if (way == EXECUTES)
		execl("/nonexistent", "nonexistent", (char *)NULL);
	if (way == WRITES && write(1, "", 0))
		_exit(1);
	_exit(3);
}

static __attribute__((noinline)) void filter_child(int way)
{
	int status;

	if (vfork() == 0)
		be_filtered_child(way);
	if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 3)
		abort();
}

static void install_wrong(void)
{
	struct sock_filter invalid = {.code = 0xffff};
	struct sock_fprog program = get_killing();
	struct sock_fprog away = {4, (struct sock_filter *)8};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (void *)8) != -1 ||
	    errno != EFAULT ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &away) != -1 ||
	    errno != EFAULT ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 1u << 31, &program) !=
		-1 || errno != EINVAL)
		abort();
	program = (struct sock_fprog){1, &invalid};
	if (syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program,
		    0, 0) != -1 || errno != EINVAL)
		abort();
}

static void be_strict(void)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0))
		abort();
}

static void forbid_tsc(void)
{
#if defined(__x86_64__)
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0))
		abort();
#endif
}

/* Two children that share the memory until they end. */
static void borrow_memory(void)
{
	int status;

	if (vfork() == 0)
		_exit(3);
	if (wait(&status) < 0 || WEXITSTATUS(status) != 3)
		abort();
	if (vfork() == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	if (wait(&status) < 0 || status)
		abort();
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	truth("has 502 %s\n", argv[3]);
	churn(501, atoi(argv[2]));
	if (strcmp(argv[1], "all") == 0)
		refuse_all();
	else if (strcmp(argv[1], "files") == 0)
		refuse_files();
	else if (strcmp(argv[1], "clone") == 0)
		refuse_clone();
	else if (strcmp(argv[1], "getpid") == 0)
		refuse_getpid(), borrow_memory();
	else if (strcmp(argv[1], "kill") == 0)
		kill_all();
	else if (strcmp(argv[1], "kill-all-threads") == 0)
		kill_all_threads();
	else if (strcmp(argv[1], "kill-some") == 0)
		kill_some();
	else if (strcmp(argv[1], "children") == 0)
		for (int way = 0; way < WAYS; way++)
			filter_child(way);
	else if (strcmp(argv[1], "wrong") == 0)
		install_wrong();
	else if (strcmp(argv[1], "strict") == 0)
		be_strict();
	else if (strcmp(argv[1], "tsc") == 0)
		forbid_tsc();
	else
		refuse_identity();
	for (int i = atoi(argv[3]); i; i--) {
		void *p = malloc(502);

		TRUTH_KEEP(p);
		free(p);
	}
	if (write(1, "went on\n", 8) != 8)
		return 1;
	if (strcmp(argv[1], "strict") == 0)
		syscall(SYS_exit, 6);
	_exit(6);
}
