/* SPDX-License-Identifier: MIT */
/*
 * Chunks of a memprof trace: finding them one after another, also behind
 * damage, and getting at their payloads.
 *
 * Layer: input.
 */
#ifndef REPORT_INPUT_CHUNK_H
#define REPORT_INPUT_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/trace_format.h"

struct diag;
struct source;
struct ZSTD_DCtx_s;

#define CHUNK_HEADER_LEN sizeof(struct trace_chunk_header)

/**
 * struct chunk - one chunk whose header is whole
 * @offset: of the header in the file
 */
struct chunk {
	uint64_t offset;
	struct trace_chunk_header header;
};

static inline uint64_t chunk_payload_offset(const struct chunk *chunk)
{
	return chunk->offset + CHUNK_HEADER_LEN;
}

static inline uint64_t chunk_end_offset(const struct chunk *chunk)
{
	return chunk_payload_offset(chunk) + chunk->header.stored_len;
}

/* Return: events that the header counts, as far as they can be in there: none
   takes less than two bytes; those that are in sums may be any number. */
static inline uint64_t
chunk_event_count(const struct trace_chunk_header *header)
{
	uint64_t most = header->raw_len / 2;

	return (header->event_count < most ? header->event_count : most) +
	       header->culled_count;
}

/* Return: whether CHUNK_HEADER_LEN bytes at @bytes are a header with the
   right magic and checksum; then *@ret is it. */
bool chunk_header_parse(const uint8_t *bytes, struct trace_chunk_header *ret);

/* Return: consecutive buffers in a chunk of events. */
static inline uint32_t
chunk_buffer_count(const struct trace_chunk_header *header)
{
	return header->buffer_count ? header->buffer_count : 1;
}

/* Return: "EVENTS", "PROCESS", …, "unknown"; static storage. */
const char *chunk_type_name(uint16_t type);

enum { CHUNK_WINDOW_BYTES = 4096, CHUNK_SCAN_BYTES = 64 * 1024 };

enum chunk_tail {
	CHUNK_TAIL_WHOLE,   /* nothing is known to be cut off */
	CHUNK_TAIL_HEADER,  /* the file ends within a header */
	CHUNK_TAIL_PAYLOAD, /* … within the payload of the last chunk */
};

/**
 * struct chunk_walk - a walk over the chunk headers of a file
 * @source:      borrowed
 * @skipped_at, @skipped_len: bytes before the chunk just returned (or before
 *               the end) that belong to no chunk; length 0 if there are none
 * @incomplete:  the payload of the chunk just returned goes beyond the end of
 *               the file.  Whatever chunks lie within it come next
 * @tail:        how the file ends; valid at the end of the walk
 * The others are private.
 *
 * Cost: one small read a chunk.  Damage is scanned once, and the verification
 * of chunks before damage reads at most @budget bytes in all, so a hostile
 * file costs time linear in its size.
 */
struct chunk_walk {
	const struct source *source;
	uint64_t skipped_at;
	uint64_t skipped_len;
	bool incomplete;
	enum chunk_tail tail;
	bool has_last;
	struct chunk last;
	uint64_t next;
	uint64_t budget;
	uint64_t window_at;
	size_t window_len;
	uint8_t window[CHUNK_WINDOW_BYTES];
	uint8_t scan[CHUNK_SCAN_BYTES];
};

/* Starts at @offset, where a chunk is expected. */
void chunk_walk_init(struct chunk_walk *walk, const struct source *source,
		     uint64_t offset);

/* Return: 1 chunk in *@ret, 0 end of file; negative errno, @diag filled. */
int chunk_walk_next(struct chunk_walk *walk, struct chunk *ret,
		    struct diag *diag);

/* Return: 1 if the payload of @chunk is as it was written, 0 if not, or if more
   than the walk's budget was asked about; negative errno. */
int chunk_walk_verify(struct chunk_walk *walk, const struct chunk *chunk,
		      struct diag *diag);

/**
 * struct chunk_loader - scratch for reading payloads, zero-initialised
 */
struct chunk_loader {
	struct ZSTD_DCtx_s *zstd;
	uint8_t *stored;
	size_t stored_capacity;
};

void chunk_loader_done(struct chunk_loader *loader);

/**
 * struct chunk_payload - a payload as it was before compression
 * @data: owned by whoever zero-initialised the struct and calls
 *        chunk_payload_done(); CURSOR_SLACK zero bytes follow @len
 */
struct chunk_payload {
	uint8_t *data;
	size_t len;
	size_t capacity;
};

void chunk_payload_done(struct chunk_payload *payload);

/* Makes room for @len bytes and the slack, and zeroes the slack.  Return: 0 or
   -ENOMEM with @payload untouched. */
int chunk_payload_reserve(struct chunk_payload *payload, size_t len);

/**
 * chunk_load() - read, verify and decompress the payload of @chunk
 * @payload:     its memory is used again
 * @ret_problem: what is wrong when the chunk is damaged, e.g. "the checksum
 *               differs"; static storage
 *
 * Nothing is allocated beyond what is in the file and TRACE_RAW_LEN_MAX.
 *
 * Return: 0; 1 damaged; negative errno with @diag filled.
 */
int chunk_load(struct chunk_loader *loader, const struct source *source,
	       const struct chunk *chunk, struct chunk_payload *payload,
	       const char **ret_problem, struct diag *diag);

#endif /* REPORT_INPUT_CHUNK_H */
