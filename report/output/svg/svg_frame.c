/* SPDX-License-Identifier: MIT */
#include "report/output/svg/svg_frame.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "report/core/text.h"
#include "report/core/units.h"
#include "report/figure/figure.h"
#include "report/output/svg/svg_form.h"

void svg_frame_fill(struct svg_fill *fill, const struct figure_frame *frame)
{
	char line[UNITS_TEXT_SIZE + 1] = ":";

	if (!frame) {
		svg_fill_text(fill, "all");
		return;
	}
	svg_fill_text(fill, frame->function);
	if (frame->is_inlined)
		svg_fill_text(fill, " (inlined)");
	if (frame->file) {
		svg_fill_text(fill, "\n");
		svg_fill_text(fill, frame->file);
		units_format_decimal(line + 1, frame->line);
		if (frame->line)
			svg_fill_text(fill, line);
	}
	if (*frame->module) {
		svg_fill_text(fill, "\n");
		svg_fill_text(fill, frame->module);
	}
}

/* FNV-1a, G. Fowler, L. C. Noll, K.-P. Vo; high bits folded down. */
static uint32_t hash_text(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	hash ^= hash >> 29;
	return (uint32_t)(hash ^ hash >> 32);
}

/* HSL to RGB: CSS Color Module Level 4, section 7.1. */
static unsigned hsl_channel(double hue, double saturation, double lightness,
			    unsigned n)
{
	double k = fmod(n + (hue + 360) / 30, 12);
	double a = saturation * fmin(lightness, 1 - lightness);
	double edge = fmax(-1, fmin(fmin(k - 3, 9 - k), 1));

	return (unsigned)lround(255 * (lightness - a * edge));
}

static const unsigned short hues[SVG_HUE_COUNT] = {
	205, 28, 150, 52, 262, 8, 178, 90, 230, 40, 120, 190
};
/* Lightness, and degrees beside the module's hue. */
static const struct {
	double lightness;
	int turn;
} shades[SVG_SHADE_COUNT] = {
	{ 0.70, 0 }, { 0.75, -10 }, { 0.80, 8 }, { 0.85, -4 }
};

unsigned svg_frame_hue(const char *module)
{
	return *module ? hash_text(text_basename(module)) % SVG_HUE_COUNT
		       : SVG_HUE_COUNT;
}

unsigned svg_frame_shade(const char *function)
{
	return hash_text(function) % SVG_SHADE_COUNT;
}

void svg_frame_colour(char *buf, size_t size, unsigned hue, unsigned shade)
{
	double saturation = hue < SVG_HUE_COUNT ? 0.52 : 0;
	double degrees =
		hue < SVG_HUE_COUNT ? hues[hue] + shades[shade].turn : 0;
	double lightness = shades[shade].lightness;

	snprintf(buf, size, "#%02x%02x%02x",
		 hsl_channel(degrees, saturation, lightness, 0),
		 hsl_channel(degrees, saturation, lightness, 8),
		 hsl_channel(degrees, saturation, lightness, 4));
}
