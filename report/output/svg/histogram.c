/* SPDX-License-Identifier: MIT */
/*
 * A table of classes as columns: one panel for counts, one below for bytes.
 *
 * Columns lie in nested <svg>s that are stretched to the container's width;
 * letters are placed in percent and pixels and keep their size.  The first
 * measure of a panel is a wide column, the others are narrow ones before it.
 * Each class has a <title> with all of its numbers, for which no script is
 * needed.  On the x axis stand lower bounds, few enough for a phone.  Columns
 * leave room at the left for the labels of the y axis, and a few of them are not
 * as wide as the drawing.
 */
#include "report/output/artifact.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/units.h"
#include "report/output/svg/svg.h"
#include "report/output/svg/svg_figures.h"
#include "report/output/svg/svg_head.h"
#include "report/output/svg/ticks.h"
#include "report/output/value.h"

enum {
	PANEL_PX = 150,
	LEGEND_PX = 34, /* with room for the label of the topmost line */
	AXIS_PX = 24,
	GAP_PX = 14,
	BOX = 1000,
	GUTTER = 60,
	SLOTS_MIN = 8,
	LABELS_MAX = 8,
	Y_TICKS = 4,
	/* What the columns of such a table are. */
	COLUMN_MIN = 0,
	COLUMN_NAME = 2,
	COLUMN_MEASURES = 3,
	MEASURES_MAX = 3, /* of one kind */
};

static const char *const colours[MEASURES_MAX] = { "#2f6fb5", "#b3541e",
						   "#7a4fa3" };
static const char *const classes[MEASURES_MAX] = { "mp-c0", "mp-c1", "mp-c3" };

struct histogram_drawing {
	struct svg svg;
	const struct figure *figure;
	const struct figure_table *table;
	struct timeline_options options;
	struct svg_head head;
};

/**
 * struct panel - the measures of one kind
 * @columns: @count of them
 * @top_value: at the upper edge
 */
struct panel {
	enum cell_kind kind;
	size_t columns[MEASURES_MAX];
	size_t count;
	double top_px;
	double top_value;
};

static const struct cell *cell_at(const struct figure_table *table, size_t row,
				  size_t column)
{
	return &table->cells[row * table->column_count + column];
}

static double measure_at(const struct figure_table *table, size_t row,
			 size_t column)
{
	const struct cell *cell = cell_at(table, row, column);

	return cell->kind == CELL_NONE ? 0 : (double)cell->count;
}

static void panel_init(struct panel *panel, const struct figure_table *table,
		       enum cell_kind kind)
{
	double largest = 0;

	memset(panel, 0, sizeof(*panel));
	panel->kind = kind;
	for (size_t i = COLUMN_MEASURES; i < table->column_count; i++) {
		if (table->columns[i].kind != kind ||
		    panel->count == MEASURES_MAX)
			continue;
		panel->columns[panel->count++] = i;
		for (size_t row = 0; row < table->row_count; row++)
			largest = fmax(largest, measure_at(table, row, i));
	}
	panel->top_value = largest > 0 ? largest * 1.06 : 1;
}

/* Where column number @row begins, of BOX. */
static double slot_left(const struct figure_table *table, size_t row)
{
	size_t slots = table->row_count > SLOTS_MIN ? table->row_count
						    : SLOTS_MIN;

	return GUTTER + (BOX - GUTTER) * (double)row / (double)slots;
}

/* --- parts -------------------------------------------------------------- */

static void draw_grid(struct svg *svg, const struct panel *panel, bool labels)
{
	struct ticks ticks;

	ticks_compute(&ticks, panel->kind, panel->top_value, Y_TICKS);
	for (unsigned i = labels; i < ticks.count; i++) {
		double y = floor(panel->top_px +
				 PANEL_PX * (1 - ticks.step * i /
							 panel->top_value)) +
			   0.5;
		char text[UNITS_TEXT_SIZE];

		if (labels) {
			ticks_format(&ticks, i, text, sizeof(text));
			svg_open(svg, "text");
			svg_attr(svg, "class", "mp-tick");
			svg_attr(svg, "x", "2");
			svg_attr_number(svg, "y", y - 4, 1);
			svg_attr(svg, "stroke", "#fff");
			svg_attr(svg, "stroke-width", "3");
			svg_attr(svg, "paint-order", "stroke");
			svg_text(svg, text);
		} else {
			svg_open(svg, "line");
			svg_attr(svg, "class", i ? "mp-grid" : "mp-axis");
			svg_attr(svg, "x1", "0");
			svg_attr(svg, "x2", "100%");
			svg_attr_number(svg, "y1", y, 1);
			svg_attr_number(svg, "y2", y, 1);
			svg_attr(svg, "stroke", i ? "#d8dee4" : "#57606a");
		}
		svg_close(svg);
		svg_break(svg);
	}
}

/* "64 B to below 128 B", and a line each measure. */
static void draw_class_title(struct histogram_drawing *draw, size_t row)
{
	const struct figure_table *table = draw->table;
	struct svg *svg = &draw->svg;

	svg_open(svg, "title");
	svg_text(svg, cell_at(table, row, COLUMN_NAME)->text);
	for (size_t i = COLUMN_MEASURES; i < table->column_count; i++) {
		const struct cell *cell = cell_at(table, row, i);
		char shown[VALUE_TEXT_SIZE], exact[VALUE_TEXT_SIZE];
		char line[2 * VALUE_TEXT_SIZE + 64];

		if (!value_format(shown, sizeof(shown), cell))
			continue;
		snprintf(line, sizeof(line),
			 value_format_exact(exact, sizeof(exact), cell)
				 ? "\n%.40s: %s (%s)"
				 : "\n%.40s: %s",
			 table->columns[i].label, shown, exact);
		svg_text(svg, line);
	}
	svg_close(svg);
}

static void draw_column(struct histogram_drawing *draw,
			const struct panel *panel, size_t row, size_t index)
{
	struct svg *svg = &draw->svg;
	double from = slot_left(draw->table, row);
	double slot = slot_left(draw->table, row + 1) - from;
	double narrow = 0.8 / (double)(panel->count > 1 ? panel->count - 1 : 1);
	double left = index ? 0.1 + ((double)index - 1) * narrow : 0.04;
	double width = index ? narrow * 0.9 : 0.92;
	double value = measure_at(draw->table, row, panel->columns[index]);
	double height = BOX * value / panel->top_value;

	if (!(value > 0))
		return;
	/* What is there is seen. */
	height = fmax(height, (double)BOX / PANEL_PX);
	svg_open(svg, "rect");
	svg_attr(svg, "class", classes[index]);
	svg_attr_number(svg, "x", from + slot * left, 2);
	svg_attr_number(svg, "y", BOX - height, 2);
	svg_attr_number(svg, "width", slot * width, 2);
	svg_attr_number(svg, "height", height, 2);
	svg_attr(svg, "fill", colours[index]);
	if (!index && panel->count > 1)
		svg_attr(svg, "fill-opacity", "0.4");
	svg_close(svg);
}

static void draw_panel(struct histogram_drawing *draw,
		       const struct panel *panel)
{
	struct svg *svg = &draw->svg;

	draw_grid(svg, panel, false);
	svg_open(svg, "svg");
	svg_attr(svg, "class", "mp-plot");
	svg_attr_number(svg, "y", panel->top_px, 1);
	svg_attr(svg, "width", "100%");
	svg_attr_int(svg, "height", PANEL_PX);
	svg_attr(svg, "viewBox", "0 0 1000 1000");
	svg_attr(svg, "preserveAspectRatio", "none");
	svg_break(svg);
	for (size_t row = 0; row < draw->table->row_count; row++) {
		double from = slot_left(draw->table, row);

		svg_open(svg, "g");
		svg_attr(svg, "class", "mp-class");
		draw_class_title(draw, row);
		/* The whole height answers to the pointer. */
		svg_open(svg, "rect");
		svg_attr_number(svg, "x", from, 2);
		svg_attr_number(svg, "width",
				slot_left(draw->table, row + 1) - from, 2);
		svg_attr_int(svg, "height", BOX);
		svg_attr(svg, "fill-opacity", "0");
		svg_close(svg);
		for (size_t i = 0; i < panel->count; i++)
			draw_column(draw, panel, row, i);
		svg_close(svg);
		svg_break(svg);
	}
	svg_close(svg);
	svg_break(svg);
	draw_grid(svg, panel, true);
}

static void draw_legend(struct histogram_drawing *draw,
			const struct panel *panel)
{
	struct svg *svg = &draw->svg;
	double x = SVG_MARGIN_PX, y = panel->top_px - LEGEND_PX;

	for (size_t i = 0; i < panel->count; i++) {
		const char *label =
			draw->table->columns[panel->columns[i]].label;

		svg_open(svg, "rect");
		svg_attr(svg, "class", classes[i]);
		svg_attr_number(svg, "x", x, 1);
		svg_attr_number(svg, "y", y + 5, 1);
		svg_attr(svg, "width", "12");
		svg_attr(svg, "height", "12");
		svg_attr(svg, "rx", "2");
		svg_attr(svg, "fill", colours[i]);
		if (!i && panel->count > 1)
			svg_attr(svg, "fill-opacity", "0.4");
		svg_close(svg);
		svg_open(svg, "text");
		svg_attr_number(svg, "x", x + 17, 1);
		svg_attr_number(svg, "y", y + 15, 1);
		svg_text(svg, label);
		svg_close(svg);
		svg_break(svg);
		x += 17 + svg_text_width(label, SVG_FONT_PX) + 14;
	}
}

/* --- x axis ------------------------------------------------------------- */

/* Which power the lower bound of @row is: of 2 for bytes, of 10 for seconds.
   Return: whether it is one. */
static bool row_power(const struct figure_table *table, size_t row, int *ret)
{
	const struct cell *cell = cell_at(table, row, COLUMN_MIN);

	if (cell->kind == CELL_BYTES && cell->count) {
		*ret = (int)round(log2((double)cell->count));
		return true;
	}
	if (cell->kind == CELL_SECONDS && cell->number > 0) {
		double power = log10(cell->number);

		*ret = (int)round(power);
		return fabs(power - round(power)) < 0.01;
	}
	return false;
}

/* Every so many powers there is a label, so that all of them fit. */
static int label_step(const struct figure_table *table)
{
	int step = 0;
	size_t labels;

	do {
		step = step < 4 ? step + 1 : step + 2;
		labels = 0;
		for (size_t row = 0; row < table->row_count; row++) {
			int power;

			labels += row_power(table, row, &power) &&
				  power % step == 0;
		}
	} while (labels > LABELS_MAX);
	return step;
}

static void draw_x_tick(struct svg *svg, double percent, double y,
			double length)
{
	svg_open(svg, "line");
	svg_attr(svg, "class", "mp-axis");
	svg_attr_percent(svg, "x1", percent);
	svg_attr_percent(svg, "x2", percent);
	svg_attr_number(svg, "y1", y, 1);
	svg_attr_number(svg, "y2", y + length, 1);
	svg_attr(svg, "stroke", "#57606a");
	svg_close(svg);
}

static void draw_x_label(struct svg *svg, double percent, double y,
			 const char *text, bool is_last)
{
	draw_x_tick(svg, percent, y, 6);
	svg_open(svg, "text");
	svg_attr(svg, "class", "mp-tick");
	svg_attr_percent(svg, "x", is_last ? 100 : percent);
	svg_attr_number(svg, "y", y + 17, 1);
	if (is_last)
		svg_attr(svg, "text-anchor", "end");
	svg_attr(svg, "dx", is_last ? "-2" : "2");
	svg_text(svg, text);
	svg_close(svg);
	svg_break(svg);
}

static void draw_x_labels(struct histogram_drawing *draw, double y)
{
	const struct figure_table *table = draw->table;
	size_t rows = table->row_count;
	int step = label_step(table);
	bool has_open_end =
		cell_at(table, rows - 1, COLUMN_MIN)->kind == CELL_NONE;
	/* Whether the label of the open end needs room before it. */
	bool is_wide = has_open_end && rows >= SLOTS_MIN;

	/* Each class begins at a tick; there is room for a label at some. */
	for (size_t row = 0; row < rows; row++) {
		double percent = 100 * slot_left(table, row) / BOX;
		const struct cell *min = cell_at(table, row, COLUMN_MIN);
		char text[VALUE_TEXT_SIZE];
		int power;

		/* The last quarter of a phone's width is for the last label. */
		if (min->kind == CELL_NONE ||
		    (row && !(row_power(table, row, &power) &&
			      power % step == 0)) ||
		    (row && percent < GUTTER * 0.1 + 11) ||
		    percent > (is_wide ? 68 : 88)) {
			if (!has_open_end || row + 1 < rows)
				draw_x_tick(&draw->svg, percent, y, 3);
			continue;
		}
		value_format(text, sizeof(text), min);
		units_trim_zeros(text);
		draw_x_label(&draw->svg, percent, y, text, false);
	}
	if (has_open_end)
		draw_x_label(&draw->svg, 100 * slot_left(table, rows - 1) / BOX,
			     y, cell_at(table, rows - 1, COLUMN_NAME)->text,
			     is_wide);
}

/* --- the document ------------------------------------------------------- */

static void draw_document(struct histogram_drawing *draw)
{
	const struct figure *figure = draw->figure;
	bool is_file = !draw->options.inline_in_html;
	const char *title = draw->options.title;
	const char *id = draw->options.id_prefix;
	struct panel panels[2];
	struct svg *svg = &draw->svg;
	double height;

	if (!title)
		title = is_file ? figure->title : "";
	if (*title)
		svg_head_add(&draw->head, "mp-title", title);
	if (figure->caption && is_file)
		svg_head_add(&draw->head, "mp-note", figure->caption);
	if (draw->table->row_count) {
		svg_head_printf(&draw->head, "mp-legend",
				"Each column is a class of “%s”;",
				draw->table->columns[COLUMN_NAME].label);
		svg_head_add(&draw->head, "mp-legend",
			     "under the pointer are its numbers.");
	} else {
		svg_head_add(&draw->head, "mp-empty",
			     figure->caption ? "nothing to show"
					     : "nothing matched");
	}
	height = svg_head_height(&draw->head);
	for (size_t i = 0; draw->table->row_count && i < 2; i++) {
		panel_init(&panels[i], draw->table,
			   i ? CELL_BYTES : CELL_COUNT);
		panels[i].top_px = height + LEGEND_PX;
		height += LEGEND_PX + PANEL_PX + AXIS_PX + (i ? 0 : GAP_PX);
	}
	svg_open_root(svg, id ? id : figure->id, "mp-histogram",
		      *figure->title ? figure->title : figure->id,
		      height + SVG_MARGIN_PX, SVG_FONT_PX);
	if (is_file)
		svg_draw_style(svg);
	svg_head_draw(&draw->head, svg);
	for (size_t i = 0; draw->table->row_count && i < 2; i++) {
		draw_legend(draw, &panels[i]);
		draw_panel(draw, &panels[i]);
		draw_x_labels(draw, panels[i].top_px + PANEL_PX);
	}
	svg_close(svg);
}

int histogram_render(const struct figure *figure,
		     const struct timeline_options *options, struct sink *out,
		     struct diag *diag)
{
	struct histogram_drawing draw = { .figure = figure,
					  .table = &figure->table };
	int error;

	if (figure->kind != FIGURE_TABLE || !figure->table.is_histogram)
		return diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
				"a histogram needs a table of classes");
	if (options)
		draw.options = *options;
	error = svg_init(&draw.svg, out, !draw.options.inline_in_html);
	if (error)
		return diag_set(diag, error, NULL, DIAG_NO_OFFSET,
				"out of memory");
	draw_document(&draw);
	svg_head_done(&draw.head);
	return svg_done(&draw.svg, diag);
}

static int render(const struct figure *figure, struct sink *out,
		  struct diag *diag)
{
	return histogram_render(figure, NULL, out, diag);
}

const struct artifact_format artifact_sizes = {
	.name = "sizes",
	.suffix = "sizes.svg",
	.subject = SUBJECT_SIZES,
	.kind = FIGURE_TABLE,
	.summary = "allocations by requested size: SVG chart",
	.render = render,
};

const struct artifact_format artifact_lifetimes = {
	.name = "lifetimes",
	.suffix = "lifetimes.svg",
	.subject = SUBJECT_LIFETIMES,
	.kind = FIGURE_TABLE,
	.summary = "allocations by lifetime: SVG chart",
	.render = render,
};
