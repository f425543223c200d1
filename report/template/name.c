/* SPDX-License-Identifier: MIT */
#include "report/template/name.h"

#include <errno.h>
#include <string.h>

#include "report/core/arena.h"
#include "report/core/text.h"

bool template_figure_is_empty(const struct figure *figure)
{
	switch (figure->kind) {
	case FIGURE_SCALARS:
		return figure->scalar_count == 0;
	case FIGURE_TABLE:
		return figure->table.row_count == 0;
	case FIGURE_SERIES:
		return figure->series.point_count == 0 ||
		       figure->series.curve_count == 0;
	case FIGURE_TREE:
		return figure->tree.node_count == 0 ||
		       (figure->tree.by_count
				? figure->tree.nodes[0].total_count
				: figure->tree.nodes[0].total_bytes) == 0;
	case FIGURE_HISTORY:
		break;
	case FIGURE_NOTE:
		return !figure->note.text || !*figure->note.text;
	case FIGURE_GROUP:
		for (size_t i = 0; i < figure->child_count; i++)
			if (!template_figure_is_empty(figure->children[i]))
				return false;
		return true;
	}
	return true;
}

static const struct figure *figure_find(const struct template_data *data,
					const char *id, size_t len)
{
	for (size_t i = 0; i < data->figure_count; i++) {
		const char *candidate = data->figures[i]->id;

		if (strncmp(candidate, id, len) == 0 && !candidate[len])
			return data->figures[i];
	}
	return NULL;
}

static const struct figure_scalar *
scalar_find(const struct template_data *data, const char *name)
{
	const char *dot = strrchr(name, '.');
	const struct figure *figure;

	figure = dot ? figure_find(data, name, (size_t)(dot - name)) : NULL;
	for (size_t i = 0; figure && i < figure->scalar_count; i++)
		if (strcmp(figure->scalars[i].key, dot + 1) == 0)
			return &figure->scalars[i];
	return NULL;
}

static const char *text_find(const struct template_data *data,
			     const char *name)
{
	for (size_t i = 0; i < data->text_count; i++)
		if (strcmp(data->texts[i].name, name) == 0)
			return data->texts[i].text;
	return NULL;
}

/* Return: what "view.PART" is inside of @view: its text in @ret_text, or its
   full name; NULL when out of memory. */
static const char *view_name(const char *name,
			     const struct template_view *view,
			     struct arena *arena, const char **ret_text)
{
	const char *part = name + strlen("view.");

	*ret_text = NULL;
	if (!view || strncmp(name, "view.", strlen("view.")) != 0)
		return name;
	if (strcmp(part, "title") == 0)
		*ret_text = view->title;
	else if (strcmp(part, "name") == 0)
		*ret_text = view->name;
	return *ret_text ? name
			 : arena_printf(arena, "view.%s.%s", view->name, part);
}

int name_resolve(struct name *ret, const char *name,
		 const struct template_data *data,
		 const struct template_output *output,
		 const struct template_view *view, struct arena *arena,
		 struct diag *diag)
{
	struct name found = { .kind = NAME_NONE };
	const char *text;
	int status;

	found.full = view_name(name, view, arena, &text);
	if (!found.full)
		return -ENOMEM;
	if (!text)
		text = text_find(data, found.full);
	found.figure = figure_find(data, found.full, strlen(found.full));
	if (found.figure) {
		found.kind = NAME_FIGURE;
	} else if (text) {
		found.kind = NAME_TEXT;
		found.text = text;
	} else if ((found.scalar = scalar_find(data, found.full))) {
		found.kind = NAME_SCALAR;
	} else {
		status = output->block(output->context, found.full, NULL, diag);
		if (status < 0)
			return status;
		if (status == 0)
			found.kind = NAME_BLOCK;
	}
	*ret = found;
	return 0;
}

bool name_is_empty(const struct name *name)
{
	switch (name->kind) {
	case NAME_NONE:
		return true;
	case NAME_FIGURE:
		return template_figure_is_empty(name->figure);
	case NAME_SCALAR:
		return name->scalar->value.kind == CELL_NONE ||
		       (name->scalar->value.kind == CELL_FLAG &&
			!name->scalar->value.flag) ||
		       (name->scalar->value.kind == CELL_TEXT &&
			!*name->scalar->value.text);
	case NAME_TEXT:
		return !*name->text;
	case NAME_BLOCK:
		return false;
	}
	return true;
}

static size_t figure_words(const struct figure *figure, const char **words,
			   struct arena *arena)
{
	size_t count = 0;

	words[count++] = figure->id;
	for (size_t i = 0; i < figure->scalar_count; i++) {
		const char *word = arena_printf(arena, "%s.%s", figure->id,
						figure->scalars[i].key);

		if (word)
			words[count++] = word;
	}
	return count;
}

const char *name_nearest(const char *name, const struct template_data *data,
			 struct arena *arena)
{
	size_t room = data->figure_count + data->text_count + 1;
	const char **words;
	size_t count = 0;

	for (size_t i = 0; i < data->figure_count; i++)
		room += data->figures[i]->scalar_count;
	words = arena_array(arena, room, sizeof(*words));
	if (!words)
		return NULL;
	for (size_t i = 0; i < data->text_count; i++)
		words[count++] = data->texts[i].name;
	for (size_t i = 0; i < data->figure_count; i++)
		count += figure_words(data->figures[i], words + count, arena);
	words[count] = NULL;
	return text_nearest(name, words);
}
