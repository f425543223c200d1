/* SPDX-License-Identifier: MIT */
/*
 * Which hue stands for which module, and the key that says so.
 *
 * A module's hue follows from its name, so it is the same in most graphs; only
 * where two heavy modules of one graph would get the same, the lighter one
 * takes the next that is free.
 *
 * Layer: output.
 */
#ifndef REPORT_OUTPUT_SVG_FLAMEGRAPH_KEY_H
#define REPORT_OUTPUT_SVG_FLAMEGRAPH_KEY_H

#include <stddef.h>

#include "report/output/svg/svg_frame.h"

struct figure_tree;
struct svg;

enum { FLAME_KEY_SHOWN = 6 };

struct flame_key_entry {
	const char *module;
	unsigned hue;
	double x, y; /* from the key's corner, pixels; the shown ones */
};

/* @entries: by falling area of their boxes, drawn or not; the first @shown are
   drawn, in rows that a phone can show. */
struct flame_key {
	struct flame_key_entry entries[SVG_HUE_COUNT];
	size_t count;
	size_t shown;
	double height_px;
};

/* Cost: a sort of the nodes.  Return: 0 or -ENOMEM. */
int flame_key_compute(const struct figure_tree *tree, struct flame_key *ret);
unsigned flame_key_hue(const struct flame_key *key, const char *module);
void flame_key_draw(const struct flame_key *key, struct svg *svg, double y);

#endif /* REPORT_OUTPUT_SVG_FLAMEGRAPH_KEY_H */
