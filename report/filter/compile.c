/* SPDX-License-Identifier: MIT */
#include "report/filter/compile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/vec.h"
#include "report/event/run.h"
#include "report/filter/pattern.h"
#include "report/filter/stack_regex.h"

/* What the functions below compile. */
struct compiling {
	const struct filter_spec *spec;
	struct filter *filter;
	struct diag *diag;
};

static int no_memory(struct diag *diag)
{
	return diag_set(diag, -ENOMEM, NULL, DIAG_NO_OFFSET, "out of memory");
}

static int cannot_answer(struct compiling *compiling,
			 const struct filter_term *term, const char *why)
{
	return diag_set_line(compiling->diag, -EINVAL, NULL, term->line,
			     "%s: %s", term->key->name, why);
}

/* Adds "KEY = VALUE" of @term to what @condition says it is. */
static int text_add(struct compiling *compiling, struct condition *condition,
		    const struct filter_term *term)
{
	const char *name = term->is_negated ? term->key->negated
					    : term->key->name;
	struct arena *arena = &compiling->filter->arena;

	condition->text = condition->text
				  ? arena_printf(arena, "%s, %s = %s",
						 condition->text, name,
						 term->written)
				  : arena_printf(arena, "%s = %s", name,
						 term->written);
	return condition->text ? 0 : no_memory(compiling->diag);
}

/* Return: a new condition that @term is the text of; NULL when out of memory. */
static struct condition *condition_push(struct compiling *compiling,
					const struct filter_term *term,
					enum condition_kind kind)
{
	struct condition *condition = vec_push(compiling->filter);

	if (!condition) {
		no_memory(compiling->diag);
		return NULL;
	}
	condition->kind = kind;
	condition->subject = term->key->subject;
	condition->is_negated = term->is_negated;
	condition->max = UINT64_MAX;
	return text_add(compiling, condition, term) ? NULL : condition;
}

static bool is_same_key(const struct filter_term *a,
			const struct filter_term *b)
{
	return a->key == b->key && a->is_negated == b->is_negated;
}

/* Whether an earlier term of the key has taken @term with it. */
static bool is_repeated(const struct filter_spec *spec,
			const struct filter_term *term)
{
	for (const struct filter_term *t = spec->terms; t < term; t++)
		if (is_same_key(t, term))
			return true;
	return false;
}

/* --- one kind of condition after another --- */

static int add_range(struct compiling *compiling,
		     const struct filter_term *term)
{
	const struct run *run = compiling->filter->context.run;
	bool is_min = term->key->test == TEST_MIN;
	uint64_t value = term->value.number;
	struct condition *condition;

	if (term->key->subject == SUBJECT_USABLE_SIZE && !run->has_usable)
		return cannot_answer(compiling, term,
				     "the trace does not hold usable sizes");
	if (term->key->kind == KIND_DURATION)
		value = moment_duration_ns(&term->value.time);
	condition = condition_push(compiling, term, CONDITION_RANGE);
	if (!condition)
		return -ENOMEM;
	*(is_min ? &condition->min : &condition->max) = value;
	return 0;
}

static int add_moment(struct compiling *compiling,
		      const struct filter_term *term)
{
	const struct filter_context *context = &compiling->filter->context;
	const struct time_point *time = &term->value.time;
	struct condition *condition =
		condition_push(compiling, term, CONDITION_ALIVE);

	if (!condition)
		return -ENOMEM;
	if (term->key->subject == SUBJECT_FROM) {
		condition->kind = CONDITION_FROM;
		condition->moment = moment_make_lower(time, context);
	} else if (term->key->subject == SUBJECT_TO) {
		condition->kind = CONDITION_TO;
		condition->moment = moment_make_upper(time, context);
	} else {
		condition->moment = moment_make(time, context, ROUND_DOWN);
	}
	return 0;
}

/* A condition that holds for @value of its subject only. */
static void set_only(struct condition *condition, uint64_t value)
{
	condition->kind = CONDITION_RANGE;
	condition->min = value;
	condition->max = value;
}

static void set_freed_range(struct compiling *compiling,
			    struct condition *condition)
{
	const struct filter_context *context = &compiling->filter->context;
	const struct filter_term *from =
		filter_spec_find(compiling->spec, "from");
	const struct filter_term *to = filter_spec_find(compiling->spec, "to");

	condition->kind = CONDITION_FREED;
	if (from)
		condition->moment =
			moment_make_lower(&from->value.time, context);
	if (to)
		condition->until = moment_make_upper(&to->value.time, context);
}

static int add_lifetime(struct compiling *compiling,
			const struct filter_term *term)
{
	enum filter_lifetime word = (enum filter_lifetime)term->value.number;
	struct condition *condition;

	if (word == LIFETIME_ALL)
		return 0;
	condition = condition_push(compiling, term, CONDITION_RANGE);
	if (!condition)
		return -ENOMEM;
	switch (word) {
	case LIFETIME_ALL:
		break;
	case LIFETIME_ONLY_LEAKED:
		set_only(condition, true);
		break;
	case LIFETIME_ONLY_TEMPORARY:
		set_only(condition, false);
		break;
	case LIFETIME_NOT_FREED_IN_RANGE:
		condition->is_negated = !condition->is_negated;
		set_freed_range(compiling, condition);
		break;
	case LIFETIME_FREED_IN_RANGE:
		set_freed_range(compiling, condition);
		break;
	case LIFETIME_WHOLE_GROUP_LEAKED:
		condition->kind = CONDITION_GROUPS;
		return condition_select_groups(condition, term,
					       &compiling->filter->context);
	case LIFETIME_CHAIN_LEAKED:
		condition->kind = CONDITION_CHAIN_LEAKED;
		break;
	}
	return 0;
}

static int add_temporary(struct compiling *compiling,
			 const struct filter_term *term)
{
	struct condition *condition =
		condition_push(compiling, term, CONDITION_RANGE);

	if (!condition)
		return -ENOMEM;
	set_only(condition, true);
	if (term->value.number == TEMPORARY_FREED) {
		condition->subject = SUBJECT_LIFETIME_WORD;
		set_only(condition, false);
	}
	return 0;
}

/* The value is the position of the word. */
static int add_word(struct compiling *compiling, const struct filter_term *term)
{
	struct condition *condition =
		condition_push(compiling, term, CONDITION_RANGE);

	if (!condition)
		return -ENOMEM;
	set_only(condition, term->value.number);
	return 0;
}

/* What is told by addresses and usable sizes. */
static int add_chunk(struct compiling *compiling,
		     const struct filter_term *term)
{
	const struct run *run = compiling->filter->context.run;
	struct chunk_area mapped = { 0 };
	struct condition *condition;

	if (!run->has_usable)
		return cannot_answer(compiling, term,
				     "the trace does not hold usable sizes");
	if (term->key->subject == SUBJECT_ARENA &&
	    !chunk_area_find(run, &mapped))
		return cannot_answer(compiling, term,
				     "the trace does not say where the "
				     "program and its libraries were");
	condition = condition_push(compiling, term, CONDITION_RANGE);
	if (!condition)
		return -ENOMEM;
	condition->mapped = mapped;
	set_only(condition, term->value.number);
	if (term->key->subject == SUBJECT_MMAPED)
		set_only(condition, term->value.number == MMAPED_YES
					    ? CHUNK_MAPPED
					    : CHUNK_OF_ARENA);
	return 0;
}

static int add_groups(struct compiling *compiling,
		      const struct filter_term *term)
{
	struct condition *condition =
		condition_push(compiling, term, CONDITION_GROUPS);

	if (!condition || condition_select_groups(condition, term,
						  &compiling->filter->context))
		return no_memory(compiling->diag);
	return 0;
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* All lists of the key are one. */
static int add_list(struct compiling *compiling, const struct filter_term *term)
{
	const struct filter_spec *spec = compiling->spec;
	const struct filter_term *end = spec->terms + spec->count;
	struct condition *condition;
	size_t count = 0;

	if (is_repeated(spec, term))
		return 0;
	if (term->key->subject == SUBJECT_FREE_BACKTRACE &&
	    !compiling->filter->context.run->has_free_stacks)
		return cannot_answer(compiling, term,
				     "the trace does not hold stacks of frees");
	condition = condition_push(compiling, term, CONDITION_LIST);
	if (!condition)
		return -ENOMEM;
	for (const struct filter_term *t = term; t < end; t++)
		if (is_same_key(t, term))
			count += t->value.numbers.count;
	condition->list = calloc(count + 1, sizeof(*condition->list));
	if (!condition->list)
		return no_memory(compiling->diag);
	for (const struct filter_term *t = term; t < end; t++) {
		if (!is_same_key(t, term))
			continue;
		memcpy(condition->list + condition->list_count,
		       t->value.numbers.items,
		       t->value.numbers.count * sizeof(*condition->list));
		condition->list_count += t->value.numbers.count;
		if (t != term && text_add(compiling, condition, t))
			return -ENOMEM;
	}
	qsort(condition->list, condition->list_count, sizeof(*condition->list),
	      compare_numbers);
	return 0;
}

/* The list says which maps. */
static int add_maps(struct compiling *compiling, const struct filter_term *term)
{
	const struct filter_context *context = &compiling->filter->context;
	size_t before = compiling->filter->count;
	struct condition *condition;
	int status;

	if (context->maps->is_cut)
		return cannot_answer(compiling, term,
				     "the trace has too many maps");
	status = add_list(compiling, term);
	if (status || compiling->filter->count == before)
		return status;
	condition = &compiling->filter->items[before];
	condition->kind = CONDITION_MAPS;
	return condition_select_maps(condition, context->maps)
		       ? no_memory(compiling->diag)
		       : 0;
}

/* Adds the threads whose name @text matches; those without name have none. */
static int select_threads(struct compiling *compiling,
			  struct condition *condition, const char *text)
{
	const struct run *run = compiling->filter->context.run;
	struct pattern *pattern = pattern_new(text, compiling->diag);

	if (!pattern)
		return -EINVAL;
	for (size_t i = 0; i < run->thread_count; i++)
		if (run->threads[i].name[0] &&
		    pattern_match(pattern, run->threads[i].name))
			condition->list[condition->list_count++] =
				run->threads[i].number;
	compiling->filter->failures += pattern_failures(pattern);
	pattern_free(pattern);
	return 0;
}

static int add_thread_names(struct compiling *compiling,
			    const struct filter_term *term)
{
	const struct filter_spec *spec = compiling->spec;
	const struct run *run = compiling->filter->context.run;
	struct condition *condition;
	int status = 0;

	if (is_repeated(spec, term))
		return 0;
	condition = condition_push(compiling, term, CONDITION_LIST);
	if (!condition)
		return -ENOMEM;
	condition->list = calloc(run->thread_count * spec->count + 1,
				 sizeof(*condition->list));
	if (!condition->list)
		return no_memory(compiling->diag);
	for (size_t i = 0; status == 0 && i < spec->count; i++) {
		const struct filter_term *t = &spec->terms[i];

		if (!is_same_key(t, term))
			continue;
		status = select_threads(compiling, condition, t->value.text);
		if (status == 0 && t != term)
			status = text_add(compiling, condition, t);
	}
	qsort(condition->list, condition->list_count, sizeof(*condition->list),
	      compare_numbers);
	return status;
}

static enum stack_text stack_text_of(enum filter_subject subject)
{
	if (subject == SUBJECT_FUNCTION)
		return STACK_TEXT_FUNCTION;
	return subject == SUBJECT_SOURCE ? STACK_TEXT_SOURCE
					 : STACK_TEXT_LIBRARY;
}

/* Whether @b is about the same frame as @a: all that a frame must match, or one
   of the keys of what no frame may. */
static bool is_same_frame(const struct filter_term *a,
			  const struct filter_term *b)
{
	if (b->key->subject < SUBJECT_FUNCTION ||
	    a->key->test != b->key->test)
		return false;
	return a->key->test == TEST_IS || a->key == b->key;
}

static int add_frames(struct compiling *compiling,
		      const struct filter_term *term)
{
	const struct filter_spec *spec = compiling->spec;
	const struct filter_context *context = &compiling->filter->context;
	struct condition *condition;
	int status = 0;

	for (const struct filter_term *t = spec->terms; t < term; t++)
		if (is_same_frame(term, t))
			return 0;
	condition = condition_push(compiling, term, CONDITION_FRAMES);
	if (!condition)
		return -ENOMEM;
	condition->is_negated = term->key->test == TEST_NOT;
	condition->frames = stack_regex_new(context->stacks, context->symbols);
	if (!condition->frames)
		return no_memory(compiling->diag);
	for (size_t i = 0; status == 0 && i < spec->count; i++) {
		const struct filter_term *t = &spec->terms[i];

		if (!is_same_frame(term, t))
			continue;
		status = stack_regex_add(condition->frames,
					 stack_text_of(t->key->subject),
					 t->value.text, compiling->diag);
		if (status == 0 && t != term)
			status = text_add(compiling, condition, t);
	}
	return status;
}

/* A condition made of @count filters, at least one of which must pass. */
static int push_filters(struct compiling *compiling,
			const struct filter_term *term,
			const struct filter_use *uses, size_t count)
{
	struct condition *condition =
		condition_push(compiling, term, CONDITION_FILTERS);

	if (!condition)
		return -ENOMEM;
	condition->is_negated = term->key->test == TEST_NOT;
	condition->filters = calloc(count + 1, sizeof(*condition->filters));
	if (!condition->filters)
		return no_memory(compiling->diag);
	for (size_t i = 0; i < count; i++) {
		struct filter *filter = filter_new(uses[i].spec,
						   &compiling->filter->context,
						   compiling->diag);

		if (!filter)
			return -EINVAL;
		condition->filters[condition->filter_count++] = filter;
	}
	return 0;
}

/* `use` and `not_use` are one condition a name, so that it is seen which of them
   rejects. */
static int add_filters(struct compiling *compiling,
		       const struct filter_term *term)
{
	const struct filter_use *uses = term->value.filters.items;
	size_t count = term->value.filters.count;
	int status = 0;

	if (term->key->test == TEST_ANY)
		return push_filters(compiling, term, uses, count);
	for (size_t i = 0; status == 0 && i < count; i++) {
		struct filter_term one = *term;

		one.written = uses[i].name;
		status = push_filters(compiling, &one, &uses[i], 1);
	}
	return status;
}

/* A moment that the trace has a name for, or should have. */
static int check_name(struct compiling *compiling,
		      const struct filter_term *term)
{
	const struct time_point *time = &term->value.time;
	const struct run *run = compiling->filter->context.run;
	bool is_phase = time->kind == TIME_PHASE;

	if (term->key->kind != KIND_TIME ||
	    (time->kind != TIME_MARK && !is_phase) || moment_mark(time, run))
		return 0;
	return diag_set_line(compiling->diag, -EINVAL, NULL, term->line,
			     "%s: the trace has no %s called \"%s\"; it has "
			     "%zu marks and phases (--as markers shows them)",
			     term->key->name, is_phase ? "phase" : "mark",
			     time->name, run->mark_count);
}

static int add_term(struct compiling *compiling, const struct filter_term *term)
{
	int status = check_name(compiling, term);

	if (status)
		return status;
	switch (term->key->subject) {
	case SUBJECT_LIFETIME_WORD:
		return add_lifetime(compiling, term);
	case SUBJECT_TEMPORARY:
		return add_temporary(compiling, term);
	case SUBJECT_FROM:
	case SUBJECT_TO:
	case SUBJECT_ALIVE_AT:
		return add_moment(compiling, term);
	case SUBJECT_SIZE:
	case SUBJECT_USABLE_SIZE:
	case SUBJECT_ADDRESS:
	case SUBJECT_LIFETIME:
	case SUBJECT_POSITION_IN_CHAIN:
	case SUBJECT_FIRST_SIZE:
	case SUBJECT_LAST_SIZE:
	case SUBJECT_CHAIN_LENGTH:
	case SUBJECT_CHAIN_LIFETIME:
	case SUBJECT_DEPTH:
		return add_range(compiling, term);
	case SUBJECT_MMAPED:
	case SUBJECT_ARENA:
		return add_chunk(compiling, term);
	case SUBJECT_READABLE:
	case SUBJECT_WRITABLE:
	case SUBJECT_EXECUTABLE:
		return add_word(compiling, term);
	case SUBJECT_THREAD:
	case SUBJECT_MARKER:
	case SUBJECT_BACKTRACE:
	case SUBJECT_FREE_BACKTRACE:
		return add_list(compiling, term);
	case SUBJECT_MAP:
		return add_maps(compiling, term);
	case SUBJECT_THREAD_NAME:
		return add_thread_names(compiling, term);
	case SUBJECT_GROUP_ALLOCATIONS:
	case SUBJECT_GROUP_LEAKED:
	case SUBJECT_GROUP_INTERVAL:
	case SUBJECT_GROUP_MAX_USAGE:
		return add_groups(compiling, term);
	case SUBJECT_FILTER:
		return add_filters(compiling, term);
	case SUBJECT_FUNCTION:
	case SUBJECT_SOURCE:
	case SUBJECT_LIBRARY:
		return add_frames(compiling, term);
	}
	return -EINVAL;
}

int filter_compile(struct filter *filter, const struct filter_spec *spec,
		   struct diag *diag)
{
	struct compiling compiling = {
		.spec = spec,
		.filter = filter,
		.diag = diag,
	};
	int status = 0;

	for (int subject = 0; subject <= SUBJECT_LIBRARY; subject++)
		for (size_t i = 0; status == 0 && i < spec->count; i++)
			if ((int)spec->terms[i].key->subject == subject)
				status = add_term(&compiling, &spec->terms[i]);
	return status;
}
