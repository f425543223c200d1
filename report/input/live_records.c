/* SPDX-License-Identifier: MIT */
/*
 * The buffers of PATH.live hold words, so that the traced thread has little to
 * do.  They are few and small: to be read by the decoder of EVENTS they are
 * coded like these first.  Only what is needed to find one's way is checked
 * here, the rest by that decoder.
 */
#include "report/input/live.h"

#include <errno.h>
#include <string.h>

#include "report/core/vec.h"
#include "report/input/chunk.h"
#include "report/input/cursor.h"
#include "report/input/decoder.h"
#include "tracer/trace_format.h"

enum {
	/* A head is the longest: tag, pop, push, ticks. */
	CODED_WORD_MAX = 11,
	BODY_WORDS_MAX = 8,
};

/* What the body of a kind holds: an address, a number, a signed number, an
   extent, the ticks of a realloc.  No body is without words. */
static const char *const bodies[] = {
    [TRACE_EVENT_MALLOC] = "ae",     [TRACE_EVENT_CALLOC] = "ae",
    [TRACE_EVENT_MEMALIGN] = "aen",  [TRACE_EVENT_NEW] = "ae",
    [TRACE_EVENT_FREE] = "a",	     [TRACE_EVENT_DELETE] = "a",
    [TRACE_EVENT_REALLOC] = "aaet",  [TRACE_EVENT_MMAP] = "annnsn",
    [TRACE_EVENT_MUNMAP] = "an",     [TRACE_EVENT_MREMAP] = "anann",
    [TRACE_EVENT_MALLOPT] = "sss",   [TRACE_EVENT_RSS] = "n",
    [TRACE_EVENT_LOST] = "nn",	     [TRACE_EVENT_MARKER] = NULL,
};

/**
 * struct recoder
 * @at, @left: words to be read
 * @out:       where the coded bytes go; there is room for all
 * @addr:      the last address
 * @ticks:     before the next event, by records left out
 * @record_ticks: of the last record, to its end
 * @whole:     the next event that has a stack brings all of it
 * @pcs:       the stack
 */
struct recoder {
	const uint64_t *at;
	size_t left;
	uint8_t *out;
	uint64_t addr;
	uint64_t ticks;
	uint64_t record_ticks;
	bool whole;
	struct {
		uint64_t *items;
		size_t count, capacity;
	} pcs;
};

static void put_number(struct recoder *recoder, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*recoder->out++ = (uint8_t)(value | 0x80);
	*recoder->out++ = (uint8_t)value;
}

static void put_signed(struct recoder *recoder, uint64_t value)
{
	put_number(recoder, value << 1 ^ (0 - (value >> 63)));
}

static void put_addr(struct recoder *recoder, uint64_t addr)
{
	put_signed(recoder, addr - recoder->addr);
	recoder->addr = addr;
}

/* Return: whether there was a word, now in *@ret. */
static bool take_word(struct recoder *recoder, uint64_t *ret)
{
	if (!recoder->left)
		return false;
	recoder->left--;
	*ret = *recoder->at++;
	return true;
}

/* Reads the words of @body, an extent as two: size and slack.  Return: whether
   all were there. */
static bool take_body(struct recoder *recoder, const char *body,
		      uint64_t words[BODY_WORDS_MAX])
{
	for (; *body; body++, words++) {
		if (!take_word(recoder, words))
			return false;
		if (*body != 'e')
			continue;
		words[1] = words[0] >> TRACE_RECORD_SLACK_SHIFT;
		words[0] &= TRACE_SIZE_LIMIT - 1;
		words++;
		if (*words == TRACE_RECORD_SLACK_LONG &&
		    !take_word(recoder, words))
			return false;
	}
	return true;
}

static void put_body(struct recoder *recoder, const char *body,
		     const uint64_t *words)
{
	/* Last in the record, first in the other coding. */
	if (strchr(body, 't'))
		put_number(recoder, words[4]);
	for (; *body; body++, words++) {
		if (*body == 'a') {
			put_addr(recoder, *words);
		} else if (*body == 's') {
			put_signed(recoder, *words);
		} else if (*body == 'n') {
			put_number(recoder, *words);
		} else if (*body == 'e') {
			put_number(recoder, *words++);
			put_number(recoder, *words);
		}
	}
}

/* Codes the innermost @push frames of the stack as pushed. */
static void put_frames(struct recoder *recoder, size_t pop, size_t push)
{
	const uint64_t *pcs = recoder->pcs.items;
	size_t at = recoder->pcs.count - push;
	uint64_t last = at ? pcs[at - 1] : 0;

	put_number(recoder, pop);
	put_number(recoder, push);
	for (; at < recoder->pcs.count; at++) {
		put_signed(recoder, pcs[at] - last);
		last = pcs[at];
	}
}

/* Changes the stack.  Return: 0; 1 with *@ret_problem set; -ENOMEM. */
static int put_stack(struct recoder *recoder, size_t pop, size_t push,
		     const char **ret_problem)
{
	if (pop > recoder->pcs.count) {
		*ret_problem = event_problem_pop;
		return 1;
	}
	recoder->pcs.count -= pop;
	if (push > recoder->left) {
		*ret_problem = "the buffer ends within its frames";
		return 1;
	}
	if (!vec_reserve(&recoder->pcs, recoder->pcs.count + push))
		return -ENOMEM;
	if (push)
		memcpy(recoder->pcs.items + recoder->pcs.count, recoder->at,
		       push * sizeof(*recoder->at));
	recoder->pcs.count += push;
	recoder->at += push;
	recoder->left -= push;
	if (recoder->whole)
		put_frames(recoder, 0, recoder->pcs.count);
	else
		put_frames(recoder, pop, push);
	recoder->whole = false;
	return 0;
}

/* What a free may say of who allocated the block is not of use here. */
static bool is_free(unsigned tag)
{
	unsigned kind = tag & TRACE_EVENT_KIND_MASK;

	return kind == TRACE_EVENT_FREE || kind == TRACE_EVENT_DELETE;
}

/* Codes one record.  Return: as put_stack(). */
static int put_record(struct recoder *recoder, const char **ret_problem)
{
	uint64_t head = *recoder->at++;
	unsigned tag = head & 0xff;
	size_t pop = head >> TRACE_RECORD_POP_SHIFT & 0xffff;
	size_t push = head >> TRACE_RECORD_PUSH_SHIFT & 0xffff;
	uint64_t ticks = head >> TRACE_RECORD_TICKS_SHIFT;
	uint64_t words[BODY_WORDS_MAX];
	bool has_maker = false;
	const char *body;

	recoder->left--;
	if (is_free(tag)) {
		has_maker = tag & TRACE_RECORD_MAKER;
		tag &= ~TRACE_RECORD_MAKER;
	}
	*ret_problem = event_problem_tag;
	if (!event_tag_is_known(tag))
		return 1;
	body = bodies[tag & TRACE_EVENT_KIND_MASK];
	if (!body)
		return 1;
	*ret_problem = event_problem_no_stack;
	if (!event_tag_has_stack(tag) && (pop | push))
		return 1;
	*ret_problem = "the buffer ends within it";
	if (ticks == TRACE_RECORD_TICKS_LONG && !take_word(recoder, &ticks))
		return 1;
	if (!take_body(recoder, body, words))
		return 1;
	if (has_maker)
		words[0] &= (UINT64_C(1) << TRACE_RECORD_MAKER_SHIFT) - 1;
	*recoder->out++ = (uint8_t)tag;
	ticks += recoder->ticks;
	recoder->ticks = 0;
	put_number(recoder, ticks);
	if (event_tag_has_stack(tag)) {
		int result = put_stack(recoder, pop, push, ret_problem);

		if (result)
			return result;
	}
	put_body(recoder, body, words);
	recoder->record_ticks = ticks + (strchr(body, 't') ? words[4] : 0);
	return 0;
}

/* Follows the records before @from.  Return: as put_stack(). */
static int skip_records(struct recoder *recoder, const uint64_t *from,
			const char **ret_problem)
{
	uint8_t *out = recoder->out;
	uint64_t ticks = 0;

	while (recoder->left && recoder->at < from) {
		int result;

		recoder->ticks = 0;
		result = put_record(recoder, ret_problem);
		if (result)
			return result;
		recoder->out = out;
		ticks += recoder->record_ticks;
	}
	*ret_problem = "a record begins before and ends behind what is missing";
	recoder->addr = 0;
	recoder->ticks = ticks;
	recoder->whole = true;
	return recoder->at != from;
}

int live_records(const uint64_t *words, size_t count, size_t from,
		 struct chunk_payload *payload, const char **ret_problem,
		 uint64_t *ret_ticks)
{
	struct recoder recoder = { .at = words, .left = count };
	uint64_t ticks = 0;
	int result = 0;

	if (chunk_payload_reserve(payload, count * CODED_WORD_MAX))
		return -ENOMEM;
	recoder.out = payload->data;
	payload->len = 0;
	if (from)
		result = skip_records(&recoder, words + from, ret_problem);
	while (recoder.left && result == 0) {
		result = put_record(&recoder, ret_problem);
		/* None of a record that is not right. */
		if (result == 0) {
			payload->len = (size_t)(recoder.out - payload->data);
			ticks += recoder.record_ticks;
		}
	}
	if (ret_ticks)
		*ret_ticks = ticks;
	memset(payload->data + payload->len, 0, CURSOR_SLACK);
	vec_done(&recoder.pcs);
	if (result == 0)
		*ret_problem = NULL;
	return result < 0 ? result : 0;
}
