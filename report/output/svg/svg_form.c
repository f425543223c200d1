/* SPDX-License-Identifier: MIT */
#include "report/output/svg/svg_form.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "report/output/svg/svg.h"

/* Cuts the markup at its marks. */
static void cut(struct svg_form *form)
{
	const char *markup = form->markup.data;
	const char *at = markup, *mark;

	while ((mark = strchr(at, *SVG_FORM_MARK)) != NULL) {
		assert(form->count < SVG_FORM_VALUES_MAX);
		form->ends[form->count++] = (size_t)(mark - markup);
		at = mark + 1;
	}
	form->ends[form->count++] = form->markup.len;
}

int svg_form_make(struct svg_form *form,
		  void (*draw)(struct svg *svg, const void *context),
		  const void *context)
{
	struct svg svg;
	int status;

	sink_init_memory(&form->markup);
	form->count = 0;
	status = svg_init(&svg, &form->markup, false);
	if (status)
		return status;
	draw(&svg, context);
	/* Which ends the document with a line break. */
	if (svg_done(&svg, NULL) || form->markup.error || !form->markup.len) {
		sink_done(&form->markup);
		return -ENOMEM;
	}
	cut(form);
	return 0;
}

void svg_form_done(struct svg_form *form)
{
	sink_done(&form->markup);
	form->count = 0;
}

static void flush(struct svg_fill *fill)
{
	if (!fill->len)
		return;
	fill->bytes[fill->len] = '\0';
	if (fill->is_text)
		svg_text(fill->svg, fill->bytes);
	else
		svg_markup(fill->svg, fill->bytes, fill->len);
	fill->len = 0;
}

static void add(struct svg_fill *fill, bool is_text, const char *bytes,
		size_t len)
{
	if (fill->is_text != is_text)
		flush(fill);
	fill->is_text = is_text;
	while (len) {
		size_t room = sizeof(fill->bytes) - 1 - fill->len;
		size_t part = len < room ? len : room;

		memcpy(fill->bytes + fill->len, bytes, part);
		fill->len += part;
		bytes += part;
		len -= part;
		if (len)
			flush(fill);
	}
}

void svg_fill_next(struct svg_fill *fill)
{
	const struct svg_form *form = fill->form;
	size_t begin = fill->next ? form->ends[fill->next - 1] + 1 : 0;

	assert(fill->next < form->count);
	add(fill, false, form->markup.data + begin,
	    form->ends[fill->next] - begin);
	fill->next++;
}

void svg_fill_begin(struct svg_fill *fill, struct svg *svg,
		    const struct svg_form *form)
{
	fill->svg = svg;
	fill->form = form;
	fill->next = 0;
	fill->is_text = false;
	fill->len = 0;
	svg_fill_next(fill);
}

void svg_fill_plain(struct svg_fill *fill, const char *value)
{
	add(fill, false, value, strlen(value));
}

/* What libxml2 would not change need not pass through it, and most texts are
   such. */
void svg_fill_text(struct svg_fill *fill, const char *text)
{
	size_t len = strcspn(text, "<>&\"'\r");
	bool is_changed = text[len];

	add(fill, is_changed, text, is_changed ? strlen(text) : len);
}

void svg_fill_end(struct svg_fill *fill)
{
	svg_fill_next(fill);
	assert(fill->next == fill->form->count);
	flush(fill);
}
