/* SPDX-License-Identifier: MIT */
/*
 * The process may still run, so a slot can become another one between the scan
 * and the load: its control page is compared before and after.
 */
#include "report/input/live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "report/core/diag.h"
#include "report/core/vec.h"
#include "report/input/chunk.h"
#include "report/input/cursor.h"
#include "report/input/lane.h"
#include "report/source/source.h"
#include "tracer/trace_format.h"

_Static_assert(sizeof(struct trace_live_header) == 32, "no padding");
_Static_assert(sizeof(struct trace_live_slot) == 40, "no padding");

/* Return: 0 usable, 1 not (said in @damage), negative errno. */
static int header_read(const struct source *live, uint64_t trace_id,
		       struct trace_live_header *ret, struct findings *damage,
		       struct diag *diag)
{
	ssize_t n = source_read(live, 0, ret, sizeof(*ret), diag);
	const char *problem = NULL;

	if (n < 0)
		return (int)n;
	if ((size_t)n < sizeof(*ret))
		problem = "is too short";
	else if (memcmp(ret->magic, TRACE_LIVE_MAGIC, TRACE_MAGIC_LEN) != 0)
		problem = "has a damaged head";
	else if (ret->version_major > TRACE_VERSION_MAJOR)
		problem = "has a newer version";
	else if (ret->version_major < TRACE_VERSION_MAJOR)
		problem = "has an older version, which is not read any more,";
	else if (ret->run_id != trace_id)
		problem = "belongs to another trace";
	else if (ret->slot_stride < 2 * TRACE_LIVE_PAGE ||
		 ret->slot_stride % TRACE_LIVE_PAGE ||
		 ret->slot_stride - TRACE_LIVE_PAGE > TRACE_RAW_LEN_MAX)
		problem = "has slots of an impossible size";
	if (!problem)
		return 0;
	findings_add(damage, live->path, 0, "%s and is ignored", problem);
	return 1;
}

/* Return: 1 there is a slot, 0 the file ends before, negative errno. */
static int slot_read(const struct source *live, uint64_t offset,
		     struct trace_live_slot *ret, struct diag *diag)
{
	ssize_t n = source_read(live, offset, ret, sizeof(*ret), diag);

	if (n < 0)
		return (int)n;
	return (size_t)n == sizeof(*ret);
}

/* Return: what forbids to use the slot, NULL if nothing. */
static const char *slot_problem(const struct trace_live_slot *slot,
				uint64_t offset, uint64_t room, uint64_t size)
{
	if (slot->in_use != 1)
		return "its in-use mark is damaged";
	if (!slot->thread)
		return "it has no thread";
	if (slot->committed_len % sizeof(uint64_t))
		return "it ends within a word";
	if (slot->committed_len > room)
		return "it says to hold more than there is room for";
	if (slot->committed_len > size - offset - TRACE_LIVE_PAGE)
		return "the file ends in it";
	if (slot->from > slot->committed_len / sizeof(uint64_t))
		return "it begins behind its end";
	return NULL;
}

int live_scan(const struct source *live, uint64_t trace_id,
	      struct lane_chunks *slots, struct findings *damage,
	      struct diag *diag)
{
	struct trace_live_header header;
	int result = header_read(live, trace_id, &header, damage, diag);

	if (result)
		return result < 0 ? result : 0;
	for (uint32_t i = 0; i < header.slot_count; i++) {
		uint64_t offset =
		    TRACE_LIVE_PAGE + (uint64_t)i * header.slot_stride;
		uint64_t room = header.slot_stride - TRACE_LIVE_PAGE;
		struct trace_live_slot slot;
		struct lane_chunk *chunk;
		const char *problem;

		/* Slots that were never used need not be in the file. */
		if (offset + TRACE_LIVE_PAGE > live->size)
			break;
		result = slot_read(live, offset, &slot, diag);
		if (result <= 0)
			return result;
		if (!slot.in_use ||
		    slot.committed_len == slot.from * sizeof(uint64_t))
			continue;
		problem = slot_problem(&slot, offset, room, live->size);
		if (problem) {
			findings_add(damage, live->path, offset,
				     "buffer %" PRIu32 ": %s; its events are "
				     "lost",
				     i, problem);
			continue;
		}
		chunk = vec_push(slots);
		if (!chunk)
			return diag_set(diag, -ENOMEM, live->path, offset,
					"out of memory");
		chunk->offset = offset;
		chunk->first_tick = slot.first_tick;
		chunk->thread = slot.thread;
		chunk->sequence = slot.sequence;
		chunk->buffer_count = 1;
		chunk->live_len = (uint32_t)slot.committed_len;
		chunk->live_from = slot.from;
	}
	return 0;
}

static bool slot_is(const struct trace_live_slot *slot,
		    const struct lane_chunk *where)
{
	return slot->thread == where->thread &&
	       slot->sequence == where->sequence &&
	       slot->from == where->live_from &&
	       slot->first_tick == where->first_tick &&
	       slot->committed_len >= where->live_len;
}

/* Reads the slot's words.  Return: as live_load(). */
static int words_read(const struct source *live, const struct lane_chunk *where,
		      void *words, struct diag *diag)
{
	struct trace_live_slot before, after;
	int result = slot_read(live, where->offset, &before, diag);
	ssize_t n;

	if (result <= 0)
		return result < 0 ? result : 1;
	n = source_read(live, where->offset + TRACE_LIVE_PAGE, words,
			where->live_len, diag);
	if (n < 0)
		return (int)n;
	result = slot_read(live, where->offset, &after, diag);
	if (result < 0)
		return result;
	return !(result && (size_t)n == where->live_len &&
		 slot_is(&before, where) && slot_is(&after, where));
}

int live_load(const struct source *live, const struct lane_chunk *where,
	      struct chunk_payload *payload, const char **ret_problem,
	      struct diag *diag)
{
	uint64_t *words = malloc(where->live_len);
	int result = -ENOMEM;

	if (words)
		result = words_read(live, where, words, diag);
	if (result == 0)
		result = live_records(words, where->live_len / sizeof(*words),
				      where->live_from, payload, ret_problem);
	else if (result > 0)
		*ret_problem = "the file was changed meanwhile";
	free(words);
	if (result == -ENOMEM)
		diag_set(diag, -ENOMEM, live->path, where->offset,
			 "out of memory");
	return result;
}
