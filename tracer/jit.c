/* SPDX-License-Identifier: MIT */
#include "tracer/jit.h"

#include <link.h>
#include <string.h>
#include <time.h>

#include "tracer/elf_symbol.h"
#include "tracer/kept.h"
#include "tracer/log.h"
#include "tracer/options.h"
#include "tracer/sys.h"
#include "tracer/text.h"

enum {
	DESCRIPTOR_MAX = 64,
	OBJECT_COUNT_MAX = 65536,
};

#define OBJECT_BYTES_MAX (UINT64_C(64) << 20)
#define OBJECTS_BYTES_MAX (UINT64_C(256) << 20)
#define DESCRIPTOR_NAME "__jit_debug_descriptor"
#define TEMPORARY "/tmp"

/* GDB's declaration of the interface; version 1. */
struct jit_descriptor {
	uint32_t version;
	uint32_t action;
	uint64_t relevant;
	uint64_t first;
};

struct jit_entry {
	uint64_t next;
	uint64_t previous;
	uint64_t object;
	uint64_t bytes;
};

static struct timespec started; /* on the clock of files */

void jit_init(void)
{
	/* Files are stamped with the time of the last timer interrupt. */
	clock_gettime(CLOCK_REALTIME_COARSE, &started);
}

/* --- objects -------------------------------------------------------------- */

/**
 * struct descriptors - where they are, one a module at most
 */
struct descriptors {
	uintptr_t at[DESCRIPTOR_MAX];
	size_t count;
};

/* Safety: the loader's list is locked.  Of dl_iterate_phdr(). */
static int find_descriptor(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct descriptors *found = arg;
	uintptr_t at = elf_symbol_find(info, DESCRIPTOR_NAME,
				       sizeof(struct jit_descriptor));

	(void)size;
	if (at)
		found->at[found->count++] = at;
	return found->count == DESCRIPTOR_MAX;
}

/* Safety: system call.  Reads memory that may not be there. */
static bool read_memory(int mem, uint64_t addr, void *ret, size_t len)
{
	return SYS_CALL4(SYS_pread64, mem, ret, len, addr) == (long)len;
}

/* Safety: as jit_keep().  Takes from @left what it has written. */
static void keep_object(int mem, const struct jit_entry *entry, uint64_t *left)
{
	const struct kept object = {
		.kind = TRACE_FILE_JIT_OBJECT,
		.path = "",
		.addr = entry->object,
	};

	if (!entry->bytes || entry->bytes > OBJECT_BYTES_MAX ||
	    entry->bytes > *left)
		return;
	if (kept_write(&object, mem, entry->object, entry->bytes) == 0)
		*left -= entry->bytes;
}

/* The list may be damaged, or changed by a thread that still runs.  Safety: as
   jit_keep(). */
static void keep_objects_of(int mem, uintptr_t at, uint64_t *left)
{
	struct jit_descriptor head;
	struct jit_entry entry;
	uint64_t next;

	if (!read_memory(mem, at, &head, sizeof(head)) || head.version != 1)
		return;
	next = head.first;
	for (int i = 0; next && i < OBJECT_COUNT_MAX; i++) {
		if (!read_memory(mem, next, &entry, sizeof(entry)))
			return;
		keep_object(mem, &entry, left);
		next = entry.next;
	}
}

/* Safety: as jit_keep(). */
static void keep_objects(void)
{
	uint64_t left = OBJECTS_BYTES_MAX;
	struct descriptors found;
	int mem;

	found.count = 0;
	dl_iterate_phdr(find_descriptor, &found);
	if (!found.count)
		return;
	mem = sys_open("/proc/self/mem", O_RDONLY | O_CLOEXEC, 0);
	for (size_t i = 0; mem >= 0 && i < found.count; i++)
		keep_objects_of(mem, found.at[i], &left);
	if (mem >= 0)
		sys_close(mem);
	else
		log_line(LOG_WARN, "generated code has no names:",
			 "/proc/self/mem", -mem);
}

/* --- the perf map --------------------------------------------------------- */

/*
 * Whether memprof-record is there and sees the same files, in which case it
 * keeps the map itself.
 *
 * Safety: system calls.
 */
static bool is_launcher_near(void)
{
	char buf[64];
	struct text path = text_init(buf, sizeof(buf));
	const char *name = options.name_file;
	struct stat own, other;

	if (strncmp(name, "/proc/", 6) != 0 || sys_stat(name, &own) != 0)
		return false;
	text_add_bytes(&path, name, 6 + strspn(name + 6, "0123456789"));
	text_add(&path, "/root" TEMPORARY);
	return sys_stat(buf, &other) == 0 && sys_stat(TEMPORARY, &own) == 0 &&
	       own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

/* Safety: pure. */
static bool is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec
				      : a->tv_nsec < b->tv_nsec;
}

/* Safety: as jit_keep(). */
static void keep_perf_map(void)
{
	char buf[64];
	struct text path = text_init(buf, sizeof(buf));
	struct kept map = {.kind = TRACE_FILE_PERF_MAP, .path = buf};
	uint32_t uid = (uint32_t)SYS_CALL0(SYS_geteuid);
	struct stat st;
	int fd;

	text_add(&path, TEMPORARY "/perf-");
	text_add_int(&path, sys_getpid());
	text_add(&path, ".map");
	fd = kept_open(buf, false, &st);
	if (fd < 0)
		return;
	if ((st.st_uid == uid || st.st_uid == 0) &&
	    !is_before(&st.st_mtim, &started))
		kept_write(&map, fd, 0, KEPT_BYTES_MAX);
	else
		log_line(LOG_INFO, "of another process, not kept:", buf, 0);
	sys_close(fd);
}

void jit_keep(bool now)
{
	keep_objects();
	if (now || !is_launcher_near())
		keep_perf_map();
}
