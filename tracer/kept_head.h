/* SPDX-License-Identifier: MIT */
/* What FILE chunks say before the bytes of a file. */
#ifndef TRACER_KEPT_HEAD_H
#define TRACER_KEPT_HEAD_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tracer/encode.h"
#include "tracer/trace_format.h"

enum {
	KEPT_BUILD_ID_MAX = 64,
	KEPT_HEAD_MAX = TRACE_FILE_FIXED + KEPT_BUILD_ID_MAX + 4 + PATH_MAX,
};

/* No more of a file is kept, nor of a binary. */
#define KEPT_BYTES_MAX (UINT64_C(64) << 20)
#define KEPT_BINARY_MAX (UINT64_C(4) << 30)

/**
 * struct kept - what the trace says about a file
 * @path:     absolute, borrowed; "" when it has none
 * @build_id: borrowed
 * @build_id_len: at most KEPT_BUILD_ID_MAX
 * @addr:     of a JIT object; else 0
 */
struct kept {
	enum trace_file_kind kind;
	const char *path;
	const uint8_t *build_id;
	size_t build_id_len;
	uint64_t addr;
};

/* Safety: pure.  @p has room for KEPT_HEAD_MAX.  Return: byte after it. */
static inline uint8_t *kept_put_head(uint8_t *p, const struct kept *what,
				     uint64_t offset, uint32_t flags)
{
	p = put_u32(p, what->kind);
	p = put_u32(p, flags);
	p = put_u64(p, offset);
	p = put_u64(p, what->addr);
	p = put_u32(p, (uint32_t)what->build_id_len);
	p = put_u32(p, 0);
	if (what->build_id_len)
		memcpy(p, what->build_id, what->build_id_len);
	p += what->build_id_len;
	return put_string(p, what->path, strnlen(what->path, PATH_MAX));
}

#endif /* TRACER_KEPT_HEAD_H */
