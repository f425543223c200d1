/* SPDX-License-Identifier: MIT */
/* What makes a chunk valid: its magic and its checksums. */
#ifndef TRACER_SEAL_H
#define TRACER_SEAL_H

#include <stddef.h>
#include <string.h>

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

#include "tracer/trace_format.h"

/* Completes @head for the @stored bytes of payload that are to follow it; its
   other members are the caller's.  Safety: pure. */
static inline void chunk_seal(struct trace_chunk_header *head,
			      const void *payload, size_t stored)
{
	memcpy(head->magic, TRACE_CHUNK_MAGIC, TRACE_MAGIC_LEN);
	head->stored_len = (uint32_t)stored;
	head->payload_checksum = XXH64(payload, stored, 0);
	head->header_checksum = XXH64(head, sizeof(*head) - 8, 0);
}

#endif /* TRACER_SEAL_H */
