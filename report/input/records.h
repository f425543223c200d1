/* SPDX-License-Identifier: MIT */
/*
 * From the definition chunks of a memprof trace to struct run.
 *
 * Layer: input.
 */
#ifndef REPORT_INPUT_RECORDS_H
#define REPORT_INPUT_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/core/kept.h"
#include "report/core/module.h"
#include "report/event/run.h"

struct chunk;
struct source;

/* Texts of a hostile file are cut off here. */
#define RECORDS_ARENA_MAX ((size_t)256 << 20)
enum {
	RECORDS_MODULES_MAX = 0xffff, /* generations have 16 bits */
	RECORDS_FILES_MAX = 1 << 17,
};

struct clock_pair {
	uint64_t tick;
	uint64_t monotonic_ns;
	uint64_t realtime_ns;
};

/* One THREAD chunk. */
struct thread_record {
	uint32_t number;
	uint32_t tid;
	uint32_t what;
	uint64_t order; /* in the file */
	uint64_t tick;
	const char *name;
};

/* One MODULE chunk; @piece: by index. */
struct module_record {
	struct module module;
	uint32_t piece;
	uint64_t offset;
};

/* One UNLOAD chunk. */
struct unload_record {
	uint32_t number;
	uint32_t piece;
	uint64_t tick;
	uint64_t offset;
};

/* One MARK chunk. */
struct mark_record {
	uint32_t kind; /* enum trace_mark_kind */
	uint32_t thread;
	uint64_t order; /* in the file */
	uint64_t tick;
	uint64_t value;
	const char *text;
};

/* A payload of SMAPS that is kept. */
struct smaps_record {
	struct run_memory sums;
	uint8_t *data;
	size_t len;
};

/* A file that FILE chunks hold.  @is_done: no more parts are awaited. */
struct file_record {
	struct kept_file file;
	bool is_done;
	struct {
		struct kept_part *items;
		size_t count, capacity;
	} parts;
};

/**
 * struct records - what the chunks said so far
 * @run:  borrowed, filled as records come and completed at the end
 * @source: borrowed, as long as the run
 * @file: for findings, borrowed
 * @lost: sum of the LOST chunks
 * @first_pair, @last_pair: clock readings with the lowest and highest tick;
 *        valid from one and two @pair_count on
 */
struct records {
	struct run *run;
	const struct source *source;
	const char *file;
	struct run_piece piece; /* that chunks come from */
	struct {
		struct run_piece *items;
		size_t count, capacity;
	} pieces; /* the others, before it */
	uint64_t declared;   /* events, in all pieces */
	uint64_t lost_sum;   /* in all pieces, LOST events left out where not */
	bool totals_missing; /* a piece did not count them */
	bool has_start;      /* run->first_tick and what PROCESS says are known */
	bool has_process;
	bool has_live; /* PROCESS says that PATH.live was made */
	bool has_end;
	bool has_totals; /* END counted the losses */
	uint8_t clock;
	uint8_t arch;
	uint64_t lost;
	struct clock_pair first_pair;
	struct clock_pair last_pair;
	size_t pair_count;
	struct {
		struct thread_record *items;
		size_t count, capacity;
	} threads;
	struct {
		struct module_record *items;
		size_t count, capacity;
	} modules;
	struct {
		struct unload_record *items;
		size_t count, capacity;
	} unloads;
	struct {
		struct file_record *items;
		size_t count, capacity;
	} files;
	struct {
		struct mark_record *items;
		size_t count, capacity;
	} marks;
	struct {
		struct run_memory *items;
		size_t count, capacity;
	} smaps;
	struct smaps_record smaps_highest;
	struct smaps_record smaps_last;
	bool marks_refused;
	bool texts_refused;
};

void records_init(struct records *records, struct run *run);
void records_done(struct records *records);

/* Chunks come from @source, the next piece of the run, from now on; and there
   are no more of it. */
void records_begin_piece(struct records *records, const struct source *source);
int records_end_piece(struct records *records);

/**
 * records_add() - take one definition chunk in
 * @data: its payload, @len bytes, borrowed
 *
 * What is wrong becomes a finding.  Return: 0 or -ENOMEM.
 */
int records_add(struct records *records, const struct chunk *chunk,
		const uint8_t *data, size_t len);

/* Return: sanitised text in the run's arena, "" once RECORDS_ARENA_MAX is
   reached; NULL when out of memory. */
const char *records_text(struct records *records, const char *text, size_t len);

/* More events that could not be recorded. */
void records_add_lost(struct records *records, uint64_t count);

/* A reading of the clocks, from wherever. */
void records_add_pair(struct records *records, struct clock_pair pair);

/* Completes run->threads, which gets an entry for each number in
   @lane_threads too (rising), run->modules, the clock and the losses.
   Return: 0 or -ENOMEM. */
int records_finish(struct records *records, const uint32_t *lane_threads,
		   size_t lane_thread_count);

/* A chunk of events was met, or CLOCK (@is_clock).  After the END of an abort
   either means that the program went on, after that of an exec only CLOCK does:
   other threads may run on for a moment while an exec succeeds.  That END then
   tells nothing any more. */
void records_go_on(struct records *records, bool is_clock);

/* The parts of records_add() and records_finish() in files of their own. */
struct cursor;
int records_add_thread(struct records *records, const struct chunk *chunk,
		       struct cursor *cursor);
int records_finish_threads(struct records *records,
			   const uint32_t *lane_threads,
			   size_t lane_thread_count);
int records_add_module(struct records *records, const struct chunk *chunk,
		       struct cursor *cursor);
int records_add_unload(struct records *records, const struct chunk *chunk,
		       struct cursor *cursor);
int records_finish_modules(struct records *records);
int records_add_mark(struct records *records, const struct chunk *chunk,
		     struct cursor *cursor);
int records_finish_marks(struct records *records);
int records_add_smaps(struct records *records, const struct chunk *chunk,
		      const uint8_t *data, size_t len);
int records_finish_smaps(struct records *records);
void records_done_smaps(struct records *records);
int records_add_file(struct records *records, const struct chunk *chunk,
		     struct cursor *cursor);
int records_finish_files(struct records *records);
void records_done_files(struct records *records);

#endif /* REPORT_INPUT_RECORDS_H */
