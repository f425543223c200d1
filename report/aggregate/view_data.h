/* SPDX-License-Identifier: MIT */
/*
 * What a view keeps while records pass, for the files that make figures of it.
 *
 * Layer: aggregate, private to view*.c.
 */
#ifndef REPORT_AGGREGATE_VIEW_DATA_H
#define REPORT_AGGREGATE_VIEW_DATA_H

#include "report/aggregate/histogram.h"
#include "report/aggregate/history.h"
#include "report/aggregate/rows.h"
#include "report/aggregate/scope.h"
#include "report/aggregate/timeline.h"
#include "report/aggregate/view.h"
#include "report/filter/filter.h"

/* The matched allocations of one group. */
struct view_group {
	uint64_t count;
	uint64_t bytes;
	uint64_t usable;
	uint64_t leaked_count;
	uint64_t leaked_bytes;
	uint64_t temporary_count;
	uint64_t temporary_bytes;
	uint64_t peak_count;
	uint64_t peak_bytes;
	uint64_t first_tick;
	uint64_t last_tick;
	uint64_t min_size;
	uint64_t max_size;
	uint32_t stack;
};

struct view {
	struct view_options options;
	struct filter *filter;
	enum filter_wanted wanted; /* the engine has the sums of some */
	struct view_sums totals;
	struct {
		struct view_group *items; /* by group number */
		size_t count;
		size_t capacity;
	} groups;
	struct rows rows;
	struct table_maker row; /* the one of view_allocations() being read */
	bool has_timeline;
	struct timeline timeline;
	struct history *history; /* NULL before the pass that takes it */
	struct histogram histogram;
	uint64_t peak_order;
};

/* One group in the order of a view.  @key: what it is sorted by. */
struct group_row {
	uint32_t number;
	uint64_t key;
};

struct group;
struct groups;

/* What is known of a group: of its allocations that matched, of ALL of it. */
enum group_value {
	GROUP_SIZE,
	GROUP_ALLOCATIONS,
	GROUP_LEAKED_SIZE,
	GROUP_LEAKED_COUNT,
	GROUP_TEMPORARY,
	GROUP_FIRST,
	GROUP_LAST,
	GROUP_INTERVAL,
	GROUP_ALL_SIZE,
	GROUP_ALL_ALLOCATIONS,
	GROUP_ALL_LEAKED_COUNT,
	GROUP_ALL_FIRST,
	GROUP_ALL_LAST,
	GROUP_ALL_INTERVAL,
	GROUP_ALL_MOST_AT, /* when it held most */
	GROUP_VALUES,
};

/* Return: what groups are sorted by; GROUP_SIZE where that is an order of
   allocations. */
enum group_value view_sorted_value(enum sort_by sort_by);

/* Return: @value, moments in ticks, intervals in nanoseconds; 0 for
   GROUP_ALL_MOST_AT of what never held anything. */
uint64_t view_group_value(const struct run *run, enum group_value value,
			  const struct view_group *matched,
			  const struct group *all);

/* Return: what the engine has of the allocations of group @from that @wanted is
   about: all, or those that were freed. */
struct view_group view_group_of(const struct group *from,
				enum filter_wanted wanted);

/* Return: rows that must be known to print those asked for. */
uint64_t view_rows_kept(const struct view_options *options);

/* Return: of the groups that something matched of, the first @most in order,
   owned by the caller; NULL when out of memory. */
struct group_row *view_sort_groups(const struct view *view,
				   const struct groups *groups, uint64_t most,
				   size_t *ret_count);

/* Return: whether that order is the falling one. */
bool view_groups_fall(const struct view *view);

/* Return: what removed everything, NULL if something passed or out of memory. */
const char *view_nothing_passed(const struct view *view,
				const struct scope *scope);

/* Return: @text, which may be NULL, and how many culled allocations @view had
   to leave out; NULL for neither, or when out of memory. */
const char *view_caption(const struct view *view, const struct scope *scope,
			 const char *text);

/* Names @figure "view.NAME.PART" and puts facts beside its rows: the view, how
   many rows there are, how many are shown, what matched.  NULL when out of
   memory. */
struct figure *view_rows_finish(const struct view *view,
				const struct scope *scope,
				struct table_maker *table, const char *part,
				uint64_t total);

/* The same for a TABLE that is there, by its row_count. */
struct figure *view_rows_describe(const struct view *view,
				  const struct scope *scope,
				  struct figure *figure, const char *part,
				  uint64_t total);

#endif /* REPORT_AGGREGATE_VIEW_DATA_H */
