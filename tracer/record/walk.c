/* SPDX-License-Identifier: MIT */
#include "tracer/record/walk.h"

#include "tracer/columns_record.h"
#include "tracer/trace_format.h"

/**
 * struct walk - what the records so far leave
 * @depth: frames of the stack
 * @tick:  of the last one
 * @now:   none is later
 */
struct walk {
	uint64_t depth;
	uint64_t tick;
	uint64_t now;
};

/* Words of the body that are sizes, by bits. */
static const uint8_t sizes[TRACE_EVENT_KIND_MASK + 1] = {
    [TRACE_EVENT_MMAP] = 1 << 1,
    [TRACE_EVENT_MUNMAP] = 1 << 1,
    [TRACE_EVENT_MREMAP] = 1 << 1 | 1 << 3,
    [TRACE_EVENT_RSS] = 1 << 0,
};

/* Safety: pure.  Return: whether the @left words hold all of the record but
   its frames, now in @ret. */
static bool read_fixed(const uint64_t *word, size_t left, struct record *ret)
{
	uint64_t padded[RECORD_FIXED_MAX] = {0};
	const uint64_t *start = word;
	size_t fixed;

	/* Reading it must not go beyond the buffer. */
	if (left < RECORD_FIXED_MAX) {
		for (size_t i = 0; i < left; i++)
			padded[i] = word[i];
		start = padded;
	}
	record_read(start, ret);
	fixed = (size_t)(ret->frames - start);
	ret->body = word + (ret->body - start);
	ret->frames = word + fixed;
	return fixed <= left && ret->push <= left - fixed &&
	       record_body_words[ret->head & TRACE_EVENT_KIND_MASK] != 0;
}

/* Safety: pure. */
static bool has_stack(const struct record *r)
{
	unsigned kind = r->head & TRACE_EVENT_KIND_MASK;

	return kind != TRACE_EVENT_RSS && kind != TRACE_EVENT_LOST &&
	       !(r->head & TRACE_EVENT_NO_STACK);
}

/* Safety: pure.  Only a free can tell who allocated. */
static bool check_mark(const struct record *r)
{
	unsigned kind = r->head & TRACE_EVENT_KIND_MASK;

	return !(r->head & TRACE_RECORD_MAKER) || kind == TRACE_EVENT_FREE ||
	       kind == TRACE_EVENT_DELETE;
}

/* Safety: pure.  Follows the stack.  Return: whether it can be. */
static bool check_stack(struct walk *walk, const struct record *r)
{
	if (!has_stack(r))
		return !r->pop && !r->push;
	if (r->pop > walk->depth)
		return false;
	walk->depth += r->push - (uint64_t)r->pop;
	return walk->depth <= TRACE_STACK_DEPTH_MAX;
}

/* Safety: pure.  Follows the time.  Return: whether it can be. */
static bool check_time(struct walk *walk, const struct record *r)
{
	uint64_t ticks[2] = {r->ticks, 0};

	if ((r->head & TRACE_EVENT_KIND_MASK) == TRACE_EVENT_REALLOC)
		ticks[1] = r->frames[-1];
	for (int i = 0; i < 2; i++) {
		if (ticks[i] > walk->now - walk->tick)
			return false;
		walk->tick += ticks[i];
	}
	return true;
}

/* Safety: pure. */
static bool check_sizes(const struct record *r)
{
	unsigned kind = r->head & TRACE_EVENT_KIND_MASK;
	unsigned at = record_extent_at[kind];
	uint64_t all = 0;

	for (int i = 0; i < record_body_words[kind]; i++)
		all |= sizes[kind] >> i & 1 ? r->body[i] : 0;
	if (at && record_has_long_slack(r->body[at]))
		all |= r->body[at + 1];
	return all < TRACE_SIZE_LIMIT;
}

struct walk_result walk_records(const struct columns_input *input,
				uint64_t now)
{
	struct walk walk = {.tick = input->first_tick, .now = now};
	struct walk_result result = {.last_tick = input->first_tick,
				     .has_from = input->from == 0};

	if (input->first_tick > now)
		return result;
	while (result.words < input->len) {
		const uint64_t *word = input->words + result.words;
		struct record r;

		if (!read_fixed(word, input->len - result.words, &r) ||
		    !check_mark(&r) || !check_stack(&walk, &r) ||
		    !check_time(&walk, &r) || !check_sizes(&r))
			break;
		result.words = (size_t)(r.frames + r.push - input->words);
		result.last_tick = walk.tick;
		result.has_from |= result.words == input->from;
	}
	return result;
}
