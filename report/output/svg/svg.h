/* SPDX-License-Identifier: MIT */
/*
 * A small drawing layer over libxml2's writer.  Every name and text is escaped
 * there; texts are sanitised before (report/core/text.h).  The first error
 * sticks and svg_done() tells it.
 *
 * Layer: output.
 */
#ifndef REPORT_OUTPUT_SVG_SVG_H
#define REPORT_OUTPUT_SVG_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diag;
struct sink;

/**
 * struct svg - one document being written
 * @writer: xmlTextWriterPtr, owned
 */
struct svg {
	void *writer;
	bool failed;
};

/* Before threads draw: what the library sets up at first is not locked. */
void svg_prepare(void);

/* Return: 0 or -ENOMEM.  @out is borrowed until svg_done().
   @declaration: whether to begin with <?xml … ?>. */
int svg_init(struct svg *svg, struct sink *out, bool declaration);

/* Closes what is open and frees the writer; must follow svg_init().
   Return: 0 or negative errno with @diag filled; a failed write is told by the
   sink alone. */
int svg_done(struct svg *svg, struct diag *diag);

void svg_open(struct svg *svg, const char *element);
void svg_close(struct svg *svg);
void svg_attr(struct svg *svg, const char *name, const char *value);
void svg_attr_int(struct svg *svg, const char *name, long long value);
/* At most @places places (up to 6), no trailing zeros. */
void svg_attr_number(struct svg *svg, const char *name, double value,
		     unsigned places);
void svg_attr_percent(struct svg *svg, const char *name, double percent);
/* An attribute's value in pieces. */
void svg_value_open(struct svg *svg, const char *name);
void svg_value(struct svg *svg, const char *piece);
void svg_value_close(struct svg *svg);
void svg_text(struct svg *svg, const char *text);
/* @len bytes that this library wrote before; NUL-terminated.  See svg_form.h. */
void svg_markup(struct svg *svg, const char *markup, size_t len);
/* Text of <style> and <script>; must not hold "]]>". */
void svg_cdata(struct svg *svg, const char *text);
/* A line break, for people who read the source. */
void svg_break(struct svg *svg);

/* <svg> as wide as its container and @height pixels high, with what all our
   drawings share; more attributes may follow.  @label: for screen readers. */
void svg_open_root(struct svg *svg, const char *id, const char *class,
		   const char *label, double height, unsigned font_px);
/* Style and background of a drawing in a file of its own. */
void svg_draw_style(struct svg *svg);
void svg_draw_script(struct svg *svg, const char *script);

/* Like svg_attr_number(), into @buf. */
void svg_format_number(char *buf, size_t size, double value, unsigned places);

/* Like svg_attr_percent(), into @buf. */
void svg_format_percent(char *buf, size_t size, double percent);

/* Return: estimated width of @text in a sans-serif font of @font_px; rather
   too wide than too narrow. */
double svg_text_width(const char *text, double font_px);

/* Longest beginning of @text that fits @width, with "…" where it was cut; ""
   when less than two letters fit.  Return: whether anything is left. */
bool svg_fit_text(char *buf, size_t size, const char *text, double width,
		  double font_px);

/* Return: bytes of the longest beginning of @text that fits @width and ends at
   a blank or at its end; at least one word. */
size_t svg_break_text(const char *text, double width, double font_px);

/* Return: a file of templates/ by base name, "" if there is none. */
const char *svg_builtin(const char *name);

#endif /* REPORT_OUTPUT_SVG_SVG_H */
