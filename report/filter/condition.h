/* SPDX-License-Identifier: MIT */
/*
 * One compiled condition of a filter.
 *
 * Layer: filter.
 */
#ifndef REPORT_FILTER_CONDITION_H
#define REPORT_FILTER_CONDITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/engine/map_piece.h"
#include "report/filter/chunk.h"
#include "report/filter/filter.h"
#include "report/filter/moment.h"

struct stack_regex;

enum condition_kind {
	CONDITION_RANGE,  /* min <= the subject's value <= max */
	CONDITION_LIST,   /* the subject's value is in the list */
	CONDITION_FROM,   /* allocated at or after .moment */
	CONDITION_TO,     /* allocated at or before .moment */
	CONDITION_ALIVE,  /* alive at .moment */
	CONDITION_FREED,  /* freed from .moment to .until */
	CONDITION_CHAIN_LEAKED,
	CONDITION_GROUPS, /* the record's group is among them */
	CONDITION_MAPS,   /* the block lies in one of the maps */
	CONDITION_FRAMES, /* a frame of the stack matches */
	CONDITION_FILTERS, /* at least one of them passes */
};

/* @reach: where this piece or one before it ends last. */
struct condition_map {
	struct map_piece piece;
	uint64_t reach;
};

/**
 * struct condition
 * @is_negated: rejects what is said here, passes the rest
 * @text:       as written
 * @removed:    see struct filter_count
 * @mapped:     on arenas: where those other than the main one are
 * @list:       rising; @list_count of them
 * @groups:     one byte a group, not 0 for those that pass
 * @maps:       by address
 * @depths:     by node: frames up to the root + 1; 0 not known yet
 *
 * What is owned is freed by condition_done(), @text by the filter's arena.
 */
struct condition {
	enum condition_kind kind;
	enum filter_subject subject;
	bool is_negated;
	const char *text;
	uint64_t removed;
	uint64_t min;
	uint64_t max;
	struct moment moment;
	struct moment until;
	struct chunk_area mapped;
	uint64_t *list;
	size_t list_count;
	uint8_t *groups;
	size_t group_count;
	struct condition_map *maps;
	size_t map_count;
	struct stack_regex *frames;
	struct filter **filters;
	size_t filter_count;
	struct {
		uint32_t *items;
		size_t count;
		size_t capacity;
	} depths;
};

void condition_done(struct condition *condition);

/* Whether @record meets @condition, @is_negated considered. @context: as given
   to filter_new(), its @groups not used. */
bool condition_match(struct condition *condition,
		     const struct filter_context *context,
		     const struct record *record);

/* The same of allocations that the trace has only in sums; culled.c. */
enum filter_verdict condition_decide(struct condition *condition,
				     const struct filter_context *context,
				     const struct culled *culled);

/* Keeps those of records[of[0 … count - 1]] that condition_match() accepts.
   Return: how many. */
size_t condition_select(struct condition *condition,
			const struct filter_context *context,
			const struct record *records, filter_place *of,
			size_t count);

/* Return: searches of its regular expressions that were given up. */
uint64_t condition_failures(const struct condition *condition);

/**
 * condition_select_groups() - fill @groups of a condition on groups
 * @term: of a subject SUBJECT_GROUP_…, or the lifetime
 *        LIFETIME_WHOLE_GROUP_LEAKED
 *
 * Return: 0 or -ENOMEM.
 */
int condition_select_groups(struct condition *condition,
			    const struct filter_term *term,
			    const struct filter_context *context);

/* Whether @list of a condition has @value. */
bool condition_list_has(const struct condition *condition, uint64_t value);

/* Fills @maps of a condition with those of @pieces whose owner is in @list.
   Return: 0 or -ENOMEM. */
int condition_select_maps(struct condition *condition,
			  const struct map_pieces *pieces);

/* Whether the block of @record began within @maps when it was allocated. */
bool condition_match_maps(const struct condition *condition,
			  const struct record *record);

#endif /* REPORT_FILTER_CONDITION_H */
