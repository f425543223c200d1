/* SPDX-License-Identifier: MIT */
#include "tracer/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>

#include "tracer/compiler.h"
#include "tracer/elf_symbol.h"
#include "tracer/libc.h"
#include "tracer/tls.h"

#if defined(__x86_64__)
#define IS_X86_64 1
#define VERSION_FIRST "GLIBC_2.2.5"
#define VERSION_C11 "GLIBC_2.16"
#else
#define IS_X86_64 0
#define VERSION_FIRST "GLIBC_2.17"
#define VERSION_C11 "GLIBC_2.17"
#endif
#define VERSION_REALLOCARRAY "GLIBC_2.26"

enum {
	CHUNKS_TO_CHECK = 64,
};

HOT_DATA struct real real;

void *real_find(const char *name)
{
	uintptr_t guard = tls_enter_internal();
	int saved = errno;
	void *p = libc_dlsym(RTLD_NEXT, name);

	errno = saved;
	tls_leave_internal(guard);
	return p;
}

/*
 * malloc_usable_size of one allocator must not be asked about blocks of
 * another: take it only from the object that malloc comes from.  A sanitizer's
 * must not be called while the sanitizer starts, when it already allocates.
 */
static void check_usable_size(void)
{
	const struct link_map *map = libc_map_of((void *)(uintptr_t)real.malloc,
						 &real.malloc_base);

	if (!map ||
	    libc_map_of((void *)(uintptr_t)real.usable_size, NULL) != map ||
	    elf_symbol_find_function(map, "__sanitizer_get_allocated_size"))
		real.usable_size = NULL;
}

/*
 * Whether malloc is glibc's own: not on AArch64, where the pointer to a block
 * may carry a tag.
 *
 * Safety: inside the guard, all functions found.
 */
static bool is_glibc(void)
{
	return IS_X86_64 && real.usable_size &&
	       libc_has((void *)(uintptr_t)real.malloc);
}

COLD size_t real_ask_usable(void *p)
{
	size_t usable = 0;

	if (tls.in_allocator)
		return 0;
	tls.in_allocator = true; /* tcmalloc's makes an object for itself */
	usable = real.usable_size ? real.usable_size(p) : 0;
	tls.in_allocator = false;
	if (!real.chunks_to_check)
		return usable;
	if (usable != real_glibc_usable(p))
		real.chunks_to_check = 0;
	else if (--real.chunks_to_check == 0)
		real.has_glibc_chunks = true;
	return usable;
}

/*
 * As the loader would have bound a program's call.  glibc's library of checking
 * functions has them by their version only; other allocators without.
 *
 * Safety: inside the guard.
 */
static void *find_allocator(const char *name, const char *version)
{
	void *p = libc_dlsym(RTLD_NEXT, name);
	void *versioned =
	    p && libc_has(p) ? libc_dlvsym(RTLD_NEXT, name, version) : NULL;

	return versioned ? versioned : p;
}

#define FIND_ALLOCATOR(member, name, version) \
	(*(void **)(void *)&real.member = find_allocator((name), (version)))

#define FIND(member, name) \
	(*(void **)(void *)&real.member = libc_dlsym(RTLD_NEXT, (name)))

/* Safety: inside the guard. */
static void find_all(void)
{
	FIND_ALLOCATOR(calloc, "calloc", VERSION_FIRST);
	FIND_ALLOCATOR(malloc, "malloc", VERSION_FIRST);
	FIND_ALLOCATOR(realloc, "realloc", VERSION_FIRST);
	FIND_ALLOCATOR(reallocarray, "reallocarray", VERSION_REALLOCARRAY);
	FIND_ALLOCATOR(free, "free", VERSION_FIRST);
	FIND_ALLOCATOR(posix_memalign, "posix_memalign", VERSION_FIRST);
	FIND_ALLOCATOR(aligned_alloc, "aligned_alloc", VERSION_C11);
	FIND_ALLOCATOR(memalign, "memalign", VERSION_FIRST);
	FIND_ALLOCATOR(valloc, "valloc", VERSION_FIRST);
	FIND_ALLOCATOR(pvalloc, "pvalloc", VERSION_FIRST);
	FIND_ALLOCATOR(usable_size, "malloc_usable_size", VERSION_FIRST);
	FIND_ALLOCATOR(mallopt, "mallopt", VERSION_FIRST);
	FIND(mmap, "mmap64");
	FIND(munmap, "munmap");
	FIND(mremap, "mremap");
	FIND(quick_exit, "quick_exit");
	FIND(abort, "abort");
	FIND(execve, "execve");
	FIND(execvpe, "execvpe");
	FIND(fexecve, "fexecve");
	FIND(execveat, "execveat");
	FIND(pthread_setname, "pthread_setname_np");
	FIND(setuid, "setuid");
	FIND(setgid, "setgid");
	FIND(seteuid, "seteuid");
	FIND(setegid, "setegid");
	FIND(setreuid, "setreuid");
	FIND(setregid, "setregid");
	FIND(setresuid, "setresuid");
	FIND(setresgid, "setresgid");
	FIND(setgroups, "setgroups");
	FIND(initgroups, "initgroups");
	FIND(chroot, "chroot");
	FIND(unshare, "unshare");
	FIND(setns, "setns");
	FIND(capset, "capset");
	FIND(waitpid, "waitpid");
	FIND(wait4, "wait4");
	FIND(waitid, "waitid");
	FIND(prctl, "prctl");
	FIND(syscall, "syscall");
	check_usable_size();
	real.chunks_to_check = is_glibc() ? CHUNKS_TO_CHECK : 0;
}

bool real_resolve(void)
{
	static atomic_flag resolving = ATOMIC_FLAG_INIT;
	uintptr_t guard;
	int saved = errno;

	if (real.resolved)
		return true;
	if (atomic_flag_test_and_set(&resolving))
		return false;
	guard = tls_enter_internal();
	libc_resolve();
	find_all();
	tls_leave_internal(guard);
	atomic_thread_fence(memory_order_release);
	real.resolved = true;
	errno = saved;
	return true;
}
