/* SPDX-License-Identifier: MIT */
/*
 * Calls by which a program restricts its own system calls.  Whatever has to be
 * done outside of a filter is done before.
 *
 * Safety (all hooks): as the real function; filters.h, helper_insist() and
 * state_stop() before it.  errno: the real function's.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tracer/buffer.h"
#include "tracer/chunk.h"
#include "tracer/compiler.h"
#include "tracer/filters.h"
#include "tracer/helper.h"
#include "tracer/log.h"
#include "tracer/real.h"
#include "tracer/state.h"
#include "tracer/thread.h"
#include "tracer/tls.h"

/* What clock_gettime() reads, too, without a system call. */
#if defined(__x86_64__)
#define HAS_TSC true
#else
#define HAS_TSC false
#endif

enum {
	STOCK_BUFFERS = 40, /* more than wait for the helper */
	NO_FILTER = -1,
	CHILDS_FILTER = -2, /* of a process that borrows our memory */
};

/* Safety: as the hooks.  Whether the process is one that is traced, or may be
   later. */
static bool is_ours(void)
{
	return state_page->pid && state_page->pid == state_pid();
}

/*
 * Safety: inside the guard.  Makes what the tracer needs while it still may.
 * Signals are not blocked while the filter is installed: it may forbid to
 * unblock them.
 */
static void prepare(void)
{
	uint64_t signals;

	sys_signals_block(&signals);
	if (state_is_owner()) {
		if (!tls.thread)
			thread_register();
		helper_insist();
		buffer_stock(STOCK_BUFFERS);
		chunk_prepare();
	}
	sys_signals_restore(&signals);
}

/* Safety: as the hooks.  Return: what after_filter() is to be given. */
static int before_filter(const struct sock_fprog *program, bool all_threads)
{
	uintptr_t guard;
	int index;

	if (!state_page->pid)
		return NO_FILTER;
	if (!is_ours())
		return filters_add_child() ? CHILDS_FILTER : NO_FILTER;
	guard = tls_enter_internal();
	prepare();
	index = (int)filters_add(program, all_threads);
	tls_leave_internal(guard);
	return index;
}

/* Safety: as the hooks. */
static void after_filter(int index, long ret)
{
	if (index == NO_FILTER || ret >= 0)
		return;
	if (index == CHILDS_FILTER)
		filters_take_back_child();
	else
		filters_take_back((unsigned)index);
}

/* @why: what the program calls, after which nothing could be recorded.  Safety:
   as the hooks. */
static void end_recording(const char *why)
{
	if (is_ours() && state_stop())
		log_line(LOG_WARN, "recording ends, as the program calls", why,
			 0);
}

/* Safety: as the hooks.  Nothing but reads, writes and the thread's end. */
static int before_strict(void)
{
	end_recording("seccomp in strict mode");
	return before_filter(NULL, false);
}

/* A pointer that a system call has as an argument.  Safety: pure. */
static const void *get_pointer(long arg)
{
	return (const void *)(uintptr_t)arg;
}

/* Safety: as the hooks.  What to do before prctl(@call[1], …). */
static int before_prctl(const long call[7])
{
	if (call[1] == PR_SET_SECCOMP && call[2] == SECCOMP_MODE_FILTER)
		return before_filter(get_pointer(call[3]), false);
	if (call[1] == PR_SET_SECCOMP && call[2] == SECCOMP_MODE_STRICT)
		return before_strict();
	/* Times could not be read. */
	if (HAS_TSC && call[1] == PR_SET_TSC && call[2] == PR_TSC_SIGSEGV)
		end_recording("prctl(PR_SET_TSC)");
	return NO_FILTER;
}

/* Safety: as the hooks.  What to do before seccomp(@call[1], …). */
static int before_seccomp(const long call[7])
{
	if (call[1] == SECCOMP_SET_MODE_FILTER)
		return before_filter(get_pointer(call[3]),
				     call[2] & SECCOMP_FILTER_FLAG_TSYNC);
	if (call[1] == SECCOMP_SET_MODE_STRICT)
		return before_strict();
	return NO_FILTER;
}

/* Safety: anywhere.  As the C library's syscall(). */
static long make_call(const long call[7])
{
	long ret = sys_call_raw(call[0], call[1], call[2], call[3], call[4],
				call[5], call[6]);

	if (ret > -4096 && ret < 0) {
		errno = (int)-ret;
		return -1;
	}
	return ret;
}

HOOK int prctl(int option, ...)
{
	long call[7] = {SYS_prctl, option};
	va_list args;
	int index, ret;

	va_start(args, option);
	for (int i = 2; i < 6; i++)
		call[i] = va_arg(args, long);
	va_end(args);
	index = before_prctl(call);
	if (real_ready() && real.prctl)
		ret = real.prctl(option, call[2], call[3], call[4], call[5]);
	else
		ret = (int)make_call(call);
	after_filter(index, ret);
	return ret;
}

/* What syscall() below is for.  Safety: as the hooks. */
__attribute__((used)) static long make_watched_call(long number, long a, long b,
						    long c, long d, long e)
{
	const long call[7] = {number, a, b, c, d, e};
	int index = number == SYS_prctl ? before_prctl(call)
					: before_seccomp(call);
	long ret = make_call(call);

	after_filter(index, ret);
	return ret;
}

/* Safety: as the hooks.  While the real one is not known. */
static long call_directly(long number, long a, long b, long c, long d, long e,
			  long f)
{
	return make_call((const long[]){number, a, b, c, d, e, f});
}

/* Safety: as the hooks.  Return: the real function, or what does the same. */
__attribute__((used)) static void *find_syscall(void)
{
	if (real_ready() && real.syscall)
		return (void *)(uintptr_t)real.syscall;
	return (void *)(uintptr_t)call_directly;
}

#if defined(__x86_64__)
/*
 * Others go to the real function with all that the caller gave, its stack
 * included: clone() may come back on another.
 */
HOOK __attribute__((naked)) long syscall(__attribute__((unused)) long number,
					 ...)
{
	__asm__("cmp %0, %%rdi\n\t"
		"je make_watched_call\n\t"
		"cmp %1, %%rdi\n\t"
		"je make_watched_call\n\t"
		"sub $56, %%rsp\n\t"
		".cfi_adjust_cfa_offset 56\n\t"
		"mov %%rdi, (%%rsp)\n\t"
		"mov %%rsi, 8(%%rsp)\n\t"
		"mov %%rdx, 16(%%rsp)\n\t"
		"mov %%rcx, 24(%%rsp)\n\t"
		"mov %%r8, 32(%%rsp)\n\t"
		"mov %%r9, 40(%%rsp)\n\t"
		"call find_syscall\n\t"
		"mov (%%rsp), %%rdi\n\t"
		"mov 8(%%rsp), %%rsi\n\t"
		"mov 16(%%rsp), %%rdx\n\t"
		"mov 24(%%rsp), %%rcx\n\t"
		"mov 32(%%rsp), %%r8\n\t"
		"mov 40(%%rsp), %%r9\n\t"
		"add $56, %%rsp\n\t"
		".cfi_adjust_cfa_offset -56\n\t"
		"jmp *%%rax"
		:
		: "i"(SYS_seccomp), "i"(SYS_prctl));
}
#else
HOOK long syscall(long number, ...)
{
	long (*target)(long, ...) = (long (*)(long, ...))find_syscall();
	long call[7] = {number};
	va_list args;

	va_start(args, number);
	for (int i = 1; i < 7; i++)
		call[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_seccomp || number == SYS_prctl)
		return make_watched_call(number, call[1], call[2], call[3],
					 call[4], call[5]);
	return target(number, call[1], call[2], call[3], call[4], call[5],
		      call[6]);
}
#endif
