/* SPDX-License-Identifier: MIT */
/* Events as lines of text, for people and for comparing. */
#ifndef TESTS_LIB_TRACE_TEXT_H
#define TESTS_LIB_TRACE_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct event;
struct run;
struct stacks;

/* One line; @keys are the stack's frames, outermost first. */
void trace_text_event(FILE *out, uint32_t thread, const struct event *event,
		      const uint64_t *keys, size_t depth);

/* What the trace says about its run, and the damage. */
void trace_text_run(FILE *out, const struct run *run);

/* The frames of @stack, outermost first, in *@ret, which is grown as needed
   (*@capacity entries).  Return: how many. */
size_t trace_text_keys(const struct stacks *stacks, uint32_t stack,
		       uint64_t **ret, size_t *capacity);

#endif /* TESTS_LIB_TRACE_TEXT_H */
