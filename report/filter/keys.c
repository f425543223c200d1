/* SPDX-License-Identifier: MIT */
/* The table of filter keys and how their values are read. */
#include <errno.h>
#include <string.h>

#include "report/core/arena.h"
#include "report/core/diag.h"
#include "report/core/units.h"
#include "report/filter/choice.h"
#include "report/filter/filter.h"
#include "report/filter/stack_regex.h"

static const char *const lifetime_names[] = {
	[LIFETIME_ALL] = "all",
	[LIFETIME_ONLY_LEAKED] = "only_leaked",
	[LIFETIME_ONLY_TEMPORARY] = "only_temporary",
	NULL,
};

static int set_lifetime(struct filter_spec *spec, const char *value,
			struct arena *arena, struct diag *diag)
{
	int found = choice_find(value, lifetime_names, "a lifetime", diag);

	(void)arena;
	if (found < 0)
		return found;
	spec->lifetime = (enum filter_lifetime)found;
	return 0;
}

static int time_point_parse(struct time_point *ret, const char *value,
			    struct diag *diag)
{
	double number;

	if (strcmp(value, "peak") == 0) {
		*ret = (struct time_point){ TIME_PEAK, 0 };
		return 0;
	}
	if (units_parse_percent(value, &number)) {
		*ret = (struct time_point){ TIME_SHARE, number };
		return 0;
	}
	if (units_parse_seconds(value, &number)) {
		*ret = (struct time_point){ TIME_SECONDS, number };
		return 0;
	}
	return diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
			"\"%s\" is not a time; allowed: seconds from the start "
			"(1.5, 250ms, 1h30m), a share of the run (12.5%%), "
			"peak",
			value);
}

static int set_from(struct filter_spec *spec, const char *value,
		    struct arena *arena, struct diag *diag)
{
	(void)arena;
	return time_point_parse(&spec->from, value, diag);
}

static int set_to(struct filter_spec *spec, const char *value,
		  struct arena *arena, struct diag *diag)
{
	(void)arena;
	return time_point_parse(&spec->to, value, diag);
}

static int set_alive_at(struct filter_spec *spec, const char *value,
			struct arena *arena, struct diag *diag)
{
	(void)arena;
	return time_point_parse(&spec->alive_at, value, diag);
}

static int size_parse(uint64_t *ret, bool *ret_has, const char *value,
		      struct diag *diag)
{
	if (!units_parse_bytes(value, ret))
		return diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
				"\"%s\" is not a number of bytes; allowed: "
				"4096, 64KiB, 10MB, 0x1000",
				value);
	*ret_has = true;
	return 0;
}

static int set_size_min(struct filter_spec *spec, const char *value,
			struct arena *arena, struct diag *diag)
{
	(void)arena;
	return size_parse(&spec->size_min, &spec->has_size_min, value, diag);
}

static int set_size_max(struct filter_spec *spec, const char *value,
			struct arena *arena, struct diag *diag)
{
	(void)arena;
	return size_parse(&spec->size_max, &spec->has_size_max, value, diag);
}

static int regex_copy(const char **ret, const char *value, struct arena *arena,
		      struct diag *diag)
{
	const char *copy;
	int status = stack_regex_check(value, diag);

	if (status < 0)
		return status;
	copy = arena_copy(arena, value, strlen(value));
	if (!copy)
		return diag_set(diag, -ENOMEM, NULL, DIAG_NO_OFFSET,
				"out of memory");
	*ret = copy;
	return 0;
}

static int set_function_regex(struct filter_spec *spec, const char *value,
			      struct arena *arena, struct diag *diag)
{
	return regex_copy(&spec->function_regex, value, arena, diag);
}

static int set_negative_function_regex(struct filter_spec *spec,
				       const char *value, struct arena *arena,
				       struct diag *diag)
{
	return regex_copy(&spec->negative_function_regex, value, arena, diag);
}

const struct filter_key filter_keys[] = {
	{ "from", "TIME", "allocated at this moment or later", set_from },
	{ "to", "TIME", "allocated at this moment or earlier", set_to },
	{ "alive_at", "TIME", "allocated by then and not yet freed",
	  set_alive_at },
	{ "lifetime", "WORD", "all, only_leaked or only_temporary (freed)",
	  set_lifetime },
	{ "size_min", "BYTES", "requested size is this or more", set_size_min },
	{ "size_max", "BYTES", "requested size is this or less", set_size_max },
	{ "function_regex", "REGEX", "some frame's function matches",
	  set_function_regex },
	{ "negative_function_regex", "REGEX", "no frame's function matches",
	  set_negative_function_regex },
};

const size_t filter_key_count = sizeof(filter_keys) / sizeof(filter_keys[0]);

const struct filter_key *filter_key_find(const char *name)
{
	for (size_t i = 0; i < filter_key_count; i++)
		if (strcmp(filter_keys[i].name, name) == 0)
			return &filter_keys[i];
	return NULL;
}

int filter_spec_check(const struct filter_spec *spec, struct diag *diag)
{
	if (spec->has_size_min && spec->has_size_max &&
	    spec->size_min > spec->size_max)
		return diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
				"size_min is greater than size_max: no "
				"allocation could pass");
	if (spec->from.kind == spec->to.kind &&
	    spec->from.value > spec->to.value)
		return diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
				"from is later than to: no allocation could "
				"pass");
	return 0;
}

bool filter_needs_peak(const struct filter_spec *spec)
{
	return spec->from.kind == TIME_PEAK || spec->to.kind == TIME_PEAK ||
	       spec->alive_at.kind == TIME_PEAK;
}
