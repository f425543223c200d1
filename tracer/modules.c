/* SPDX-License-Identifier: MIT */
#include "tracer/modules.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tracer/binaries.h"
#include "tracer/chunk.h"
#include "tracer/clock.h"
#include "tracer/compiler.h"
#include "tracer/encode.h"
#include "tracer/heap.h"
#include "tracer/jit.h"
#include "tracer/libc.h"
#include "tracer/log.h"
#include "tracer/options.h"
#include "tracer/output_name.h"
#include "tracer/pool.h"
#include "tracer/text.h"

enum {
	MODULE_MAX = 16384,
	SEGMENT_MAX = 64,
	BUILD_ID_MAX = 64,
	CHANGING_MAX = 100000,
};

HOT_DATA struct loader modules_loader;

/**
 * struct module - one that the trace knows
 * @number:   as in the trace, from 1
 * @identity: hash of place, path and build ID
 * @round:    last scan that saw it
 * @is_kept:  the trace has its file, or will not
 * @payload:  of its MODULE chunk, @payload_len bytes from heap.h; NULL when
 *            there was no memory
 */
struct module {
	uint32_t number;
	uint32_t round;
	bool is_kept;
	uint64_t identity;
	uint8_t *payload;
	size_t payload_len;
};

/**
 * struct modules - all of them
 * @lock:      one scan at a time
 * @is_forked: the process is a forked child
 * @known:     loaded now as far as the trace says
 * @len:       of them
 * @last:      number of the newest
 * @round:     of the scan
 * @adds:      the loader's counters at the last scan
 * @subs:      the same
 * @scan_tick: time of the last scan
 */
static struct {
	struct spinlock lock;
	bool is_forked;
	struct module *known;
	size_t len;
	uint32_t last;
	uint32_t round;
	uint64_t adds;
	uint64_t subs;
	uint64_t scan_tick;
} modules;

/**
 * struct scan - one scan in progress
 * @load_tick: given to modules first seen now
 * @changed:   something was loaded or unloaded
 * @fresh:     some module is not known yet
 */
struct scan {
	uint64_t load_tick;
	bool changed;
	bool fresh;
};

/**
 * struct image - what the program headers of a module tell
 * @start, @end: addresses of its loaded segments
 * @build_id:    in mapped memory, NULL where there is none
 */
struct image {
	uintptr_t start;
	uintptr_t end;
	const uint8_t *build_id;
	size_t build_id_len;
	uint32_t segment_count;
};

void modules_init(void)
{
	const ElfW(Ehdr) *ehdr = (const void *)getauxval(AT_BASE);
	const ElfW(Phdr) * phdr;

	if (!ehdr)
		return;
	phdr = (const void *)((const char *)ehdr + ehdr->e_phoff);
	for (int i = 0; i < ehdr->e_phnum; i++) {
		if (phdr[i].p_type != PT_LOAD || !(phdr[i].p_flags & PF_X))
			continue;
		modules_loader.text_start =
		    (uintptr_t)ehdr + (uintptr_t)phdr[i].p_vaddr;
		modules_loader.text_bytes = phdr[i].p_memsz;
	}
}

void modules_mark_dirty(void)
{
	modules_loader.generation++;
	if (!modules_loader.dirty)
		modules_loader.dirty = clock_now();
}

/* Safety: the module stays mapped.  Finds the GNU build ID in a note. */
static void find_build_id(struct image *image, const uint8_t *note, size_t len)
{
	while (len >= sizeof(ElfW(Nhdr))) {
		ElfW(Nhdr) head;
		size_t name_len, desc_len;

		memcpy(&head, note, sizeof(head));
		name_len = (head.n_namesz + 3u) & ~(size_t)3;
		desc_len = (head.n_descsz + 3u) & ~(size_t)3;
		if (name_len > len || desc_len > len ||
		    sizeof(head) + name_len + desc_len > len)
			return;
		if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 &&
		    memcmp(note + sizeof(head), "GNU", 4) == 0 &&
		    head.n_descsz <= BUILD_ID_MAX) {
			image->build_id = note + sizeof(head) + name_len;
			image->build_id_len = head.n_descsz;
			return;
		}
		note += sizeof(head) + name_len + desc_len;
		len -= sizeof(head) + name_len + desc_len;
	}
}

/* Safety: the loader's list is locked.  Reads mapped headers only. */
static struct image read_image(const struct dl_phdr_info *info)
{
	struct image image = {.start = UINTPTR_MAX};

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t addr = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_NOTE && !image.build_id)
			find_build_id(&image, (const uint8_t *)addr,
				      ph->p_memsz);
		if (ph->p_type != PT_LOAD)
			continue;
		if (addr < image.start)
			image.start = addr;
		if (addr + ph->p_memsz > image.end)
			image.end = addr + ph->p_memsz;
		image.segment_count += image.segment_count < SEGMENT_MAX;
	}
	return image;
}

/* Safety: pure.  Return: a number that another module does not have. */
static uint64_t identify(const struct dl_phdr_info *info,
			 const struct image *image)
{
	uint64_t h =
	    XXH64(info->dlpi_name, strlen(info->dlpi_name), info->dlpi_addr);

	h = XXH64(info->dlpi_phdr, sizeof(ElfW(Phdr)) * info->dlpi_phnum, h);
	if (image->build_id)
		h = XXH64(image->build_id, image->build_id_len, h);
	return h;
}

/* Safety: lock held.  Return: the known module, or NULL. */
static struct module *find(uint64_t identity)
{
	for (size_t i = 0; i < modules.len; i++)
		if (modules.known[i].identity == identity)
			return &modules.known[i];
	return NULL;
}

/* Safety: pure but for system calls.  Return: enum trace_module_flags. */
static uint32_t get_flags(const struct dl_phdr_info *info,
			  const struct image *image)
{
	uintptr_t own = (uintptr_t)&modules_scan;

	if (own >= image->start && own < image->end)
		return TRACE_MODULE_TRACER;
	if (image->start == getauxval(AT_SYSINFO_EHDR))
		return TRACE_MODULE_VDSO;
	if ((uintptr_t)info->dlpi_phdr == getauxval(AT_PHDR))
		return TRACE_MODULE_EXECUTABLE;
	return 0;
}

/* Safety: system calls.  Writes the module's absolute path to @ret. */
static void get_path(const struct dl_phdr_info *info, uint32_t flags, char *ret,
		     size_t cap)
{
	struct text path = text_init(ret, cap);

	if (flags & TRACE_MODULE_VDSO) {
		text_add(&path, "[vdso]");
	} else if (flags & TRACE_MODULE_EXECUTABLE) {
		output_name_executable(ret, cap);
	} else {
		if (info->dlpi_name[0] != '/' && sys_getcwd(ret, cap) > 0) {
			path.len = strlen(ret);
			text_add_char(&path, '/');
		}
		text_add(&path, info->dlpi_name);
	}
}

/* Safety: pure.  Return: byte after the segments' table. */
static uint8_t *put_segments(uint8_t *p, const struct dl_phdr_info *info)
{
	uint32_t left = SEGMENT_MAX;

	for (int i = 0; i < info->dlpi_phnum && left; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type != PT_LOAD)
			continue;
		left--;
		p = put_u64(p, ph->p_vaddr);
		p = put_u64(p, ph->p_memsz);
		p = put_u64(p, ph->p_offset);
		p = put_u64(p, ph->p_filesz);
		p = put_u64(p, ph->p_flags);
	}
	return p;
}

/* Safety: signals blocked, lock held.  Keeps the chunk for later pieces. */
static void keep_payload(struct module *module, const uint8_t *payload,
			 size_t len)
{
	module->payload = heap_alloc(len, 0);
	module->payload_len = len;
	if (module->payload)
		memcpy(module->payload, payload, len);
}

/* Safety: signals blocked, lock held.  Writes a MODULE chunk. */
static void write_module(const struct dl_phdr_info *info,
			 const struct image *image, struct module *module,
			 uint64_t load_tick)
{
	static uint8_t payload[PATH_MAX + SEGMENT_MAX * 40 + 256];
	static char path[PATH_MAX];
	uint32_t flags = get_flags(info, image);
	uint64_t now = clock_now();
	uint8_t *p = payload;

	get_path(info, flags, path, sizeof(path));
	p = put_u32(p, module->number);
	p = put_u32(p, flags);
	p = put_u64(p, load_tick);
	p = put_u64(p, info->dlpi_addr);
	p = put_u64(p, image->start);
	p = put_u64(p, image->end);
	p = put_u32(p, image->segment_count);
	p = put_u32(p, (uint32_t)image->build_id_len);
	p = put_segments(p, info);
	if (image->build_id)
		memcpy(p, image->build_id, image->build_id_len);
	p += image->build_id_len;
	p = put_string(p, path, strlen(path));
	keep_payload(module, payload, (size_t)(p - payload));
	chunk_write(&(struct chunk){.type = TRACE_CHUNK_MODULE,
				    .payload = payload,
				    .len = (size_t)(p - payload),
				    .tick = now});
}

/* Safety: signals blocked, lock held.  Writes an UNLOAD chunk. */
static void write_unload(uint32_t number, uint64_t tick)
{
	uint64_t now = clock_now();
	uint8_t payload[16], *p = payload;

	p = put_u32(p, number);
	p = put_u32(p, 0);
	put_u64(p, tick);
	chunk_write(&(struct chunk){.type = TRACE_CHUNK_UNLOAD,
				    .payload = payload,
				    .len = sizeof(payload),
				    .tick = now});
}

/* First pass: which of the known are still there.  Safety: lock held. */
static int mark_one(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct scan *scan = arg;
	struct image image;
	struct module *module;

	(void)size;
	if (!scan->changed) {
		if (info->dlpi_adds == modules.adds &&
		    info->dlpi_subs == modules.subs)
			return 1;
		scan->changed = true;
		modules.adds = info->dlpi_adds;
		modules.subs = info->dlpi_subs;
	}
	image = read_image(info);
	module = find(identify(info, &image));
	if (module)
		module->round = modules.round;
	else
		scan->fresh = true;
	return 0;
}

/* Second pass: those that are new.  Safety: lock held. */
static int add_one(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct scan *scan = arg;
	struct image image = read_image(info);
	uint64_t identity = identify(info, &image);
	struct module *module;

	(void)size;
	if (!image.segment_count || modules.len == MODULE_MAX || find(identity))
		return 0;
	module = &modules.known[modules.len++];
	module->number = ++modules.last;
	module->round = modules.round;
	module->is_kept = !options.binaries;
	module->identity = identity;
	write_module(info, &image, module, scan->load_tick);
	return 0;
}

/* Third pass: takes one whose file is to be kept.  Safety: lock held. */
static int take_unkept(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct binary *binary = arg;
	struct image image = read_image(info);
	struct module *module = find(identify(info, &image));
	uint32_t flags = get_flags(info, &image);

	(void)size;
	if (!module || module->is_kept)
		return 0;
	module->is_kept = true;
	if (flags & TRACE_MODULE_VDSO)
		return 0;
	get_path(info, flags, binary->path, sizeof(binary->path));
	binary->is_program = flags & TRACE_MODULE_EXECUTABLE;
	binary->build_id_len = image.build_id_len;
	if (image.build_id)
		memcpy(binary->build_id, image.build_id, image.build_id_len);
	return 1;
}

/* The files are written while the loader's list is not locked.  Safety: lock
   held. */
static void keep_files(void)
{
	static struct binary binary; /* not on the program's stack */

	while (libc_dl_iterate_phdr(take_unkept, &binary))
		binaries_keep(&binary);
}

/* Between the passes: those that are gone.  Safety: lock held. */
static void drop_unseen(uint64_t unload_tick)
{
	size_t kept = 0;

	for (size_t i = 0; i < modules.len; i++) {
		if (modules.known[i].round == modules.round) {
			modules.known[kept++] = modules.known[i];
			continue;
		}
		write_unload(modules.known[i].number, unload_tick);
		if (modules.known[i].payload)
			heap_free(modules.known[i].payload);
	}
	modules.len = kept;
}

/*
 * Times: the loader's first allocation of a change comes before it maps and
 * after it has run the destructors of what it unmaps, so that instant
 * separates old from new.  Without it (another allocator inside the loader),
 * new modules count from the last scan and old ones until now.
 */
static void scan_locked(uint64_t dirty_tick)
{
	uint64_t now = clock_now();
	struct scan scan = {.load_tick =
				dirty_tick ? dirty_tick : modules.scan_tick};

	if (!modules.known) {
		modules.known = pool_map(MODULE_MAX * sizeof(struct module));
		if (!modules.known)
			return;
		scan.load_tick = now;
	}
	modules.round++;
	libc_dl_iterate_phdr(mark_one, &scan);
	if (scan.changed) {
		drop_unseen(dirty_tick ? dirty_tick : now);
		if (scan.fresh)
			libc_dl_iterate_phdr(add_one, &scan);
		if (scan.fresh && options.binaries)
			keep_files();
		jit_find();
	}
	modules.scan_tick = now;
}

#pragma weak _r_debug

/*
 * Whether the loader is between two lists: debuggers are told so.  A list that
 * was looked at meanwhile is out of date without any further allocation.
 *
 * It says so for ever should it ever forget to take it back, hence a limit.
 *
 * Safety: lock held.
 */
static bool is_changing(void)
{
	static unsigned times;

	if (!&_r_debug || *(volatile int *)&_r_debug.r_state == RT_CONSISTENT)
		times = 0;
	else
		times++;
	return times > 0 && times < CHANGING_MAX;
}

void modules_scan(void)
{
	uint64_t signals;

	if (modules.is_forked && !modules_loader.dirty)
		return;
	sys_signals_block(&signals);
	if (spinlock_take_bounded(&modules.lock)) {
		uint64_t dirty = atomic_exchange(&modules_loader.dirty, 0);
		bool again = is_changing();

		scan_locked(dirty);
		if (again)
			modules_loader.dirty = dirty ? dirty : modules.scan_tick;
		spinlock_give(&modules.lock);
		jit_poll();
	}
	sys_signals_restore(&signals);
}

void modules_begin_piece(uint32_t piece)
{
	uint64_t signals;

	sys_signals_block(&signals);
	spinlock_take(&modules.lock);
	chunk_add_piece(piece);
	for (size_t i = 0; i < modules.len; i++) {
		const struct module *module = &modules.known[i];
		struct chunk chunk = {.type = TRACE_CHUNK_MODULE,
				      .payload = module->payload,
				      .len = module->payload_len,
				      .tick = clock_now()};

		if (module->payload)
			chunk_write_in(piece, &chunk);
	}
	spinlock_give(&modules.lock);
	sys_signals_restore(&signals);
}

static uint64_t signals_before_fork; /* while the lock is held for it */

void modules_before_fork(void)
{
	uint64_t signals;

	if (modules_loader.dirty)
		modules_scan();
	sys_signals_block(&signals);
	spinlock_take(&modules.lock);
	signals_before_fork = signals;
}

void modules_after_fork(void)
{
	uint64_t signals = signals_before_fork;

	spinlock_give(&modules.lock);
	sys_signals_restore(&signals);
}

void modules_after_fork_in_child(void)
{
	modules.is_forked = true;
	modules_loader.dirty = 0;
	modules_after_fork();
}
