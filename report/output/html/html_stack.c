/* SPDX-License-Identifier: MIT */
#include "report/output/html/html_stack.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/core/text.h"
#include "report/output/value.h"

enum { SUMMARY_CALLERS = 4, FRAMES_MAX = 100 };

static void line_write(struct html *html, const char *file, uint32_t line)
{
	char text[16];

	html_text(html, file);
	if (!line)
		return;
	snprintf(text, sizeof(text), ":%" PRIu32, line);
	html_text(html, text);
}

/* Return: whether what @frame is called says its module: "libx.so+0x12". */
static bool is_module_said(const struct figure_frame *frame)
{
	return !frame->module || !*frame->module ||
	       strncmp(value_frame_name(frame), frame->module,
		       strlen(frame->module)) == 0;
}

/* File and line; where they are not known, what tells two calls apart that a
   function makes. */
static void place_write(struct html *html, const struct figure_frame *frame)
{
	char offset[24];

	if (frame->file) {
		line_write(html, frame->file, frame->line);
	} else if (!is_module_said(frame)) {
		html_text(html, frame->module);
		snprintf(offset, sizeof(offset), "+0x%" PRIx64, frame->offset);
		if (frame->offset)
			html_text(html, offset);
	}
}

void html_stack_site(struct html *html, const struct figure_stack *stack)
{
	const struct figure_frame *site;

	if (!stack->count) {
		html_element(html, "span", "none", "no stack");
		return;
	}
	site = &stack->frames[stack->count - stack->plumbing - 1];
	html_open(html, "span", "text sym");
	html_attr(html, "title", value_frame_name(site));
	html_text(html, value_frame_name(site));
	html_close(html);
	if (!site->file && is_module_said(site))
		return;
	html_open(html, "span", "where");
	place_write(html, site);
	if (site->file && !is_module_said(site)) {
		html_text(html, " \xc2\xb7 ");
		html_text(html, site->module);
	}
	html_close(html);
}

static void frame_write(struct html *html, const struct figure_frame *frame)
{
	html_open(html, "li", NULL);
	html_element(html, "span", "sym", value_frame_name(frame));
	if (frame->file || !is_module_said(frame)) {
		html_text(html, " ");
		html_open(html, "span", "where");
		place_write(html, frame);
		html_close(html);
	}
	if (frame->is_inlined) {
		html_text(html, " ");
		html_element(html, "span", "where", "(inlined)");
	}
	html_close(html);
}

static void summary_write(struct html *html, const struct figure_stack *stack)
{
	size_t callers = stack->count - stack->plumbing - 1;
	char count[48];

	html_open(html, "summary", NULL);
	snprintf(count, sizeof(count), "%zu %s", stack->count,
		 stack->count == 1 ? "frame" : "frames");
	html_element(html, "span", "where", count);
	html_open(html, "span", "callers");
	for (size_t i = 0; i < callers && i < SUMMARY_CALLERS; i++) {
		const struct figure_frame *frame =
			&stack->frames[callers - 1 - i];

		html_text(html, i ? " \xe2\x86\x90 " : "\xe2\x86\x90 ");
		html_element(html, "span", "sym", value_frame_name(frame));
		if (!frame->file)
			continue;
		html_text(html, " ");
		html_open(html, "span", "where");
		line_write(html, text_basename(frame->file), frame->line);
		html_close(html);
	}
	if (callers > SUMMARY_CALLERS)
		html_text(html, " \xe2\x86\x90 \xe2\x80\xa6");
	html_close(html);
	html_close(html);
}

void html_stack_calls(struct html *html, const struct figure_stack *stack)
{
	char more[48];

	if (!stack->count)
		return;
	html_open(html, "details", "stack");
	summary_write(html, stack);
	html_open(html, "ol", NULL);
	for (size_t i = stack->count;
	     i-- > 0 && stack->count - i <= FRAMES_MAX;)
		frame_write(html, &stack->frames[i]);
	if (stack->count > FRAMES_MAX) {
		snprintf(more, sizeof(more), "%zu more outwards",
			 stack->count - FRAMES_MAX);
		html_element(html, "li", "none", more);
	} else if (stack->truncated) {
		html_element(html, "li", "none", "outer frames are missing");
	}
	html_close(html);
	html_close(html);
}
