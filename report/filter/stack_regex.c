/* SPDX-License-Identifier: MIT */
#include "report/filter/stack_regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/vec.h"
#include "report/event/stacks.h"
#include "report/symbol/symbol.h"

/*
 * A search stops here, so that a pattern such as (a+)+$ cannot hang a report:
 * at these limits a name costs at most some milliseconds.  Patterns without
 * nested repeats stay far below them, even on names of many kilobytes.
 */
enum {
	MATCH_LIMIT = 1000000,
	DEPTH_LIMIT = 100000,
	HEAP_LIMIT_KIB = 16 * 1024,
	JIT_STACK_START = 32 * 1024,
	JIT_STACK_MAX = 1024 * 1024,
};

enum answer { ANSWER_UNKNOWN, ANSWER_NO, ANSWER_YES };

/* @items[id] is an enum answer; ids past @count are unknown. */
struct answers {
	uint8_t *items;
	size_t count;
	size_t capacity;
};

struct stack_regex {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
	pcre2_jit_stack *jit_stack;
	const struct stacks *stacks;
	struct symbols *symbols;
	struct answers frames; /* by symbol_frame.id */
	struct answers nodes;  /* by node number: it or a caller matches */
	uint64_t failures;
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

static pcre2_code *pattern_compile(const char *pattern, struct diag *diag)
{
	const uint32_t options =
		PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C;
	PCRE2_UCHAR message[256];
	PCRE2_SIZE offset;
	int error;
	pcre2_code *code =
		pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
			      options, &error, &offset, NULL);

	if (!code) {
		pcre2_get_error_message(error, message, sizeof(message));
		diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
			 "\"%s\" is not a regular expression: %s, at byte "
			 "%zu of it",
			 pattern, (const char *)message, (size_t)offset);
	}
	return code;
}

int stack_regex_check(const char *pattern, struct diag *diag)
{
	pcre2_code *code = pattern_compile(pattern, diag);

	if (!code)
		return -EINVAL;
	pcre2_code_free(code);
	return 0;
}

/* Without JIT, or without its stack, PCRE2 interprets: slower, same answers. */
static int context_make(struct stack_regex *regex)
{
	regex->data = pcre2_match_data_create(1, NULL);
	regex->context = pcre2_match_context_create(NULL);
	if (!regex->data || !regex->context)
		return -ENOMEM;
	pcre2_set_match_limit(regex->context, MATCH_LIMIT);
	pcre2_set_depth_limit(regex->context, DEPTH_LIMIT);
	pcre2_set_heap_limit(regex->context, HEAP_LIMIT_KIB);
	if (pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE) != 0)
		return 0;
	regex->jit_stack =
		pcre2_jit_stack_create(JIT_STACK_START, JIT_STACK_MAX, NULL);
	if (regex->jit_stack)
		pcre2_jit_stack_assign(regex->context, NULL, regex->jit_stack);
	return 0;
}

struct stack_regex *stack_regex_new(const char *pattern,
				    const struct stacks *stacks,
				    struct symbols *symbols, struct diag *diag)
{
	struct stack_regex *regex = calloc(1, sizeof(*regex));

	if (!regex)
		goto no_memory;
	regex->stacks = stacks;
	regex->symbols = symbols;
	regex->code = pattern_compile(pattern, diag);
	if (!regex->code) {
		stack_regex_free(regex);
		return NULL;
	}
	if (context_make(regex) == 0)
		return regex;
	stack_regex_free(regex);
no_memory:
	diag_set(diag, -ENOMEM, NULL, DIAG_NO_OFFSET, "out of memory");
	return NULL;
}

void stack_regex_free(struct stack_regex *regex)
{
	if (!regex)
		return;
	pcre2_jit_stack_free(regex->jit_stack);
	pcre2_match_context_free(regex->context);
	pcre2_match_data_free(regex->data);
	pcre2_code_free(regex->code);
	vec_done(&regex->frames);
	vec_done(&regex->nodes);
	free(regex);
}

static bool name_matches(struct stack_regex *regex, const char *name)
{
	int found = pcre2_match(regex->code, (PCRE2_SPTR)name, strlen(name), 0,
				0, regex->data, regex->context);

	if (found < 0 && found != PCRE2_ERROR_NOMATCH)
		regex->failures++;
	return found >= 0;
}

static bool frame_matches(struct stack_regex *regex,
			  const struct symbol_frame *frame)
{
	uint8_t known = answers_get(&regex->frames, frame->id);
	bool yes;

	if (known != ANSWER_UNKNOWN)
		return known == ANSWER_YES;
	yes = name_matches(regex, frame->function);
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
	return regex->failures;
}
