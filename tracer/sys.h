/* SPDX-License-Identifier: MIT */
/*
 * System calls made directly.
 *
 * The tracer runs inside other people's allocator calls, so its own system
 * calls must not go through symbols the program or the tracer itself may have
 * interposed, must not be cancellation points and must not touch errno.
 * Every function returns what the kernel returned: -errno on failure.  A call
 * for which the program's own seccomp filter would have it killed is not made:
 * it returns -EPERM (filters.h).
 *
 * Safety (all of them): before start-up: yes.  Signal handler: yes.  After
 * fork: yes.  Allocates: no.  Locks: none.  errno: untouched.
 */
#ifndef TRACER_SYS_H
#define TRACER_SYS_H

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#if defined(__x86_64__)
static inline long sys_call_raw(long nr, long a, long b, long c, long d, long e,
				long f)
{
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}
#elif defined(__aarch64__)
static inline long sys_call_raw(long nr, long a, long b, long c, long d, long e,
				long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#else
#error "no system call stub for this architecture"
#endif

/* Set once the program has a filter: makes the system call of number call[0]
   and these arguments, or returns -EPERM. */
extern long (*sys_filtered)(const long call[7]);

static inline long sys_call6(long nr, long a, long b, long c, long d, long e,
			     long f)
{
	if (__builtin_expect(sys_filtered != NULL, 0))
		return sys_filtered((const long[]){nr, a, b, c, d, e, f});
	return sys_call_raw(nr, a, b, c, d, e, f);
}

#define SYS_CALL0(nr) sys_call6((nr), 0, 0, 0, 0, 0, 0)
#define SYS_CALL1(nr, a) sys_call6((nr), (long)(a), 0, 0, 0, 0, 0)
#define SYS_CALL2(nr, a, b) sys_call6((nr), (long)(a), (long)(b), 0, 0, 0, 0)
#define SYS_CALL3(nr, a, b, c) \
	sys_call6((nr), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define SYS_CALL4(nr, a, b, c, d) \
	sys_call6((nr), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

static inline int sys_open(const char *path, int flags, mode_t mode)
{
	return (int)SYS_CALL4(SYS_openat, AT_FDCWD, path, flags, mode);
}

static inline int sys_close(int fd)
{
	return (int)SYS_CALL1(SYS_close, fd);
}

static inline ssize_t sys_read(int fd, void *buf, size_t len)
{
	return SYS_CALL3(SYS_read, fd, buf, len);
}

static inline ssize_t sys_write(int fd, const void *buf, size_t len)
{
	return SYS_CALL3(SYS_write, fd, buf, len);
}

static inline ssize_t sys_writev(int fd, const struct iovec *parts, int count)
{
	return SYS_CALL3(SYS_writev, fd, parts, count);
}

static inline ssize_t sys_pwritev(int fd, const struct iovec *parts, int count,
				  off_t off)
{
	return sys_call6(SYS_pwritev, fd, (long)parts, count, off, 0, 0);
}

static inline ssize_t sys_pwrite(int fd, const void *buf, size_t len, off_t off)
{
	return SYS_CALL4(SYS_pwrite64, fd, buf, len, off);
}

static inline int sys_fcntl(int fd, int cmd, long arg)
{
	return (int)SYS_CALL3(SYS_fcntl, fd, cmd, arg);
}

static inline int sys_fstat(int fd, struct stat *st)
{
	return (int)SYS_CALL2(SYS_fstat, fd, st);
}

static inline int sys_stat(const char *path, struct stat *st)
{
	return (int)SYS_CALL4(SYS_newfstatat, AT_FDCWD, path, st, 0);
}

/* The link itself, where it is one. */
static inline int sys_lstat(const char *path, struct stat *st)
{
	return (int)SYS_CALL4(SYS_newfstatat, AT_FDCWD, path, st,
			      AT_SYMLINK_NOFOLLOW);
}

static inline int sys_unlink(const char *path)
{
	return (int)SYS_CALL3(SYS_unlinkat, AT_FDCWD, path, 0);
}

/* Replaces what has the name @to. */
static inline int sys_rename(const char *from, const char *to)
{
	return (int)sys_call6(SYS_renameat2, AT_FDCWD, (long)from, AT_FDCWD,
			      (long)to, 0, 0);
}

/* @to is a second name of the file. */
static inline int sys_link(const char *from, const char *to)
{
	return (int)sys_call6(SYS_linkat, AT_FDCWD, (long)from, AT_FDCWD,
			      (long)to, 0, 0);
}

/* The group stays. */
static inline int sys_fchown(int fd, uid_t user)
{
	return (int)SYS_CALL3(SYS_fchown, fd, user, -1);
}

static inline int sys_ftruncate(int fd, off_t len)
{
	return (int)SYS_CALL2(SYS_ftruncate, fd, len);
}

static inline int sys_fallocate(int fd, off_t off, off_t len)
{
	return (int)SYS_CALL4(SYS_fallocate, fd, 0, off, len);
}

static inline int sys_flock(int fd, int op)
{
	return (int)SYS_CALL2(SYS_flock, fd, op);
}

static inline ssize_t sys_readlink(const char *path, char *buf, size_t len)
{
	return SYS_CALL4(SYS_readlinkat, AT_FDCWD, path, buf, len);
}

static inline long sys_getcwd(char *buf, size_t len)
{
	return SYS_CALL2(SYS_getcwd, buf, len);
}

/* Return: the address, or a small negative number cast to a pointer. */
static inline void *sys_mmap(void *addr, size_t len, int prot, int flags,
			     int fd, off_t off)
{
	return (void *)sys_call6(SYS_mmap, (long)addr, (long)len, prot, flags,
				 fd, off);
}

static inline int sys_mmap_failed(const void *p)
{
	return (uintptr_t)p > (uintptr_t)-4096;
}

static inline int sys_munmap(void *addr, size_t len)
{
	return (int)SYS_CALL2(SYS_munmap, addr, len);
}

static inline int sys_madvise(void *addr, size_t len, int advice)
{
	return (int)SYS_CALL3(SYS_madvise, addr, len, advice);
}

/* @pid 0: this process.  Return: 0 or -errno. */
static inline int sys_prlimit(int pid, int which, struct rlimit *ret)
{
	return (int)SYS_CALL4(SYS_prlimit64, pid, which, NULL, ret);
}

static inline int sys_prctl(int op, long a, long b, long c, long d)
{
	return (int)sys_call6(SYS_prctl, op, a, b, c, d, 0);
}

/* Return: the calling thread's id.  The kernel clears @word, and wakes who waits
   there, when the thread is gone; none: NULL. */
static inline int sys_set_tid_address(void *word)
{
	return (int)SYS_CALL1(SYS_set_tid_address, word);
}

static inline int sys_getpid(void)
{
	return (int)SYS_CALL0(SYS_getpid);
}

static inline int sys_getppid(void)
{
	return (int)SYS_CALL0(SYS_getppid);
}

static inline int sys_gettid(void)
{
	return (int)SYS_CALL0(SYS_gettid);
}

static inline int sys_tgkill(int tgid, int tid, int sig)
{
	return (int)SYS_CALL3(SYS_tgkill, tgid, tid, sig);
}

static inline long sys_sched_yield(void)
{
	return SYS_CALL0(SYS_sched_yield);
}

static inline int sys_getrlimit(int which, struct rlimit *lim)
{
	return sys_prlimit(0, which, lim);
}

static inline int sys_getrusage(int who, struct rusage *ru)
{
	return (int)SYS_CALL2(SYS_getrusage, who, ru);
}

static inline long sys_getrandom(void *buf, size_t len)
{
	return SYS_CALL3(SYS_getrandom, buf, len, 1 /* GRND_NONBLOCK */);
}

static inline int sys_sigaltstack(const stack_t *new_stack, stack_t *old)
{
	return (int)SYS_CALL2(SYS_sigaltstack, new_stack, old);
}

/* Newer than our C library's headers may be. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* Kernels before 5.9 lack it: then those that the limit allows are closed, as
   far as that is quick. */
static inline void sys_close_range(unsigned first, unsigned last)
{
	struct rlimit lim = { .rlim_cur = 1024 };
	unsigned end = 1 << 16;

	if (SYS_CALL3(SYS_close_range, first, last, 0) == 0)
		return;
	sys_getrlimit(RLIMIT_NOFILE, &lim);
	if (lim.rlim_cur < end)
		end = (unsigned)lim.rlim_cur;
	for (unsigned fd = first; fd <= last && fd < end; fd++)
		sys_close((int)fd);
}

static inline int sys_chdir(const char *path)
{
	return (int)SYS_CALL1(SYS_chdir, path);
}

/* Return: the process id when it has ended, 0 when not, -errno. */
static inline int sys_wait4(int pid, int flags)
{
	return (int)SYS_CALL4(SYS_wait4, pid, NULL, flags, NULL);
}

/* Return: 0 when both processes have the same memory, positive when not, or
   -errno. */
static inline long sys_compare_memory(int pid, int other)
{
	return sys_call6(SYS_kcmp, pid, other, 1 /* KCMP_VM */, 0, 0, 0);
}

static inline long sys_sched_getaffinity(void *mask, size_t len)
{
	return SYS_CALL3(SYS_sched_getaffinity, 0, len, mask);
}

static inline long sys_nanosleep(long ns)
{
	struct timespec ts = {0, ns};

	return SYS_CALL2(SYS_nanosleep, &ts, NULL);
}

/* Sleeps while *@word is @seen, at most @ms, until woken or a signal. */
static inline void sys_futex_wait(const void *word, unsigned seen, long ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000};

	SYS_CALL4(SYS_futex, word, 128 /* FUTEX_WAIT_PRIVATE */, seen, &ts);
}

static inline void sys_futex_wake(const void *word)
{
	SYS_CALL3(SYS_futex, word, 129 /* FUTEX_WAKE_PRIVATE */, 1);
}

/* The kernel's own set: 64 signals, among them those that glibc hides. */
static inline void sys_signals_block(uint64_t *ret_old)
{
	uint64_t all = ~UINT64_C(0);

	SYS_CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &all, ret_old, 8);
}

static inline void sys_signals_restore(const uint64_t *old)
{
	SYS_CALL4(SYS_rt_sigprocmask, SIG_SETMASK, old, NULL, 8);
}

/* Takes back @sig, which is blocked, if it is pending. */
static inline void sys_signal_drop(int sig)
{
	uint64_t signals = UINT64_C(1) << (sig - 1);
	struct timespec now = {0, 0};

	SYS_CALL4(SYS_rt_sigtimedwait, &signals, NULL, &now, 8);
}

/*
 * Whether the word at @p can be read, without touching it: the kernel copies
 * the signal set before it finds the first argument to be wrong.
 */
static inline int sys_can_read(const void *p)
{
	uintptr_t aligned = (uintptr_t)p & ~(uintptr_t)7;

	return SYS_CALL4(SYS_rt_sigprocmask, -1, aligned, NULL, 8) ==
	       -22 /* EINVAL */;
}

#endif /* TRACER_SYS_H */
