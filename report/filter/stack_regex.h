/* SPDX-License-Identifier: MIT */
/*
 * Regular expressions over the frames of a stack, with the answers kept: one
 * per distinct frame and one per node of the stack tree, so all stacks of a
 * trace together cost O(nodes) plus the searches in each distinct frame.
 *
 * Layer: filter.
 */
#ifndef REPORT_FILTER_STACK_REGEX_H
#define REPORT_FILTER_STACK_REGEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diag;
struct stacks;
struct symbols;
struct stack_regex;

/* Texts of a frame. A frame without one of them does not match it. */
enum stack_text {
	STACK_TEXT_FUNCTION, /* demangled; "module+0xoffset" if unknown */
	STACK_TEXT_SOURCE,   /* path as in the debug information */
	STACK_TEXT_LIBRARY,  /* base name of the module */
	STACK_TEXT_COUNT,
};

/**
 * stack_regex_new() - of nothing yet: matches every frame
 * @stacks, @symbols: borrowed; the tree may grow between calls
 *
 * Return: owned by the caller; NULL when out of memory.
 */
struct stack_regex *stack_regex_new(const struct stacks *stacks,
				    struct symbols *symbols);
void stack_regex_free(struct stack_regex *regex);

/**
 * stack_regex_add() - a pattern for one of the texts
 *
 * A frame matches when of each text that has patterns at least one matches.
 * All are added before the first stack_regex_match().
 *
 * Return: 0; -EINVAL or -ENOMEM with @diag, see pattern_new().
 */
int stack_regex_add(struct stack_regex *regex, enum stack_text text,
		    const char *pattern, struct diag *diag);

/* Whether some frame of @stack matches, inlined ones included.  The empty
   stack never does.  Not thread-safe. */
bool stack_regex_match(struct stack_regex *regex, uint32_t stack);

/* Return: searches that ran into PCRE2's limits. */
uint64_t stack_regex_failures(const struct stack_regex *regex);

#endif /* REPORT_FILTER_STACK_REGEX_H */
