/* SPDX-License-Identifier: MIT */
/*
 * A regular expression over the functions of a stack, with the answers kept:
 * one per distinct frame and one per node of the stack tree, so all stacks of
 * a trace together cost O(nodes) plus one search per distinct frame.
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

/* Return: 0; -EINVAL with @diag->text when @pattern does not compile: offset in
   it and PCRE2's message. */
int stack_regex_check(const char *pattern, struct diag *diag);

/**
 * stack_regex_new() - compile
 * @pattern: PCRE2, UTF-8, searched anywhere in a name, case matters
 * @stacks, @symbols: borrowed; the tree may grow between calls
 *
 * Return: owned by the caller; NULL with @diag as from
 * stack_regex_check(), or out of memory.
 */
struct stack_regex *stack_regex_new(const char *pattern,
				    const struct stacks *stacks,
				    struct symbols *symbols, struct diag *diag);
void stack_regex_free(struct stack_regex *regex);

/* Whether some function of @stack matches, inlined ones included.  The empty
   stack never does.  Not thread-safe. */
bool stack_regex_match(struct stack_regex *regex, uint32_t stack);

/* Return: names the search of which ran into PCRE2's limits. */
uint64_t stack_regex_failures(const struct stack_regex *regex);

#endif /* REPORT_FILTER_STACK_REGEX_H */
