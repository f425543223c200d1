/* SPDX-License-Identifier: MIT */
#include "report/output/svg/svg.h"

#include <errno.h>
#include <inttypes.h>
#include <libxml/parser.h>
#include <libxml/xmlwriter.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/sink.h"
#include "report/core/units.h"
#include "report/output/svg/svg_figures.h"
#include "report/template/builtin.h"

static const xmlChar *xml_text(const char *text)
{
	return (const xmlChar *)text;
}

/* The sink keeps its error for whoever asks it; the library, told of it, would
   print a line of its own. */
static int write_to_sink(void *context, const char *data, int len)
{
	sink_write(context, data, (size_t)len);
	return len;
}

void svg_prepare(void)
{
	xmlInitParser();
}

int svg_init(struct svg *svg, struct sink *out, bool declaration)
{
	xmlOutputBufferPtr buffer;

	memset(svg, 0, sizeof(*svg));
	buffer = xmlOutputBufferCreateIO(write_to_sink, NULL, out, NULL);
	if (!buffer)
		return -ENOMEM;
	svg->writer = xmlNewTextWriter(buffer);
	if (!svg->writer) {
		xmlOutputBufferClose(buffer);
		return -ENOMEM;
	}
	if (declaration)
		svg->failed |= xmlTextWriterStartDocument(svg->writer, NULL,
							  "UTF-8", NULL) < 0;
	return 0;
}

int svg_done(struct svg *svg, struct diag *diag)
{
	svg->failed |= xmlTextWriterEndDocument(svg->writer) < 0;
	svg->failed |= xmlTextWriterFlush(svg->writer) < 0;
	xmlFreeTextWriter(svg->writer);
	svg->writer = NULL;
	if (svg->failed)
		return diag_set(diag, -EIO, NULL, DIAG_NO_OFFSET,
				"the drawing could not be written");
	return 0;
}

void svg_open(struct svg *svg, const char *element)
{
	svg->failed |=
		xmlTextWriterStartElement(svg->writer, xml_text(element)) < 0;
}

void svg_close(struct svg *svg)
{
	svg->failed |= xmlTextWriterEndElement(svg->writer) < 0;
}

void svg_attr(struct svg *svg, const char *name, const char *value)
{
	svg->failed |= xmlTextWriterWriteAttribute(svg->writer, xml_text(name),
						   xml_text(value)) < 0;
}

void svg_attr_int(struct svg *svg, const char *name, long long value)
{
	char text[UNITS_TEXT_SIZE + 1] = "-";
	bool is_negative = value < 0;

	units_format_decimal(text + is_negative,
			     is_negative ? 0 - (uint64_t)value
					 : (uint64_t)value);
	svg_attr(svg, name, text);
}

void svg_format_number(char *buf, size_t size, double value, unsigned places)
{
	char text[2 * UNITS_TEXT_SIZE];
	uint64_t scale = 1, scaled, fraction;
	bool is_negative;
	size_t len = 0;

	if (places > 6)
		places = 6;
	for (unsigned i = 0; i < places; i++)
		scale *= 10;
	if (!(fabs(value) < 1e12))
		value = 0;
	is_negative = llround(value * (double)scale) < 0;
	scaled = (uint64_t)llround(fabs(value) * (double)scale);
	if (is_negative)
		text[len++] = '-';
	len += units_format_decimal(text + len, scaled / scale);
	fraction = scaled % scale;
	if (fraction)
		text[len++] = '.';
	/* Digit by digit, until only zeros are left. */
	for (; fraction; fraction %= scale) {
		scale /= 10;
		text[len++] = (char)('0' + fraction / scale);
	}
	if (len >= size)
		len = size - 1;
	memcpy(buf, text, len);
	buf[len] = '\0';
}

void svg_attr_number(struct svg *svg, const char *name, double value,
		     unsigned places)
{
	char text[48];

	svg_format_number(text, sizeof(text), value, places);
	svg_attr(svg, name, text);
}

void svg_format_percent(char *buf, size_t size, double percent)
{
	size_t len;

	svg_format_number(buf, size - 1, percent, 6);
	len = strlen(buf);
	memcpy(buf + len, "%", 2);
}

void svg_attr_percent(struct svg *svg, const char *name, double percent)
{
	char text[56];

	svg_format_percent(text, sizeof(text), percent);
	svg_attr(svg, name, text);
}

void svg_value_open(struct svg *svg, const char *name)
{
	svg->failed |=
		xmlTextWriterStartAttribute(svg->writer, xml_text(name)) < 0;
}

void svg_value(struct svg *svg, const char *piece)
{
	svg_text(svg, piece);
}

void svg_value_close(struct svg *svg)
{
	svg->failed |= xmlTextWriterEndAttribute(svg->writer) < 0;
}

void svg_text(struct svg *svg, const char *text)
{
	svg->failed |=
		xmlTextWriterWriteString(svg->writer, xml_text(text)) < 0;
}

void svg_markup(struct svg *svg, const char *markup, size_t len)
{
	svg->failed |= xmlTextWriterWriteRawLen(svg->writer, xml_text(markup),
						(int)len) < 0;
}

void svg_cdata(struct svg *svg, const char *text)
{
	svg->failed |= xmlTextWriterWriteCDATA(svg->writer, xml_text(text)) < 0;
}

void svg_break(struct svg *svg)
{
	svg_text(svg, "\n");
}

void svg_open_root(struct svg *svg, const char *id, const char *class,
		   const char *label, double height, unsigned font_px)
{
	char classes[64];

	snprintf(classes, sizeof(classes), "mp-svg %s", class);
	svg_open(svg, "svg");
	svg_attr(svg, "xmlns", "http://www.w3.org/2000/svg");
	svg_attr(svg, "id", id);
	svg_attr(svg, "class", classes);
	svg_attr(svg, "width", "100%");
	svg_attr_number(svg, "height", height, 0);
	svg_attr_int(svg, "font-size", font_px);
	svg_attr(svg, "font-family",
		 "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif");
	svg_attr(svg, "role", "img");
	svg_attr(svg, "aria-label", label);
}

void svg_draw_style(struct svg *svg)
{
	svg_open(svg, "style");
	svg_cdata(svg, svg_figures_style());
	svg_close(svg);
	svg_break(svg);
	svg_open(svg, "rect");
	svg_attr(svg, "class", "mp-ground");
	svg_attr(svg, "width", "100%");
	svg_attr(svg, "height", "100%");
	svg_attr(svg, "fill", "#fff");
	svg_close(svg);
	svg_break(svg);
}

void svg_draw_script(struct svg *svg, const char *script)
{
	if (!*script)
		return;
	svg_open(svg, "script");
	svg_cdata(svg, script);
	svg_close(svg);
	svg_break(svg);
}

const char *svg_figures_style(void)
{
	return svg_builtin("figures.css");
}

/*
 * Advance widths in hundredths of the font size: those of DejaVu Sans and
 * Verdana rounded up to classes, the widest fonts that "sans-serif" commonly
 * means.  Anything beyond ASCII counts as a full square when it may be
 * ideographic, else as a wide letter.
 */
static unsigned glyph_width(unsigned char c)
{
	static const char narrow[] = "ijl.,:;'|!I ";
	static const char slim[] = "frt()[]{}/\\-\"";
	static const char wide_ones[] = "mwMWOQ@%";
	static const char broad[] = "_<>=+~#&ABCDEGHKNPRSTUVXYZ";

	if (strchr(narrow, c))
		return 35;
	if (strchr(slim, c))
		return 41;
	if (strchr(wide_ones, c))
		return 97;
	if (c == '_')
		return 55;
	if (strchr(broad, c))
		return 76;
	return 63;
}

/* Bytes of the UTF-8 sequence that starts at @text; its width in @ret. */
static size_t next_glyph(const char *text, unsigned *ret)
{
	unsigned char c = (unsigned char)text[0];
	size_t len = 1;

	if (c < 0x80) {
		*ret = glyph_width(c);
		return 1;
	}
	while (((unsigned char)text[len] & 0xc0) == 0x80)
		len++;
	*ret = c >= 0xe1 ? 100 : 70;
	return len;
}

double svg_text_width(const char *text, double font_px)
{
	uint64_t width = 0;

	while (*text) {
		unsigned glyph;

		text += next_glyph(text, &glyph);
		width += glyph;
	}
	return (double)width * font_px / 100;
}

bool svg_fit_text(char *buf, size_t size, const char *text, double width,
		  double font_px)
{
	static const char ellipsis[] = "…";
	double room = width * 100 / font_px;
	double used = 0, cut_room = room - 100;
	size_t glyphs = 0, cut = 0, len = 0;

	buf[0] = '\0';
	while (text[len]) {
		unsigned glyph;
		size_t n = next_glyph(text + len, &glyph);

		used += glyph;
		if (used > room || len + n + sizeof(ellipsis) > size)
			break;
		len += n;
		if (used <= cut_room) {
			cut = len;
			glyphs++;
		}
	}
	if (!text[len]) {
		memcpy(buf, text, len + 1);
		return len > 0;
	}
	if (glyphs < 2)
		return false;
	memcpy(buf, text, cut);
	memcpy(buf + cut, ellipsis, sizeof(ellipsis));
	return true;
}

size_t svg_break_text(const char *text, double width, double font_px)
{
	double room = width * 100 / font_px, used = 0;
	size_t len = 0, end = 0;

	while (text[len]) {
		unsigned glyph;

		if (text[len] == ' ')
			end = len;
		len += next_glyph(text + len, &glyph);
		used += glyph;
		if (used > room && end)
			return end;
	}
	return len;
}

const char *svg_builtin(const char *name)
{
	for (size_t i = 0; i < builtin_file_count; i++)
		if (strcmp(builtin_files[i].name, name) == 0)
			return builtin_files[i].data;
	return "";
}
