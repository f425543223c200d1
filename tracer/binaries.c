/* SPDX-License-Identifier: MIT */
#include "tracer/binaries.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tracer/kept.h"
#include "tracer/log.h"
#include "tracer/piece.h"
#include "tracer/pool.h"
#include "tracer/sys.h"
#include "tracer/trace_file.h"

enum {
	SEEN_MAX = 16384,
};

/* Hashes of files and of the trace that they are in.  A plugin that is loaded
   a thousand times is there once. */
static struct {
	uint64_t *items;
	size_t count;
} seen;

/* Safety: pure.  Return: a number that another file, or the same in another
   trace, does not have. */
static uint64_t identify(const struct binary *binary, const struct stat *st)
{
	const char *trace = trace_file_path(piece_now);
	uint64_t of_file[] = {(uint64_t)st->st_dev, (uint64_t)st->st_ino,
			      (uint64_t)st->st_size,
			      (uint64_t)st->st_mtim.tv_sec,
			      (uint64_t)st->st_mtim.tv_nsec};
	uint64_t h = XXH64(trace, strlen(trace), 0);

	h = XXH64(binary->path, strlen(binary->path), h);
	h = XXH64(binary->build_id, binary->build_id_len, h);
	return XXH64(of_file, sizeof(of_file), h);
}

/* Safety: one at a time.  Return: whether @key is new, and noted now. */
static bool note(uint64_t key)
{
	if (!seen.items)
		seen.items = pool_map(SEEN_MAX * sizeof(*seen.items));
	if (!seen.items || seen.count == SEEN_MAX)
		return false;
	for (size_t i = 0; i < seen.count; i++)
		if (seen.items[i] == key)
			return false;
	seen.items[seen.count++] = key;
	return true;
}

void binaries_keep(const struct binary *binary)
{
	const struct kept what = {
		.kind = TRACE_FILE_BINARY,
		.path = binary->path,
		.build_id = binary->build_id,
		.build_id_len = binary->build_id_len,
	};
	struct stat st;
	int fd = kept_open(binary->is_program ? "/proc/self/exe" : binary->path,
			   true, &st);
	int err = fd < 0 ? fd : 0;

	if (fd >= 0 && note(identify(binary, &st)))
		err = kept_write(&what, fd, 0, KEPT_BINARY_MAX);
	if (fd >= 0)
		sys_close(fd);
	if (err)
		log_line(LOG_WARN, "not kept in the trace:", binary->path,
			 -err);
}
