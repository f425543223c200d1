/* SPDX-License-Identifier: MIT */
/* Which piece of which run a trace is: one of its first chunks says so. */
#include "report/input/memprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "report/core/diag.h"
#include "report/event/run.h"
#include "report/input/chunk.h"
#include "report/input/cursor.h"
#include "tracer/trace_format.h"

/* Only PROCESS comes before it. */
enum { CHUNKS_MAX = 8 };

void memprof_read_piece(struct run_piece *piece, struct cursor *cursor)
{
	piece->run_id = cursor_u64(cursor);
	piece->previous_id = cursor_u64(cursor);
	piece->parent_run = cursor_u64(cursor);
	piece->index = cursor_u32(cursor);
	piece->why = cursor_u8(cursor);
	piece->has_gap = cursor_u8(cursor) & TRACE_PIECE_GAP;
	piece->is_known = !cursor->failed;
}

static int walk_start(struct chunk_walk *walk, struct run_piece *ret,
		      struct diag *diag)
{
	struct chunk_loader loader = {0};
	struct chunk_payload payload = {0};
	struct chunk chunk;
	int result = 1;

	for (int i = 0; i < CHUNKS_MAX && result > 0 && !ret->is_known; i++) {
		const char *problem;

		result = chunk_walk_next(walk, &chunk, diag);
		if (result <= 0 || walk->incomplete ||
		    chunk.header.type != TRACE_CHUNK_PIECE)
			continue;
		result = chunk_load(&loader, walk->source, &chunk, &payload,
				    &problem, diag);
		if (result == 0) {
			struct cursor cursor =
			    cursor_make(payload.data, payload.len);

			memprof_read_piece(ret, &cursor);
		}
		if (result >= 0)
			result = 1;
	}
	chunk_payload_done(&payload);
	chunk_loader_done(&loader);
	return result < 0 ? result : 0;
}

int memprof_identify(const struct source *source, struct run_piece *ret,
		     struct diag *diag)
{
	struct trace_preamble preamble;
	ssize_t n = source_read(source, 0, &preamble, sizeof(preamble), diag);
	struct chunk_walk *walk;
	int error;

	if (n < 0 || (size_t)n < sizeof(preamble) ||
	    memcmp(preamble.magic, TRACE_MAGIC, TRACE_MAGIC_LEN) != 0)
		return n < 0 ? (int)n : 0;
	walk = malloc(sizeof(*walk));
	if (!walk)
		return diag_set(diag, -ENOMEM, source->path, DIAG_NO_OFFSET,
				"out of memory");
	chunk_walk_init(walk, source, sizeof(preamble));
	error = walk_start(walk, ret, diag);
	ret->trace_id = preamble.trace_id;
	free(walk);
	return error;
}
