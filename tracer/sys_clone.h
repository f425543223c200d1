/* SPDX-License-Identifier: MIT */
/*
 * The two system calls that come back in another way than they were made:
 * clone() on a stack of its own, and rt_sigaction(), whose handler returns
 * through a stub.
 *
 * A program may have a function of its own called clone, and libraries put
 * themselves before sigaction() to keep a list: the helper process shares
 * their memory and must not appear on it.
 *
 * Safety (all of them): anywhere.  errno: untouched.
 */
#ifndef TRACER_SYS_CLONE_H
#define TRACER_SYS_CLONE_H

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>

#include "tracer/sys.h"

/**
 * sys_clone_onto() - a new process or thread
 * @stack:  its end, aligned to 16 bytes
 * @thread_pointer: for CLONE_SETTLS
 * @tid:    becomes 0 at its end, for CLONE_CHILD_CLEARTID
 * @run:    what it does; must not return
 *
 * Return: its id, or -errno.
 */
static inline int sys_clone_onto(unsigned long flags, void *stack,
				 void *thread_pointer, atomic_int *tid,
				 void (*run)(void))
{
#if defined(__x86_64__)
	long ret;
	register void *r10 __asm__("r10") = tid;
	register void *r8 __asm__("r8") = thread_pointer;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t" /* the outermost frame */
			 "call *%[run]\n\t"
			 "ud2\n"
			 "1:"
			 : "=a"(ret)
			 : "a"((long)SYS_clone), "D"(flags), "S"(stack),
			   "d"((void *)0), "r"(r10), "r"(r8), [run] "r"(run)
			 : "rcx", "r11", "memory", "cc");
	return (int)ret;
#else
	register long x8 __asm__("x8") = SYS_clone;
	register long x0 __asm__("x0") = (long)flags;
	register void *x1 __asm__("x1") = stack;
	register long x2 __asm__("x2") = 0;
	register void *x3 __asm__("x3") = thread_pointer;
	register void *x4 __asm__("x4") = tid;

	__asm__ volatile("svc 0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, xzr\n\t"
			 "blr %[run]\n\t"
			 "brk 0\n"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4),
			   [run] "r"(run)
			 : "memory", "cc");
	return (int)x0;
#endif
}

/* The kernel's own struct, not the C library's. */
struct sys_sigaction {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

#if defined(__x86_64__)
/* Only its instructions matter: the stack pointer is at the signal frame. */
static __attribute__((naked, used)) void sys_sigreturn(void)
{
	__asm__ volatile("mov %0, %%eax\n\t"
			 "syscall"
			 :
			 : "i"(SYS_rt_sigreturn));
}
#endif

/* What is done about @sig.  Return: 0 or -errno. */
static inline int sys_signal_get(int sig, struct sys_sigaction *ret)
{
	return (int)SYS_CALL4(SYS_rt_sigaction, sig, NULL, ret, 8);
}

/*
 * Has @handler called for @sig, on the alternate stack where there is one,
 * with all signals blocked; system calls go on as far as they can.
 *
 * Return: 0 or -errno.
 */
static inline int sys_signal(int sig, void (*handler)(int))
{
	struct sys_sigaction action = {
	    .handler = handler,
	    .flags = SA_RESTART | SA_ONSTACK,
	    .mask = ~UINT64_C(0),
	};

#if defined(__x86_64__)
	action.flags |= 0x04000000; /* SA_RESTORER */
	action.restorer = sys_sigreturn;
#endif
	return (int)SYS_CALL4(SYS_rt_sigaction, sig, &action, NULL, 8);
}

#endif /* TRACER_SYS_CLONE_H */
