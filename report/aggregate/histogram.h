/* SPDX-License-Identifier: MIT */
/*
 * Allocations by classes of size and of lifetime.
 *
 * Sizes: 0, then powers of two: class k > 0 holds 2^(k-1) to 2^k - 1 bytes.
 * Lifetimes: below 100 ns, then from each of 1, 2 and 5 times a power of ten of
 * nanoseconds to the next, and a class of what was never freed, which has no
 * lifetime and is never averaged in with an invented end.
 *
 * Layer: aggregate.
 */
#ifndef REPORT_AGGREGATE_HISTOGRAM_H
#define REPORT_AGGREGATE_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct culled;
struct figure;
struct record;
struct run;
struct scope;

enum {
	HISTOGRAM_SIZES = 65,
	HISTOGRAM_DECADES = 13, /* of lifetimes, from 100 ns on */
	HISTOGRAM_LIFETIMES = 1 + 3 * HISTOGRAM_DECADES,
	HISTOGRAM_SPANS = 61 * 16,
};

/* Sums over one class; bytes are requested. */
struct histogram_class {
	uint64_t count;
	uint64_t bytes;
	uint64_t peak_count;
	uint64_t peak_bytes;
	uint64_t leaked_count;
	uint64_t leaked_bytes;
};

/**
 * struct histogram - zero-initialised is empty
 * @not_known: freed, but the trace has only sums of some whose lifetimes are not
 *             of one class
 * @class_of:  by span of ticks: the class of all lifetimes that are as long, plus
 *             1; 0 where that must be computed
 */
struct histogram {
	struct histogram_class sizes[HISTOGRAM_SIZES];
	struct histogram_class lifetimes[HISTOGRAM_LIFETIMES];
	struct histogram_class never_freed;
	struct histogram_class not_known;
	uint8_t class_of[HISTOGRAM_SPANS];
};

/* Makes histogram_add() of records of @run quicker. */
void histogram_prepare(struct histogram *histogram, const struct run *run);

/* Adds @count @records, borrowed for the call. */
void histogram_add(struct histogram *histogram, const struct run *run,
		   const struct record *records, size_t count);

/* The same of what the trace has only in sums. */
void histogram_add_culled(struct histogram *histogram, const struct run *run,
			  const struct culled *culled);

/* @record, which was added, was alive at the peak of the run. */
void histogram_add_peak(struct histogram *histogram, const struct run *run,
			const struct record *record);

/* TABLEs of classes, from the first to the last that is not empty; NULL when
   out of memory. */
struct figure *histogram_of_sizes(const struct histogram *histogram,
				  const struct scope *scope, const char *id,
				  const char *title);
struct figure *histogram_of_lifetimes(const struct histogram *histogram,
				      const struct scope *scope,
				      const char *id, const char *title);

#endif /* REPORT_AGGREGATE_HISTOGRAM_H */
