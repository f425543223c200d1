/* SPDX-License-Identifier: MIT */
#include "tracer/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "tracer/compiler.h"
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
	HEAD_BYTES = 4096, /* of an object, surely mapped: its first page */
};

struct real real;

void *real_find(const char *name)
{
	uintptr_t guard = tls_enter_internal();
	int saved = errno;
	void *p = dlsym(RTLD_NEXT, name);

	errno = saved;
	tls_leave_internal(guard);
	return p;
}

/**
 * struct object - where a loaded one lies; empty when it is not known
 */
struct object {
	uintptr_t start;
	size_t bytes;
};

/*
 * dladdr() looks at all symbols of an object, and there are a dozen addresses
 * to be told apart at the start: one call for each object is enough.
 *
 * Safety: inside the guard.  @p may be NULL.
 */
static struct object find_object(const void *p)
{
	const ElfW(Ehdr) *head;
	const ElfW(Phdr) *segment;
	uintptr_t first = UINTPTR_MAX, end = 0;
	Dl_info info;

	if (!p || !dladdr(p, &info))
		return (struct object){0};
	head = info.dli_fbase;
	if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    head->e_phoff + head->e_phnum * sizeof(*segment) > HEAD_BYTES)
		return (struct object){0};
	segment = (const void *)((const char *)head + head->e_phoff);
	for (int i = 0; i < head->e_phnum; i++) {
		if (segment[i].p_type != PT_LOAD)
			continue;
		if (segment[i].p_vaddr < first)
			first = segment[i].p_vaddr;
		if (segment[i].p_vaddr + segment[i].p_memsz > end)
			end = segment[i].p_vaddr + segment[i].p_memsz;
	}
	return (struct object){(uintptr_t)head, end - first};
}

/* Safety: pure. */
static bool is_in(const struct object *object, const void *p)
{
	return (uintptr_t)p - object->start < object->bytes;
}

/*
 * malloc_usable_size of one allocator must not be asked about blocks of
 * another: take it only from the object that malloc comes from.
 */
static void check_usable_size(void)
{
	struct object object = find_object((void *)(uintptr_t)real.malloc);

	real.malloc_base = (void *)object.start;
	if (!is_in(&object, (void *)(uintptr_t)real.usable_size))
		real.usable_size = NULL;
}

/*
 * Whether malloc is glibc's own: not on AArch64, where the pointer to a block
 * may carry a tag.
 *
 * Safety: inside the guard, all functions found.
 */
static bool is_glibc(const struct object *libc)
{
	return IS_X86_64 && real.usable_size &&
	       is_in(libc, (void *)(uintptr_t)real.malloc);
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
static void *find_allocator(const struct object *libc, const char *name,
			    const char *version)
{
	void *p = dlsym(RTLD_NEXT, name);
	void *versioned = is_in(libc, p) ? dlvsym(RTLD_NEXT, name, version)
					 : NULL;

	return versioned ? versioned : p;
}

#define FIND_ALLOCATOR(member, name, version) \
	(*(void **)(void *)&real.member = \
	     find_allocator(&libc, (name), (version)))

#define FIND(member, name) \
	(*(void **)(void *)&real.member = dlsym(RTLD_NEXT, (name)))

/* Safety: inside the guard. */
static void find_all(void)
{
	struct object libc =
	    find_object(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));

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
	check_usable_size();
	real.chunks_to_check = is_glibc(&libc) ? CHUNKS_TO_CHECK : 0;
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
	find_all();
	tls_leave_internal(guard);
	atomic_thread_fence(memory_order_release);
	real.resolved = true;
	errno = saved;
	return true;
}
