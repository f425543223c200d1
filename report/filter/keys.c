/* SPDX-License-Identifier: MIT */
/* The table of filter keys, and terms made of them. */
#include <errno.h>
#include <string.h>

#include "report/core/arena.h"
#include "report/core/diag.h"
#include "report/filter/filter.h"
#include "report/filter/value.h"

static const char *const lifetime_words[] = {
	[LIFETIME_ALL] = "all",
	[LIFETIME_ONLY_LEAKED] = "only_leaked",
	[LIFETIME_ONLY_TEMPORARY] = "only_temporary",
	[LIFETIME_NOT_FREED_IN_RANGE] =
		"only_not_deallocated_in_current_range",
	[LIFETIME_FREED_IN_RANGE] = "only_deallocated_in_current_range",
	[LIFETIME_WHOLE_GROUP_LEAKED] = "only_whole_group_leaked",
	[LIFETIME_CHAIN_LEAKED] = "only_chain_leaked",
	NULL,
};

static const char *const temporary_words[] = {
	[TEMPORARY_HEAPTRACK] = "heaptrack",
	[TEMPORARY_FREED] = "freed",
	NULL,
};

static const char *const mmaped_words[] = {
	[MMAPED_YES] = "yes",
	[MMAPED_NO] = "no",
	NULL,
};

static const char *const permission_words[] = {
	[PERMISSION_YES] = "yes",
	[PERMISSION_NO] = "no",
	NULL,
};

static const char *const arena_words[] = {
	[ARENA_MAIN] = "main",
	[ARENA_NON_MAIN] = "non_main",
	[ARENA_OTHER] = "other",
	NULL,
};

#define ROW(subject_, test_, kind_)                                            \
	.subject = SUBJECT_##subject_, .test = TEST_##test_,                   \
	.kind = KIND_##kind_
#define MIN(subject, kind) ROW(subject, MIN, kind)
#define MAX(subject, kind) ROW(subject, MAX, kind)
#define IS(subject, kind)  ROW(subject, IS, kind)
#define NOT(subject, kind) ROW(subject, NOT, kind)
#define ANY(subject, kind) ROW(subject, ANY, kind)
#define OFTEN .repeats = true

const struct filter_key filter_keys[] = {
	{ "from", "TIME", "allocated at this moment or later",
	  MIN(FROM, TIME) },
	{ "to", "TIME", "allocated at this moment or earlier",
	  MAX(TO, TIME) },
	{ "alive_at", "TIME", "allocated by then and not yet freed",
	  IS(ALIVE_AT, TIME), .negated = "not_alive_at" },
	{ "alive_at_2", "TIME", "alive at a second moment as well",
	  IS(ALIVE_AT, TIME), .negated = "not_alive_at_2" },
	{ "lifetime", "WORD", "only_leaked, only_temporary (freed), …",
	  IS(LIFETIME_WORD, WORD), .negated = "not_lifetime",
	  .words = lifetime_words, .what = "a lifetime" },
	{ "lifetime_min", "DURATION", "lived this long or longer",
	  MIN(LIFETIME, DURATION) },
	{ "lifetime_max", "DURATION", "lived this long or shorter",
	  MAX(LIFETIME, DURATION) },
	{ "temporary", "WORD", "heaptrack (freed at once) or freed",
	  IS(TEMPORARY, WORD), .negated = "not_temporary",
	  .words = temporary_words, .what = "a meaning of temporary" },
	{ "size_min", "BYTES", "requested size is this or more",
	  MIN(SIZE, BYTES) },
	{ "size_max", "BYTES", "requested size is this or less",
	  MAX(SIZE, BYTES) },
	{ "usable_size_min", "BYTES", "usable size is this or more",
	  MIN(USABLE_SIZE, BYTES) },
	{ "usable_size_max", "BYTES", "usable size is this or less",
	  MAX(USABLE_SIZE, BYTES) },
	{ "address_min", "NUMBER", "begins at this address or above",
	  MIN(ADDRESS, NUMBER) },
	{ "address_max", "NUMBER", "begins at this address or below",
	  MAX(ADDRESS, NUMBER) },
	{ "mmaped", "WORD", "yes: glibc gave it a map of its own; no",
	  IS(MMAPED, WORD), .negated = "not_mmaped", .words = mmaped_words,
	  .what = "an answer" },
	{ "arena", "WORD", "of glibc: main, non_main; or other",
	  IS(ARENA, WORD), .negated = "not_arena", .words = arena_words,
	  .what = "an arena" },
	{ "first_size_min", "BYTES", "first of its realloc chain: this or more",
	  MIN(FIRST_SIZE, BYTES) },
	{ "first_size_max", "BYTES", "first of its realloc chain: this or less",
	  MAX(FIRST_SIZE, BYTES) },
	{ "last_size_min", "BYTES", "last of its realloc chain: this or more",
	  MIN(LAST_SIZE, BYTES) },
	{ "last_size_max", "BYTES", "last of its realloc chain: this or less",
	  MAX(LAST_SIZE, BYTES) },
	{ "chain_length_min", "NUMBER", "its chain has this many or more",
	  MIN(CHAIN_LENGTH, NUMBER) },
	{ "chain_length_max", "NUMBER", "its chain has this many or fewer",
	  MAX(CHAIN_LENGTH, NUMBER) },
	{ "position_in_chain_min", "NUMBER", "this many reallocs before it",
	  MIN(POSITION_IN_CHAIN, NUMBER) },
	{ "position_in_chain_max", "NUMBER", "no more reallocs before it",
	  MAX(POSITION_IN_CHAIN, NUMBER) },
	{ "chain_lifetime_min", "DURATION", "its chain lived this or longer",
	  MIN(CHAIN_LIFETIME, DURATION) },
	{ "chain_lifetime_max", "DURATION", "its chain lived this or shorter",
	  MAX(CHAIN_LIFETIME, DURATION) },
	{ "group_allocations_min", "NUMBER", "its call stack made this many",
	  MIN(GROUP_ALLOCATIONS, NUMBER) },
	{ "group_allocations_max", "NUMBER", "its call stack made no more",
	  MAX(GROUP_ALLOCATIONS, NUMBER) },
	{ "group_leaked_allocations_min", "QUOTA",
	  "its call stack leaked this many, or percent",
	  MIN(GROUP_LEAKED, QUOTA) },
	{ "group_leaked_allocations_max", "QUOTA",
	  "its call stack leaked no more, or percent",
	  MAX(GROUP_LEAKED, QUOTA) },
	{ "group_interval_min", "SPAN", "its call stack's first to last: or more",
	  MIN(GROUP_INTERVAL, SPAN) },
	{ "group_interval_max", "SPAN", "its call stack's first to last: or less",
	  MAX(GROUP_INTERVAL, SPAN) },
	{ "group_max_total_usage_first_seen_min", "TIME",
	  "its call stack held most then or later",
	  MIN(GROUP_MAX_USAGE, TIME) },
	{ "group_max_total_usage_first_seen_max", "TIME",
	  "its call stack held most then or earlier",
	  MAX(GROUP_MAX_USAGE, TIME) },
	{ "marker", "LIST", "allocated after so many markers",
	  IS(MARKER, NUMBERS), OFTEN, .negated = "not_marker" },
	{ "backtraces", "LIST", "allocated by one of these backtraces",
	  IS(BACKTRACE, NUMBERS), OFTEN, .negated = "not_backtraces" },
	{ "deallocation_backtraces", "LIST", "freed by one of these backtraces",
	  IS(FREE_BACKTRACE, NUMBERS), OFTEN,
	  .negated = "not_deallocation_backtraces" },
	{ "from_map", "LIST", "lies in one of these maps",
	  IS(MAP, NUMBERS), OFTEN, .negated = "not_from_map" },
	{ "readable", "WORD", "of mmaps: yes, can be read from; no",
	  IS(READABLE, WORD), .words = permission_words, .what = "an answer" },
	{ "writable", "WORD", "of mmaps: yes, can be written to; no",
	  IS(WRITABLE, WORD), .words = permission_words, .what = "an answer" },
	{ "executable", "WORD", "of mmaps: yes, can hold code that runs; no",
	  IS(EXECUTABLE, WORD), .words = permission_words,
	  .what = "an answer" },
	{ "use", "LIST", "passes all of these filters", IS(FILTER, FILTERS) },
	{ "use_any", "LIST", "passes at least one of these filters",
	  ANY(FILTER, FILTERS) },
	{ "not_use", "LIST", "passes none of these filters",
	  NOT(FILTER, FILTERS) },
	{ "thread", "LIST", "allocated by one of these threads",
	  IS(THREAD, NUMBERS), OFTEN, .negated = "not_thread" },
	{ "thread_name", "REGEX", "name of the allocating thread matches",
	  IS(THREAD_NAME, REGEX), OFTEN, .negated = "not_thread_name" },
	{ "backtrace_depth_min", "NUMBER", "this many frames or more",
	  MIN(DEPTH, NUMBER) },
	{ "backtrace_depth_max", "NUMBER", "this many frames or fewer",
	  MAX(DEPTH, NUMBER) },
	{ "function_regex", "REGEX", "some frame's function matches",
	  IS(FUNCTION, REGEX), OFTEN },
	{ "source_regex", "REGEX", "some frame's source path matches",
	  IS(SOURCE, REGEX), OFTEN },
	{ "library_regex", "REGEX", "some frame's library matches",
	  IS(LIBRARY, REGEX), OFTEN },
	{ "negative_function_regex", "REGEX", "no frame's function matches",
	  NOT(FUNCTION, REGEX), OFTEN },
	{ "negative_source_regex", "REGEX", "no frame's source path matches",
	  NOT(SOURCE, REGEX), OFTEN },
	{ "negative_library_regex", "REGEX", "no frame's library matches",
	  NOT(LIBRARY, REGEX), OFTEN },
};

const size_t filter_key_count = sizeof(filter_keys) / sizeof(filter_keys[0]);

const struct filter_key *filter_key_find(const char *name, bool *ret_negated)
{
	for (size_t i = 0; i < filter_key_count; i++) {
		const struct filter_key *key = &filter_keys[i];
		bool negated = key->negated && strcmp(key->negated, name) == 0;

		if (!negated && strcmp(key->name, name) != 0)
			continue;
		if (ret_negated)
			*ret_negated = negated;
		return key;
	}
	return NULL;
}

bool filter_key_names_sections(const struct filter_key *key)
{
	return key->kind == KIND_FILTERS;
}

enum filter_rows filter_key_rows(const struct filter_key *key)
{
	switch (key->subject) {
	case SUBJECT_FROM:
	case SUBJECT_TO:
	case SUBJECT_ALIVE_AT:
	case SUBJECT_LIFETIME_WORD:
	case SUBJECT_LIFETIME:
	case SUBJECT_SIZE:
	case SUBJECT_ADDRESS:
	case SUBJECT_THREAD:
	case SUBJECT_THREAD_NAME:
	case SUBJECT_BACKTRACE:
	case SUBJECT_FREE_BACKTRACE:
	case SUBJECT_DEPTH:
	case SUBJECT_FUNCTION:
	case SUBJECT_SOURCE:
	case SUBJECT_LIBRARY:
	case SUBJECT_FILTER:
		return FILTER_BOTH;
	case SUBJECT_READABLE:
	case SUBJECT_WRITABLE:
	case SUBJECT_EXECUTABLE:
		return FILTER_MAPS;
	case SUBJECT_TEMPORARY:
	case SUBJECT_USABLE_SIZE:
	case SUBJECT_MMAPED:
	case SUBJECT_ARENA:
	case SUBJECT_MARKER:
	case SUBJECT_MAP:
	case SUBJECT_POSITION_IN_CHAIN:
	case SUBJECT_FIRST_SIZE:
	case SUBJECT_LAST_SIZE:
	case SUBJECT_CHAIN_LENGTH:
	case SUBJECT_CHAIN_LIFETIME:
	case SUBJECT_GROUP_ALLOCATIONS:
	case SUBJECT_GROUP_LEAKED:
	case SUBJECT_GROUP_INTERVAL:
	case SUBJECT_GROUP_MAX_USAGE:
		break;
	}
	return FILTER_ALLOCATIONS;
}

#define OF_MAPS                                                                \
	"a trace has resident memory by kind and path, not by map: mappings "  \
	"lists it"

/* Keys of bytehound that its users may try, and why they are not here. */
const char *filter_key_refusal(const char *name)
{
	static const struct {
		const char *name;
		const char *why;
	} rows[] = {
		{ "jemalloc", "a trace does not tell allocators other than "
			      "glibc's from one another; arena = other is all "
			      "of them" },
		{ "peak_rss_min", OF_MAPS },
		{ "peak_rss_max", OF_MAPS },
		{ "bytehound", "the tracer's own maps are not in a trace" },
		{ "custom_filter", "there are no scripts here; filters are "
				   "combined with use, use_any, not_use" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].name, name) == 0)
			return rows[i].why;
	return NULL;
}

static struct filter_term *term_push(struct filter_spec *spec,
				     struct arena *arena)
{
	size_t capacity = spec->capacity ? spec->capacity * 2 : 8;
	struct filter_term *grown;

	if (spec->count == spec->capacity) {
		grown = arena_array(arena, capacity, sizeof(*grown));
		if (!grown)
			return NULL;
		if (spec->count)
			memcpy(grown, spec->terms,
			       spec->count * sizeof(*grown));
		spec->terms = grown;
		spec->capacity = capacity;
	}
	return &spec->terms[spec->count++];
}

int filter_spec_set(struct filter_spec *spec, const struct filter_key *key,
		    bool is_negated, const char *value, uint32_t line,
		    struct arena *arena, struct diag *diag)
{
	struct filter_term term = {
		.key = key,
		.is_negated = is_negated,
		.line = line,
	};
	struct filter_term *slot;
	int status = value_parse(&term.value, key, value, arena, diag);

	if (status < 0)
		return status;
	term.written = arena_copy(arena, value, strlen(value));
	slot = term_push(spec, arena);
	if (!term.written || !slot)
		return diag_set(diag, -ENOMEM, NULL, DIAG_NO_OFFSET,
				"out of memory");
	*slot = term;
	return 0;
}

const struct filter_term *filter_spec_find(const struct filter_spec *spec,
					   const char *name)
{
	for (size_t i = 0; i < spec->count; i++)
		if (strcmp(spec->terms[i].key->name, name) == 0 &&
		    !spec->terms[i].is_negated)
			return &spec->terms[i];
	return NULL;
}

/* The upper bound that belongs to the lower bound @min, NULL if none is set. */
static const struct filter_term *upper_of(const struct filter_spec *spec,
					  const struct filter_term *min)
{
	enum filter_subject subject = min->key->subject == SUBJECT_FROM
					      ? SUBJECT_TO
					      : min->key->subject;

	for (size_t i = 0; i < spec->count; i++)
		if (spec->terms[i].key->test == TEST_MAX &&
		    spec->terms[i].key->subject == subject)
			return &spec->terms[i];
	return NULL;
}

/* a/10^p > b/10^q, exactly. */
static bool share_is_greater(struct filter_share a, struct filter_share b)
{
	__extension__ unsigned __int128 x = a.digits, y = b.digits;

	for (; a.places < b.places; a.places++)
		x *= 10;
	for (; b.places < a.places; b.places++)
		y *= 10;
	return x > y;
}

/* Whether no value can reach @min without passing @max. */
static bool is_above(const struct filter_term *min,
		     const struct filter_term *max)
{
	const struct filter_value *a = &min->value, *b = &max->value;

	switch (min->key->kind) {
	case KIND_BYTES:
	case KIND_NUMBER:
		return a->number > b->number;
	case KIND_QUOTA:
		if (a->is_share != b->is_share)
			return false;
		return a->is_share ? share_is_greater(a->share, b->share)
				   : a->number > b->number;
	case KIND_TIME:
	case KIND_DURATION:
	case KIND_SPAN:
		return a->time.kind == b->time.kind &&
		       a->time.value > b->time.value;
	case KIND_WORD:
	case KIND_REGEX:
	case KIND_NUMBERS:
	case KIND_FILTERS:
		break;
	}
	return false;
}

/* Refuses @term if nothing can pass it, or it and its upper bound. */
static int term_check(const struct filter_spec *spec,
		      const struct filter_term *term, struct diag *diag)
{
	const struct filter_term *upper;

	if (term->key->subject == SUBJECT_LIFETIME_WORD && term->is_negated &&
	    term->value.number == LIFETIME_ALL)
		return diag_set_line(diag, -EINVAL, NULL, term->line,
				     "not_lifetime = all: nothing could "
				     "pass; allowed: the other lifetimes");
	upper = term->key->test == TEST_MIN ? upper_of(spec, term) : NULL;
	if (!upper || !is_above(term, upper))
		return 0;
	return diag_set_line(diag, -EINVAL, NULL,
			     term->line > upper->line ? term->line
						      : upper->line,
			     "%s = %s is %s than %s = %s: nothing could "
			     "pass; allowed: %s up to %s",
			     term->key->name, term->written,
			     term->key->kind == KIND_TIME ? "later" : "greater",
			     upper->key->name, upper->written, term->key->name,
			     upper->written);
}

int filter_spec_check(const struct filter_spec *spec, size_t *at,
		      struct diag *diag)
{
	int status = 0;

	while (status == 0 && *at < spec->count)
		status = term_check(spec, &spec->terms[(*at)++], diag);
	return status;
}

static unsigned lifetime_needs(uint64_t lifetime)
{
	switch ((enum filter_lifetime)lifetime) {
	case LIFETIME_WHOLE_GROUP_LEAKED:
		return NEED_GROUPS;
	case LIFETIME_CHAIN_LEAKED:
		return NEED_CHAINS;
	case LIFETIME_ALL:
	case LIFETIME_ONLY_LEAKED:
	case LIFETIME_ONLY_TEMPORARY:
	case LIFETIME_NOT_FREED_IN_RANGE:
	case LIFETIME_FREED_IN_RANGE:
		break;
	}
	return 0;
}

static unsigned term_needs(const struct filter_term *term)
{
	switch (term->key->subject) {
	case SUBJECT_LIFETIME_WORD:
		return lifetime_needs(term->value.number);
	case SUBJECT_LAST_SIZE:
	case SUBJECT_CHAIN_LENGTH:
	case SUBJECT_CHAIN_LIFETIME:
		return NEED_CHAINS;
	case SUBJECT_GROUP_ALLOCATIONS:
	case SUBJECT_GROUP_LEAKED:
	case SUBJECT_GROUP_INTERVAL:
	case SUBJECT_GROUP_MAX_USAGE:
		return NEED_GROUPS;
	case SUBJECT_MAP:
		return NEED_MAPS;
	case SUBJECT_TEMPORARY:
	case SUBJECT_FROM:
	case SUBJECT_TO:
	case SUBJECT_ALIVE_AT:
	case SUBJECT_SIZE:
	case SUBJECT_READABLE:
	case SUBJECT_WRITABLE:
	case SUBJECT_EXECUTABLE:
	case SUBJECT_USABLE_SIZE:
	case SUBJECT_ADDRESS:
	case SUBJECT_MMAPED:
	case SUBJECT_ARENA:
	case SUBJECT_LIFETIME:
	case SUBJECT_THREAD:
	case SUBJECT_THREAD_NAME:
	case SUBJECT_MARKER:
	case SUBJECT_BACKTRACE:
	case SUBJECT_FREE_BACKTRACE:
	case SUBJECT_POSITION_IN_CHAIN:
	case SUBJECT_FIRST_SIZE:
	case SUBJECT_FILTER:
	case SUBJECT_DEPTH:
	case SUBJECT_FUNCTION:
	case SUBJECT_SOURCE:
	case SUBJECT_LIBRARY:
		break;
	}
	return 0;
}

unsigned filter_needs(const struct filter_spec *spec)
{
	unsigned needs = 0;

	for (size_t i = 0; i < spec->count; i++) {
		const struct filter_value *value = &spec->terms[i].value;

		needs |= term_needs(&spec->terms[i]);
		if (value->time.kind == TIME_PEAK)
			needs |= NEED_PEAK;
		for (size_t k = 0; k < value->filters.count; k++)
			if (value->filters.items[k].spec)
				needs |= filter_needs(
					value->filters.items[k].spec);
	}
	return needs;
}

bool filter_is_of_peak(const struct filter_spec *spec)
{
	for (size_t i = 0; i < spec->count; i++) {
		const struct filter_term *term = &spec->terms[i];

		if (term->key->subject == SUBJECT_ALIVE_AT &&
		    !term->key->repeats && !term->is_negated &&
		    term->value.time.kind == TIME_PEAK)
			return true;
	}
	return false;
}
