/* SPDX-License-Identifier: MIT */
#include "report/spec_uses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/filter/choice.h"
#include "report/spec.h"
#include "report/spec_mistakes.h"

enum { HINT_BYTES = 2048, ON_THE_WAY = -1 };

/**
 * struct resolving
 * @names: of all filters, NULL-terminated
 * @sizes: by filter: sections it is made of, itself and those it uses included;
 *         0: not known yet, ON_THE_WAY: being counted, so met again it uses
 *         itself
 */
struct resolving {
	struct spec *spec;
	const char **names;
	int *sizes;
	bool may_lack; /* names that no filter has are no mistakes */
	struct mistakes *mistakes;
};

static void refuse(const struct resolving *resolving,
		   const struct filter_term *term, const char *name,
		   const char *why)
{
	struct mistakes *mistakes = resolving->mistakes;

	mistakes_keep(mistakes,
		      diag_set_line(&mistakes->last, -EINVAL,
				    resolving->spec->path, term->line,
				    "%s: \"%s\" %s", term->key->name, name,
				    why));
}

static void unknown_filter(const struct resolving *resolving,
			   const struct filter_term *term, const char *name)
{
	char why[HINT_BYTES] =
		"is not a filter; allowed: none, as there is no [filter NAME]";

	if (resolving->may_lack)
		return;
	if (resolving->names[0]) {
		memcpy(why, "is not a filter", sizeof("is not a filter"));
		choice_hint(name, resolving->names,
			    why + strlen("is not a filter"),
			    sizeof(why) - strlen("is not a filter"));
	}
	refuse(resolving, term, name, why);
}

static int filter_index(const struct resolving *resolving, const char *name)
{
	for (int i = 0; resolving->names[i]; i++)
		if (strcmp(resolving->names[i], name) == 0)
			return i;
	return -1;
}

static int spec_size(struct resolving *resolving, struct filter_spec *filter,
		     int depth);

/* Return: sections that @use stands for, 0 if it was refused. */
static int use_size(struct resolving *resolving,
		    const struct filter_term *term, struct filter_use *use,
		    int depth)
{
	int index = filter_index(resolving, use->name);
	int *size;

	if (index < 0) {
		unknown_filter(resolving, term, use->name);
		return 0;
	}
	size = &resolving->sizes[index];
	if (*size == ON_THE_WAY) {
		refuse(resolving, term, use->name,
		       "uses itself; allowed: filters that do not");
		return 0;
	}
	if (*size == 0 && depth == SPEC_USES_MAX) {
		refuse(resolving, term, use->name, "is used too deep down");
		return 0;
	}
	use->spec = &resolving->spec->filters[index].filter;
	if (*size == 0) {
		*size = ON_THE_WAY;
		*size = spec_size(resolving,
				  &resolving->spec->filters[index].filter,
				  depth + 1);
	}
	return *size;
}

/* Return: sections that @filter is made of, as far as they were not refused. */
static int spec_size(struct resolving *resolving, struct filter_spec *filter,
		     int depth)
{
	int size = 1;

	for (size_t i = 0; i < filter->count; i++) {
		struct filter_term *term = &filter->terms[i];

		for (size_t k = 0; k < term->value.filters.count; k++) {
			struct filter_use *use = &term->value.filters.items[k];

			size += use_size(resolving, term, use, depth);
			if (size <= SPEC_USES_MAX)
				continue;
			refuse(resolving, term, use->name,
			       "is one of more than 1000 filters that use one "
			       "another here");
			return 1;
		}
	}
	return size;
}

static void resolve_all(struct resolving *resolving)
{
	struct spec *spec = resolving->spec;

	for (size_t i = 0; i < spec->filter_count; i++)
		resolving->names[i] = spec->filters[i].name;
	for (size_t i = 0; i < spec->filter_count; i++) {
		if (resolving->sizes[i])
			continue;
		resolving->sizes[i] = ON_THE_WAY;
		resolving->sizes[i] =
			spec_size(resolving, &spec->filters[i].filter, 0);
	}
	for (size_t i = 0; i < spec->view_count; i++)
		spec_size(resolving, &spec->views[i].filter, 0);
}

int spec_uses_resolve(struct spec *spec, bool may_lack,
		      struct mistakes *mistakes)
{
	struct resolving resolving = {
		.spec = spec,
		.names = calloc(spec->filter_count + 1, sizeof(char *)),
		.sizes = calloc(spec->filter_count + 1, sizeof(int)),
		.may_lack = may_lack,
		.mistakes = mistakes,
	};
	int status = 0;

	if (resolving.names && resolving.sizes)
		resolve_all(&resolving);
	else
		status = diag_set(&mistakes->last, -ENOMEM, spec->path,
				  DIAG_NO_OFFSET, "out of memory");
	free(resolving.names);
	free(resolving.sizes);
	return status;
}
