/* SPDX-License-Identifier: MIT */
/*
 * Markup that is repeated many times with other values.  libxml2 writes it once,
 * with marks where the values belong, and is cut there; to fill it in is to copy
 * the pieces and to have the texts between them escaped, again by libxml2, where
 * there is anything to escape.  That is several times faster than to write each
 * element and attribute anew.
 *
 * Layer: output.
 */
#ifndef REPORT_OUTPUT_SVG_SVG_FORM_H
#define REPORT_OUTPUT_SVG_SVG_FORM_H

#include <stdbool.h>
#include <stddef.h>

#include "report/core/sink.h"

struct svg;

enum { SVG_FORM_VALUES_MAX = 12, SVG_FILL_BYTES = 2048 };

/* Stands for a value while a form is drawn; nothing else there has this
   character. */
#define SVG_FORM_MARK "~"

/**
 * struct svg_form - markup in pieces
 * @markup: memory sink of all of it
 * @ends:   @count ends of pieces in it, the last that of the markup; each but the
 *          last is followed by a mark
 */
struct svg_form {
	struct sink markup;
	size_t ends[SVG_FORM_VALUES_MAX + 1];
	size_t count;
};

/**
 * svg_form_make() - the form that @draw draws
 * @draw: one element, with SVG_FORM_MARK for the value of an attribute or for a
 *        text, at most SVG_FORM_VALUES_MAX times
 *
 * Return: 0 or -ENOMEM, with nothing to free.
 */
int svg_form_make(struct svg_form *form,
		  void (*draw)(struct svg *svg, const void *context),
		  const void *context);
void svg_form_done(struct svg_form *form);

/**
 * struct svg_fill - a form that is being filled in
 * @next:    number of the piece that comes next
 * @is_text: what is in @bytes is to be escaped
 */
struct svg_fill {
	struct svg *svg;
	const struct svg_form *form;
	size_t next;
	bool is_text;
	size_t len;
	char bytes[SVG_FILL_BYTES];
};

/* Into the element that is open in @svg, which must hold something already.
   Then each value in turn, in one or more parts, each value but the last followed
   by svg_fill_next(); then svg_fill_end(). */
void svg_fill_begin(struct svg_fill *fill, struct svg *svg,
		    const struct svg_form *form);
/* A number or a name of ours: nothing in it could need to be escaped. */
void svg_fill_plain(struct svg_fill *fill, const char *value);
/* A part of a text between two tags; not of an attribute. */
void svg_fill_text(struct svg_fill *fill, const char *text);
void svg_fill_next(struct svg_fill *fill);
/* The element is closed, and a line break follows it. */
void svg_fill_end(struct svg_fill *fill);

#endif /* REPORT_OUTPUT_SVG_SVG_FORM_H */
