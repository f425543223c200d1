/* SPDX-License-Identifier: MIT */
#include "report/output/page_data.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "report/core/diag.h"

static const char view_prefix[] = "view.";

static bool view_is_known(const struct template_view *views, size_t count,
			  const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(views[i].name, name) == 0)
			return true;
	return false;
}

/* Return: NAME of a figure id "view.NAME.PART", NULL if it is none. */
static const char *view_of_figure(struct arena *arena, const char *id)
{
	const char *dot = strrchr(id, '.');
	size_t skip = sizeof(view_prefix) - 1;

	if (strncmp(id, view_prefix, skip) != 0 || dot <= id + skip)
		return NULL;
	return arena_copy(arena, id + skip, (size_t)(dot - id) - skip);
}

static void views_gather(struct page_data *data, struct template_view *views)
{
	const struct page *page = data->page;
	size_t count = 0;

	for (size_t i = 0; i < page->link_count; i++) {
		const struct page_link *link = &page->links[i];

		if (!*link->view || view_is_known(views, count, link->view))
			continue;
		views[count].name = link->view;
		views[count++].title = link->title && *link->title
					       ? link->title
					       : link->view;
	}
	for (size_t i = 0; i < page->figure_count; i++) {
		const struct figure *figure = page->figures[i];
		const char *name = view_of_figure(&data->arena, figure->id);

		if (!name || view_is_known(views, count, name))
			continue;
		views[count].name = name;
		views[count++].title = figure->title && *figure->title
					       ? figure->title
					       : name;
	}
	data->data.views = views;
	data->data.view_count = count;
}

int page_data_init(struct page_data *ret, const struct page *page,
		   struct diag *diag)
{
	struct template_view *views;

	memset(ret, 0, sizeof(*ret));
	ret->page = page;
	views = arena_array(&ret->arena, page->link_count + page->figure_count,
			    sizeof(*views));
	if (!views)
		return diag_set(diag, -ENOMEM, NULL, DIAG_NO_OFFSET,
				"out of memory");
	ret->texts[0] = (struct template_text){ "title", page->title };
	ret->data.figures = page->figures;
	ret->data.figure_count = page->figure_count;
	ret->data.texts = ret->texts;
	ret->data.text_count = 1;
	views_gather(ret, views);
	return 0;
}

void page_data_done(struct page_data *data)
{
	arena_done(&data->arena);
}

enum page_block page_data_block(struct page_data *data, const char *name,
				const char **ret_view)
{
	static const char links[] = ".links";
	size_t len = strlen(name);

	if (strcmp(name, "definitions") == 0)
		return PAGE_BLOCK_DEFINITIONS;
	if (strcmp(name, "links") == 0)
		return data->page->link_count ? PAGE_BLOCK_LINKS
					      : PAGE_BLOCK_NONE;
	if (len < sizeof(links) ||
	    strcmp(name + len - (sizeof(links) - 1), links) != 0)
		return PAGE_BLOCK_NONE;
	*ret_view = view_of_figure(&data->arena, name);
	if (!*ret_view || !page_data_link(data, *ret_view, NULL))
		return PAGE_BLOCK_NONE;
	return PAGE_BLOCK_VIEW_LINKS;
}

const struct page_link *page_data_link(const struct page_data *data,
				       const char *view,
				       const struct page_link *link)
{
	const struct page *page = data->page;
	size_t i = link ? (size_t)(link - page->links) + 1 : 0;

	for (; i < page->link_count; i++)
		if (!view || strcmp(page->links[i].view, view) == 0)
			return &page->links[i];
	return NULL;
}

const char *page_note_word(enum figure_severity severity)
{
	switch (severity) {
	case FIGURE_INFO:
		return "Note";
	case FIGURE_WARNING:
		return "Warning";
	case FIGURE_ERROR:
		return "Error";
	}
	return "Note";
}
