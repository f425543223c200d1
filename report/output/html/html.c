/* SPDX-License-Identifier: MIT */
/*
 * index.html: one file with its style, script and drawings inside.  The body
 * comes from templates/index.md; this file draws figures for it and puts the
 * frame of a document around.
 */
#include <errno.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/sink.h"
#include "report/output/html/html_figure.h"
#include "report/output/html/html_value.h"
#include "report/output/page.h"
#include "report/output/page_data.h"
#include "report/output/svg/svg_figures.h"
#include "report/template/file.h"

/* Nothing is loaded from anywhere, whatever a name in the trace says. */
#define CONTENT_POLICY                                                         \
	"default-src 'none'; style-src 'unsafe-inline'; "                      \
	"script-src 'unsafe-inline'; img-src data:; base-uri 'none'; "         \
	"form-action 'none'"

static int draw_figure(void *context, const struct figure *figure,
		       struct sink *out, struct diag *diag)
{
	(void)context;
	return html_figure(figure, out, diag);
}

static int draw_block(void *context, const char *name, struct sink *out,
		      struct diag *diag)
{
	struct page_data *data = context;
	const char *view = NULL;
	enum page_block block = page_data_block(data, name, &view);
	struct html html;
	int error;

	if (block == PAGE_BLOCK_NONE)
		return TEMPLATE_E_NO_BLOCK;
	if (!out)
		return 0;
	error = html_init(&html, out, diag);
	if (error)
		return error;
	if (block == PAGE_BLOCK_DEFINITIONS)
		html_definitions(&html);
	else
		html_links(&html, data, view);
	return html_done(&html, diag);
}

static int draw_tiles(void *context, const struct figure_scalar *const *scalars,
		      size_t count, struct sink *out, struct diag *diag)
{
	struct html html;
	int error = html_init(&html, out, diag);

	(void)context;
	if (error)
		return error;
	html_tiles(&html, scalars, count);
	return html_done(&html, diag);
}

static int draw_scalar(void *context, const struct figure_scalar *scalar,
		       struct sink *out, struct diag *diag)
{
	struct html html;
	int error = html_init(&html, out, diag);

	(void)context;
	if (error)
		return error;
	html_value(&html, &scalar->value);
	return html_done(&html, diag);
}

static int draw_section(void *context, enum template_section section,
			const char *title, struct sink *before,
			struct sink *after)
{
	struct html html;
	int error;

	(void)context;
	if (section == SECTION_TABS) {
		sink_puts(before, "<div class=\"tabs\">");
		sink_puts(after, "</div>");
		return 0;
	}
	sink_puts(before, "<details class=\"fold\">");
	error = html_init(&html, before, NULL);
	if (error)
		return error;
	html_element(&html, "summary", NULL, title);
	sink_puts(after, "</details>");
	return html_done(&html, NULL);
}

static int body_render(struct page_data *data, struct arena *arena,
		       struct sink *out, struct diag *diag)
{
	const struct template_output output = {
		.context = data,
		.is_html = true,
		.figure = draw_figure,
		.block = draw_block,
		.tiles = draw_tiles,
		.scalar = draw_scalar,
		.section = draw_section,
	};
	struct template_file file;
	int error;

	error = template_file_load(&file, data->page->template_dir,
				   data->page->template_file
					   ? data->page->template_file
					   : page_html.template_file,
				   arena, diag);
	if (error)
		return error;
	return template_render(file.path, file.text, file.len, &data->data,
			       &output, out, diag);
}

/* Loads what goes into a <style> or <script> element, where "</" ends it. */
static int raw_load(struct template_file *ret, const struct page *page,
		    const char *name, struct arena *arena, struct diag *diag)
{
	int error = template_file_load(ret, page->template_dir, name, arena,
				       diag);

	if (!error && strstr(ret->text, "</"))
		error = diag_set(diag, -EINVAL, ret->path, DIAG_NO_OFFSET,
				 "must not hold \"</\", which would end the "
				 "page's element");
	return error;
}

static void meta_write(struct html *html, const char *name,
		       const char *content)
{
	html_open(html, "meta", NULL);
	html_attr(html, "name", name);
	html_attr(html, "content", content);
	html_close_void(html);
	html_break(html);
}

static void head_write(struct html *html, const struct page *page,
		       const char *style)
{
	html_open(html, "head", NULL);
	html_break(html);
	html_raw(html, "<meta charset=\"utf-8\">\n");
	html_open(html, "meta", NULL);
	html_attr(html, "http-equiv", "Content-Security-Policy");
	html_attr(html, "content", CONTENT_POLICY);
	html_close_void(html);
	html_break(html);
	meta_write(html, "viewport", "width=device-width, initial-scale=1");
	meta_write(html, "color-scheme", "light dark");
	meta_write(html, "referrer", "no-referrer");
	html_element(html, "title", NULL, page->title);
	html_break(html);
	html_open(html, "style", NULL);
	html_raw(html, style);
	html_raw(html, svg_figures_style());
	html_close(html);
	html_break(html);
	html_close(html);
	html_break(html);
}

static void script_write(struct html *html, const char *script)
{
	html_open(html, "script", NULL);
	html_raw(html, script);
	html_close(html);
	html_break(html);
}

static void document_write(struct html *html, const struct page *page,
			   const char *style, const char *body,
			   const char *script)
{
	static const char *const themes[] = {
		[THEME_AUTO] = "auto",
		[THEME_LIGHT] = "light",
		[THEME_DARK] = "dark",
	};

	html_raw(html, "<!DOCTYPE html>\n");
	html_open(html, "html", NULL);
	html_attr(html, "lang", "en");
	html_attr(html, "data-theme", themes[page->theme]);
	html_break(html);
	head_write(html, page, style);
	html_open(html, "body", NULL);
	html_raw(html, "\n<a class=\"skip\" href=\"#main\">Skip to the "
		       "report</a>\n");
	html_raw(html, "<header class=\"bar\"><span class=\"brand\">memprof"
		       "</span><span class=\"kind\">memory report</span>"
		       "</header>\n");
	html_raw(html, "<main id=\"main\">\n");
	html_raw(html, body);
	html_raw(html, "</main>\n");
	html_raw(html, "<footer class=\"foot\">Written by memprof. This page "
		       "is one file and loads nothing.</footer>\n");
	script_write(html, script);
	script_write(html, flamegraph_script());
	script_write(html, timeline_script());
	html_close(html);
	html_break(html);
	html_close(html);
	html_break(html);
}

static int render_with(struct page_data *data, struct sink *body,
		       struct sink *out, struct diag *diag)
{
	struct template_file style, script;
	struct html html;
	int error;

	error = raw_load(&style, data->page, "page.css", &data->arena, diag);
	if (!error)
		error = raw_load(&script, data->page, "page.js", &data->arena,
				 diag);
	if (!error)
		error = body_render(data, &data->arena, body, diag);
	if (!error)
		error = html_init(&html, out, diag);
	if (error)
		return error;
	document_write(&html, data->page, style.text,
		       body->data ? body->data : "", script.text);
	error = html_done(&html, diag);
	return error ? error : out->error;
}

static int html_render(const struct page *page, struct sink *out,
		       struct diag *diag)
{
	struct page_data data;
	struct sink body;
	int error = page_data_init(&data, page, diag);

	sink_init_memory(&body);
	if (!error)
		error = render_with(&data, &body, out, diag);
	sink_done(&body);
	page_data_done(&data);
	return error;
}

const struct page_format page_html = {
	.name = "html",
	.file = "index.html",
	.template_file = "index.md",
	.summary = "one self-contained page for a browser",
	.render = html_render,
};
