/* SPDX-License-Identifier: MIT */
/*
 * Reading the values of filter keys.
 *
 * Layer: filter.
 */
#ifndef REPORT_FILTER_VALUE_H
#define REPORT_FILTER_VALUE_H

#include "report/filter/filter.h"

/* Reads @text as @key takes it; texts and lists are owned by @arena.  Return:
   0; -EINVAL with @diag->text saying what was found and what is allowed;
   -ENOMEM. */
int value_parse(struct filter_value *ret, const struct filter_key *key,
		const char *text, struct arena *arena, struct diag *diag);

#endif /* REPORT_FILTER_VALUE_H */
