/* SPDX-License-Identifier: MIT */
#include "report/output/svg/flamegraph_key.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/text.h"
#include "report/core/vec.h"
#include "report/figure/figure.h"
#include "report/output/svg/svg.h"
#include "report/output/svg/svg_head.h"

enum {
	ROW_PX = 19,
	SWATCH_PX = 12,
	LABEL_X_PX = 17,
	SPACE_PX = 12,
	WIDTH_PX = 400,
	LABEL_MAX_PX = 180,
	LABEL_SIZE = 128,
	RECENT_COUNT = 64,
};

/* @recent: index + 1 of modules seen lately, by their addresses. */
struct module_costs {
	struct figure_module_cost *items;
	size_t count, capacity;
	size_t recent[RECENT_COUNT];
};

static int compare_modules(const void *a, const void *b)
{
	const struct figure_module_cost *x = a, *y = b;

	return strcmp(x->module, y->module);
}

static int compare_costs(const void *a, const void *b)
{
	const struct figure_module_cost *x = a, *y = b;

	if (x->cost != y->cost)
		return x->cost < y->cost ? 1 : -1;
	return strcmp(x->module, y->module);
}

/* Areas add up to more than the whole, so they may exceed any integer. */
static uint64_t sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Return: number of @items after those of one module were added up. */
static size_t merge_modules(struct figure_module_cost *items, size_t count)
{
	size_t kept = 0;

	if (!count)
		return 0;
	qsort(items, count, sizeof(*items), compare_modules);
	for (size_t i = 0; i < count; i++)
		if (kept &&
		    strcmp(items[kept - 1].module, items[i].module) == 0)
			items[kept - 1].cost =
				sum(items[kept - 1].cost, items[i].cost);
		else
			items[kept++] = items[i];
	qsort(items, kept, sizeof(*items), compare_costs);
	return kept;
}

static const char *module_label(const struct flame_key_entry *entry, char *buf,
				size_t size)
{
	svg_fit_text(buf, size, text_basename(entry->module), LABEL_MAX_PX,
		     SVG_FONT_PX);
	return buf;
}

static void place_entries(struct flame_key *key)
{
	double x = 0, y = 0;

	for (size_t i = 0; i < key->shown; i++) {
		struct flame_key_entry *entry = &key->entries[i];
		char label[LABEL_SIZE];
		double width = LABEL_X_PX + SPACE_PX +
			       svg_text_width(module_label(entry, label,
							   sizeof(label)),
					      SVG_FONT_PX);

		if (x > 0 && x + width > WIDTH_PX) {
			x = 0;
			y += ROW_PX;
		}
		entry->x = x;
		entry->y = y;
		x += width;
	}
	key->height_px = key->shown ? y + ROW_PX : 0;
}

/* Return: @hue, or the next that no entry has. */
static unsigned free_hue(const struct flame_key *key, unsigned hue)
{
	for (size_t i = 0; i < key->count; i++) {
		if (key->entries[i].hue != hue)
			continue;
		hue = (hue + 1) % SVG_HUE_COUNT;
		i = (size_t)-1; /* all of them again */
	}
	return hue;
}

/* Names are the same texts nearly always: what has the address of one seen lately
   is added up at once, so that few are left to sort.  Return: whether there was
   memory. */
static bool add_module(struct module_costs *costs, const char *module,
		       uint64_t cost)
{
	size_t *last =
		&costs->recent[(uintptr_t)module / 8 % RECENT_COUNT];
	struct figure_module_cost *item;

	if (!*module || !cost)
		return true;
	if (!*last || costs->items[*last - 1].module != module) {
		item = vec_push(costs);
		if (!item)
			return false;
		item->module = module;
		*last = costs->count;
	}
	item = &costs->items[*last - 1];
	item->cost = sum(item->cost, cost);
	return true;
}

/* Collects modules and what they cost.  Return: as above. */
static bool collect_modules(const struct figure_tree *tree,
			    struct module_costs *ret)
{
	const struct figure_left_out *left_out = &tree->left_out;

	for (size_t i = 0; i < left_out->module_count; i++)
		if (!add_module(ret, left_out->modules[i].module,
				left_out->modules[i].cost))
			return false;
	for (uint32_t i = 0; i < tree->node_count; i++) {
		const struct figure_node *node = &tree->nodes[i];

		if (!add_module(ret, node->frame ? node->frame->module : "",
				tree->by_count ? node->total_count
					       : node->total_bytes))
			return false;
	}
	return true;
}

int flame_key_compute(const struct figure_tree *tree, struct flame_key *ret)
{
	struct module_costs costs = { .items = NULL };
	struct figure_module_cost *items;
	size_t count;

	memset(ret, 0, sizeof(*ret));
	if (!collect_modules(tree, &costs)) {
		vec_done(&costs);
		return -ENOMEM;
	}
	items = costs.items;
	count = merge_modules(items, costs.count);
	for (size_t i = 0; i < count && i < SVG_HUE_COUNT; i++) {
		unsigned hue = svg_frame_hue(items[i].module);

		ret->entries[i].hue = free_hue(ret, hue);
		ret->entries[i].module = items[i].module;
		ret->count++;
	}
	ret->shown =
		ret->count < FLAME_KEY_SHOWN ? ret->count : FLAME_KEY_SHOWN;
	vec_done(&costs);
	place_entries(ret);
	return 0;
}

unsigned flame_key_hue(const struct flame_key *key, const char *module)
{
	for (size_t i = 0; i < key->count; i++)
		if (key->entries[i].module == module ||
		    strcmp(key->entries[i].module, module) == 0)
			return key->entries[i].hue;
	return svg_frame_hue(module);
}

void flame_key_draw(const struct flame_key *key, struct svg *svg, double y)
{
	for (size_t i = 0; i < key->shown; i++) {
		const struct flame_key_entry *entry = &key->entries[i];
		char colour[16], class[16], label[LABEL_SIZE];

		svg_frame_colour(colour, sizeof(colour), entry->hue, 0);
		snprintf(class, sizeof(class), "h%u s0", entry->hue);
		svg_open(svg, "rect");
		svg_attr(svg, "class", class);
		svg_attr_number(svg, "x", SVG_MARGIN_PX + entry->x, 1);
		svg_attr_number(svg, "y", y + entry->y + 3, 1);
		svg_attr_int(svg, "width", SWATCH_PX);
		svg_attr_int(svg, "height", SWATCH_PX);
		svg_attr(svg, "rx", "2");
		svg_attr(svg, "fill", colour);
		svg_close(svg);
		svg_open(svg, "text");
		svg_attr(svg, "class", "mp-legend");
		svg_attr_number(svg, "x", SVG_MARGIN_PX + entry->x + LABEL_X_PX,
				1);
		svg_attr_number(svg, "y", y + entry->y + 13, 1);
		svg_text(svg, module_label(entry, label, sizeof(label)));
		svg_close(svg);
		svg_break(svg);
	}
}
