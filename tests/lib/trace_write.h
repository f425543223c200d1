/* SPDX-License-Identifier: MIT */
/*
 * Writing trace files for tests: bytes, chunks, and the repair of checksums
 * after something was changed.  Out of memory aborts: tests only.
 */
#ifndef TESTS_LIB_TRACE_WRITE_H
#define TESTS_LIB_TRACE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/trace_format.h"

/* Growing bytes, zero-initialised. */
struct bytes {
	uint8_t *data;
	size_t len;
	size_t capacity;
};

void bytes_done(struct bytes *bytes);
void bytes_put(struct bytes *bytes, const void *data, size_t len);
void bytes_u8(struct bytes *bytes, uint8_t value);
void bytes_u32(struct bytes *bytes, uint32_t value);
void bytes_u64(struct bytes *bytes, uint64_t value);
void bytes_varint(struct bytes *bytes, uint64_t value);
void bytes_svarint(struct bytes *bytes, uint64_t value);
void bytes_string(struct bytes *bytes, const char *text);
void bytes_zero(struct bytes *bytes, size_t len);

enum trace_pack { TRACE_PACK_PLAIN, TRACE_PACK_ZSTD };

void trace_put_preamble(struct bytes *out, uint64_t trace_id);

/* Appends a chunk.  Of @header the type, thread, ticks, counts and sequence
   are used.  Return: offset of its header in @out. */
size_t trace_put_chunk(struct bytes *out,
		       const struct trace_chunk_header *header,
		       const struct bytes *payload, enum trace_pack pack);

/* A definition chunk written at @tick. */
size_t trace_put_record(struct bytes *out, enum trace_chunk_type type,
			uint64_t tick, const struct bytes *payload);

struct trace_process {
	uint8_t clock;
	uint8_t flags;
	uint64_t tick;
	uint64_t monotonic_ns;
	uint64_t realtime_ns;
};

size_t trace_put_process(struct bytes *out,
			 const struct trace_process *process);
size_t trace_put_module(struct bytes *out, uint32_t number, uint32_t flags,
			uint64_t tick, uint64_t start, uint64_t end,
			const char *path);
size_t trace_put_unload(struct bytes *out, uint32_t number, uint64_t tick);
size_t trace_put_thread(struct bytes *out, uint32_t number, uint32_t what,
			uint64_t tick, const char *name);
size_t trace_put_clock(struct bytes *out, uint64_t tick, uint64_t ns);
size_t trace_put_lost(struct bytes *out, uint64_t count, uint32_t reason,
		      uint64_t tick);
size_t trace_put_end(struct bytes *out, uint32_t how, uint64_t tick,
		     uint64_t ns, uint64_t event_count, uint64_t lost_count);

/* A part of a file that is kept in the trace; @path may be "". */
struct trace_file_part {
	uint32_t kind;
	uint32_t flags;
	uint64_t offset;
	uint64_t addr;
	const void *build_id;
	uint32_t build_id_len;
	const char *path;
	const void *data;
	size_t len;
};

size_t trace_put_file(struct bytes *out, const struct trace_file_part *part,
		      enum trace_pack pack);

/* Makes the checksum of the header at @bytes right again. */
void trace_seal_header(uint8_t *bytes);

/* Makes the preamble's, headers' and payloads' checksums right again, as far
   as headers follow one another. */
void trace_repair(uint8_t *data, size_t len);

#endif /* TESTS_LIB_TRACE_WRITE_H */
