/* SPDX-License-Identifier: MIT */
/*
 * Files that a trace holds: programs, maps of generated code, what the user
 * wished to have.  Their bytes stay in the trace until somebody asks for them.
 *
 * Layer: core, because input finds them, symbol reads them and neither may
 * know the other.
 */
#ifndef REPORT_CORE_KEPT_H
#define REPORT_CORE_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kept_kind {
	KEPT_BINARY,     /* executable or library of the program */
	KEPT_PERF_MAP,   /* names of generated code by address */
	KEPT_JIT_OBJECT, /* ELF of generated code, registered for debuggers */
	KEPT_INCLUDED,   /* one that the user asked for */
	KEPT_KIND_COUNT,
};

/**
 * struct kept_part - bytes of a file that lie in one chunk
 * @place: of what holds it, in the trace
 * @skip:  bytes before it there
 * @len:   of it
 */
struct kept_part {
	uint64_t place;
	uint32_t skip;
	uint32_t len;
};

struct kept_file;

/* Copies @part of @file to @ret, which has room for its length.  Called from
   any thread.  Return: 0, -ENOMEM, or -EIO if it cannot be read now. */
typedef int kept_read_fn(const struct kept_file *file,
			 const struct kept_part *part, uint8_t *ret);

/**
 * struct kept_file - one file
 * @path:     raw bytes as in the trace, NUL-terminated; "" if it has no name
 * @name:     sanitised @path, for people
 * @build_id: of a binary; empty if it has none
 * @addr:     of a JIT object: where it lay in memory; else 0
 * @bytes:    sum of all parts
 * @is_whole: its last part is there
 * @is_cut:   the writer left out what was too much
 * @read:     how to get at @parts
 * @source:   for @read
 *
 * Parts follow one another without gaps.  All owned by the run.
 */
struct kept_file {
	enum kept_kind kind;
	bool is_whole;
	bool is_cut;
	const char *path;
	const char *name;
	const uint8_t *build_id;
	size_t build_id_len;
	uint64_t addr;
	uint64_t bytes;
	const struct kept_part *parts;
	size_t part_count;
	kept_read_fn *read;
	const void *source;
};

/* No larger file is loaded: a trace of a megabyte can hold a terabyte of
   zeros. */
#define KEPT_LOAD_MAX ((uint64_t)1 << 30)

/**
 * kept_load() - all bytes of @file
 * @ret: to be freed; one zero byte follows them; written on success
 *
 * Return: 0, -ENOMEM, -EIO if it cannot be read now, -EFBIG if it is larger
 * than KEPT_LOAD_MAX or than the limit of memory allows.
 */
int kept_load(const struct kept_file *file, uint8_t **ret);

/* Return: "binary", "perf map", …; static storage. */
const char *kept_kind_name(enum kept_kind kind);

#endif /* REPORT_CORE_KEPT_H */
