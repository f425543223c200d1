/* SPDX-License-Identifier: MIT */
#include "tracer/jit.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tracer/clock.h"
#include "tracer/compiler.h"
#include "tracer/elf_symbol.h"
#include "tracer/kept.h"
#include "tracer/libc.h"
#include "tracer/log.h"
#include "tracer/options.h"
#include "tracer/piece.h"
#include "tracer/pool.h"
#include "tracer/state.h"
#include "tracer/sys.h"
#include "tracer/text.h"
#include "tracer/trace_file.h"

enum {
	DESCRIPTOR_MAX = 64,
	OBJECT_COUNT_MAX = 65536,
	KEPT_SLOTS = 2 * OBJECT_COUNT_MAX,
	BUFFER_BYTES = 64 << 10,
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
	clock_read(CLOCK_REALTIME_COARSE, &started);
}

/* --- objects -------------------------------------------------------------- */

/**
 * struct descriptor - the list of one module
 * @at:    where it is
 * @first: its first entry when it was last looked at
 * @object, @bytes: of that
 */
struct descriptor {
	uintptr_t at;
	uint64_t first;
	uint64_t object;
	uint64_t bytes;
};

/**
 * struct objects - what is known of all lists
 * @lock:  one look at a time
 * @items: one a module at most
 * @mem:   this process's memory, while the lists are looked at
 * @buf:   BUFFER_BYTES, from then on
 * @kept:  hashes of what is in the trace: open addressing, KEPT_SLOTS
 * @kept_count: of them
 * @left:  bytes that may still be written
 */
static struct {
	struct spinlock lock;
	struct descriptor items[DESCRIPTOR_MAX];
	size_t count;
	int mem;
	uint8_t *buf;
	uint64_t *kept;
	size_t kept_count;
	uint64_t left;
} objects = { .left = OBJECTS_BYTES_MAX };

/* Safety: the loader's list and @lock are locked.  Of dl_iterate_phdr(). */
static int find_descriptor(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t at = elf_symbol_find(info, DESCRIPTOR_NAME,
				       sizeof(struct jit_descriptor));

	(void)size;
	(void)arg;
	if (at)
		objects.items[objects.count++] = (struct descriptor){.at = at};
	return objects.count == DESCRIPTOR_MAX;
}

void jit_find(void)
{
	if (!spinlock_try(&objects.lock))
		return;
	objects.count = 0;
	libc_dl_iterate_phdr(find_descriptor, NULL);
	spinlock_give(&objects.lock);
}

/* Safety: system call.  Reads memory that may not be there. */
static bool read_memory(uint64_t addr, void *ret, size_t len)
{
	return SYS_CALL4(SYS_pread64, objects.mem, ret, len, addr) ==
	       (long)len;
}

/* Safety: @lock held.  Return: a number that other objects, and the same in
   another trace, do not have; 0 where it cannot be read, or is none. */
static uint64_t identify(const struct jit_entry *entry)
{
	const char *trace = trace_file_path(piece_now);
	uint64_t h = XXH64(trace, strlen(trace), entry->object);

	for (uint64_t done = 0; done < entry->bytes; done += BUFFER_BYTES) {
		uint64_t left = entry->bytes - done;
		size_t len = left < BUFFER_BYTES ? (size_t)left : BUFFER_BYTES;

		if (!read_memory(entry->object + done, objects.buf, len) ||
		    (!done && (len < SELFMAG ||
			       memcmp(objects.buf, ELFMAG, SELFMAG) != 0)))
			return 0;
		h = XXH64(objects.buf, len, h);
	}
	return h | 1;
}

/* Safety: @lock held.  Return: whether @key is new, and noted now. */
static bool note(uint64_t key)
{
	size_t i = (size_t)(key >> 1) % KEPT_SLOTS;

	if (objects.kept_count >= OBJECT_COUNT_MAX)
		return false;
	for (; objects.kept[i]; i = (i + 1) % KEPT_SLOTS)
		if (objects.kept[i] == key)
			return false;
	objects.kept[i] = key;
	objects.kept_count++;
	return true;
}

/* Safety: @lock held. */
static void keep_object(const struct jit_entry *entry)
{
	const struct kept object = {
		.kind = TRACE_FILE_JIT_OBJECT,
		.path = "",
		.addr = entry->object,
	};
	uint64_t key;

	if (!entry->bytes || entry->bytes > OBJECT_BYTES_MAX ||
	    entry->bytes > objects.left)
		return;
	key = identify(entry);
	if (key && note(key) &&
	    kept_write(&object, objects.mem, entry->object, entry->bytes) == 0)
		objects.left -= entry->bytes;
}

/*
 * New entries come to the front.  The list may be damaged, or changed by
 * another thread meanwhile.
 *
 * Safety: @lock held.
 */
static void keep_list(struct descriptor *list, bool all)
{
	struct descriptor before = *list;
	struct jit_descriptor head;
	struct jit_entry entry;
	uint64_t next;

	if (!read_memory(list->at, &head, sizeof(head)) || head.version != 1)
		return;
	next = list->first = head.first;
	for (int i = 0; next && i < OBJECT_COUNT_MAX; i++) {
		if (!read_memory(next, &entry, sizeof(entry)))
			return;
		if (i == 0) {
			list->object = entry.object;
			list->bytes = entry.bytes;
		}
		if (!all && next == before.first &&
		    entry.object == before.object &&
		    entry.bytes == before.bytes)
			return;
		keep_object(&entry);
		next = entry.next;
	}
}

/* Safety: @lock held. */
static void keep_lists(bool all)
{
	if (!objects.buf)
		objects.buf = pool_map(BUFFER_BYTES);
	if (!objects.kept)
		objects.kept = pool_map(KEPT_SLOTS * sizeof(*objects.kept));
	if (!objects.buf || !objects.kept)
		return;
	objects.mem = sys_open("/proc/self/mem", O_RDONLY | O_CLOEXEC, 0);
	if (objects.mem < 0)
		return;
	for (size_t i = 0; i < objects.count; i++)
		keep_list(&objects.items[i], all);
	sys_close(objects.mem);
}

/* Safety: as jit_poll(). */
static void keep_objects(bool all)
{
	if (!objects.count ||
	    !(all ? spinlock_take_bounded(&objects.lock)
		  : spinlock_try(&objects.lock)))
		return;
	keep_lists(all);
	spinlock_give(&objects.lock);
}

void jit_poll(void)
{
	keep_objects(false);
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

/* A program may try to execute one file after the other.  Safety: as
   jit_keep().  Return: whether the trace has the map as it is now. */
static bool has_map(const struct stat *st)
{
	static uint64_t last;
	const char *trace = trace_file_path(piece_now);
	uint64_t of_file[] = {(uint64_t)st->st_ino, (uint64_t)st->st_size,
			      (uint64_t)st->st_mtim.tv_sec,
			      (uint64_t)st->st_mtim.tv_nsec};
	uint64_t key = XXH64(trace, strlen(trace), 0);
	bool is_same;

	key = XXH64(of_file, sizeof(of_file), key);
	is_same = key == last;
	last = key;
	return is_same;
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
	text_add_int(&path, state_pid());
	text_add(&path, ".map");
	fd = kept_open(buf, false, &st);
	if (fd < 0)
		return;
	if ((!uid || st.st_uid == uid || !st.st_uid) &&
	    !is_before(&st.st_mtim, &started)) {
		if (!has_map(&st))
			kept_write(&map, fd, 0, KEPT_BYTES_MAX);
	} else {
		log_line(LOG_INFO, "of another process, not kept:", buf, 0);
	}
	sys_close(fd);
}

void jit_keep(bool now)
{
	uint64_t signals;

	sys_signals_block(&signals);
	keep_objects(true);
	if (now || !is_launcher_near())
		keep_perf_map();
	sys_signals_restore(&signals);
}

void jit_forget_lock(void)
{
	spinlock_give(&objects.lock);
}
