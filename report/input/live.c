/* SPDX-License-Identifier: MIT */
/*
 * The process may still run: a slot can become another one at any time.  What
 * is copied is what its control page says before and after alike; what went
 * elsewhere meanwhile is in the trace by then.
 */
#include "report/input/live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "report/core/diag.h"
#include "report/core/memory.h"
#include "report/core/vec.h"
#include "report/input/chunk.h"
#include "report/input/cursor.h"
#include "report/input/lane.h"
#include "report/source/source.h"
#include "tracer/trace_format.h"

/* Of buffers in use; --memory may make it less. */
#define LIVE_BYTES_MAX ((size_t)1 << 30)

enum { SLOT_TRIES = 4 };

_Static_assert(sizeof(struct trace_live_header) == 32, "no padding");
_Static_assert(sizeof(struct trace_live_slot) == 40, "no padding");
_Static_assert(TRACE_LIVE_LOST_MEMORY == TRACE_LIVE_LOST_WRITE + 8, "a pair");

/* Return: 0 usable, 1 not (said in @damage), negative errno. */
static int header_read(const struct source *live, struct trace_live_header *ret,
		       struct findings *damage, struct diag *diag)
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
	if (slot->from > slot->committed_len / sizeof(uint64_t) ||
	    (slot->after >> 32 & 0xffff) >
		slot->committed_len / sizeof(uint64_t))
		return "it begins behind its end";
	return NULL;
}

static uint64_t slot_offset(const struct live_file *live, size_t index)
{
	return TRACE_LIVE_PAGE + (uint64_t)index * live->stride;
}

static int out_of_memory(const struct live_file *live, struct diag *diag)
{
	return diag_set(diag, -ENOMEM, live->source.path, DIAG_NO_OFFSET,
			"out of memory");
}

/* Slots that were never used need not be in the file. */
static size_t slots_in_file(const struct live_file *live, uint32_t slot_count)
{
	uint64_t size = live->source.size;
	uint64_t count;

	if (size < 2 * TRACE_LIVE_PAGE)
		return 0;
	count = (size - 2 * TRACE_LIVE_PAGE) / live->stride + 1;
	return count < slot_count ? count : slot_count;
}

/* Reads all control pages.  Return: how many; negative errno. */
static ssize_t slots_read(const struct live_file *live,
			  struct trace_live_slot *ret, size_t count,
			  struct diag *diag)
{
	for (size_t i = 0; i < count; i++) {
		int result = slot_read(&live->source, slot_offset(live, i),
				       &ret[i], diag);

		if (result < 0)
			return result;
		if (result == 0)
			return (ssize_t)i;
	}
	return (ssize_t)count;
}

static bool slot_stays(const struct trace_live_slot *before,
		       const struct trace_live_slot *after)
{
	return after->in_use == before->in_use &&
	       after->thread == before->thread &&
	       after->sequence == before->sequence &&
	       after->from == before->from && after->piece == before->piece &&
	       after->after == before->after &&
	       after->first_tick == before->first_tick &&
	       after->committed_len >= before->committed_len;
}

/**
 * struct slot_part - words of a slot that are one buffer of one piece
 * @len: bytes from the front on, with those before @from
 */
struct slot_part {
	uint32_t sequence;
	uint16_t from;
	uint16_t piece;
	uint64_t len;
};

/* Return: how many parts @slot has. */
static int slot_parts(const struct trace_live_slot *slot,
		      struct slot_part parts[2])
{
	parts[0] = (struct slot_part){ slot->sequence, slot->from, slot->piece,
				       slot->committed_len };
	if (!slot->after)
		return 1;
	parts[1] = (struct slot_part){ (uint32_t)slot->after,
				       (uint16_t)(slot->after >> 32),
				       (uint16_t)(slot->after >> 48),
				       slot->committed_len };
	parts[0].len = parts[1].from * sizeof(uint64_t);
	return 2;
}

/* Takes @words over.  Return: 0 or -ENOMEM. */
static int add_slot(struct live_file *live, const struct trace_live_slot *slot,
		    uint64_t offset, uint64_t *words)
{
	uint64_t **owned = vec_push(&live->words);
	struct slot_part parts[2];
	int count = slot_parts(slot, parts);

	if (!owned) {
		free(words);
		return -ENOMEM;
	}
	*owned = words;
	live->bytes += slot->committed_len;
	for (int i = 0; i < count; i++) {
		struct lane_chunk *chunk;

		if (parts[i].len <= parts[i].from * sizeof(*words))
			continue;
		chunk = vec_push(&live->slots);
		if (!chunk)
			return -ENOMEM;
		*chunk = (struct lane_chunk){
		    .offset = offset,
		    .source = &live->source,
		    .first_tick = slot->first_tick,
		    .words = words,
		    .thread = slot->thread,
		    .sequence = parts[i].sequence,
		    .buffer_count = 1,
		    .live_len = (uint32_t)parts[i].len,
		    .live_from = parts[i].from,
		    .live_piece = parts[i].piece,
		};
	}
	return 0;
}

/* One try to copy slot @index.  Return: 1 done, 0 it changed meanwhile;
   negative errno. */
static int slot_copy(struct live_file *live, size_t index, struct findings *damage,
		     struct diag *diag)
{
	uint64_t offset = slot_offset(live, index);
	struct trace_live_slot slot, after;
	const char *problem;
	uint64_t *words = NULL;
	ssize_t n = 0;
	int result = slot_read(&live->source, offset, &slot, diag);

	if (result <= 0)
		return result < 0 ? result : 1;
	if (!slot.in_use || slot.committed_len == slot.from * sizeof(*words))
		return 1;
	problem = slot_problem(&slot, offset, live->stride - TRACE_LIVE_PAGE,
			       live->source.size);
	if (!problem && live->bytes + slot.committed_len >
			    memory_share(4, LIVE_BYTES_MAX))
		problem = "the file has more than there is memory for";
	if (!problem) {
		words = malloc(slot.committed_len);
		if (!words)
			return out_of_memory(live, diag);
		n = source_read(&live->source, offset + TRACE_LIVE_PAGE, words,
				slot.committed_len, diag);
		if (n >= 0 && (size_t)n < slot.committed_len)
			problem = "the file ends in it";
	}
	result = n < 0 ? (int)n : slot_read(&live->source, offset, &after, diag);
	if (result > 0 && slot_stays(&slot, &after) && !problem)
		return add_slot(live, &slot, offset, words)
			   ? out_of_memory(live, diag)
			   : 1;
	free(words);
	if (result < 0 || (result > 0 && !slot_stays(&slot, &after)))
		return result < 0 ? result : 0;
	findings_add(damage, live->source.path, offset,
		     "buffer %zu: %s; its events are lost", index,
		     problem ? problem : "the file ends in it");
	return 1;
}

/* Return: 0, or negative errno.  An older file has zeros there. */
static int lost_read(struct live_file *live, struct diag *diag)
{
	uint64_t lost[2] = {0};
	uint32_t outside = 0;
	ssize_t n = source_read(&live->source, TRACE_LIVE_LOST_WRITE, lost,
				sizeof(lost), diag);

	if (n < 0)
		return (int)n;
	if ((size_t)n < sizeof(lost))
		return 0;
	n = source_read(&live->source, TRACE_LIVE_OUTSIDE, &outside,
			sizeof(outside), diag);
	if (n < 0)
		return (int)n;
	live->outside = outside;
	if (__builtin_add_overflow(lost[0], lost[1], &live->lost))
		live->lost = UINT64_MAX;
	return 0;
}

int live_file_take(struct live_file *live, struct findings *damage,
		   struct diag *diag)
{
	struct trace_live_header header;
	int result = header_read(&live->source, &header, damage, diag);
	ssize_t count;

	if (result)
		return result < 0 ? result : 0;
	result = lost_read(live, diag);
	if (result)
		return result;
	live->stride = header.slot_stride;
	live->run_id = header.run_id;
	live->seen_count = slots_in_file(live, header.slot_count);
	live->seen = calloc(live->seen_count + 1, sizeof(*live->seen));
	if (!live->seen)
		return out_of_memory(live, diag);
	count = slots_read(live, live->seen, live->seen_count, diag);
	if (count < 0)
		return (int)count;
	live->seen_count = (size_t)count;
	/* Room that was made meanwhile may be in use already. */
	result = source_look_again(&live->source, diag);
	if (result)
		return result;
	live->slot_count = slots_in_file(live, header.slot_count);
	for (size_t i = 0; i < live->slot_count; i++) {
		result = 0;
		for (int tries = 0; result == 0 && tries < SLOT_TRIES; tries++)
			result = slot_copy(live, i, damage, diag);
		if (result < 0)
			return result;
	}
	return 0;
}

/* The time of the last event among the first @len bytes of a copied slot. */
static int slot_tick(const struct lane_chunk *slot, uint64_t len,
		     struct chunk_payload *scratch, uint64_t *ret)
{
	const char *problem;
	uint64_t ticks = 0;
	int result;

	if (len > slot->live_len)
		len = slot->live_len;
	result = live_records(slot->words, len / sizeof(uint64_t),
			      slot->live_from, scratch, &problem, &ticks);
	*ret = slot->first_tick + ticks;
	return result < 0 ? result : 0;
}

/* What had happened when live_file_take() began: everything up to the last event
   that was there. */
static int find_moment(struct live_file *live, struct diag *diag)
{
	struct chunk_payload scratch = {0};
	int error = 0;

	live->moment = 0;
	for (size_t i = 0; i < live->seen_count; i++)
		if (live->seen[i].in_use &&
		    live->seen[i].first_tick > live->moment)
			live->moment = live->seen[i].first_tick;
	for (size_t i = 0; i < live->slots.count && !error; i++) {
		const struct lane_chunk *slot = &live->slots.items[i];
		size_t index = (slot->offset - TRACE_LIVE_PAGE) / live->stride;
		const struct trace_live_slot *seen = &live->seen[index];
		uint64_t tick;

		if (index >= live->seen_count || !seen->in_use || seen->thread != slot->thread ||
		    seen->sequence != slot->sequence ||
		    seen->from != slot->live_from)
			continue;
		error = slot_tick(slot, seen->committed_len, &scratch, &tick);
		if (!error && tick > live->moment)
			live->moment = tick;
	}
	chunk_payload_done(&scratch);
	return error ? out_of_memory(live, diag) : 0;
}

int live_file_settle(struct live_file *live, bool has_grown, struct diag *diag)
{
	struct trace_live_slot *now;
	ssize_t count;

	if (!live->seen_count)
		return 0;
	now = calloc(live->seen_count, sizeof(*now));
	if (!now)
		return out_of_memory(live, diag);
	count = slots_read(live, now, live->seen_count, diag);
	live->is_moving = has_grown || live->slot_count != live->seen_count ||
			  (count >= 0 && memcmp(now, live->seen,
						(size_t)count * sizeof(*now)));
	free(now);
	if (count < 0)
		return (int)count;
	return live->is_moving ? find_moment(live, diag) : 0;
}

void live_file_choose(struct live_file *live, uint64_t run_id, uint32_t piece,
		      struct findings *damage)
{
	size_t kept = 0;

	if (!live->stride)
		return;
	if (live->run_id != run_id) {
		findings_add(damage, live->source.path, 0,
			     "belongs to another trace and is ignored");
		live->slots.count = 0;
		live->lost = 0;
		live->outside = 0;
		live->is_moving = false;
		return;
	}
	for (size_t i = 0; i < live->slots.count; i++)
		if (live->slots.items[i].live_piece == (uint16_t)piece) {
			live->slots.items[kept] = live->slots.items[i];
			live->slots.items[kept++].piece = piece;
		}
	live->slots.count = kept;
}

int live_load(const struct lane_chunk *slot, struct chunk_payload *payload,
	      const char **ret_problem)
{
	return live_records(slot->words, slot->live_len / sizeof(uint64_t),
			    slot->live_from, payload, ret_problem, NULL);
}

void live_file_done(struct live_file *live)
{
	for (size_t i = 0; i < live->words.count; i++)
		free(live->words.items[i]);
	vec_done(&live->words);
	vec_done(&live->slots);
	free(live->seen);
	if (live->is_open)
		source_close(&live->source);
	memset(live, 0, sizeof(*live));
}
