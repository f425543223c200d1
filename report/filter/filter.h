/* SPDX-License-Identifier: MIT */
/*
 * Which allocations a view is about.
 *
 * A filter_spec is what was written: terms, each a key of the table
 * `filter_keys` with its value.  A filter is compiled from it: conditions,
 * cheap ones first, all ANDed.  Conditions on a backtrace (regular
 * expressions, depth) and on a group have one answer for all records of the
 * stack or group, which is worked out once.
 *
 * Semantics of each key: docs/spec.md, which a test compares with the table.
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
struct groups;
struct map_pieces;
struct run;
struct stacks;
struct symbols;

enum time_point_kind {
	TIME_UNSET,
	TIME_SECONDS, /* .value seconds from the start of the run, or long */
	TIME_SHARE,   /* .value of the run's length, 0.125 is 12.5 % */
	TIME_PEAK,    /* the moment of the peak of live requested bytes */
	TIME_MARK,    /* the first mark or number called .name */
	TIME_PHASE,   /* the first phase called .name: its beginning, as an upper
			 bound its end */
};

struct time_point {
	enum time_point_kind kind;
	double value;
	const char *name;
};

enum filter_lifetime {
	LIFETIME_ALL,
	LIFETIME_ONLY_LEAKED,    /* never freed nor realloc'ed away */
	LIFETIME_ONLY_TEMPORARY, /* freed or realloc'ed away before the end */
	LIFETIME_NOT_FREED_IN_RANGE, /* not freed between from and to */
	LIFETIME_FREED_IN_RANGE,
	LIFETIME_WHOLE_GROUP_LEAKED, /* no allocation of its group was freed */
	LIFETIME_CHAIN_LEAKED,   /* the last block of its chain was not freed */
};

enum filter_mmaped {
	MMAPED_YES,
	MMAPED_NO,
};

enum filter_permission {
	PERMISSION_YES,
	PERMISSION_NO,
};

enum filter_arena {
	ARENA_MAIN,
	ARENA_NON_MAIN,
	ARENA_OTHER, /* of another allocator */
};

enum filter_temporary {
	TEMPORARY_HEAPTRACK, /* freed by the thread's very next call */
	TEMPORARY_FREED,     /* freed at all */
};

/* What a key is about.  Conditions are tested in this order: cheap ones, and
   those that reject much, first. */
enum filter_subject {
	SUBJECT_LIFETIME_WORD,
	SUBJECT_TEMPORARY,
	SUBJECT_FROM,
	SUBJECT_TO,
	SUBJECT_ALIVE_AT,
	SUBJECT_SIZE,
	SUBJECT_READABLE, /* this and the next two: of maps */
	SUBJECT_WRITABLE,
	SUBJECT_EXECUTABLE,
	SUBJECT_USABLE_SIZE,
	SUBJECT_ADDRESS,
	SUBJECT_MMAPED,
	SUBJECT_ARENA,
	SUBJECT_LIFETIME,
	SUBJECT_THREAD,
	SUBJECT_THREAD_NAME,
	SUBJECT_MARKER,
	SUBJECT_BACKTRACE,
	SUBJECT_FREE_BACKTRACE,
	SUBJECT_MAP,
	SUBJECT_POSITION_IN_CHAIN,
	SUBJECT_FIRST_SIZE,
	SUBJECT_LAST_SIZE,
	SUBJECT_CHAIN_LENGTH,
	SUBJECT_CHAIN_LIFETIME,
	SUBJECT_GROUP_ALLOCATIONS,
	SUBJECT_GROUP_LEAKED,
	SUBJECT_GROUP_INTERVAL,
	SUBJECT_GROUP_MAX_USAGE,
	SUBJECT_FILTER,
	SUBJECT_DEPTH,
	SUBJECT_FUNCTION, /* this and the next two: of one and the same frame */
	SUBJECT_SOURCE,
	SUBJECT_LIBRARY,
};

/* How a value is written and held. */
enum filter_kind {
	KIND_BYTES,    /* .number */
	KIND_NUMBER,   /* .number */
	KIND_TIME,     /* .time */
	KIND_DURATION, /* .time, TIME_SECONDS */
	KIND_SPAN,     /* .time, TIME_SECONDS or TIME_SHARE */
	KIND_QUOTA,    /* .number, or .share if .is_share */
	KIND_WORD,     /* .number: position among the key's words */
	KIND_REGEX,    /* .text */
	KIND_NUMBERS,  /* .numbers */
	KIND_FILTERS,  /* .filters */
};

enum filter_test {
	TEST_IS,  /* equals, is one of, matches */
	TEST_MIN, /* the value or more */
	TEST_MAX, /* the value or less */
	TEST_NOT, /* matches nowhere */
	TEST_ANY, /* KIND_FILTERS: at least one; TEST_IS: all, TEST_NOT: none */
};

/* A percentage as written: @digits / 10^@places percent.  Exact, as a double
   is not. */
struct filter_share {
	uint64_t digits;
	unsigned places;
};

/* A filter that another one is built on. @spec is set when names are
   resolved. */
struct filter_use {
	const char *name;
	const struct filter_spec *spec;
};

struct filter_value {
	uint64_t number;
	struct time_point time;
	bool is_share;
	struct filter_share share;
	const char *text;
	struct {
		const uint64_t *items; /* rising */
		size_t count;
	} numbers;
	struct {
		struct filter_use *items;
		size_t count;
	} filters;
};

/**
 * struct filter_term - one key with its value
 * @is_negated: passes what the key alone rejects
 * @line:       where it stands, 0 in --view
 * @written:    the value as text
 */
struct filter_term {
	const struct filter_key *key;
	bool is_negated;
	uint32_t line;
	const char *written;
	struct filter_value value;
};

/**
 * struct filter_spec - conditions as written, zeroed is "everything"
 * @terms: @count of them, in the order of the file; owned by the arena given
 *         to filter_spec_set()
 */
struct filter_spec {
	struct filter_term *terms;
	size_t count;
	size_t capacity;
};

/**
 * struct filter_key - one row of the table of keys
 * @name:     as in specs and --view
 * @value:    what it takes, for --help: "BYTES", "TIME", "REGEX", …
 * @summary:  one line
 * @repeats:  may stand several times: any of the values
 * @negated:  name of its opposite, NULL if it has none
 * @words:    KIND_WORD: NULL-terminated
 * @what:     KIND_WORD: what a word is: "a lifetime"
 */
struct filter_key {
	const char *name;
	const char *value;
	const char *summary;
	enum filter_subject subject;
	enum filter_test test;
	enum filter_kind kind;
	bool repeats;
	const char *negated;
	const char *const *words;
	const char *what;
};

extern const struct filter_key filter_keys[];
extern const size_t filter_key_count;

/* Return: the key called @name, or whose opposite is (*@ret_negated, may be
   NULL); NULL if there is none. */
const struct filter_key *filter_key_find(const char *name, bool *ret_negated);

/* Return: whether the values of @key name [filter NAME] sections, which --view
   cannot have. */
bool filter_key_names_sections(const struct filter_key *key);

/* What rows a key can select. */
enum filter_rows {
	FILTER_ALLOCATIONS,
	FILTER_MAPS, /* calls of mmap, see struct record */
	FILTER_BOTH,
};

enum filter_rows filter_key_rows(const struct filter_key *key);

/* Return: why the key @name of another tool is not one here: a sentence; NULL
   if there is nothing to say. */
const char *filter_key_refusal(const char *name);

/**
 * filter_spec_set() - add a term
 * @value: NUL-terminated, trimmed; copied to @arena
 *
 * Return: 0; -EINVAL with @diag->text saying what was found and what is
 * allowed; -ENOMEM.
 */
int filter_spec_set(struct filter_spec *spec, const struct filter_key *key,
		    bool is_negated, const char *value, uint32_t line,
		    struct arena *arena, struct diag *diag);

/* Return: the first term of the key called @name, NULL if there is none. */
const struct filter_term *filter_spec_find(const struct filter_spec *spec,
					   const char *name);

/**
 * filter_spec_check() - find conditions that nothing passes in any trace
 * @at: looks at the terms from *@at on, and moves it past the one it refuses:
 *      asked again, it tells the next
 *
 * Return: 0 at the end; -EINVAL with @diag->text, and @diag->line that of the
 * later of the two conditions (size_min above size_max, from after to).
 */
int filter_spec_check(const struct filter_spec *spec, size_t *at,
		      struct diag *diag);

/* What must be known before the first record is tested, and so takes a pass
   over the trace of its own. */
enum filter_need {
	NEED_PEAK = 1,   /* moment of the peak */
	NEED_GROUPS = 2, /* statistics of groups */
	NEED_CHAINS = 4, /* how chains end, see engine_keep_chains() */
	NEED_MAPS = 8,   /* what the calls of mmap held */
};

/* Return: enum filter_need, ORed; 0 if one pass will do. */
unsigned filter_needs(const struct filter_spec *spec);

/* Whether all that passes was alive at the peak. */
bool filter_is_of_peak(const struct filter_spec *spec);

/**
 * struct filter_context - what compiled conditions refer to; all borrowed
 * @groups:     of the pass before, borrowed for filter_new() only; used when
 *              filter_needs() NEED_GROUPS
 * @peak_tick, @peak_order: moment of the peak: time and number of the event
 *              that reached it; used when NEED_PEAK
 * @maps:       used when NEED_MAPS, for filter_new() only
 */
struct filter_context {
	const struct run *run;
	const struct stacks *stacks;
	struct symbols *symbols;
	const struct groups *groups;
	uint64_t peak_tick;
	uint64_t peak_order;
	const struct map_pieces *maps;
};

struct filter;

/**
 * filter_new() - compile
 * @spec:    borrowed as long as the filter, with all it uses
 * @context: copied
 *
 * Return: owned by the caller; NULL with @diag filled: what the trace cannot
 * answer (@diag->line says where it was asked), no memory.
 */
struct filter *filter_new(const struct filter_spec *spec,
			  const struct filter_context *context,
			  struct diag *diag);
void filter_free(struct filter *filter);

/* Whether @record passes all conditions.  The word `peak` compares event
   numbers, not times, so it is exact even between equal times.  A regular
   expression that runs into PCRE2's limits on a name counts as no match and
   filter_regex_failures() goes up. */
bool filter_match(struct filter *filter, const struct record *record);

/* What a filter asks for, as far as others can tell without it. */
enum filter_wanted {
	FILTER_SOME,
	FILTER_ALL,    /* everything passes */
	FILTER_LEAKED, /* what was never freed, and all of it */
	FILTER_FREED,  /* what was freed, and all of it */
};

enum filter_wanted filter_wanted(const struct filter *filter);

/* The filter is FILTER_LEAKED, and @count records that were freed were not even
   shown to it: they count as removed. */
void filter_reject(struct filter *filter, size_t count);

/* Indices of records that are tested together. */
typedef uint16_t filter_place;

enum { FILTER_SELECT_MAX = 256 };

/* filter_match() of @count records, at most FILTER_SELECT_MAX.  Return: how many
   pass; their indices, rising, are in @ret, which has room for @count. */
size_t filter_select(struct filter *filter, const struct record *records,
		     size_t count, filter_place *ret);

/* Whether a condition, or a filter, holds for all of some allocations, for none,
   or that is not known. */
enum filter_verdict {
	VERDICT_NO,
	VERDICT_YES,
	VERDICT_UNKNOWN,
};

/* filter_match() of allocations that the trace has only in sums.  Those that a
   condition surely rejects count as removed by it. */
enum filter_verdict filter_decide(struct filter *filter,
				  const struct culled *culled);

uint64_t filter_regex_failures(const struct filter *filter);

/**
 * struct filter_count - one condition of a filter, in the order of testing
 * @text:    as written, "size_min = 1GiB"; keys that are tested together are
 *           joined by commas
 * @removed: records that it was the first to reject
 *
 * Sum of @removed + records that passed == records tested.
 */
struct filter_count {
	const char *text;
	uint64_t removed;
};

/* Return: whether there is a condition @index; *@ret is it, valid as long as
   @filter. */
bool filter_count_get(const struct filter *filter, size_t index,
		      struct filter_count *ret);

/* Return: "Nothing passed: of 7 allocations, size_min = 1GiB removed 5, lifetime =
   only_leaked removed 2", the condition that removed most first, with records
   tested taken for allocations; to be asked when none passed.  Owned by @arena;
   NULL when out of memory. */
const char *filter_explain(const struct filter *filter, struct arena *arena);

#endif /* REPORT_FILTER_FILTER_H */
