/* SPDX-License-Identifier: MIT */
/*
 * The keys of a spec file that are not filter keys (report/filter/filter.h).
 * docs/spec.md explains each; a test compares the two.
 */
#ifndef REPORT_SPEC_KEYS_H
#define REPORT_SPEC_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "report/spec.h"

struct diag;

/**
 * struct report_key - a key of [report]
 * @name:    as in the file
 * @value:   what it takes, for --help
 * @summary: one line
 * @set:     parses @value (NUL-terminated, trimmed, not empty, sanitised).
 *           Return: 0, or -EINVAL or -ENOMEM with @diag->text
 */
struct report_key {
	const char *name;
	const char *value;
	const char *summary;
	int (*set)(struct spec *spec, const char *value, struct diag *diag);
};

/**
 * struct view_key - a key of [view NAME]; texts are copied to @arena
 * @in_query: --view takes it too
 * @applies:  of which subjects artifacts heed it, VIEW_KEY_OF() of each, ORed;
 *            0: of all
 */
struct view_key {
	const char *name;
	const char *value;
	const char *summary;
	bool in_query;
	unsigned applies;
	int (*set)(struct spec_view *view, const char *value,
		   struct arena *arena, struct diag *diag);
};

#define VIEW_KEY_OF(subject) (1u << (subject))

extern const struct report_key report_keys[];
extern const size_t report_key_count;
extern const struct view_key view_keys[];
extern const size_t view_key_count;

/* Names of enum sort_by from SORT_TIMESTAMP on, NULL-terminated. */
extern const char *const sort_names[];

/* Return: 0; -EINVAL with @diag->text when the keys of @view do not go
   together: an order for rows that no artifact of it has. */
int spec_view_check(const struct spec_view *view, struct diag *diag);

#endif /* REPORT_SPEC_KEYS_H */
