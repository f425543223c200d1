/* SPDX-License-Identifier: MIT */
#include "tracer/stack_bounds.h"

#include <stdbool.h>
#include <stddef.h>

#include "tracer/state.h"
#include "tracer/sys.h"

/* ld.so's note of where the stack began; exported since glibc 2.1. */
extern void *__libc_stack_end;

enum {
	MAIN_BYTES_MAX = 128 << 20,
	BUFFER_BYTES = 4096,
};

/**
 * struct maps - the list of mappings being read
 * @buf, @len, @at: what is read of it, and the next byte
 */
struct maps {
	int fd;
	size_t len;
	size_t at;
	char buf[BUFFER_BYTES];
};

/**
 * struct mapping - the part of a line that matters here
 */
struct mapping {
	uintptr_t start;
	uintptr_t end;
	bool readable;
};

/* Safety: system calls.  Return: the next byte, or -1. */
static int next_char(struct maps *maps)
{
	if (maps->at == maps->len) {
		ssize_t n = sys_read(maps->fd, maps->buf, sizeof(maps->buf));

		if (n <= 0)
			return -1;
		maps->len = (size_t)n;
		maps->at = 0;
	}
	return (unsigned char)maps->buf[maps->at++];
}

/* Safety: system calls.  Return: a hexadecimal number; what ends it is read. */
static uintptr_t next_number(struct maps *maps)
{
	uintptr_t v = 0;

	for (;;) {
		int c = next_char(maps);

		if (c >= '0' && c <= '9')
			v = v << 4 | (uintptr_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uintptr_t)(c - 'a' + 10);
		else
			return v;
	}
}

/* Safety: system calls.  Return: whether there was a line. */
static bool next_mapping(struct maps *maps, struct mapping *ret)
{
	int c;

	ret->start = next_number(maps);
	ret->end = next_number(maps);
	ret->readable = next_char(maps) == 'r';
	do
		c = next_char(maps);
	while (c >= 0 && c != '\n');
	return c == '\n';
}

/* Safety: anywhere.  Return: the thread control block's address. */
static uintptr_t get_thread_pointer(void)
{
	uintptr_t p;

#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(p));
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(p));
#endif
	return p;
}

/*
 * The C library places a thread's control block at the upper end of its stack,
 * so the mapping that holds the block is the stack's.  Neighbours with equal
 * permissions share one line of the list; only a stack that ends at a mapping
 * that cannot be read, its guard, is known to be alone in it.  Without a guard
 * the part already in use counts.
 */
static struct stack_bounds find_thread_stack(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	uintptr_t top = get_thread_pointer();
	struct mapping now, before = {.readable = true};
	struct stack_bounds bounds = {0};
	struct maps maps = {0};

	maps.fd = sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	if (maps.fd < 0)
		return bounds;
	while (next_mapping(&maps, &now)) {
		if (top >= now.start && top < now.end) {
			if (here < now.start || here >= top)
				break;
			bounds.low = now.start;
			bounds.high = top;
			if (before.readable || before.end != now.start)
				bounds.low = here & ~(uintptr_t)4095;
			break;
		}
		before = now;
	}
	sys_close(maps.fd);
	return bounds;
}

/*
 * Below the main stack the kernel leaves as much room as the limit says before
 * it maps anything else.  Safety: a system call.
 */
static struct stack_bounds find_main_stack(void)
{
	uintptr_t end = (uintptr_t)__libc_stack_end;
	uintptr_t bytes = MAIN_BYTES_MAX;
	struct rlimit limit;

	if (sys_getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < bytes)
		bytes = limit.rlim_cur;
	return (struct stack_bounds){end - bytes, end};
}

struct stack_bounds stack_bounds_get(void)
{
	if (sys_gettid() == state_pid())
		return find_main_stack();
	return find_thread_stack();
}
