/* SPDX-License-Identifier: MIT */
#include "tracer/record/diagnose.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Safety: pure.  Writes the path execvp() would take.  Return: found. */
static bool find_program(const char *program, char *ret, size_t cap)
{
	const char *path = getenv("PATH");

	if (strchr(program, '/')) {
		snprintf(ret, cap, "%s", program);
		return true;
	}
	while (path && *path) {
		size_t len = strcspn(path, ":");

		snprintf(ret, cap, "%.*s/%s", (int)len, path, program);
		if (access(ret, X_OK) == 0)
			return true;
		path += len;
		path += *path == ':';
	}
	return false;
}

/* Safety: reads @fd.  Return: whether the program has an interpreter. */
static bool is_dynamic(int fd, const Elf64_Ehdr *ehdr)
{
	for (unsigned i = 0; i < ehdr->e_phnum; i++) {
		Elf64_Phdr phdr;
		off_t off = (off_t)ehdr->e_phoff + (off_t)(i * sizeof(phdr));

		if (pread(fd, &phdr, sizeof(phdr), off) !=
		    (ssize_t)sizeof(phdr))
			return false;
		if (phdr.p_type == PT_INTERP)
			return true;
	}
	return false;
}

/* Safety: reads @fd.  Return: a reason. */
static const char *diagnose_file(int fd)
{
	Elf64_Ehdr ehdr;
	struct stat st;

	if (fstat(fd, &st) == 0 && (st.st_mode & (S_ISUID | S_ISGID)))
		return "it is setuid or setgid, and the loader ignores "
		       "LD_PRELOAD for such programs";
	if (pread(fd, &ehdr, sizeof(ehdr), 0) != (ssize_t)sizeof(ehdr) ||
	    memcmp(ehdr.e_ident, ELFMAG, SELFMAG) != 0)
		return "it is not an ELF program; its interpreter may be "
		       "static or setuid";
	if (ehdr.e_ident[EI_CLASS] != ELFCLASS64)
		return "it is not a 64-bit program";
	if (!is_dynamic(fd, &ehdr))
		return "it is statically linked, and LD_PRELOAD needs the "
		       "dynamic loader";
	return "the tracer could not create its file, or was not loaded";
}

const char *diagnose_untraced(const char *program)
{
	char path[4096];
	const char *reason;
	int fd;

	if (!find_program(program, path, sizeof(path)))
		return "it was not found";
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return "its file cannot be read";
	reason = diagnose_file(fd);
	close(fd);
	return reason;
}
