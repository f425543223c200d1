/* SPDX-License-Identifier: MIT */
#include "report/input/chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <xxhash.h>
#include <zstd.h>

#include "report/core/diag.h"
#include "report/input/cursor.h"
#include "report/source/source.h"

_Static_assert(CHUNK_HEADER_LEN == 72, "as docs/trace-format.md says");

bool chunk_header_parse(const uint8_t *bytes, struct trace_chunk_header *ret)
{
	struct trace_chunk_header header;

	if (memcmp(bytes, TRACE_CHUNK_MAGIC, TRACE_MAGIC_LEN) != 0)
		return false;
	memcpy(&header, bytes, sizeof(header));
	if (header.header_checksum !=
	    XXH64(bytes, offsetof(struct trace_chunk_header, header_checksum),
		  0))
		return false;
	*ret = header;
	return true;
}

const char *chunk_type_name(uint16_t type)
{
	static const char *const names[] = {
	    [TRACE_CHUNK_PROCESS] = "PROCESS", [TRACE_CHUNK_EVENTS] = "EVENTS",
	    [TRACE_CHUNK_MODULE] = "MODULE",   [TRACE_CHUNK_UNLOAD] = "UNLOAD",
	    [TRACE_CHUNK_THREAD] = "THREAD",   [TRACE_CHUNK_CLOCK] = "CLOCK",
	    [TRACE_CHUNK_LOST] = "LOST",       [TRACE_CHUNK_END] = "END",
	    [TRACE_CHUNK_COLUMNS] = "COLUMNS",
	    [TRACE_CHUNK_FILE] = "FILE",
	    [TRACE_CHUNK_MARK] = "MARK",       [TRACE_CHUNK_PIECE] = "PIECE",
	    [TRACE_CHUNK_SMAPS] = "SMAPS",     [TRACE_CHUNK_BATCH] = "BATCH",
	};

	if (type < sizeof(names) / sizeof(names[0]) && names[type])
		return names[type];
	return "unknown";
}

/* --- walking ------------------------------------------------------------- */

void chunk_walk_init(struct chunk_walk *walk, const struct source *source,
		     uint64_t offset)
{
	memset(walk, 0, offsetof(struct chunk_walk, window));
	walk->source = source;
	walk->next = offset;
	walk->budget =
	    source->size <= UINT64_MAX / 4 ? 4 * source->size : UINT64_MAX;
}

/* Return: 1 with the header at @offset, 0 if there is none. */
static int walk_header(struct chunk_walk *walk, uint64_t offset,
		       struct chunk *ret, struct diag *diag)
{
	if (offset < walk->window_at ||
	    offset - walk->window_at + CHUNK_HEADER_LEN > walk->window_len) {
		ssize_t n = source_read(walk->source, offset, walk->window,
					sizeof(walk->window), diag);

		if (n < 0)
			return (int)n;
		walk->window_at = offset;
		walk->window_len = (size_t)n;
	}
	if (walk->window_len - (offset - walk->window_at) < CHUNK_HEADER_LEN)
		return 0;
	ret->offset = offset;
	return chunk_header_parse(walk->window + (offset - walk->window_at),
				  &ret->header);
}

/* Return: 1 with the first header at or after @offset, 0 if there is none. */
static int walk_scan(struct chunk_walk *walk, uint64_t offset,
		     struct chunk *ret, struct diag *diag)
{
	for (;;) {
		ssize_t n = source_read(walk->source, offset, walk->scan,
					sizeof(walk->scan), diag);
		const uint8_t *at = walk->scan;
		const uint8_t *end;

		if (n < 0)
			return (int)n;
		if ((size_t)n < CHUNK_HEADER_LEN)
			return 0;
		end = walk->scan + n - CHUNK_HEADER_LEN + 1;
		while (
		    at < end &&
		    (at = memmem(at, (size_t)(end - at) + TRACE_MAGIC_LEN - 1,
				 TRACE_CHUNK_MAGIC, TRACE_MAGIC_LEN))) {
			if (chunk_header_parse(at, &ret->header)) {
				ret->offset =
				    offset + (uint64_t)(at - walk->scan);
				return 1;
			}
			at++;
		}
		offset += (uint64_t)n - CHUNK_HEADER_LEN + 1;
	}
}

/* Adds the payload of @chunk to @state.  Return: 0 or negative errno. */
static int walk_hash(struct chunk_walk *walk, const struct chunk *chunk,
		     XXH64_state_t *state, struct diag *diag)
{
	uint64_t left = chunk->header.stored_len;
	uint64_t at = chunk_payload_offset(chunk);

	XXH64_reset(state, 0);
	while (left) {
		size_t want = left < sizeof(walk->scan) ? (size_t)left
							: sizeof(walk->scan);
		ssize_t n =
		    source_read(walk->source, at, walk->scan, want, diag);

		if (n < 0)
			return (int)n;
		if (n == 0)
			return 0;
		XXH64_update(state, walk->scan, (size_t)n);
		at += (uint64_t)n;
		left -= (uint64_t)n;
	}
	return 0;
}

int chunk_walk_verify(struct chunk_walk *walk, const struct chunk *chunk,
		      struct diag *diag)
{
	XXH64_state_t *state;
	int result;

	if (walk->budget < chunk->header.stored_len)
		return 0;
	walk->budget -= chunk->header.stored_len;
	state = XXH64_createState();
	if (!state)
		return diag_set(diag, -ENOMEM, walk->source->path,
				chunk->offset, "out of memory");
	result = walk_hash(walk, chunk, state, diag);
	if (result == 0)
		result = XXH64_digest(state) == chunk->header.payload_checksum;
	XXH64_freeState(state);
	return result;
}

/* The file ends at the walk's position or soon after it without a header:
   whether these bytes look like the start of one. */
static int walk_tail(struct chunk_walk *walk, struct diag *diag)
{
	uint8_t head[TRACE_MAGIC_LEN];
	uint64_t left = walk->source->size - walk->next;
	ssize_t n;

	if (left >= CHUNK_HEADER_LEN)
		return 0;
	n = source_read(walk->source, walk->next, head, sizeof(head), diag);
	if (n < 0)
		return (int)n;
	if (memcmp(head, TRACE_CHUNK_MAGIC, (size_t)n) == 0)
		walk->tail = CHUNK_TAIL_HEADER;
	return 0;
}

/*
 * No header where one should be.  Either these bytes are damaged, or the chunk
 * before them is shorter than it says because its write was cut off: then the
 * next one lies within it.  Its checksum tells which.
 */
static int walk_resync(struct chunk_walk *walk, struct chunk *ret,
		       struct diag *diag)
{
	uint64_t from = walk->next;
	int found;

	if (walk->has_last && !walk->incomplete) {
		int whole = chunk_walk_verify(walk, &walk->last, diag);

		if (whole < 0)
			return whole;
		if (!whole)
			from = chunk_payload_offset(&walk->last);
	} else if (walk->incomplete) {
		from = chunk_payload_offset(&walk->last);
	}
	found = walk_scan(walk, from, ret, diag);
	if (found < 0)
		return found;
	if (walk->incomplete) {
		if (!found)
			walk->tail = CHUNK_TAIL_PAYLOAD;
		return found;
	}
	if (found && ret->offset < walk->next)
		return 1;
	walk->skipped_at = walk->next;
	walk->skipped_len =
	    (found ? ret->offset : walk->source->size) - walk->next;
	if (!found) {
		int error = walk_tail(walk, diag);

		if (error)
			return error;
	}
	return found;
}

int chunk_walk_next(struct chunk_walk *walk, struct chunk *ret,
		    struct diag *diag)
{
	struct chunk chunk;
	int found;

	walk->skipped_len = 0;
	if (walk->incomplete) {
		found = walk_resync(walk, &chunk, diag);
		walk->incomplete = false;
	} else {
		if (walk->next >= walk->source->size)
			return 0;
		found = walk_header(walk, walk->next, &chunk, diag);
		if (!found)
			found = walk_resync(walk, &chunk, diag);
	}
	if (found <= 0) {
		walk->next = walk->source->size;
		return found;
	}
	walk->incomplete = chunk_end_offset(&chunk) > walk->source->size;
	walk->has_last = true;
	walk->last = chunk;
	walk->next = chunk_end_offset(&chunk);
	*ret = chunk;
	return 1;
}

/* --- payloads ------------------------------------------------------------ */

void chunk_loader_done(struct chunk_loader *loader)
{
	ZSTD_freeDCtx(loader->zstd);
	free(loader->stored);
	memset(loader, 0, sizeof(*loader));
}

void chunk_payload_done(struct chunk_payload *payload)
{
	free(payload->data);
	memset(payload, 0, sizeof(*payload));
}

int chunk_payload_reserve(struct chunk_payload *payload, size_t len)
{
	if (payload->capacity < len + CURSOR_SLACK) {
		uint8_t *data = malloc(len + CURSOR_SLACK);

		if (!data)
			return -ENOMEM;
		free(payload->data);
		payload->data = data;
		payload->capacity = len + CURSOR_SLACK;
	}
	memset(payload->data + len, 0, CURSOR_SLACK);
	payload->len = len;
	return 0;
}

/* Return: what forbids to load a chunk with @header, NULL if nothing. */
static const char *header_problem(const struct trace_chunk_header *header)
{
	if (header->flags &
	    ~(unsigned)(TRACE_CHUNK_ZSTD | TRACE_CHUNK_IN_BATCH))
		return "its flags are unknown";
	if (header->raw_len > TRACE_RAW_LEN_MAX)
		return "its length is beyond the limit";
	if (!(header->flags & TRACE_CHUNK_ZSTD) &&
	    header->raw_len != header->stored_len)
		return "its two lengths differ";
	if (header->stored_len > ZSTD_COMPRESSBOUND(TRACE_RAW_LEN_MAX))
		return "its length is beyond the limit";
	return NULL;
}

/* Return: what is wrong with the frame, NULL if it was decompressed; "" when
   out of memory. */
static const char *decompress(struct chunk_loader *loader,
			      const struct trace_chunk_header *header,
			      struct chunk_payload *payload)
{
	unsigned long long len =
	    ZSTD_getFrameContentSize(loader->stored, header->stored_len);
	size_t n;

	/* A frame that was compressed in parts need not say its length. */
	if ((len != header->raw_len && len != ZSTD_CONTENTSIZE_UNKNOWN) ||
	    ZSTD_findFrameCompressedSize(loader->stored, header->stored_len) !=
		header->stored_len)
		return "its zstd frame has another length";
	if (!loader->zstd)
		loader->zstd = ZSTD_createDCtx();
	if (!loader->zstd)
		return "";
	n = ZSTD_decompressDCtx(loader->zstd, payload->data, header->raw_len,
				loader->stored, header->stored_len);
	if (ZSTD_isError(n) || n != header->raw_len)
		return "its zstd frame is damaged";
	return NULL;
}

static int stored_reserve(struct chunk_loader *loader, size_t len)
{
	uint8_t *stored;

	if (loader->stored_capacity >= len)
		return 0;
	stored = malloc(len);
	if (!stored)
		return -ENOMEM;
	free(loader->stored);
	loader->stored = stored;
	loader->stored_capacity = len;
	return 0;
}

int chunk_load(struct chunk_loader *loader, const struct source *source,
	       const struct chunk *chunk, struct chunk_payload *payload,
	       const char **ret_problem, struct diag *diag)
{
	const struct trace_chunk_header *header = &chunk->header;
	bool packed = header->flags & TRACE_CHUNK_ZSTD;
	const char *problem = header_problem(header);
	uint8_t *stored;
	ssize_t n;

	if (problem) {
		*ret_problem = problem;
		return 1;
	}
	if (chunk_payload_reserve(payload, header->raw_len) ||
	    (packed && stored_reserve(loader, header->stored_len)))
		return diag_set(diag, -ENOMEM, source->path, chunk->offset,
				"out of memory");
	stored = packed ? loader->stored : payload->data;
	n = source_read(source, chunk_payload_offset(chunk), stored,
			header->stored_len, diag);
	if (n < 0)
		return (int)n;
	if ((size_t)n < header->stored_len)
		problem = "the file ends in it";
	else if (XXH64(stored, header->stored_len, 0) !=
		 header->payload_checksum)
		problem = "its checksum differs";
	else if (packed)
		problem = decompress(loader, header, payload);
	if (!problem)
		return 0;
	if (!*problem)
		return diag_set(diag, -ENOMEM, source->path, chunk->offset,
				"out of memory");
	*ret_problem = problem;
	return 1;
}
