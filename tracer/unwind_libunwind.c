/* SPDX-License-Identifier: MIT */
/*
 * libunwind, opened privately.
 *
 * Not linked: as a dependency of a preloaded library it would put its
 * _Unwind_RaiseException in front of the compiler's for every C++ plugin of a
 * C program.  Its static archive is not position-independent on Debian.
 *
 * To learn whether an address can be read it opens a pipe, under the numbers
 * that the program's own first files should get, and later reads from and
 * writes to those numbers, whatever the program has made of them.  And what
 * it maps would look like the program's maps.  So its imports of those few
 * functions are redirected to the ones below.
 *
 * A program can have functions by the names of libunwind's, such as those of
 * another version.  The calls from one part of it to another would end there,
 * and are pointed back; those to the C library, too.
 */
#include "tracer/unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "tracer/compiler.h"
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

static const struct {
	const char *name;
	uintptr_t target;
} redirections[] = {
    {"pipe2", (uintptr_t)no_pipe2},       {"read", (uintptr_t)safe_read},
    {"syscall", (uintptr_t)safe_syscall}, {"write", (uintptr_t)safe_write},
    {"mmap", (uintptr_t)own_mmap},        {"munmap", (uintptr_t)own_munmap},
    {"memchr", (uintptr_t)memchr},        {"memcpy", (uintptr_t)memcpy},
    {"memmove", (uintptr_t)memmove},      {"memset", (uintptr_t)memset},
    {"strcmp", (uintptr_t)strcmp},        {"strlen", (uintptr_t)strlen},
    {"strrchr", (uintptr_t)strrchr},
};

/* The tracer's own hooks, whose memory is then not the program's. */
static const char *const hooked[] = {"malloc", "free", "calloc", "realloc"};

/* Safety: constructor.  Points one import elsewhere. */
static void redirect(uintptr_t *slot, uintptr_t target)
{
	uintptr_t page = (uintptr_t)slot & ~(uintptr_t)4095;

	if (*slot == target || (uintptr_t)slot - page > 4096 - sizeof(*slot))
		return;
	SYS_CALL3(SYS_mprotect, page, 4096, PROT_READ | PROT_WRITE);
	*slot = target;
}

/* Safety: constructor.  Return: where calls of @name have to go, or 0. */
static uintptr_t find_target(const char *name)
{
	for (size_t i = 0; i < sizeof(redirections) / sizeof(redirections[0]);
	     i++)
		if (strcmp(name, redirections[i].name) == 0)
			return redirections[i].target;
	for (size_t i = 0; i < sizeof(hooked) / sizeof(hooked[0]); i++)
		if (strcmp(name, hooked[i]) == 0)
			return 0;
	return libc_function(name);
}

/**
 * struct imports - the dynamic section's parts that matter here
 *
 * Addresses as ld.so leaves them: absolute on glibc.
 */
struct imports {
	const ElfW(Sym) * symbols;
	const char *strings;
	const ElfW(Rela) * rela;
	size_t rela_bytes;
	const ElfW(Rela) * plt;
	size_t plt_bytes;
};

/* Safety: the library is open. */
static struct imports read_imports(const struct link_map *map)
{
	struct imports imports = {0};

	for (const ElfW(Dyn) *dyn = map->l_ld; dyn->d_tag != DT_NULL; dyn++) {
		if (dyn->d_tag == DT_SYMTAB)
			imports.symbols = (const void *)dyn->d_un.d_ptr;
		else if (dyn->d_tag == DT_STRTAB)
			imports.strings = (const void *)dyn->d_un.d_ptr;
		else if (dyn->d_tag == DT_RELA)
			imports.rela = (const void *)dyn->d_un.d_ptr;
		else if (dyn->d_tag == DT_RELASZ)
			imports.rela_bytes = dyn->d_un.d_val;
		else if (dyn->d_tag == DT_JMPREL)
			imports.plt = (const void *)dyn->d_un.d_ptr;
		else if (dyn->d_tag == DT_PLTRELSZ)
			imports.plt_bytes = dyn->d_un.d_val;
	}
	return imports;
}

/* Safety: constructor. */
static void redirect_table(const struct link_map *map,
			   const struct imports *imports,
			   const ElfW(Rela) * rela, size_t bytes)
{
	for (size_t i = 0; rela && i < bytes / sizeof(*rela); i++) {
		const ElfW(Sym) *symbol =
		    &imports->symbols[rela[i].r_info >> 32];
		unsigned type = symbol->st_info & 0xf;
		uintptr_t target = 0;

		if (symbol->st_shndx == SHN_UNDEF)
			target = find_target(imports->strings +
					     symbol->st_name);
		else if (type == STT_FUNC || type == STT_OBJECT)
			target = map->l_addr + symbol->st_value +
				 (uintptr_t)rela[i].r_addend;
		if (target)
			redirect((uintptr_t *)(map->l_addr + rela[i].r_offset),
				 target);
	}
}

void unwind_init(void)
{
	void *library = libc_dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	struct link_map *map = NULL;
	struct imports imports;
	void *entry;

	if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) {
		log_line(LOG_INFO, "libunwind.so.8 not found, using libgcc",
			 NULL, 0);
		return;
	}
	imports = read_imports(map);
	if (!imports.symbols || !imports.strings)
		return;
	redirect_table(map, &imports, imports.rela, imports.rela_bytes);
	redirect_table(map, &imports, imports.plt, imports.plt_bytes);
	entry = dlsym(library, "unw_backtrace");
	*(void **)(void *)&unwind_libunwind = entry;
}
