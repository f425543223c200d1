/* SPDX-License-Identifier: MIT */
/*
 * What the names in a template stand for.
 *
 * Layer: template.
 */
#ifndef REPORT_TEMPLATE_NAME_H
#define REPORT_TEMPLATE_NAME_H

#include <stdbool.h>

#include "report/template/template.h"

struct arena;

enum name_kind {
	NAME_NONE,
	NAME_FIGURE,
	NAME_SCALAR,
	NAME_TEXT,
	NAME_BLOCK,
};

/**
 * struct name - what one stands for
 * @full: the name with "view." completed: "view.leaks.tree"
 */
struct name {
	enum name_kind kind;
	const char *full;
	union {
		const struct figure *figure;
		const struct figure_scalar *scalar;
		const char *text;
	};
};

/**
 * name_resolve() - look a name up
 * @view: the one {{#each views}} is at, NULL outside
 *
 * Figures come first, then scalars (FIGURE.KEY), texts, blocks of the output.
 *
 * Return: 0 (NAME_NONE in @ret when there is no such thing) or negative
 * errno.
 */
int name_resolve(struct name *ret, const char *name,
		 const struct template_data *data,
		 const struct template_output *output,
		 const struct template_view *view, struct arena *arena,
		 struct diag *diag);

/* Return: whether there is nothing to show: no such name, an empty figure, a
   scalar without a value, false or "".  Zero is a value. */
bool name_is_empty(const struct name *name);

/* Return: the known name most like @name, or NULL. */
const char *name_nearest(const char *name, const struct template_data *data,
			 struct arena *arena);

#endif /* REPORT_TEMPLATE_NAME_H */
