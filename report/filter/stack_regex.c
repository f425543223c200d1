/* SPDX-License-Identifier: MIT */
#include "report/filter/stack_regex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/vec.h"
#include "report/event/stacks.h"
#include "report/filter/pattern.h"
#include "report/symbol/symbol.h"

enum answer { ANSWER_UNKNOWN, ANSWER_NO, ANSWER_YES };

/* @items[id] is an enum answer; ids past @count are unknown. */
struct answers {
	uint8_t *items;
	size_t count;
	size_t capacity;
};

struct patterns {
	struct pattern **items;
	size_t count;
	size_t capacity;
};

struct stack_regex {
	struct patterns texts[STACK_TEXT_COUNT];
	const struct stacks *stacks;
	struct symbols *symbols;
	struct answers frames; /* by symbol_frame.id */
	struct answers nodes;  /* by node number: it or a caller matches */
};

static uint8_t answers_get(const struct answers *answers, size_t id)
{
	return id < answers->count ? answers->items[id] : ANSWER_UNKNOWN;
}

/* Out of memory only means that the answer will be worked out again. */
static void answers_set(struct answers *answers, size_t id, bool yes)
{
	if (id >= answers->count) {
		if (!vec_reserve(answers, id + 1))
			return;
		memset(answers->items + answers->count, ANSWER_UNKNOWN,
		       answers->capacity - answers->count);
		answers->count = answers->capacity;
	}
	answers->items[id] = yes ? ANSWER_YES : ANSWER_NO;
}

struct stack_regex *stack_regex_new(const struct stacks *stacks,
				    struct symbols *symbols)
{
	struct stack_regex *regex = calloc(1, sizeof(*regex));

	if (!regex)
		return NULL;
	regex->stacks = stacks;
	regex->symbols = symbols;
	return regex;
}

int stack_regex_add(struct stack_regex *regex, enum stack_text text,
		    const char *pattern, struct diag *diag)
{
	struct pattern **slot = vec_push(&regex->texts[text]);

	if (!slot)
		return diag_set(diag, -ENOMEM, NULL, DIAG_NO_OFFSET,
				"out of memory");
	*slot = pattern_new(pattern, diag);
	return *slot ? 0 : -EINVAL;
}

void stack_regex_free(struct stack_regex *regex)
{
	if (!regex)
		return;
	for (int text = 0; text < STACK_TEXT_COUNT; text++) {
		for (size_t i = 0; i < regex->texts[text].count; i++)
			pattern_free(regex->texts[text].items[i]);
		vec_done(&regex->texts[text]);
	}
	vec_done(&regex->frames);
	vec_done(&regex->nodes);
	free(regex);
}

static const char *frame_text(const struct symbol_frame *frame,
			      enum stack_text text)
{
	switch (text) {
	case STACK_TEXT_FUNCTION:
		return frame->function;
	case STACK_TEXT_SOURCE:
		return frame->file;
	case STACK_TEXT_LIBRARY:
		return frame->module[0] ? frame->module : NULL;
	case STACK_TEXT_COUNT:
		break;
	}
	return NULL;
}

static bool any_matches(const struct patterns *patterns, const char *text)
{
	for (size_t i = 0; text && i < patterns->count; i++)
		if (pattern_match(patterns->items[i], text))
			return true;
	return false;
}

static bool texts_match(struct stack_regex *regex,
			const struct symbol_frame *frame)
{
	for (int text = 0; text < STACK_TEXT_COUNT; text++)
		if (regex->texts[text].count &&
		    !any_matches(&regex->texts[text],
				 frame_text(frame, (enum stack_text)text)))
			return false;
	return true;
}

static bool frame_matches(struct stack_regex *regex,
			  const struct symbol_frame *frame)
{
	uint8_t known = answers_get(&regex->frames, frame->id);
	bool yes;

	if (known != ANSWER_UNKNOWN)
		return known == ANSWER_YES;
	yes = texts_match(regex, frame);
	answers_set(&regex->frames, frame->id, yes);
	return yes;
}

static bool node_matches(struct stack_regex *regex, uint32_t node)
{
	size_t count;
	const struct symbol_frame *frames = symbols_resolve(
		regex->symbols, regex->stacks->nodes[node].pc_key, &count);

	for (size_t i = 0; i < count; i++)
		if (frame_matches(regex, &frames[i]))
			return true;
	return false;
}

/*
 * Walks from the innermost frame to the first node that matches or whose
 * answer is known.  None of the nodes passed on the way matched itself, so the
 * answer there is the answer of all of them.
 */
bool stack_regex_match(struct stack_regex *regex, uint32_t stack)
{
	const struct stacks *stacks = regex->stacks;
	uint8_t answer = ANSWER_UNKNOWN;
	uint32_t node = stack;

	if (stack >= stacks->count)
		return false;
	while (answer == ANSWER_UNKNOWN) {
		answer = answers_get(&regex->nodes, node);
		if (answer != ANSWER_UNKNOWN)
			break;
		if (node == STACKS_ROOT)
			answer = ANSWER_NO;
		else if (node_matches(regex, node))
			answer = ANSWER_YES;
		else
			node = stacks->nodes[node].parent;
	}
	for (uint32_t i = stack; i != node; i = stacks->nodes[i].parent)
		answers_set(&regex->nodes, i, answer == ANSWER_YES);
	answers_set(&regex->nodes, node, answer == ANSWER_YES);
	return answer == ANSWER_YES;
}

uint64_t stack_regex_failures(const struct stack_regex *regex)
{
	uint64_t failures = 0;

	for (int text = 0; text < STACK_TEXT_COUNT; text++)
		for (size_t i = 0; i < regex->texts[text].count; i++)
			failures += pattern_failures(
				regex->texts[text].items[i]);
	return failures;
}
