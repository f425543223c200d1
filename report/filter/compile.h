/* SPDX-License-Identifier: MIT */
/*
 * From terms as they were written to conditions that are tested.
 *
 * Layer: filter.
 */
#ifndef REPORT_FILTER_COMPILE_H
#define REPORT_FILTER_COMPILE_H

#include <stddef.h>
#include <stdint.h>

#include "report/core/arena.h"
#include "report/filter/condition.h"

struct diag;

/**
 * struct filter
 * @items:    conditions in the order of testing
 * @failures: searches given up while compiling (names of threads)
 */
struct filter {
	struct filter_context context;
	struct condition *items;
	size_t count;
	size_t capacity;
	uint64_t failures;
	struct arena arena;
};

/* Fills @filter, which has its context and nothing else, with the conditions of
   @spec, cheap ones first.  Return: 0; -EINVAL with @diag filled: what the trace
   cannot answer; -ENOMEM.  What was made is @filter's then too. */
int filter_compile(struct filter *filter, const struct filter_spec *spec,
		   struct diag *diag);

#endif /* REPORT_FILTER_COMPILE_H */
