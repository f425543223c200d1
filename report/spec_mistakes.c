/* SPDX-License-Identifier: MIT */
#include "report/spec_mistakes.h"

#include <errno.h>
#include <stddef.h>

static void swap(struct diag *a, struct diag *b)
{
	struct diag kept = *a;

	*a = *b;
	*b = kept;
}

/* Adds @diag to @more, after those of its line.  Where @more is full, those of the
   last lines are only counted. */
static void add_by_line(struct findings *more, const struct diag *diag)
{
	size_t before = more->stored;
	struct diag *items;

	findings_add_diag(more, diag);
	items = more->items;
	if (more->stored == before && before &&
	    items[before - 1].line > diag->line)
		items[before - 1] = *diag;
	for (size_t i = more->stored; i > 1; i--)
		if (items[i - 2].line > items[i - 1].line)
			swap(&items[i - 2], &items[i - 1]);
}

int mistakes_keep(struct mistakes *mistakes, int status)
{
	struct diag found;

	if (status != -EINVAL)
		return status;
	found = mistakes->last;
	if (!mistakes->any)
		mistakes->first = found;
	else if (found.line < mistakes->first.line)
		swap(&found, &mistakes->first);
	if (mistakes->any && mistakes->more)
		add_by_line(mistakes->more, &found);
	mistakes->any = true;
	return 0;
}

int mistakes_finish(const struct mistakes *mistakes, int status,
		    struct diag *diag)
{
	if (status == 0 && !mistakes->any)
		return 0;
	if (diag)
		*diag = status < 0 ? mistakes->last : mistakes->first;
	return status < 0 ? status : -EINVAL;
}
