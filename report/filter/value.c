/* SPDX-License-Identifier: MIT */
#include "report/filter/value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/arena.h"
#include "report/core/diag.h"
#include "report/core/units.h"
#include "report/filter/choice.h"
#include "report/filter/pattern.h"

static int no_memory(struct diag *diag)
{
	return diag_set(diag, -ENOMEM, NULL, DIAG_NO_OFFSET, "out of memory");
}

/* `"TEXT" is not WHAT; allowed: ALLOWED` */
static int refuse(struct diag *diag, const char *text, const char *what,
		  const char *allowed)
{
	return diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
			"\"%s\" is not %s; allowed: %s", text, what, allowed);
}

static int parse_bytes(struct filter_value *ret, const char *text,
		       struct diag *diag)
{
	if (units_parse_bytes(text, &ret->number))
		return 0;
	return refuse(diag, text, "a number of bytes",
		      "4096, 64KiB, 10MB, 0x1000");
}

static int parse_number(struct filter_value *ret, const char *text,
			struct diag *diag)
{
	if (units_parse_integer(text, &ret->number))
		return 0;
	return refuse(diag, text, "a whole number", "decimal (4096) or "
						    "hexadecimal (0x1000)");
}

/* Return: whether @text is a share of the run, or seconds. */
static bool read_share_or_seconds(struct filter_value *ret, const char *text)
{
	ret->time.kind = TIME_SHARE;
	if (units_parse_percent(text, &ret->time.value))
		return true;
	ret->time.kind = TIME_SECONDS;
	return units_parse_seconds(text, &ret->time.value);
}

/* Return: whether @text is PREFIX and a name. */
static bool read_name(const char *text, const char *prefix, const char **ret)
{
	size_t len = strlen(prefix);

	if (strncmp(text, prefix, len) != 0 || !text[len])
		return false;
	*ret = text + len;
	return true;
}

static int parse_time(struct filter_value *ret, const char *text,
		      struct arena *arena, struct diag *diag)
{
	const char *name = NULL;

	ret->time.kind = TIME_UNSET;
	if (read_name(text, "mark:", &name))
		ret->time.kind = TIME_MARK;
	else if (read_name(text, "phase:", &name))
		ret->time.kind = TIME_PHASE;
	if (name) {
		ret->time.name = arena_copy(arena, name, strlen(name));
		return ret->time.name ? 0 : no_memory(diag);
	}
	ret->time.kind = TIME_PEAK;
	if (strcmp(text, "peak") == 0 || read_share_or_seconds(ret, text))
		return 0;
	return refuse(diag, text, "a time",
		      "seconds from the start (1.5, 250ms, 1h30m), a share of "
		      "the run (12.5%), peak, mark:NAME, phase:NAME");
}

static int parse_duration(struct filter_value *ret, const char *text,
			  struct diag *diag)
{
	ret->time.kind = TIME_SECONDS;
	if (units_parse_seconds(text, &ret->time.value))
		return 0;
	return refuse(diag, text, "a duration", "1.5, 250ms, 10us, 1h30m");
}

static int parse_span(struct filter_value *ret, const char *text,
		      struct diag *diag)
{
	if (read_share_or_seconds(ret, text))
		return 0;
	return refuse(diag, text, "a duration",
		      "1.5, 250ms, 10us, 1h30m, a share of the run (12.5%)");
}

static int parse_quota(struct filter_value *ret, const char *text,
		       struct diag *diag)
{
	if (units_parse_integer(text, &ret->number))
		return 0;
	ret->is_share = true;
	if (units_parse_percent_exact(text, &ret->share.digits,
				      &ret->share.places))
		return 0;
	return refuse(diag, text, "a number or a share",
		      "a whole number (10), a percentage of the call site's "
		      "allocations (12.5%)");
}

static int parse_regex(struct filter_value *ret, const char *text,
		       struct arena *arena, struct diag *diag)
{
	int status = pattern_check(text, diag);

	if (status < 0)
		return status;
	ret->text = arena_copy(arena, text, strlen(text));
	return ret->text ? 0 : no_memory(diag);
}

static size_t list_len(const char *text)
{
	size_t len = 1;

	for (; *text; text++)
		len += *text == ',';
	return len;
}

/* Copies the next word of @list, trimmed.  Return: the rest after the comma,
   NULL when this was the last; *@ret is NULL when out of memory. */
static const char *list_next(const char *list, struct arena *arena,
			     const char **ret)
{
	static const char blank[] = " \t";
	const char *comma = strchr(list, ',');
	size_t len;

	list += strspn(list, blank);
	len = strcspn(list, ",");
	while (len && strchr(blank, list[len - 1]))
		len--;
	*ret = arena_copy(arena, list, len);
	return comma ? comma + 1 : NULL;
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int parse_numbers(struct filter_value *ret, const char *text,
			 struct arena *arena, struct diag *diag)
{
	uint64_t *items = arena_array(arena, list_len(text), sizeof(*items));
	size_t count = 0;

	while (items && text) {
		const char *word;

		text = list_next(text, arena, &word);
		if (!word)
			return no_memory(diag);
		if (!units_parse_integer(word, &items[count++]))
			return refuse(diag, word, "a number",
				      "whole numbers with commas between "
				      "them (3, 17)");
	}
	if (!items)
		return no_memory(diag);
	qsort(items, count, sizeof(*items), compare_numbers);
	for (size_t i = 1; i < count; i++)
		if (items[i] == items[i - 1])
			return diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
					"%llu stands twice; allowed: once",
					(unsigned long long)items[i]);
	ret->numbers.items = items;
	ret->numbers.count = count;
	return 0;
}

/* Whether there are such filters is known when the whole file is. */
static int parse_filters(struct filter_value *ret, const char *text,
			 struct arena *arena, struct diag *diag)
{
	struct filter_use *items =
		arena_array(arena, list_len(text), sizeof(*items));
	size_t count = 0;

	while (items && text) {
		text = list_next(text, arena, &items[count].name);
		if (!items[count].name)
			return no_memory(diag);
		if (!items[count].name[0])
			return refuse(diag, "", "a filter",
				      "names of [filter NAME] sections with "
				      "commas between them");
		for (size_t i = 0; i < count; i++)
			if (strcmp(items[i].name, items[count].name) == 0)
				return diag_set(diag, -EINVAL, NULL,
						DIAG_NO_OFFSET,
						"\"%s\" stands twice; "
						"allowed: once",
						items[i].name);
		count++;
	}
	if (!items)
		return no_memory(diag);
	ret->filters.items = items;
	ret->filters.count = count;
	return 0;
}

int value_parse(struct filter_value *ret, const struct filter_key *key,
		const char *text, struct arena *arena, struct diag *diag)
{
	int found;

	memset(ret, 0, sizeof(*ret));
	switch (key->kind) {
	case KIND_BYTES:
		return parse_bytes(ret, text, diag);
	case KIND_NUMBER:
		return parse_number(ret, text, diag);
	case KIND_TIME:
		return parse_time(ret, text, arena, diag);
	case KIND_DURATION:
		return parse_duration(ret, text, diag);
	case KIND_SPAN:
		return parse_span(ret, text, diag);
	case KIND_QUOTA:
		return parse_quota(ret, text, diag);
	case KIND_WORD:
		found = choice_find(text, key->words, key->what, diag);
		ret->number = found < 0 ? 0 : (uint64_t)found;
		return found < 0 ? found : 0;
	case KIND_REGEX:
		return parse_regex(ret, text, arena, diag);
	case KIND_NUMBERS:
		return parse_numbers(ret, text, arena, diag);
	case KIND_FILTERS:
		return parse_filters(ret, text, arena, diag);
	}
	return -EINVAL;
}
