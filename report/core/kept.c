/* SPDX-License-Identifier: MIT */
#include "report/core/kept.h"

#include <errno.h>
#include <stdlib.h>

#include "report/core/memory.h"

int kept_load(const struct kept_file *file, uint8_t **ret)
{
	uint8_t *bytes, *at;

	if (file->bytes > KEPT_LOAD_MAX || !memory_spares(file->bytes + 1))
		return -EFBIG;
	at = bytes = malloc(file->bytes + 1);
	if (!bytes)
		return -ENOMEM;
	for (size_t i = 0; i < file->part_count; i++) {
		int error = file->read(file, &file->parts[i], at);

		if (error) {
			free(bytes);
			return error;
		}
		at += file->parts[i].len;
	}
	*at = 0;
	*ret = bytes;
	return 0;
}

const char *kept_kind_name(enum kept_kind kind)
{
	static const char *const names[KEPT_KIND_COUNT] = {
		[KEPT_BINARY] = "binary",
		[KEPT_PERF_MAP] = "perf map",
		[KEPT_JIT_OBJECT] = "JIT object",
		[KEPT_INCLUDED] = "included",
	};

	return names[kind];
}
