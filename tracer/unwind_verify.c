/* SPDX-License-Identifier: MIT */
#include "tracer/unwind_verify.h"

#include "tracer/compiler.h"
#include "tracer/log.h"
#include "tracer/options.h"
#include "tracer/text.h"
#include "tracer/unwind_cfi.h"

enum {
	SHOWN_MAX = 8,    /* differences logged with their frames */
	FRAMES_MAX = 100, /* of each */
};

/**
 * struct counts - what was compared so far
 * @events:    stacks
 * @different: that were not equal
 * @failed:    for which the other unwinder did not find our caller
 * @shown:     hashes of the differences that were logged
 */
static struct {
	atomic_uint_fast64_t events;
	atomic_uint_fast64_t different;
	atomic_uint_fast64_t failed;
	atomic_uint shown_len;
	_Atomic uint64_t shown[SHOWN_MAX];
} counts;

/* Safety: log_line().  One line: which unwinder, then frames from inside. */
static void log_frames(const char *name, const uintptr_t *frames, size_t len,
		       int direction)
{
	char buf[1300];
	struct text line = text_init(buf, sizeof(buf));

	text_add_uint(&line, len);
	text_add(&line, " frames:");
	for (size_t i = 0; i < len && i < FRAMES_MAX; i++) {
		text_add_char(&line, ' ');
		text_add_hex(&line, *frames);
		frames += direction;
	}
	log_line(LOG_ERROR, name, buf, 0);
}

/* Safety: pure.  Return: differences at the same two addresses are one. */
static uint64_t identify(uintptr_t inner, uintptr_t ours, uintptr_t theirs)
{
	uint64_t h = inner;

	h = (h ^ ours) * UINT64_C(0x9e3779b97f4a7c15);
	h = (h ^ (h >> 29) ^ theirs) * UINT64_C(0xbf58476d1ce4e5b9);
	return h ? h : 1;
}

/* Safety: anywhere.  Return: whether the difference is a new one. */
static bool is_new(uint64_t identity)
{
	unsigned n = counts.shown_len;

	for (unsigned i = 0; i < n && i < SHOWN_MAX; i++)
		if (counts.shown[i] == identity)
			return false;
	if (n >= SHOWN_MAX ||
	    !atomic_compare_exchange_strong(&counts.shown_len, &n, n + 1))
		return false;
	counts.shown[n] = identity;
	return true;
}

/* Safety: inside the guard. */
static COLD void report(const struct unwind_stack *stack,
			const uintptr_t *theirs, size_t len, size_t at)
{
	uintptr_t inner = at ? theirs[at - 1] : 0;
	uintptr_t ours = at < stack->len ? stack->pcs[stack->len - 1 - at] : 0;

	counts.different++;
	if (!is_new(identify(inner, ours, at < len ? theirs[at] : 0)))
		return;
	log_number(LOG_ERROR, "unwinders differ at frame", (long long)at);
	log_frames("ours,  ", stack->pcs + stack->len - 1, stack->len, -1);
	log_frames("theirs,", theirs, len, 1);
}

void unwind_verify(struct unwind_stack *stack, uintptr_t caller)
{
	uintptr_t *theirs;
	size_t len =
	    unwind_by_library(stack->buffer, caller,
			      options.verify_unwind == VERIFY_LIBGCC, &theirs);
	size_t at = 0, both;

	counts.events++;
	if (!len) {
		counts.failed++;
		return;
	}
	both = len < stack->len ? len : stack->len;
	while (at < both && theirs[at] == stack->pcs[stack->len - 1 - at])
		at++;
	if (at == both && (len == stack->len || stack->truncated))
		return;
	report(stack, theirs, len, at);
}

void unwind_verify_report(void)
{
	log_number(LOG_ERROR,
		   "unwind check: stacks compared:", (long long)counts.events);
	log_number(LOG_ERROR,
		   "unwind check: different:", (long long)counts.different);
	if (counts.failed)
		log_number(LOG_ERROR, "unwind check: not comparable:",
			   (long long)counts.failed);
}
