/* SPDX-License-Identifier: MIT */
/*
 * Which allocations a view is about.
 *
 * A filter has two halves: conditions on the record (times, size, lifetime) and
 * conditions on its backtrace (regular expressions), whose answer is the same
 * for all records of a group and is kept.  All conditions are ANDed.
 *
 * Semantics of each key: docs/spec.md, which a test compares with the table
 * `filter_keys`.
 *
 * Layer: filter.  May include core/, event/, engine/, symbol/ (the last
 * because function_regex asks for names).
 */
#ifndef REPORT_FILTER_FILTER_H
#define REPORT_FILTER_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/engine/record.h"

struct arena;
struct diag;
struct run;
struct stacks;
struct symbols;

enum time_point_kind {
	TIME_UNSET,
	TIME_SECONDS, /* .value seconds from the start of the run */
	TIME_SHARE,   /* .value of the run's length, 0.125 is 12.5 % */
	TIME_PEAK,    /* the moment of the peak of live requested bytes */
};

struct time_point {
	enum time_point_kind kind;
	double value;
};

enum filter_lifetime {
	LIFETIME_ALL,
	LIFETIME_ONLY_LEAKED,    /* never freed nor realloc'ed away */
	LIFETIME_ONLY_TEMPORARY, /* freed or realloc'ed away before the end */
};

/**
 * struct filter_spec - conditions as written, zeroed is "everything"
 * @size_min, @size_max: inclusive; has_ tells whether set
 * Texts are owned by whoever set them (the spec's arena).
 */
struct filter_spec {
	enum filter_lifetime lifetime;
	struct time_point from;     /* allocated at or after */
	struct time_point to;       /* allocated at or before */
	struct time_point alive_at; /* alloc <= T and not freed by T */
	bool has_size_min;
	bool has_size_max;
	uint64_t size_min;
	uint64_t size_max;
	const char *function_regex;          /* some frame matches */
	const char *negative_function_regex; /* no frame matches */
};

/**
 * struct filter_key - one row of the table of keys
 * @name:    as in specs and --view
 * @value:   what it takes, for --help: "BYTES", "TIME", "REGEX", …
 * @summary: one line
 * @set:     parses @value (NUL-terminated, trimmed) into @spec; texts are
 *           copied to @arena.  Return: 0 or -EINVAL with @diag->text saying
 *           what was found and what is allowed
 */
struct filter_key {
	const char *name;
	const char *value;
	const char *summary;
	int (*set)(struct filter_spec *spec, const char *value,
		   struct arena *arena, struct diag *diag);
};

extern const struct filter_key filter_keys[];
extern const size_t filter_key_count;

/* Return: the key called @name, or NULL. */
const struct filter_key *filter_key_find(const char *name);

/* Return: 0; -EINVAL with @diag->text when two conditions exclude each other
   whatever the trace holds (size_min above size_max, from after to). */
int filter_spec_check(const struct filter_spec *spec, struct diag *diag);

/* Whether a first pass over the trace must find the peak. */
bool filter_needs_peak(const struct filter_spec *spec);

/**
 * struct filter_context - what compiled conditions refer to; all borrowed
 * @peak_tick, @peak_order: moment of the peak: time and number of the event
 *               that reached it; used when filter_needs_peak()
 */
struct filter_context {
	const struct run *run;
	const struct stacks *stacks;
	struct symbols *symbols;
	uint64_t peak_tick;
	uint64_t peak_order;
};

struct filter;

/**
 * filter_new() - compile
 * @context: copied
 *
 * Return: owned by the caller; NULL with @diag filled: a regular expression
 * that does not compile (filter_keys have refused it before), no memory.
 */
struct filter *filter_new(const struct filter_spec *spec,
			  const struct filter_context *context,
			  struct diag *diag);
void filter_free(struct filter *filter);

/* Whether @record passes, both halves.  The word `peak` compares event
   numbers, not times, so it is exact even between equal times.  A regular
   expression that runs into PCRE2's limits on a name counts as no match and
   filter_regex_failures() goes up. */
bool filter_match(struct filter *filter, const struct record *record);

uint64_t filter_regex_failures(const struct filter *filter);

#endif /* REPORT_FILTER_FILTER_H */
