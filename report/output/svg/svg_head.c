/* SPDX-License-Identifier: MIT */
#include "report/output/svg/svg_head.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report/core/vec.h"
#include "report/output/svg/svg.h"

enum {
	LINE_PX = 17,
	TITLE_LINE_PX = 26,
	TITLE_PX = 16,
	DESCENT_PX = 5,
	/* Letters are taken to be wide, so most lines end before 400. */
	WIDTH_PX = 420,
};

static bool line_is_title(const struct svg_head_line *line)
{
	return strcmp(line->class, "mp-title") == 0;
}

static void add_line(struct svg_head *head, const char *class, const char *text)
{
	struct svg_head_line *line = text ? vec_push(head) : NULL;

	if (line)
		*line = (struct svg_head_line){ .class = class, .text = text };
	else
		head->failed = true;
}

void svg_head_add(struct svg_head *head, const char *class, const char *text)
{
	struct svg_head_line probe = { .class = class };
	double font_px = line_is_title(&probe) ? TITLE_PX : SVG_FONT_PX;

	while (*text) {
		size_t len = svg_break_text(text, WIDTH_PX, font_px);

		add_line(head, class, arena_copy(&head->arena, text, len));
		text += len;
		text += strspn(text, " ");
	}
}

void svg_head_printf(struct svg_head *head, const char *class,
		     const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	svg_head_add(head, class, text);
}

double svg_head_height(const struct svg_head *head)
{
	double height = SVG_MARGIN_PX;

	for (size_t i = 0; i < head->count; i++)
		height += line_is_title(&head->items[i]) ? TITLE_LINE_PX
							 : LINE_PX;
	return height;
}

void svg_head_draw(const struct svg_head *head, struct svg *svg)
{
	double y = SVG_MARGIN_PX;

	for (size_t i = 0; i < head->count; i++) {
		const struct svg_head_line *line = &head->items[i];

		y += line_is_title(line) ? TITLE_LINE_PX : LINE_PX;
		svg_open(svg, "text");
		svg_attr(svg, "class", line->class);
		svg_attr_int(svg, "x", SVG_MARGIN_PX);
		svg_attr_number(svg, "y", y - DESCENT_PX, 0);
		if (line_is_title(line)) {
			svg_attr_int(svg, "font-size", TITLE_PX);
			svg_attr(svg, "font-weight", "bold");
		}
		svg_text(svg, line->text);
		svg_close(svg);
		svg_break(svg);
	}
	if (head->failed)
		svg->failed = true;
}

void svg_head_done(struct svg_head *head)
{
	vec_done(head);
	arena_done(&head->arena);
}
