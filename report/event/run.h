/* SPDX-License-Identifier: MIT */
/*
 * What a trace says about its run besides the events: the program, clock,
 * threads, modules, how it ended, and what is missing.
 *
 * Layer: event.
 */
#ifndef REPORT_EVENT_RUN_H
#define REPORT_EVENT_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/core/arena.h"
#include "report/core/diag.h"
#include "report/core/kept.h"
#include "report/core/module.h"

enum run_end {
	RUN_END_MISSING,    /* no end record: killed, or a copy of a live file */
	RUN_END_EXIT,
	RUN_END_QUICK_EXIT,
	RUN_END__EXIT,
	RUN_END_ABORT,
	RUN_END_SIGNAL,
	RUN_END_EXEC,
	RUN_END_UNSEEN,     /* the trace is all there, but not how it ended */
	RUN_END_CONTINUED,  /* the run goes on in the next piece */
	RUN_END_STOPPED,    /* recording was stopped */
};

/**
 * struct run_thread
 * @number: lane number in struct event terms plus one; as in the trace
 * @name:   sanitised, "" if unknown
 */
struct run_thread {
	uint32_t number;
	uint32_t tid;
	const char *name;
	uint64_t start_tick;
	uint64_t end_tick; /* UINT64_MAX if it was alive at the end */
};

/**
 * struct run_piece - which part of a run a trace is
 * @is_known:  the trace says so; else it is all of it
 * @run_id, @index: the run's pieces have one and the same id, and numbers from 0
 * @trace_id:  of this one
 * @previous_id: trace_id of the one before, of the parent's at a fork; 0 none
 * @parent_run: run_id of the process that forked this one; 0 none
 * @has_gap:   the process ran unrecorded before it
 * @path:      of the file, as given by the user
 * @start_tick: of its recording
 * @end_tick:  of it, 0 if unknown
 */
enum run_piece_why {
	RUN_PIECE_START = 1,
	RUN_PIECE_SIGNAL,
	RUN_PIECE_API,
	RUN_PIECE_ROTATION,
	RUN_PIECE_FORK,
};

struct run_piece {
	bool is_known;
	uint64_t trace_id;
	uint64_t run_id;
	uint64_t previous_id;
	uint64_t parent_run;
	uint32_t index;
	enum run_piece_why why;
	bool has_gap;
	const char *path;
	uint64_t start_tick;
	uint64_t end_tick;
};

enum run_mark_kind {
	RUN_MARK_TEXT,
	RUN_MARK_NUMBER,
	RUN_MARK_PHASE,
};

/**
 * struct run_mark - what the program said about itself
 * @thread:   that said so, 0 if unknown
 * @end_tick: of a phase; UINT64_MAX if it did not end
 * @value:    of a number
 */
struct run_mark {
	enum run_mark_kind kind;
	uint32_t thread;
	uint64_t tick;
	uint64_t end_tick;
	uint64_t value;
	const char *text;
};

/* What a mapping is, as far as it can be told. */
enum run_memory_kind {
	RUN_MEMORY_HEAP, /* of brk() */
	RUN_MEMORY_ANONYMOUS,
	RUN_MEMORY_STACK,
	RUN_MEMORY_CODE, /* anonymous and executable */
	RUN_MEMORY_FILE,
	RUN_MEMORY_SHARED,
	RUN_MEMORY_TRACER,
	RUN_MEMORY_SPECIAL, /* the kernel's */
	RUN_MEMORY_REST,
	RUN_MEMORY_COUNT,
};

/* Sums of one sample of all mappings, in bytes. */
struct run_memory {
	uint64_t tick;
	uint64_t resident[RUN_MEMORY_COUNT];
	uint64_t resident_all;
	uint64_t swapped;
	uint64_t size;
};

/* The mappings of one kind and name in a sample: how many, and bytes. */
struct run_mapping {
	enum run_memory_kind kind;
	uint32_t mappings;
	const char *name;
	uint64_t size;
	uint64_t resident;
	uint64_t anonymous;
	uint64_t clean;
	uint64_t dirty;
	uint64_t swapped;
};

struct run_mappings {
	struct run_memory sums;
	struct run_mapping *items;
	size_t count;
};

/**
 * struct run - all text sanitised, owned by @arena
 * @trace_path:   as given by the user; of the first piece
 * @pieces:       that the trace consists of, in their order; at least one
 * @first_tick:   start of tracing
 * @last_tick:    of the last event or end record
 * @tick_ns:      nanoseconds a tick
 * @start_realtime_ns: at @first_tick, since 1970; 0 if unknown
 * @end_status:   exit status or signal number; -1 unknown
 * @events_declared: as the end record says; 0 if unknown
 * @events_lost:  not recorded by the tracer (sum of LOST and the end record)
 * @damage:       what could not be read, with offsets
 * @damaged_bytes: of the file, skipped
 * @events_skipped: in damaged chunks whose header was readable
 * @live_events:  taken from PATH.live
 * @memory:       samples by tick, thinned out where there were many: of two
 *                neighbours the higher one is here
 * @mappings_highest, @mappings_last: of the sample with the most resident
 *                memory, and of the last one; empty if there was none
 * @is_culled:    of allocations that were soon freed the trace may have sums
 *                only
 * @has_free_stacks, @has_usable: what the format carried
 */
struct run {
	struct arena arena;
	const char *trace_path;
	const char *format; /* name of the input format and version */
	uint64_t trace_bytes;
	uint32_t pid;
	uint32_t ppid;
	struct run_piece *pieces;
	size_t piece_count;
	const char *executable;
	const char *directory;
	const char *const *arguments;
	size_t argument_count;
	const char *tracer_version;
	uint64_t first_tick;
	uint64_t last_tick;
	double tick_ns;
	uint64_t start_realtime_ns;
	enum run_end end;
	int32_t end_status;
	const char *exec_program;
	uint64_t peak_rss_bytes; /* 0 if unknown */
	uint64_t events_declared;
	uint64_t events_lost;
	struct findings damage;
	uint64_t damaged_bytes;
	uint64_t events_skipped;
	uint64_t live_events;
	bool truncated; /* the file ends in the middle of a chunk */
	const char *live_path; /* of what @live_events are from; NULL if none */
	bool is_running; /* the program ran on while, or after, its trace was
			    read */
	bool is_culled;
	bool has_free_stacks;
	bool has_usable;
	struct run_thread *threads; /* sorted by number */
	size_t thread_count;
	struct run_memory *memory;
	size_t memory_count;
	struct run_mappings mappings_highest;
	struct run_mappings mappings_last;
	struct run_mark *marks; /* by tick */
	size_t mark_count;
	struct module_map modules;
	const struct kept_file *files; /* in the order of the trace */
	size_t file_count;
};

void run_done(struct run *run);

/* Return: how many pieces right before @piece are missing. */
uint32_t run_piece_missing(const struct run *run, size_t piece);

/* Return: whether any piece is missing: before one that is there, or the next one
   where the run goes on in it. */
bool run_misses_pieces(const struct run *run);

/* Return: for how long recording was off between pieces, as far as known. */
double run_off_seconds(const struct run *run);

/* Return: whether the process may have run unrecorded between @piece and the one
   before it: it did, or pieces between them are missing. */
bool run_piece_has_gap(const struct run *run, size_t piece);

/* Return: whether there is such a gap after @from and before @to. */
bool run_has_gap(const struct run *run, uint64_t from, uint64_t to);

/* Return: seconds from the start of the run; negative never. */
double run_seconds(const struct run *run, uint64_t tick);

/* Return: nanoseconds from @from to @to, 0 if @to is not later: the difference of
   both as they are written, rounded to nanoseconds. */
uint64_t run_span_ns(const struct run *run, uint64_t from, uint64_t to);

/* The same in seconds. */
double run_span(const struct run *run, uint64_t from, uint64_t to);

/* Return: length of the run in seconds. */
double run_duration(const struct run *run);

/* Return: bytes, the most that the kernel counted or a sample found; @sampled is
   the largest RSS event.  0 if unknown. */
uint64_t run_peak_rss(const struct run *run, uint64_t sampled);

/* Return: the thread, NULL if unknown. */
const struct run_thread *run_thread_find(const struct run *run,
					 uint32_t number);

#endif /* REPORT_EVENT_RUN_H */
