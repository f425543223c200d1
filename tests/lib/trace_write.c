/* SPDX-License-Identifier: MIT */
#include "tests/lib/trace_write.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>
#include <zstd.h>

void bytes_done(struct bytes *bytes)
{
	free(bytes->data);
	memset(bytes, 0, sizeof(*bytes));
}

static void bytes_reserve(struct bytes *bytes, size_t more)
{
	size_t need = bytes->len + more;

	if (need <= bytes->capacity)
		return;
	bytes->capacity = need < 256 ? 256 : need * 2;
	bytes->data = realloc(bytes->data, bytes->capacity);
	if (!bytes->data)
		abort();
}

void bytes_put(struct bytes *bytes, const void *data, size_t len)
{
	if (!len)
		return;
	bytes_reserve(bytes, len);
	memcpy(bytes->data + bytes->len, data, len);
	bytes->len += len;
}

void bytes_zero(struct bytes *bytes, size_t len)
{
	bytes_reserve(bytes, len + 1);
	memset(bytes->data + bytes->len, 0, len);
	bytes->len += len;
}

void bytes_u8(struct bytes *bytes, uint8_t value)
{
	bytes_put(bytes, &value, sizeof(value));
}

void bytes_u32(struct bytes *bytes, uint32_t value)
{
	bytes_put(bytes, &value, sizeof(value));
}

void bytes_u64(struct bytes *bytes, uint64_t value)
{
	bytes_put(bytes, &value, sizeof(value));
}

void bytes_varint(struct bytes *bytes, uint64_t value)
{
	uint8_t *at;

	bytes_reserve(bytes, 10);
	at = bytes->data + bytes->len;
	for (; value >= 0x80; value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)value;
	bytes->len = (size_t)(at - bytes->data);
}

void bytes_svarint(struct bytes *bytes, uint64_t value)
{
	bytes_varint(bytes, value << 1 ^ (0 - (value >> 63)));
}

void bytes_string(struct bytes *bytes, const char *text)
{
	bytes_u32(bytes, (uint32_t)strlen(text));
	bytes_put(bytes, text, strlen(text));
}

void trace_put_preamble(struct bytes *out, uint64_t trace_id)
{
	struct trace_preamble preamble = {
	    .version_major = TRACE_VERSION_MAJOR,
	    .version_minor = TRACE_VERSION_MINOR,
	    .byte_order = TRACE_BYTE_ORDER,
	    .trace_id = trace_id,
	};

	memcpy(preamble.magic, TRACE_MAGIC, TRACE_MAGIC_LEN);
	preamble.checksum =
	    XXH64(&preamble, offsetof(struct trace_preamble, checksum), 0);
	bytes_put(out, &preamble, sizeof(preamble));
}

static void header_seal(struct trace_chunk_header *header)
{
	header->header_checksum = XXH64(
	    header, offsetof(struct trace_chunk_header, header_checksum), 0);
}

size_t trace_put_chunk(struct bytes *out,
		       const struct trace_chunk_header *header,
		       const struct bytes *payload, enum trace_pack pack)
{
	struct trace_chunk_header copy = *header;
	size_t bound = ZSTD_compressBound(payload->len);
	size_t offset = out->len;
	uint8_t *stored;
	size_t n;

	memcpy(copy.magic, TRACE_CHUNK_MAGIC, TRACE_MAGIC_LEN);
	bytes_reserve(out, sizeof(copy) + bound);
	stored = out->data + out->len + sizeof(copy);
	if (pack == TRACE_PACK_ZSTD) {
		n = ZSTD_compress(stored, bound, payload->data, payload->len,
				  1);
		if (ZSTD_isError(n))
			abort();
		copy.flags = TRACE_CHUNK_ZSTD;
	} else {
		n = payload->len;
		if (n)
			memcpy(stored, payload->data, n);
		copy.flags = 0;
	}
	copy.stored_len = (uint32_t)n;
	copy.raw_len = (uint32_t)payload->len;
	copy.payload_checksum = XXH64(stored, n, 0);
	header_seal(&copy);
	memcpy(out->data + out->len, &copy, sizeof(copy));
	out->len += sizeof(copy) + n;
	return offset;
}

size_t trace_put_record(struct bytes *out, enum trace_chunk_type type,
			uint64_t tick, const struct bytes *payload)
{
	struct trace_chunk_header header = {
	    .type = (uint16_t)type,
	    .first_tick = tick,
	    .last_tick = tick,
	};

	return trace_put_chunk(out, &header, payload, TRACE_PACK_PLAIN);
}

static size_t put_and_free(struct bytes *out, enum trace_chunk_type type,
			   uint64_t tick, struct bytes *payload)
{
	size_t offset = trace_put_record(out, type, tick, payload);

	bytes_done(payload);
	return offset;
}

size_t trace_put_process(struct bytes *out, const struct trace_process *process)
{
	struct bytes p = {0};

	bytes_u32(&p, 4711);
	bytes_u32(&p, 1);
	bytes_u8(&p, process->clock);
	bytes_u8(&p, TRACE_ARCH_X86_64);
	bytes_u8(&p, 12);
	bytes_u8(&p, process->flags);
	bytes_u32(&p, 2);
	bytes_u64(&p, process->tick);
	bytes_u64(&p, process->monotonic_ns);
	bytes_u64(&p, process->realtime_ns);
	bytes_string(&p, "/usr/bin/generated");
	bytes_string(&p, "/tmp");
	bytes_string(&p, "generated");
	bytes_string(&p, "--first=\x01\xff");
	bytes_string(&p, "0.0.0-test");
	return put_and_free(out, TRACE_CHUNK_PROCESS, process->tick, &p);
}

size_t trace_put_module(struct bytes *out, uint32_t number, uint32_t flags,
			uint64_t tick, uint64_t start, uint64_t end,
			const char *path)
{
	struct bytes p = {0};

	bytes_u32(&p, number);
	bytes_u32(&p, flags);
	bytes_u64(&p, tick);
	bytes_u64(&p, start);
	bytes_u64(&p, start);
	bytes_u64(&p, end);
	bytes_u32(&p, 1);
	bytes_u32(&p, 20);
	bytes_u64(&p, 0);
	bytes_u64(&p, end - start);
	bytes_u64(&p, 0);
	bytes_u64(&p, end - start);
	bytes_u64(&p, 5);
	for (uint32_t i = 0; i < 5; i++)
		bytes_u32(&p, number * 0x01010101u + i);
	bytes_string(&p, path);
	return put_and_free(out, TRACE_CHUNK_MODULE, tick, &p);
}

size_t trace_put_file(struct bytes *out, const struct trace_file_part *part,
		      enum trace_pack pack)
{
	struct trace_chunk_header header = { .type = TRACE_CHUNK_FILE };
	struct bytes p = { 0 };
	size_t offset;

	bytes_u32(&p, part->kind);
	bytes_u32(&p, part->flags);
	bytes_u64(&p, part->offset);
	bytes_u64(&p, part->addr);
	bytes_u32(&p, part->build_id_len);
	bytes_u32(&p, 0);
	bytes_put(&p, part->build_id, part->build_id_len);
	bytes_string(&p, part->path);
	bytes_put(&p, part->data, part->len);
	offset = trace_put_chunk(out, &header, &p, pack);
	bytes_done(&p);
	return offset;
}

size_t trace_put_unload(struct bytes *out, uint32_t number, uint64_t tick)
{
	struct bytes p = {0};

	bytes_u32(&p, number);
	bytes_u32(&p, 0);
	bytes_u64(&p, tick);
	return put_and_free(out, TRACE_CHUNK_UNLOAD, tick, &p);
}

size_t trace_put_thread(struct bytes *out, uint32_t number, uint32_t what,
			uint64_t tick, const char *name)
{
	struct bytes p = {0};

	bytes_u32(&p, number);
	bytes_u32(&p, 4710 + number);
	bytes_u32(&p, what);
	bytes_u32(&p, 0);
	bytes_u64(&p, tick);
	bytes_string(&p, name);
	return put_and_free(out, TRACE_CHUNK_THREAD, tick, &p);
}

size_t trace_put_clock(struct bytes *out, uint64_t tick, uint64_t ns)
{
	struct bytes p = {0};

	bytes_u64(&p, tick);
	bytes_u64(&p, ns);
	bytes_u64(&p, ns + UINT64_C(1700000000000000000));
	return put_and_free(out, TRACE_CHUNK_CLOCK, tick, &p);
}

size_t trace_put_lost(struct bytes *out, uint64_t count, uint32_t reason,
		      uint64_t tick)
{
	struct bytes p = {0};

	bytes_u64(&p, count);
	bytes_u32(&p, reason);
	bytes_u32(&p, 0);
	bytes_u64(&p, tick);
	return put_and_free(out, TRACE_CHUNK_LOST, tick, &p);
}

size_t trace_put_end(struct bytes *out, uint32_t how, uint64_t tick,
		     uint64_t ns, uint64_t event_count, uint64_t lost_count)
{
	struct bytes p = {0};

	bytes_u32(&p, how);
	bytes_u32(&p, 3);
	bytes_u64(&p, tick);
	bytes_u64(&p, ns);
	bytes_u64(&p, ns + UINT64_C(1700000000000000000));
	bytes_u64(&p, event_count);
	bytes_u64(&p, lost_count);
	bytes_u64(&p, 123 << 20);
	bytes_string(&p, how == TRACE_END_EXEC ? "/bin/next" : "");
	return put_and_free(out, TRACE_CHUNK_END, tick, &p);
}

void trace_seal_header(uint8_t *bytes)
{
	struct trace_chunk_header header;

	memcpy(&header, bytes, sizeof(header));
	header_seal(&header);
	memcpy(bytes, &header, sizeof(header));
}

void trace_repair(uint8_t *data, size_t len)
{
	struct trace_preamble preamble;
	size_t at = sizeof(preamble);

	if (len < sizeof(preamble))
		return;
	memcpy(&preamble, data, sizeof(preamble));
	preamble.checksum =
	    XXH64(&preamble, offsetof(struct trace_preamble, checksum), 0);
	memcpy(data, &preamble, sizeof(preamble));
	while (len - at >= sizeof(struct trace_chunk_header)) {
		struct trace_chunk_header header;
		size_t left = len - at - sizeof(header);

		memcpy(&header, data + at, sizeof(header));
		if (header.stored_len <= left)
			header.payload_checksum = XXH64(
			    data + at + sizeof(header), header.stored_len, 0);
		header_seal(&header);
		memcpy(data + at, &header, sizeof(header));
		if (header.stored_len > left)
			break;
		at += sizeof(header) + header.stored_len;
	}
}
