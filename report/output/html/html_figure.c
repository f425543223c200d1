/* SPDX-License-Identifier: MIT */
#include "report/output/html/html_figure.h"

#include <errno.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/sink.h"
#include "report/figure/definition.h"
#include "report/output/html/html_table.h"
#include "report/output/html/html_value.h"
#include "report/output/page_data.h"
#include "report/output/svg/svg_figures.h"
#include "report/output/value.h"

/* Return: whether @figure is the verdict on the trace, and a good one. */
static bool group_is_fine(const struct figure *figure)
{
	if (strcmp(figure->id, "completeness") != 0)
		return false;
	for (size_t i = 0; i < figure->child_count; i++)
		if (figure->children[i]->kind == FIGURE_NOTE &&
		    figure->children[i]->note.severity != FIGURE_INFO)
			return false;
	return true;
}

static void note_write(struct html *html, const struct figure_note *note,
		       const char *word)
{
	static const char *const classes[] = {
		[FIGURE_INFO] = "note info",
		[FIGURE_WARNING] = "note warning",
		[FIGURE_ERROR] = "note error",
	};

	html_open(html, "div", classes[note->severity]);
	html_attr(html, "role", "note");
	html_element(html, "strong", "badge", word);
	html_text(html, " ");
	html_element(html, "span", NULL, note->text);
	html_close(html);
	html_break(html);
}

/* Term, value and, beside them, what the term means. */
static void facts_write(struct html *html, const struct figure *figure)
{
	html_open(html, "dl", "facts");
	for (size_t i = 0; i < figure->scalar_count; i++) {
		const struct figure_scalar *scalar = &figure->scalars[i];
		const struct definition *found =
			definition_find(scalar->definition);
		char exact[VALUE_TEXT_SIZE];

		html_open(html, "div", NULL);
		html_element(html, "dt", NULL, scalar->label);
		html_open(html, "dd", "value");
		html_value(html, &scalar->value);
		if (scalar->value.kind == CELL_BYTES &&
		    value_format_exact(exact, sizeof(exact), &scalar->value)) {
			html_text(html, " ");
			html_element(html, "span", "exact", exact);
		}
		html_close(html);
		if (found)
			html_element(html, "dd", "meaning", found->text);
		html_close(html);
		html_break(html);
	}
	html_close(html);
}

void html_tiles(struct html *html, const struct figure_scalar *const *scalars,
		size_t count)
{
	html_open(html, "dl", "tiles");
	for (size_t i = 0; i < count; i++) {
		const struct figure_scalar *scalar = scalars[i];
		char exact[VALUE_TEXT_SIZE];

		html_open(html, "div", NULL);
		html_open(html, "dt", NULL);
		html_term(html, scalar->label, scalar->definition);
		html_definition_popup(html, scalar->label, scalar->definition);
		html_close(html);
		html_open(html, "dd",
			  value_is_numeric(scalar->value.kind) ? "number"
							       : "words");
		html_value(html, &scalar->value);
		html_close(html);
		if (scalar->value.kind == CELL_BYTES &&
		    value_format_exact(exact, sizeof(exact), &scalar->value))
			html_element(html, "dd", "exact", exact);
		html_close(html);
		html_break(html);
	}
	html_close(html);
}

void html_definitions(struct html *html)
{
	html_open(html, "dl", "definitions");
	for (size_t i = 0; i < definition_count; i++) {
		html_open(html, "div", NULL);
		html_attr_printf(html, "id", "def-%s", definitions[i].id);
		html_element(html, "dt", NULL, definitions[i].term);
		html_element(html, "dd", NULL, definitions[i].text);
		html_close(html);
		html_break(html);
	}
	html_close(html);
}

static void link_write(struct html *html, const struct page_link *link)
{
	html_open(html, "a", NULL);
	html_href(html, link->path);
	html_text(html, link->path);
	html_close(html);
}

static void view_links_write(struct html *html, const struct page_data *data,
			     const char *view)
{
	const struct page_link *link = NULL;

	html_open(html, "ul", "links");
	while ((link = page_data_link(data, view, link))) {
		html_open(html, "li", NULL);
		link_write(html, link);
		html_close(html);
	}
	html_close(html);
	html_break(html);
}

void html_links(struct html *html, const struct page_data *data,
		const char *view)
{
	if (view) {
		view_links_write(html, data, view);
		return;
	}
	html_open(html, "dl", "files");
	for (size_t i = 0; i <= data->data.view_count; i++) {
		bool last = i == data->data.view_count;
		const char *name = last ? "" : data->data.views[i].name;

		if (!page_data_link(data, name, NULL))
			continue;
		html_open(html, "div", NULL);
		html_element(html, "dt", NULL,
			     last ? "The whole trace"
				  : data->data.views[i].title);
		html_open(html, "dd", NULL);
		view_links_write(html, data, name);
		html_close(html);
		html_close(html);
	}
	html_close(html);
}

/* Closes @html, lets @draw write SVG to the same sink and goes on. */
static int drawing_write(struct html *html, const struct figure *figure,
			 struct sink *out, struct diag *diag)
{
	int error = html_done(html, diag);
	int again;

	if (!error && figure->kind == FIGURE_TREE)
		error = flamegraph_render(
			figure,
			&(struct flamegraph_options){
				.inline_in_html = true,
				.id_prefix = figure->id,
			},
			out, diag);
	else if (!error)
		error = (figure->kind == FIGURE_TABLE ? histogram_render
						      : timeline_render)(
			figure,
			&(struct timeline_options){
				.inline_in_html = true,
				.id_prefix = figure->id,
			},
			out, diag);
	again = html_init(html, out, diag);
	return error ? error : again;
}

static int drawn_figure(struct html *html, const struct figure *figure,
			struct sink *out, struct diag *diag)
{
	int error;

	if (template_figure_is_empty(figure)) {
		html_element(html, "p", "empty", "Nothing to draw.");
		return 0;
	}
	html_raw(html, "<figure class=\"drawing\">\n");
	error = drawing_write(html, figure, out, diag);
	html_raw(html, "\n</figure>\n");
	return error;
}

static int figure_write(struct html *html, const struct figure *figure,
			struct sink *out, struct diag *diag);

static int children_write(struct html *html, const struct figure *group,
			  struct sink *out, struct diag *diag)
{
	bool fine = group_is_fine(group);
	int error = 0;

	for (size_t i = 0; i < group->child_count && !error; i++) {
		const struct figure *child = group->children[i];

		if (fine && child->kind == FIGURE_NOTE)
			note_write(html, &child->note, "OK");
		else
			error = figure_write(html, child, out, diag);
	}
	return error;
}

static int figure_write(struct html *html, const struct figure *figure,
			struct sink *out, struct diag *diag)
{
	int error = 0;

	if (figure->caption && *figure->caption && figure->kind != FIGURE_NOTE)
		html_element(html, "p", "caption", figure->caption);
	switch (figure->kind) {
	case FIGURE_SCALARS:
		facts_write(html, figure);
		break;
	case FIGURE_TABLE:
		if (figure->table.is_histogram)
			error = drawn_figure(html, figure, out, diag);
		else
			html_table(html, figure);
		break;
	case FIGURE_SERIES:
	case FIGURE_TREE:
		error = drawn_figure(html, figure, out, diag);
		break;
	case FIGURE_NOTE:
		note_write(html, &figure->note,
			   page_note_word(figure->note.severity));
		break;
	case FIGURE_HISTORY:
		break;
	case FIGURE_GROUP:
		error = children_write(html, figure, out, diag);
		break;
	}
	return error;
}

int html_figure(const struct figure *figure, struct sink *out,
		struct diag *diag)
{
	struct html html;
	int error = html_init(&html, out, diag);
	int done;

	if (error)
		return error;
	if (figure->kind == FIGURE_GROUP)
		html_raw(&html, group_is_fine(figure)
					? "<div class=\"group ok\">\n"
					: "<div class=\"group\">\n");
	error = figure_write(&html, figure, out, diag);
	if (figure->kind == FIGURE_GROUP)
		html_raw(&html, "</div>\n");
	done = html.writer ? html_done(&html, diag) : -ENOMEM;
	return error ? error : done;
}
