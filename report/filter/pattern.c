/* SPDX-License-Identifier: MIT */
#include "report/filter/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/diag.h"

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

struct pattern {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
	pcre2_jit_stack *jit_stack;
	uint64_t failures;
};

static pcre2_code *pattern_compile(const char *text, struct diag *diag)
{
	const uint32_t options =
		PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C;
	PCRE2_UCHAR message[256];
	PCRE2_SIZE offset;
	int error;
	pcre2_code *code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
					 options, &error, &offset, NULL);

	if (!code) {
		pcre2_get_error_message(error, message, sizeof(message));
		diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
			 "\"%s\" is not a regular expression: %s, at byte "
			 "%zu of it; allowed: what PCRE2 reads",
			 text, (const char *)message, (size_t)offset);
	}
	return code;
}

int pattern_check(const char *text, struct diag *diag)
{
	pcre2_code *code = pattern_compile(text, diag);

	if (!code)
		return -EINVAL;
	pcre2_code_free(code);
	return 0;
}

/* Without JIT, or without its stack, PCRE2 interprets: slower, same answers. */
static int context_make(struct pattern *pattern)
{
	pattern->data = pcre2_match_data_create(1, NULL);
	pattern->context = pcre2_match_context_create(NULL);
	if (!pattern->data || !pattern->context)
		return -ENOMEM;
	pcre2_set_match_limit(pattern->context, MATCH_LIMIT);
	pcre2_set_depth_limit(pattern->context, DEPTH_LIMIT);
	pcre2_set_heap_limit(pattern->context, HEAP_LIMIT_KIB);
	if (pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE) != 0)
		return 0;
	pattern->jit_stack =
		pcre2_jit_stack_create(JIT_STACK_START, JIT_STACK_MAX, NULL);
	if (pattern->jit_stack)
		pcre2_jit_stack_assign(pattern->context, NULL,
				       pattern->jit_stack);
	return 0;
}

struct pattern *pattern_new(const char *text, struct diag *diag)
{
	struct pattern *pattern = calloc(1, sizeof(*pattern));

	if (!pattern)
		goto no_memory;
	pattern->code = pattern_compile(text, diag);
	if (!pattern->code) {
		pattern_free(pattern);
		return NULL;
	}
	if (context_make(pattern) == 0)
		return pattern;
	pattern_free(pattern);
no_memory:
	diag_set(diag, -ENOMEM, NULL, DIAG_NO_OFFSET, "out of memory");
	return NULL;
}

void pattern_free(struct pattern *pattern)
{
	if (!pattern)
		return;
	pcre2_jit_stack_free(pattern->jit_stack);
	pcre2_match_context_free(pattern->context);
	pcre2_match_data_free(pattern->data);
	pcre2_code_free(pattern->code);
	free(pattern);
}

bool pattern_match(struct pattern *pattern, const char *subject)
{
	int found = pcre2_match(pattern->code, (PCRE2_SPTR)subject,
				strlen(subject), 0, 0, pattern->data,
				pattern->context);

	if (found < 0 && found != PCRE2_ERROR_NOMATCH)
		pattern->failures++;
	return found >= 0;
}

uint64_t pattern_failures(const struct pattern *pattern)
{
	return pattern->failures;
}
