/* SPDX-License-Identifier: MIT */
/*
 * libunwind, enclosed in this library.
 *
 * Its file is a part of ours, for Debian's static archive cannot be linked into
 * a shared library: it was compiled for programs at fixed addresses.  As a
 * dependency of a preloaded library it would put its _Unwind_RaiseException in
 * front of the compiler's for every C++ plugin of a C program, and opened at
 * the start it brings liblzma, 0.4 ms, and what a changed root has not.
 *
 * What it imports is here, so that nothing of it ends in functions that the
 * program has by the same names:
 *
 * - To learn whether an address can be read it opens a pipe, under the numbers
 *   that the program's own first files should get, and later reads from and
 *   writes to those numbers, whatever the program has made of them.
 * - What it maps would look like the program's maps.
 * - It finds its own frames, where a walk begins, in the loader's list.
 * - It inflates symbols for names of functions, which nobody asks for: that
 *   fails, and malloc() is for that only.
 */
#include "tracer/unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "tracer/cfi.h"
#include "tracer/compiler.h"
#include "tracer/enclosed.h"
#include "tracer/libc.h"
#include "tracer/log.h"

int (*unwind_libunwind)(void **buffer, int size);

/* Safety: anywhere.  No descriptor is ever made. */
static int no_pipe2(int fds[2], int flags)
{
	(void)flags;
	fds[0] = fds[1] = -1;
	errno = EMFILE;
	return -1;
}

/* Safety: anywhere.  One byte: the pipe's; more: the list of maps. */
static ssize_t safe_read(int fd, void *buf, size_t len)
{
	ssize_t n;

	if (len == 1) {
		errno = EAGAIN;
		return -1;
	}
	n = sys_read(fd, buf, len);
	if (n >= 0)
		return n;
	errno = (int)-n;
	return -1;
}

/* Safety: anywhere.  Of all system calls only the pipe's write is made. */
static long safe_syscall(long number, ...)
{
	const void *p;
	va_list args;

	va_start(args, number);
	va_arg(args, long);
	p = va_arg(args, const void *);
	va_end(args);
	errno = 0;
	if (number == SYS_write && sys_can_read(p))
		return 1;
	errno = EFAULT;
	return -1;
}

/* Safety: anywhere. */
static ssize_t safe_write(int fd, const void *p, size_t len)
{
	(void)fd;
	(void)len;
	return safe_syscall(SYS_write, 0L, p);
}

/* Safety: anywhere.  Memory of the tracer, not of the program. */
static void *own_mmap(void *addr, size_t len, int prot, int flags, int fd,
		      off_t off)
{
	void *p = sys_mmap(addr, len, prot, flags, fd, off);

	if (!sys_mmap_failed(p))
		return p;
	errno = (int)-(intptr_t)p;
	return MAP_FAILED;
}

/* Safety: anywhere. */
static int own_munmap(void *addr, size_t len)
{
	return sys_munmap(addr, len) == 0 ? 0 : -1;
}

/* The file, from libunwind_file.S. */
extern const uint8_t libunwind_file[];

static struct enclosed libunwind;

/* As the C library's.  Safety: as @visit.  libunwind itself comes first. */
static int visit_modules(int (*visit)(struct dl_phdr_info *, size_t, void *),
			 void *arg)
{
	struct dl_phdr_info info = {
	    .dlpi_addr = libunwind.base,
	    .dlpi_name = "libunwind",
	    .dlpi_phdr = libunwind.headers,
	    .dlpi_phnum = (ElfW(Half))libunwind.header_count,
	};
	int ret = visit(&info, sizeof(info), arg);

	return ret ? ret : libc_dl_iterate_phdr(visit, arg);
}

enum { OWN_TLS_BYTES = 64 };

/* A thread's own objects of libunwind: its cache, and whether that is gone. */
static __thread _Alignas(16) char own_tls[OWN_TLS_BYTES];

/**
 * struct tls_index - what the C library's function of this name is given
 * @module: 0, there is only one
 * @offset: in its block
 */
struct tls_index {
	unsigned long module;
	unsigned long offset;
};

/* Safety: anywhere. */
static void *own_tls_get_addr(const struct tls_index *index)
{
	return own_tls + index->offset;
}

/* Safety: pure.  As those of <string.h>, which has them for each processor. */
static char *copy_text(char *to, const char *from)
{
	return memcpy(to, from, strlen(from) + 1);
}

static char *copy_text_end(char *to, const char *from)
{
	size_t len = strlen(from);

	memcpy(to, from, len + 1);
	return to + len;
}

static char *copy_text_max(char *to, const char *from, size_t max)
{
	size_t len = strnlen(from, max);

	memcpy(to, from, len);
	memset(to + len, 0, max - len);
	return to;
}

/* Safety: pure.  For what only names of functions want. */
static long nothing(void)
{
	return 0;
}

static int lzma_fails(void)
{
	return 5; /* LZMA_MEM_ERROR */
}

static const struct {
	const char *name;
	uintptr_t target;
} imports[] = {
    {"pipe2", (uintptr_t)no_pipe2},
    {"read", (uintptr_t)safe_read},
    {"syscall", (uintptr_t)safe_syscall},
    {"write", (uintptr_t)safe_write},
    {"mmap", (uintptr_t)own_mmap},
    {"munmap", (uintptr_t)own_munmap},
    {"dl_iterate_phdr", (uintptr_t)visit_modules},
    {"__tls_get_addr", (uintptr_t)own_tls_get_addr},
    {"memchr", (uintptr_t)memchr},
    {"memcpy", (uintptr_t)memcpy},
    {"memmove", (uintptr_t)memmove},
    {"memset", (uintptr_t)memset},
    {"strcmp", (uintptr_t)strcmp},
    {"strlen", (uintptr_t)strlen},
    {"strrchr", (uintptr_t)strrchr},
    {"strcpy", (uintptr_t)copy_text},
    {"stpcpy", (uintptr_t)copy_text_end},
    {"strncpy", (uintptr_t)copy_text_max},
    {"malloc", (uintptr_t)nothing},
    {"free", (uintptr_t)nothing},
    {"lzma_index_buffer_decode", (uintptr_t)lzma_fails},
    {"lzma_index_end", (uintptr_t)nothing},
    {"lzma_index_size", (uintptr_t)nothing},
    {"lzma_index_uncompressed_size", (uintptr_t)nothing},
    {"lzma_stream_buffer_decode", (uintptr_t)lzma_fails},
    {"lzma_stream_footer_decode", (uintptr_t)lzma_fails},
};

/* Safety: constructor.  Return: where calls of @name have to go, or 0. */
static uintptr_t find_import(const char *name)
{
	uintptr_t found;

	for (size_t i = 0; i < sizeof(imports) / sizeof(imports[0]); i++)
		if (strcmp(name, imports[i].name) == 0)
			return imports[i].target;
	found = (uintptr_t)libc_find(name);
	if (!found)
		log_line(LOG_INFO, "libunwind wants", name, 0);
	return found;
}

/* Safety: pure.  Return: its program header of @type, or NULL. */
static const ElfW(Phdr) * find_part(uint32_t type)
{
	for (size_t i = 0; i < libunwind.header_count; i++)
		if (libunwind.headers[i].p_type == type)
			return &libunwind.headers[i];
	return NULL;
}

/* Safety: pure.  Return: whether its thread-local objects have room. */
static bool has_room(void)
{
	const ElfW(Phdr) *part = find_part(PT_TLS);

	return !part || (part->p_memsz <= sizeof(own_tls) && !part->p_filesz &&
			 part->p_align <= _Alignof(max_align_t));
}

/*
 * As a thread ends, libunwind is called outside of the hooks.  A handler that
 * interrupts it there has its stack taken through libunwind's frames.
 *
 * Safety: constructor.
 */
static void tell_own_unwinder(void)
{
	static char name[] = "libunwind";
	static struct link_map map = {.l_name = name};
	const ElfW(Phdr) *frames = find_part(PT_GNU_EH_FRAME);
	struct dl_find_object object = {
	    .dlfo_map_start = (void *)libunwind.base,
	    .dlfo_map_end = (void *)(libunwind.base + libunwind.bytes),
	    .dlfo_link_map = &map,
	};

	if (!frames)
		return;
	map.l_addr = libunwind.base;
	object.dlfo_eh_frame = (void *)(libunwind.base + frames->p_vaddr);
	cfi_add_unlisted(&object);
}

void unwind_init(void)
{
	const char *problem =
	    enclosed_load(libunwind_file, find_import, &libunwind);

	if (!problem && !has_room())
		problem = "its thread-local objects";
	if (problem) {
		log_line(LOG_INFO, "using libgcc, not libunwind, because of",
			 problem, 0);
		return;
	}
	tell_own_unwinder();
	unwind_libunwind = (int (*)(void **, int))enclosed_function(
	    &libunwind, "unw_backtrace");
}
