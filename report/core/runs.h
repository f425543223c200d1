/* SPDX-License-Identifier: MIT */
/*
 * Sorting more items than memory holds: sorted runs in a temporary file, merged
 * while they are read.
 *
 * Layer: core.
 */
#ifndef REPORT_CORE_RUNS_H
#define REPORT_CORE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diag;
struct run_range;
struct run_reader;

/* As qsort_r()'s. */
typedef int (*runs_compare_fn)(const void *a, const void *b, void *context);

/**
 * struct runs - items of one size, in the order of a comparison
 * @directory: of the temporary file, borrowed.  The file has no name, so it
 *             goes with the process however that ends
 * @buffer:    items not yet in the file; at most @buffer_bytes with all that
 *             sorting and merging need beside
 * @order:     their numbers, sorted
 * @ranges:    sorted runs in the file, older ones first; merged to one where
 *             there are too many to be read at once
 * @error:     0 or the negative errno of the file; runs_explain()
 *
 * Items that compare equal keep the order in which they were added.
 *
 * Cost: O(n log n) compares.  Items beyond the buffer are written and read once,
 * and once more for each power of 128 in the number of runs.
 */
struct runs {
	size_t item_size;
	runs_compare_fn compare;
	void *context;
	const char *directory;
	size_t buffer_bytes;
	uint64_t count;
	unsigned char *buffer;
	uint32_t *order;
	size_t buffered;
	size_t capacity;
	int fd;
	uint64_t file_bytes;
	struct run_range *ranges;
	size_t range_count;
	size_t range_capacity;
	struct run_reader *readers;
	struct run_reader **heap;
	size_t heap_count;
	size_t share; /* items of the buffer that each reader has */
	size_t at;    /* next one of @order, where there is no file */
	bool given;   /* runs_next() gave out the item on top of the heap */
	int error;
};

/* Takes no memory before the first item. */
void runs_init(struct runs *runs, size_t item_size, runs_compare_fn compare,
	       void *context, size_t buffer_bytes, const char *directory);
void runs_done(struct runs *runs);

/* Return: 0 or negative errno: no memory, or no file. */
int runs_add(struct runs *runs, const void *item);

/* Begins to read, from the first item in order; again as often as wished.  No
   runs_add() after it.  Return: as runs_add(). */
int runs_rewind(struct runs *runs);

/* Return: 1 with the next item, valid until the next call; 0 at the end;
   negative errno. */
int runs_next(struct runs *runs, const void **ret);

/* Return: @status, with a message in @diag if it came from the file. */
int runs_explain(const struct runs *runs, int status, struct diag *diag);

#endif /* REPORT_CORE_RUNS_H */
