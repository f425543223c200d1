/* SPDX-License-Identifier: MIT */
/*
 * mmap, munmap, mremap.
 *
 * Only successful calls are recorded.  Safety (all hooks): as the real
 * function and event.h; before the real ones are known, the system call is
 * made directly.  errno: the real function's.
 */
#include <errno.h>
#include <stdarg.h>

#include "tracer/compiler.h"
#include "tracer/event.h"
#include "tracer/options.h"
#include "tracer/real.h"
#include "tracer/state.h"

#define CALLER() ((uintptr_t)__builtin_return_address(0))

/* Safety: anywhere.  errno: set as the C library would. */
static void *check_result(void *p)
{
	if (!sys_mmap_failed(p))
		return p;
	errno = (int)-(intptr_t)p;
	return MAP_FAILED;
}

/* Safety: as the hooks. */
static void *map(const struct event_map *args, uintptr_t caller)
{
	struct event_map done = *args;
	void *p;

	if (UNLIKELY(!real_ready()))
		return check_result(sys_mmap((void *)args->addr, args->length,
					     args->prot, args->flags, args->fd,
					     (off_t)args->offset));
	p = real.mmap((void *)args->addr, args->length, args->prot, args->flags,
		      args->fd, (off_t)args->offset);
	if (p != MAP_FAILED && options.gather_maps) {
		done.addr = (uintptr_t)p;
		event_mmap(&done, caller);
	}
	return p;
}

HOOK void *mmap(void *addr, size_t length, int prot, int flags, int fd,
		off_t offset)
{
	struct event_map args = {(uintptr_t)addr, length, prot,
				 flags,           fd,     (uint64_t)offset};

	return map(&args, CALLER());
}

HOOK void *mmap64(void *addr, size_t length, int prot, int flags, int fd,
		  off64_t offset)
{
	struct event_map args = {(uintptr_t)addr, length, prot,
				 flags,           fd,     (uint64_t)offset};

	return map(&args, CALLER());
}

HOOK int munmap(void *addr, size_t length)
{
	uint64_t tick;
	int ret;

	if (UNLIKELY(!real_ready())) {
		ret = sys_munmap(addr, length);
		if (ret == 0)
			return 0;
		errno = -ret;
		return -1;
	}
	tick = options.gather_maps ? event_get_tick(CALLER()) : 0;
	ret = real.munmap(addr, length);
	if (ret == 0 && options.gather_maps)
		event_munmap((uintptr_t)addr, length, tick, CALLER());
	return ret;
}

HOOK void *mremap(void *old, size_t old_length, size_t new_length, int flags,
		  ...)
{
	struct event_remap remap = { .old_addr = (uintptr_t)old,
				     .old_length = old_length,
				     .new_length = new_length,
				     .flags = flags };
	void *fixed = NULL;
	va_list args;
	void *p;

	/* The C library reads the fifth argument only where there is one. */
	if (flags & (MREMAP_FIXED | 4 /* MREMAP_DONTUNMAP */)) {
		va_start(args, flags);
		fixed = va_arg(args, void *);
		va_end(args);
	}
	if (UNLIKELY(!real_ready()))
		return check_result(
		    (void *)sys_call6(SYS_mremap, (long)old, (long)old_length,
				      (long)new_length, flags, (long)fixed, 0));
	p = real.mremap(old, old_length, new_length, flags, fixed);
	if (p != MAP_FAILED && options.gather_maps) {
		remap.new_addr = (uintptr_t)p;
		event_mremap(&remap, CALLER());
	}
	return p;
}
