/* SPDX-License-Identifier: MIT */
/*
 * One view: the allocations that pass its filter, summed by backtrace, and the
 * few of them that are printed.
 *
 * Layer: aggregate.
 */
#ifndef REPORT_AGGREGATE_VIEW_H
#define REPORT_AGGREGATE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/aggregate/cost.h"
#include "report/aggregate/sort.h"
#include "report/engine/record.h"

struct diag;
struct figure;
struct filter;
struct groups;
struct history;
struct run;
struct scope;
struct timeline;
struct view;

/**
 * struct view_options - all borrowed until view_free()
 * @name, @title: of the view
 * @rows:  how many allocations and groups are printed
 * @skip:  how many before them are not
 * @rows_bytes: memory for rows; more of them are sorted in a file in @directory
 * @keep_records: whether view_allocations() will be asked for
 * @keep_histogram: whether view_sizes() or view_lifetimes() will be
 * @keep_timeline: whether view_series() will be, and is not that of the run; or
 *          view_history(), and something is filtered out
 * @keep_history: whether view_history() will be
 */
struct view_options {
	const char *name;
	const char *title;
	enum sort_by sort_by;
	enum sort_order order;
	bool has_order;
	uint64_t rows;
	uint64_t skip;
	enum cost cost;
	enum direction direction;
	size_t rows_bytes;
	const char *directory;
	bool keep_records;
	bool keep_histogram;
	bool keep_timeline;
	bool keep_history;
	const struct run *run;
};

/**
 * view_new()
 * @filter: borrowed until the last view_add() and view_add_peak()
 *
 * Return: owned by the caller, NULL when out of memory.
 */
struct view *view_new(const struct view_options *options,
		      struct filter *filter);
void view_free(struct view *view);

/* An engine_observer's function for records; @context is a struct view. */
int view_add(void *context, const struct record *records, size_t count);

/* The same for allocations that the trace has only in sums. */
int view_add_culled(void *context, const struct culled *culled);

/* After the pass whose records were added, with its @groups.  Return: 0 or
   -ENOMEM. */
int view_settle(struct view *view, const struct groups *groups);

/* view_add() has failed with @status.  Return: @status, with a message in @diag
   where it came from the file of rows. */
int view_explain(const struct view *view, int status, struct diag *diag);

/* The same once the peak is known, for what was alive then: adds it to the sums
   of these, one by one.  To be called after all calls of view_add(), for views of COST_PEAK
   and those with histograms.  @order: number of the event that reached the peak. */
void view_set_peak(struct view *view, uint64_t order);
int view_add_peak(void *context, const struct record *record);

/* Return: whether nothing has passed so far. */
bool view_is_empty(const struct view *view);

/* Return: what another pass must fill before view_series() is asked for, once
   all records are known; NULL if nothing must. */
struct timeline *view_timeline(struct view *view);

/* The same for view_history(): *@ret is NULL if nothing must be filled.  Return:
   0 or -ENOMEM. */
int view_take_history(struct view *view, const struct scope *scope,
		      struct history **ret);

/**
 * struct view_sums - what passed the filter; sizes are requested bytes
 * @culled_count, @culled_bytes: of it, what the trace has only in sums
 * @undecided_count, @undecided_bytes: what the trace has only in sums and of
 *                which it is not known whether it passes; it counts as if not
 */
struct view_sums {
	uint64_t count;
	uint64_t bytes;
	uint64_t leaked_count;
	uint64_t leaked_bytes;
	uint64_t groups;
	uint64_t culled_count;
	uint64_t culled_bytes;
	uint64_t undecided_count;
	uint64_t undecided_bytes;
};

struct view_sums view_sums(const struct view *view);

/* The figures below are made after the pass; they belong to @scope->arena and
   are NULL when out of memory. */

/* SCALARS: what matched. */
const struct figure *view_summary(const struct view *view,
				  const struct scope *scope);

/* TABLE of single allocations, sorted, at most `rows`, with a source: @view must
   outlive it. */
const struct figure *view_allocations(struct view *view,
				      const struct scope *scope);

/* NOTE "view.NAME.nothing" that no allocation passed the filter; nothing is
   made, and *@ret is NULL, where one did.  Return: whether memory sufficed. */
bool view_nothing(const struct view *view, const struct scope *scope,
		  const struct figure **ret);

/* TABLE "view.NAME.groups" for pages: the first of the groups, with few
   columns. */
const struct figure *view_top_groups(const struct view *view,
				     const struct scope *scope);

/* TABLE of backtraces, sorted, at most `rows`. */
const struct figure *view_groups(const struct view *view,
				 const struct scope *scope);

/* SERIES "view.NAME.timeline" of the matched allocations. */
const struct figure *view_series(const struct view *view,
				 const struct scope *scope);

/* HISTORY "view.NAME.history" of the matched allocations; @view must outlive it. */
const struct figure *view_history(const struct view *view,
				  const struct scope *scope);

/* TABLEs of classes, "view.NAME.sizes" and "view.NAME.lifetimes". */
const struct figure *view_sizes(const struct view *view,
				const struct scope *scope);
const struct figure *view_lifetimes(const struct view *view,
				    const struct scope *scope);

#endif /* REPORT_AGGREGATE_VIEW_H */
