/* SPDX-License-Identifier: MIT */
/*
 * Mutations of traces that keep what a reader checks first: a change of one
 * chunk's payload, or of the order of chunks, after which lengths are right.
 * Checksums are made right by trace_repair().
 */
#ifndef TESTS_FUZZ_CHUNK_MUTATOR_H
#define TESTS_FUZZ_CHUNK_MUTATOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tracer/trace_format.h"

/* Of libFuzzer; not there where inputs are only replayed. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size,
					      size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
			       unsigned seed);

enum { MUTATED_CHUNKS_MAX = 256 };

struct chunk_span {
	size_t at;
	size_t len; /* with its header */
};

/* Return: how many chunks follow one another in the trace at @data. */
static inline size_t chunk_spans(const uint8_t *data, size_t size,
				 struct chunk_span *ret)
{
	size_t at = sizeof(struct trace_preamble), count = 0;
	struct trace_chunk_header header;

	while (count < MUTATED_CHUNKS_MAX && at <= size &&
	       size - at >= sizeof(header)) {
		memcpy(&header, data + at, sizeof(header));
		if (header.stored_len > size - at - sizeof(header))
			break;
		ret[count++] = (struct chunk_span){
			at, sizeof(header) + header.stored_len
		};
		at += ret[count - 1].len;
	}
	return count;
}

/* Makes a hole of @len bytes at @at, or closes one.  Return: the new size. */
static inline size_t chunk_room(uint8_t *data, size_t size, size_t at,
				size_t before, size_t after)
{
	memmove(data + at + after, data + at + before, size - at - before);
	return size - before + after;
}

static inline size_t chunk_mutate_payload(uint8_t *data, size_t size,
					  size_t max_size,
					  struct chunk_span span)
{
	struct trace_chunk_header header;
	size_t start = span.at + sizeof(header);
	size_t before = span.len - sizeof(header);
	size_t room = max_size - size + before, after;
	static uint8_t copy[1 << 20];

	if (room > sizeof(copy) || before > room)
		return size;
	memcpy(copy, data + start, before);
	after = LLVMFuzzerMutate(copy, before, room);
	size = chunk_room(data, size, start, before, after);
	memcpy(data + start, copy, after);
	memcpy(&header, data + span.at, sizeof(header));
	header.stored_len = (uint32_t)after;
	if (!(header.flags & TRACE_CHUNK_ZSTD))
		header.raw_len = (uint32_t)after;
	memcpy(data + span.at, &header, sizeof(header));
	return size;
}

static inline size_t chunk_mutate_header(uint8_t *data, size_t size,
					 struct chunk_span span)
{
	/* Behind the magic, without the lengths and checksums. */
	static const struct {
		uint8_t at, len;
	} fields[] = { { 8, 8 }, { 24, 24 }, { 56, 8 } };
	size_t i = data[span.at] % 3; /* of no meaning: repaired */
	uint8_t *field = data + span.at + fields[i].at;

	LLVMFuzzerMutate(field, fields[i].len, fields[i].len);
	return size;
}

static inline size_t chunk_mutate(uint8_t *data, size_t size, size_t max_size,
				  unsigned seed)
{
	struct chunk_span spans[MUTATED_CHUNKS_MAX], from, to;
	static uint8_t copy[1 << 20];
	size_t count = chunk_spans(data, size, spans);

	if (!count)
		return LLVMFuzzerMutate(data, size, max_size);
	from = spans[seed / 16 % count];
	to = spans[seed / 4096 % count];
	switch (seed % 8) {
	case 0: /* leave it out */
		return chunk_room(data, size, from.at, from.len, 0);
	case 1: /* say it twice */
	case 2: /* or elsewhere as well */
		if (from.len > max_size - size || from.len > sizeof(copy))
			return size;
		memcpy(copy, data + from.at, from.len);
		if (seed % 8 == 1)
			to = from;
		size = chunk_room(data, size, to.at, 0, from.len);
		memcpy(data + to.at, copy, from.len);
		return size;
	case 3:
		data[from.at] = (uint8_t)(seed >> 24);
		size = chunk_mutate_header(data, size, from);
		memcpy(data + from.at, TRACE_CHUNK_MAGIC, TRACE_MAGIC_LEN);
		return size;
	default:
		return chunk_mutate_payload(data, size, max_size, from);
	}
}

#endif /* TESTS_FUZZ_CHUNK_MUTATOR_H */
