/* SPDX-License-Identifier: MIT */
#include "tracer/allocators.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "tracer/code_patch.h"
#include "tracer/elf_symbol.h"
#include "tracer/heap.h"
#include "tracer/hooks_allocator.h"
#include "tracer/libc.h"
#include "tracer/log.h"
#include "tracer/options.h"
#include "tracer/program_symbols.h"
#include "tracer/real.h"
#include "tracer/sys.h"
#include "tracer/text.h"
#include "tracer/zero.h"

enum {
	SITES_MAX = 256,
	LIKELY_SHIFT = 13,
};

static const struct form forms[] = {
#define FORM(name, where, deed, size, count, align, old) \
	{ name, where, deed, size, count, align, old },
#include "tracer/allocator_forms.h"
#undef FORM
};

#define FAMILY(name, forms_, inside) \
	{ .prefix = (name), .where = (forms_), .in_program = (inside) }
static struct family families[] = {
	FAMILY("", STANDARD | JEMALLOC | OPERATOR, true),
	FAMILY("je_", STANDARD | JEMALLOC, true),
	FAMILY("_rjem_", STANDARD | JEMALLOC, true),
	FAMILY("mi_", STANDARD | MIMALLOC, true),
	FAMILY("tc_", STANDARD | TCMALLOC, true),
	FAMILY("", JEMALLOC, false),
	FAMILY("je_", STANDARD | JEMALLOC, false),
	FAMILY("_rjem_", STANDARD | JEMALLOC, false),
	FAMILY("mi_", STANDARD | MIMALLOC, false),
	FAMILY("tc_", STANDARD | TCMALLOC, false),
};

/* A program has a hundred thousand functions, and next to none of them is an
   allocator's: a bit for the length and last letters of each name looked for. */
static uint64_t likely_names[(1 << LIKELY_SHIFT) / 64];

/* What must be there, or names are the same by chance. */
static const char *const essential[] = {"malloc", "calloc", "realloc", "free"};
enum { ALL_ESSENTIAL = 15 };

static struct {
	struct site site[SITES_MAX];
	size_t count;
} sites;

/* Safety: pure.  Notes a function of @family. */
static void note(struct family *family, const struct form *form,
		 uintptr_t addr, size_t len)
{
	for (size_t i = 0; i < sizeof(essential) / sizeof(essential[0]); i++)
		if (strcmp(form->name, essential[i]) == 0)
			family->found |= (uint8_t)(1u << i);
	if (form->deed == TELLS) {
		family->usable = (usable_function *)addr;
		return;
	}
	for (size_t i = 0; i < sites.count; i++)
		if (sites.site[i].addr == addr)
			return;
	if (sites.count < SITES_MAX)
		sites.site[sites.count++] = (struct site){
		    .form = form, .family = family, .addr = addr, .len = len};
}

/* Safety: pure.  Return: the form called @name that @family has, or NULL. */
static const struct form *find_form(const struct family *family,
				    const char *name)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if ((forms[i].where & family->where) &&
		    forms[i].name[0] == name[0] &&
		    strcmp(forms[i].name, name) == 0)
			return &forms[i];
	return NULL;
}

/* Safety: pure.  Return: the bit of likely_names for @name; none has less than
   four letters. */
static size_t likely_bit(const char *name, size_t len)
{
	uint32_t letters;

	memcpy(&letters, name + len - sizeof(letters), sizeof(letters));
	return (letters + (uint32_t)len) * UINT32_C(2654435761) >>
	       (32 - LIKELY_SHIFT);
}

/* Safety: once. */
static void note_likely(const char *prefix, const char *name)
{
	char full[64];
	struct text text = text_init(full, sizeof(full));
	size_t bit;

	text_add(&text, prefix);
	text_add(&text, name);
	if (text.len < sizeof(uint32_t))
		return;
	bit = likely_bit(full, text.len);
	likely_names[bit / 64] |= UINT64_C(1) << bit % 64;
}

/* Safety: once. */
static void note_likely_names(void)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		for (size_t k = 0; k < sizeof(forms) / sizeof(forms[0]); k++)
			if (forms[k].where & families[i].where)
				note_likely(families[i].prefix, forms[k].name);
}

/* Safety: pure. */
static bool is_likely(const char *name)
{
	size_t len = strlen(name);
	size_t bit;

	if (len < sizeof(uint32_t))
		return false;
	bit = likely_bit(name, len);
	return likely_names[bit / 64] >> bit % 64 & 1;
}

/* Safety: as program_symbols_visit(). */
static void visit(const struct program_symbol *symbol)
{
	if (!is_likely(symbol->name))
		return;
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		struct family *family = &families[i];
		size_t len = strlen(family->prefix);
		const struct form *form;

		if (!family->in_program ||
		    strncmp(symbol->name, family->prefix, len) != 0)
			continue;
		form = find_form(family, symbol->name + len);
		if (form)
			note(family, form, symbol->addr, symbol->len);
	}
}

/* Safety: loader's lock.  Return: the function @prefix@name that libraries
   export, or NULL; *@ret_len written. */
static void *find_exported(const char *prefix, const char *name,
			   size_t *ret_len)
{
	char full[64];
	size_t len = strlen(prefix), name_len = strlen(name);
	ElfW(Sym) *symbol = NULL;
	Dl_info info;
	void *p;

	if (len + name_len >= sizeof(full))
		return NULL;
	memcpy(full, prefix, len);
	memcpy(full + len, name, name_len + 1);
	p = libc_dlsym(RTLD_DEFAULT, full);
	if (!p || !dladdr1(p, &info, (void **)&symbol, RTLD_DL_SYMENT) ||
	    !symbol)
		return NULL;
	*ret_len = symbol->st_size;
	return p;
}

/* Safety: loader's lock. */
static void find_in_libraries(struct family *family)
{
	const char *first =
	    family->where & STANDARD ? essential[0] : "mallocx";
	size_t len;

	if (!find_exported(family->prefix, first, &len))
		return;
	if (!(family->where & STANDARD)) { /* what it has beyond the hooks */
		family->found = ALL_ESSENTIAL;
		family->usable = (usable_function *)(uintptr_t)find_exported(
		    "", "malloc_usable_size", &len);
	}
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		void *p = NULL;

		if (forms[i].where & family->where)
			p = find_exported(family->prefix, forms[i].name, &len);
		if (p)
			note(family, &forms[i], (uintptr_t)p, len);
	}
}

/* Safety: system call.  Whether nobody can be in the functions now. */
static bool is_alone(void)
{
	struct stat st;

	return sys_stat("/proc/self/task", &st) == 0 && st.st_nlink == 2 + 1;
}

/*
 * The standard names of a library's allocator lead to the same functions:
 * hooks_malloc.c goes around the jumps.
 *
 * Safety: single thread.
 */
static void go_around(const struct site *site)
{
	static const struct {
		const char *name;
		size_t offset;
	} members[] = {
		{"malloc", offsetof(struct real, malloc)},
		{"calloc", offsetof(struct real, calloc)},
		{"realloc", offsetof(struct real, realloc)},
		{"reallocarray", offsetof(struct real, reallocarray)},
		{"free", offsetof(struct real, free)},
		{"posix_memalign", offsetof(struct real, posix_memalign)},
		{"aligned_alloc", offsetof(struct real, aligned_alloc)},
		{"memalign", offsetof(struct real, memalign)},
		{"valloc", offsetof(struct real, valloc)},
		{"pvalloc", offsetof(struct real, pvalloc)},
	};
	Dl_info info;

	if (!dladdr((void *)site->addr, &info) ||
	    info.dli_fbase != real.malloc_base)
		return;
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (strcmp(members[i].name, site->form->name) == 0)
			zero_replace_real(members[i].offset, site->silent);
}

/* Safety: as code_patch(). */
static bool patch(struct site *site)
{
	struct code_patch jump = {
		.function = site->addr,
		.len = site->len,
		.target = hooks_allocator_enter,
		.context = site,
		.original = &site->original,
		.beside = hooks_allocator_enter_silent,
		.ret_beside = &site->silent,
	};

	if (!code_patch(&jump)) {
		log_line(LOG_INFO, "not traced:", site->form->name, 0);
		return false;
	}
	go_around(site);
	return true;
}

/* Safety: as code_patch(). */
static void patch_all(void)
{
	size_t done = 0, wanted = 0;

	for (size_t i = 0; i < sites.count; i++) {
		struct site *site = &sites.site[i];

		if (site->family->found != ALL_ESSENTIAL)
			continue;
		wanted++;
		done += patch(site);
	}
	if (done)
		log_number(LOG_INFO, "functions of other allocators traced:",
			   (long long)done);
	if (done < wanted)
		log_number(LOG_WARN,
			   "functions of other allocators not traced:",
			   (long long)(wanted - done));
}

/*
 * A sanitizer's allocator looks for leaks itself, in what we have noted, too.
 *
 * Safety: loader's lock.
 */
static bool is_sanitized(void)
{
	return libc_dlsym(RTLD_DEFAULT, "__sanitizer_get_allocated_size");
}

/* Safety: pure.  Return: the program's own entry. */
static const struct link_map *find_program(const struct link_map *any)
{
	while (any->l_prev)
		any = any->l_prev;
	return any;
}

/* Safety: as allocators_init().  What comes before this library, but for the
   program itself, and exports a malloc(); or NULL. */
static const struct link_map *find_first(const struct link_map *own)
{
	const struct link_map *map = find_program(own);

	if (elf_symbol_find_function(map, "malloc"))
		return NULL;
	while (map != own && !elf_symbol_find_function(map, "malloc"))
		map = map->l_next;
	return map == own ? NULL : map;
}

/* Safety: inside the guard, where the hooks give memory of heap.h.  Whether
   what the library allocates comes from the hooks. */
static bool calls_hooks(const struct link_map *map)
{
	any_function *get =
	    (any_function *)elf_symbol_find_function(map, "malloc");
	any_function *give =
	    (any_function *)elf_symbol_find_function(map, "free");
	uintptr_t p;
	bool calls;

	if (!get || !give)
		return true; /* no allocator */
	p = get(1, 0, 0, 0, 0);
	calls = heap_owns((void *)p);
	give(p, 0, 0, 0, 0);
	return calls;
}

void allocators_check_order(void)
{
	const struct link_map *own =
	    libc_map_of((void *)(uintptr_t)allocators_init, NULL);
	const struct link_map *first = own ? find_first(own) : NULL;
	bool sanitized = is_sanitized();

	if (own && sanitized &&
	    elf_symbol_find_function(find_program(own), "malloc"))
		log_line(LOG_WARN,
			 "the program has the allocator of a sanitizer inside "
			 "it, whose blocks are not recorded",
			 NULL, 0);
	if (options.under_valgrind)
		log_line(LOG_WARN,
			 "valgrind has put an allocator in front of "
			 "libmemprof.so, whose blocks are not recorded",
			 NULL, 0);
	if (first && !sanitized && !calls_hooks(first))
		log_line(LOG_WARN,
			 "its blocks are not recorded, as it comes before "
			 "libmemprof.so in LD_PRELOAD:",
			 first->l_name, 0);
}

void allocators_init(void)
{
	if (!options.patch_allocators || !code_patch_is_possible() ||
	    !is_alone() || is_sanitized())
		return;
	note_likely_names();
	program_symbols_visit(visit);
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (!families[i].in_program)
			find_in_libraries(&families[i]);
	patch_all();
}
