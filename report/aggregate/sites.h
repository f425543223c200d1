/* SPDX-License-Identifier: MIT */
/*
 * Call sites: who called the allocator, and how much of everything is theirs.
 *
 * Layer: aggregate.
 */
#ifndef REPORT_AGGREGATE_SITES_H
#define REPORT_AGGREGATE_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct figure;
struct scope;
struct sites;

/**
 * sites_compute() - sum all groups by their innermost frame
 *
 * The innermost frame that is not part of an allocator, of a standard library's
 * containers or a well-known wrapper (the list is in site_frame.c); where all are,
 * the innermost.  Frames with equal function, file, line and module are one
 * call site.
 *
 * Return: owned by the caller, NULL when out of memory.
 */
struct sites *sites_compute(const struct scope *scope);
void sites_free(struct sites *sites);

enum site_cost {
	SITE_PEAK_BYTES,
	SITE_LEAKED_BYTES,
	SITE_ALLOCATED_BYTES,
	SITE_ALLOCATIONS,
	SITE_TEMPORARY,
	SITE_COST_COUNT,
};

/* Name of a cost in figure ids: "peak", "leaked", "allocated", "count",
   "temporary". */
const char *site_cost_name(enum site_cost cost);

/**
 * sites_top() - the @rows call sites with the highest @cost, none with cost 0
 * @id: of the figure
 *
 * Return: TABLE, NULL when out of memory.
 */
const struct figure *sites_top(const struct sites *sites,
			       const struct scope *scope, enum site_cost cost,
			       size_t rows, const char *id);

/* SCALARS: share of allocated bytes by what is known about the frame that
   allocated them. */
const struct figure *sites_symbol_quality(const struct sites *sites,
					  const struct scope *scope);

/**
 * struct sites_unnamed - what is said of call sites without a function name
 * @note: NOTE, which says what would help; NULL if all have one.  A warning
 *        called "unnamed", or "unnamed_few" where few bytes are theirs
 * @line: the short form, for a terminal; NULL where few bytes are theirs
 */
struct sites_unnamed {
	const struct figure *note;
	const char *line;
};

/* Those in modules that debug symbols could name.  Return: whether there was memory
   enough for @ret. */
bool sites_unnamed(const struct sites *sites, const struct scope *scope,
		   struct sites_unnamed *ret);

#endif /* REPORT_AGGREGATE_SITES_H */
