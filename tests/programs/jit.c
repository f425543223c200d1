/* SPDX-License-Identifier: MIT */
/*
 * Code that this program generates calls malloc, and is named
 *	jit map		by lines of /tmp/perf-PID.map, two for one address
 *	jit gdb		by objects of the GDB JIT interface
 *	jit none	by nothing
 *	jit link, pipe	by nothing; something else lies where the map would
 * "kill" as a second word: it ends by SIGKILL.  "stale": the map is of 1970.
 * "exec": it tries to execute what is not there, twice.
 * "busy kill", "busy forget": it does other things first; the latter then takes
 * back what debuggers were told.
 */
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE = 4711, BYTES = 64, AREA = 4096 };

/* As GDB declares it. */
struct jit_entry {
	struct jit_entry *next;
	struct jit_entry *previous;
	const void *object;
	uint64_t bytes;
};

struct jit_descriptor {
	uint32_t version;
	uint32_t action;
	struct jit_entry *relevant;
	struct jit_entry *first;
};

__attribute__((visibility("default"))) struct jit_descriptor
    __jit_debug_descriptor = {1, 0, NULL, NULL};

__attribute__((visibility("default"), noinline)) void
__jit_debug_register_code(void)
{
	__asm__ volatile("" ::: "memory");
}

/* push %rbp; mov %rsp,%rbp; mov $SIZE,%edi; mov $malloc,%rax; call *%rax;
   pop %rbp; ret */
static void *(*generate(uint8_t *at))(void)
{
	static const uint8_t head[] = {0x55, 0x48, 0x89, 0xe5, 0xbf};
	static const uint8_t tail[] = {0xff, 0xd0, 0x5d, 0xc3};
	uint32_t size = SIZE;
	void *(*target)(size_t) = malloc;
	void *(*code)(void);
	uint8_t *p = at;

	p = memcpy(p, head, sizeof(head)), p += sizeof(head);
	p = memcpy(p, &size, sizeof(size)), p += sizeof(size);
	*p++ = 0x48;
	*p++ = 0xb8;
	p = memcpy(p, &target, sizeof(target)), p += sizeof(target);
	memcpy(p, tail, sizeof(tail));
	memcpy(&code, &at, sizeof(code));
	return code;
}

static const char *map_path(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	return path;
}

static void write_map(const uint8_t *first, const uint8_t *second,
		      int is_stale)
{
	const struct timespec old[2] = {{1, 0}, {1, 0}};
	FILE *map = fopen(map_path(), "w");

	if (!map)
		exit(1);
	fprintf(map, "%lx %x was here before\n", (unsigned long)(uintptr_t)first,
		BYTES);
	fprintf(map, "not a line of a map\n");
	fprintf(map, "%lx %x JS:~first thing.js:1\n",
		(unsigned long)(uintptr_t)first, BYTES);
	fprintf(map, "%lx %x second\n", (unsigned long)(uintptr_t)second,
		BYTES);
	fclose(map);
	if (is_stale)
		utimensat(AT_FDCWD, map_path(), old, 0);
}

/* An object as compilers make them: sections have addresses, symbols are
   relative to them. */
struct object {
	Elf64_Ehdr ehdr;
	Elf64_Shdr sections[4];
	Elf64_Sym symbols[2];
	char names[32];
};

static const void *make_object(const uint8_t *code, const char *name)
{
	struct object *o = calloc(1, sizeof(*o));

	memcpy(o->ehdr.e_ident, ELFMAG, SELFMAG);
	o->ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	o->ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
	o->ehdr.e_ident[EI_VERSION] = EV_CURRENT;
	o->ehdr.e_type = ET_REL;
	o->ehdr.e_machine = EM_X86_64;
	o->ehdr.e_version = EV_CURRENT;
	o->ehdr.e_shoff = offsetof(struct object, sections);
	o->ehdr.e_ehsize = sizeof(o->ehdr);
	o->ehdr.e_shentsize = sizeof(o->sections[0]);
	o->ehdr.e_shnum = 4;
	o->ehdr.e_shstrndx = 3;
	o->sections[1].sh_type = SHT_NOBITS;
	o->sections[1].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	o->sections[1].sh_addr = (uintptr_t)code;
	o->sections[1].sh_size = BYTES;
	o->sections[2].sh_type = SHT_SYMTAB;
	o->sections[2].sh_offset = offsetof(struct object, symbols);
	o->sections[2].sh_size = sizeof(o->symbols);
	o->sections[2].sh_link = 3;
	o->sections[2].sh_info = 1;
	o->sections[2].sh_entsize = sizeof(o->symbols[0]);
	o->sections[3].sh_type = SHT_STRTAB;
	o->sections[3].sh_offset = offsetof(struct object, names);
	o->sections[3].sh_size = sizeof(o->names);
	o->symbols[1].st_name = 1;
	o->symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
	o->symbols[1].st_shndx = 1;
	o->symbols[1].st_size = BYTES;
	snprintf(o->names + 1, sizeof(o->names) - 1, "%s", name);
	return o;
}

static void add_object(const uint8_t *code, const char *name)
{
	struct jit_entry *entry = calloc(1, sizeof(*entry));

	entry->object = make_object(code, name);
	entry->bytes = sizeof(struct object);
	entry->next = __jit_debug_descriptor.first;
	if (entry->next)
		entry->next->previous = entry;
	__jit_debug_descriptor.relevant = entry;
	__jit_debug_descriptor.first = entry;
	__jit_debug_descriptor.action = 1;
	__jit_debug_register_code();
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	const char *end = argc > 2 ? argv[2] : "";
	uint8_t *area = mmap(NULL, AREA, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *(*first)(void), *(*second)(void);
	char *volatile keep;

	if (area == MAP_FAILED)
		return 1;
	first = generate(area);
	second = generate(area + BYTES);
	if (strcmp(how, "map") == 0)
		write_map(area, area + BYTES, strcmp(end, "stale") == 0);
	if (strcmp(how, "gdb") == 0) {
		add_object(area, "first_object");
		add_object(area + BYTES, "_ZN6second6objectEv");
		/* What is no entry ends the list, and no program. */
		__jit_debug_descriptor.first->next->next = (void *)8;
	}
	if (strcmp(how, "link") == 0 && symlink("/etc/passwd", map_path()))
		return 1;
	if (strcmp(how, "pipe") == 0 && mkfifo(map_path(), 0600))
		return 1;
	for (int i = 0; i < 10; i++)
		keep = first();
	for (int i = 0; i < 20; i++)
		keep = second();
	(void)keep;
	for (int i = 0; i < 8000 && strcmp(end, "busy") == 0; i++)
		free(malloc(100));
	if (strcmp(end, "busy") == 0 && argc > 3)
		end = argv[3];
	if (strcmp(end, "forget") == 0)
		__jit_debug_descriptor.first = NULL;
	for (int i = 0; i < 2 && strcmp(end, "exec") == 0; i++)
		if (execl("/nonexistent", "nonexistent", (char *)NULL) == 0)
			return 1;
	if (strcmp(end, "kill") == 0)
		raise(SIGKILL);
	return 0;
}
