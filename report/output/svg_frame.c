/* SPDX-License-Identifier: MIT */
#include "report/output/svg_frame.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "report/core/text.h"
#include "report/figure/figure.h"
#include "report/output/svg.h"

void svg_frame_text(struct svg *svg, const struct figure_frame *frame)
{
	char line[16];

	if (!frame) {
		svg_text(svg, "all");
		return;
	}
	svg_text(svg, frame->function);
	if (frame->is_inlined)
		svg_text(svg, " (inlined)");
	if (frame->file) {
		svg_break(svg);
		svg_text(svg, frame->file);
		snprintf(line, sizeof(line), ":%u", (unsigned)frame->line);
		if (frame->line)
			svg_text(svg, line);
	}
	if (*frame->module) {
		svg_break(svg);
		svg_text(svg, frame->module);
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
	double k = fmod(n + hue / 30, 12);
	double a = saturation * fmin(lightness, 1 - lightness);
	double edge = fmax(-1, fmin(fmin(k - 3, 9 - k), 1));

	return (unsigned)lround(255 * (lightness - a * edge));
}

/*
 * Hues apart from each other and from the pink of a search hit; the classes
 * h0 to h11 and s0 to s3 of templates/figures.css say the same.
 */
static const unsigned short hues[] = {205, 28, 150, 52, 262, 8,
				      178, 90, 230, 40, 120, 190};
static const double shades[] = {0.76, 0.80, 0.84, 0.88};

enum {
	HUE_COUNT = sizeof(hues) / sizeof(hues[0]),
	SHADE_COUNT = sizeof(shades) / sizeof(shades[0]),
};

void svg_frame_colour(const struct figure_frame *frame, char *colour,
		      size_t colour_size, char *class, size_t class_size)
{
	bool has_module = frame && *frame->module;
	unsigned hue = 0, shade;
	double saturation = 0.5, degrees;

	if (!frame) {
		snprintf(colour, colour_size, "#dcdcdc");
		snprintf(class, class_size, "r");
		return;
	}
	if (has_module)
		hue = hash_text(text_basename(frame->module)) % HUE_COUNT;
	else
		saturation = 0;
	degrees = hues[hue];
	shade = hash_text(frame->function) % SHADE_COUNT;
	snprintf(colour, colour_size, "#%02x%02x%02x",
		 hsl_channel(degrees, saturation, shades[shade], 0),
		 hsl_channel(degrees, saturation, shades[shade], 8),
		 hsl_channel(degrees, saturation, shades[shade], 4));
	if (has_module)
		snprintf(class, class_size, "h%u s%u", hue, shade);
	else
		snprintf(class, class_size, "u s%u", shade);
}
