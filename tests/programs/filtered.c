/* SPDX-License-Identifier: MIT */
/*
 * Allocates, has the kernel refuse system calls from then on, and allocates
 * more.  Arguments: what is refused, blocks before, blocks after.
 *   all:   every call but exit_group and write to the first three descriptors
 *   files: all that opens, changes or maps files
 *   clone: new processes and threads
 *   identity: all that tells who the process is and what its children do
 *   getpid: that call; then children that vfork() made end, and execute
 * Truth: "has SIZE COUNT".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

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

static void churn(size_t size, int count)
{
	truth("has %zu %d\n", size, count);
	for (int i = 0; i < count; i++) {
		void *p = malloc(size);

		TRUTH_KEEP(p);
		free(p);
	}
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
	else
		refuse_identity();
	for (int i = atoi(argv[3]); i; i--) {
		void *p = malloc(502);

		TRUTH_KEEP(p);
		free(p);
	}
	if (write(1, "went on\n", 8) != 8)
		return 1;
	_exit(6);
}
