/* SPDX-License-Identifier: MIT */
/*
 * Lines of text above a drawing.  They are gathered before any is drawn: their
 * number is part of the document's height, and that comes first.
 *
 * Layer: output.
 */
#ifndef REPORT_OUTPUT_SVG_SVG_HEAD_H
#define REPORT_OUTPUT_SVG_SVG_HEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "report/core/arena.h"

struct svg;

struct svg_head_line {
	const char *class; /* mp-title is set larger */
	const char *text;
};

/* @arena: for texts made here.  @failed: out of memory, lines are missing. */
struct svg_head {
	struct svg_head_line *items;
	size_t count;
	size_t capacity;
	struct arena arena;
	bool failed;
};

/* Adds @text (copied), broken at blanks into lines that a phone can show. */
void svg_head_add(struct svg_head *head, const char *class, const char *text);
/* The same, formatted. */
void svg_head_printf(struct svg_head *head, const char *class,
		     const char *format, ...)
	__attribute__((format(printf, 3, 4)));
double svg_head_height(const struct svg_head *head);
void svg_head_draw(const struct svg_head *head, struct svg *svg);
void svg_head_done(struct svg_head *head);

enum {
	SVG_FONT_PX = 12,
	SVG_MARGIN_PX = 8,
};

#endif /* REPORT_OUTPUT_SVG_SVG_HEAD_H */
