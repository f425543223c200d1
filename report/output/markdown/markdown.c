/* SPDX-License-Identifier: MIT */
/*
 * report.md: the report as GitHub renders Markdown, short enough to be read, and
 * for a comment on a merge request (65,536 letters there).  Where it would be too
 * long, all tables and names are cut shorter until it fits.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/sink.h"
#include "report/figure/definition.h"
#include "report/output/markdown/markdown_figure.h"
#include "report/output/markdown/markdown_text.h"
#include "report/output/page.h"
#include "report/output/page_data.h"
#include "report/template/file.h"

enum { MARKDOWN_BYTES_MAX = 25 * 1000 };

/* Tried in this order; the last is used even when the page stays too long. */
static const struct markdown_limits limit_steps[] = {
	{ 10, 80 }, { 8, 60 }, { 5, 50 }, { 3, 40 },
};

/* @is_used: by number of the definition, whether the page has its term so far */
struct markdown {
	struct page_data data;
	const struct markdown_limits *limits;
	bool *is_used;
};

static void term_use(const struct markdown *markdown, const char *id)
{
	const struct definition *found = definition_find(id);

	if (found)
		markdown->is_used[found - definitions] = true;
}

static void terms_use(const struct markdown *markdown,
		      const struct figure *figure)
{
	if (figure->kind == FIGURE_TABLE)
		for (size_t i = 0; i < figure->table.column_count; i++)
			term_use(markdown, figure->table.columns[i].definition);
	if (figure->kind == FIGURE_SCALARS)
		for (size_t i = 0; i < figure->scalar_count; i++)
			term_use(markdown, figure->scalars[i].definition);
}

static int draw_figure(void *context, const struct figure *figure,
		       struct sink *out, struct diag *diag)
{
	const struct markdown *markdown = context;

	(void)diag;
	terms_use(markdown, figure);
	markdown_figure(out, figure, &markdown->data, markdown->limits);
	return 0;
}

static void links_write(struct sink *out, const struct page_data *data,
			const char *view)
{
	const struct page_link *link = NULL;
	const char *separator = "";

	while ((link = page_data_link(data, view, link))) {
		sink_printf(out, "%s[", separator);
		markdown_text(out, link->path);
		sink_puts(out, "](");
		markdown_target(out, link->path);
		sink_puts(out, ")");
		separator = ", ";
	}
	sink_puts(out, "\n");
}

static void all_links_write(struct sink *out, const struct page_data *data)
{
	for (size_t i = 0; i < data->data.view_count; i++) {
		const struct template_view *view = &data->data.views[i];

		if (!page_data_link(data, view->name, NULL))
			continue;
		sink_puts(out, "- ");
		markdown_text(out, view->title);
		sink_puts(out, ": ");
		links_write(out, data, view->name);
	}
	if (page_data_link(data, "", NULL)) {
		sink_puts(out, "- The whole trace: ");
		links_write(out, data, "");
	}
}

/* Of the terms above. */
static void definitions_write(struct sink *out, const struct markdown *markdown)
{
	for (size_t i = 0; i < definition_count; i++) {
		if (!markdown->is_used[i])
			continue;
		sink_puts(out, "- **");
		markdown_text(out, definitions[i].term);
		sink_puts(out, "**: ");
		markdown_text(out, definitions[i].text);
		sink_puts(out, "\n");
	}
}

static int draw_block(void *context, const char *name, struct sink *out,
		      struct diag *diag)
{
	struct markdown *markdown = context;
	const char *view = NULL;

	(void)diag;
	switch (page_data_block(&markdown->data, name, &view)) {
	case PAGE_BLOCK_NONE:
		return TEMPLATE_E_NO_BLOCK;
	case PAGE_BLOCK_DEFINITIONS:
		if (out)
			definitions_write(out, markdown);
		break;
	case PAGE_BLOCK_LINKS:
		if (out)
			all_links_write(out, &markdown->data);
		break;
	case PAGE_BLOCK_VIEW_LINKS:
		if (out)
			links_write(out, &markdown->data, view);
		break;
	}
	return 0;
}

static int draw_tiles(void *context, const struct figure_scalar *const *scalars,
		      size_t count, struct sink *out, struct diag *diag)
{
	const struct markdown *markdown = context;

	(void)diag;
	for (size_t i = 0; i < count; i++)
		term_use(markdown, scalars[i]->definition);
	markdown_tiles(out, scalars, count, markdown->limits);
	return 0;
}

static int draw_scalar(void *context, const struct figure_scalar *scalar,
		       struct sink *out, struct diag *diag)
{
	const struct markdown *markdown = context;

	(void)diag;
	markdown_value(out, &scalar->value, markdown->limits);
	return 0;
}

static int draw_text(void *context, const char *text, struct sink *out,
		     struct diag *diag)
{
	(void)context, (void)diag;
	markdown_text(out, text);
	return 0;
}

/* Tabs need a page of their own: here they stand one below the other. */
static int draw_section(void *context, enum template_section section,
			const char *title, struct sink *before,
			struct sink *after)
{
	(void)context;
	if (section == SECTION_TABS)
		return 0;
	sink_puts(before, "<details>\n<summary>");
	markdown_html_text(before, title);
	sink_puts(before, "</summary>\n");
	sink_puts(after, "</details>\n");
	return 0;
}

static int render_with(struct markdown *markdown, struct sink *out,
		       struct diag *diag)
{
	const struct page *page = markdown->data.page;
	const struct template_output output = {
		.context = markdown,
		.figure = draw_figure,
		.block = draw_block,
		.tiles = draw_tiles,
		.scalar = draw_scalar,
		.text = draw_text,
		.section = draw_section,
	};
	struct template_file file;
	int error;

	error = template_file_load(&file, page->template_dir,
				   page->template_file
					   ? page->template_file
					   : page_markdown.template_file,
				   &markdown->data.arena, diag);
	if (error)
		return error;
	return template_render(file.path, file.text, file.len,
			       &markdown->data.data, &output, out, diag);
}

static int markdown_render(const struct page *page, struct sink *out,
			   struct diag *diag)
{
	const size_t steps = sizeof(limit_steps) / sizeof(*limit_steps);
	struct markdown markdown;
	struct sink text;
	int error = page_data_init(&markdown.data, page, diag);

	markdown.is_used = arena_array(&markdown.data.arena, definition_count,
				       sizeof(*markdown.is_used));
	if (!error && !markdown.is_used)
		error = -ENOMEM;
	for (size_t i = 0; i < steps && !error; i++) {
		bool last = i + 1 == steps;

		markdown.limits = &limit_steps[i];
		memset(markdown.is_used, 0,
		       definition_count * sizeof(*markdown.is_used));
		sink_init_memory(&text);
		error = render_with(&markdown, &text, diag);
		last = last || text.len <= MARKDOWN_BYTES_MAX;
		if (!error && last)
			sink_write(out, text.data, text.len);
		sink_done(&text);
		if (last)
			break;
	}
	page_data_done(&markdown.data);
	return error ? error : out->error;
}

const struct page_format page_markdown = {
	.name = "markdown",
	.file = "report.md",
	.template_file = "report.md",
	.summary = "Markdown for merge requests and bug reports",
	.render = markdown_render,
};
