/* SPDX-License-Identifier: MIT */
#include "report/output/html/html_value.h"

#include <stdio.h>
#include <string.h>

#include "report/figure/definition.h"
#include "report/output/html/html_stack.h"
#include "report/output/value.h"

static void number_write(struct html *html, const struct cell *cell)
{
	char shown[VALUE_TEXT_SIZE];
	char exact[VALUE_TEXT_SIZE];
	char plain[VALUE_TEXT_SIZE];

	value_format(shown, sizeof(shown), cell);
	value_format_plain(plain, sizeof(plain), cell);
	html_open(html, "data", NULL);
	html_attr(html, "value", plain);
	if (value_format_exact(exact, sizeof(exact), cell))
		html_attr(html, "title", exact);
	html_text(html, shown);
	html_close(html);
}

void html_value(struct html *html, const struct cell *cell)
{
	char shown[VALUE_TEXT_SIZE];

	switch (cell->kind) {
	case CELL_COUNT:
	case CELL_BYTES:
	case CELL_ID:
	case CELL_SIGNED:
	case CELL_SECONDS:
	case CELL_RATIO:
		number_write(html, cell);
		break;
	case CELL_ADDRESS:
		value_format(shown, sizeof(shown), cell);
		html_element(html, "code", NULL, shown);
		break;
	case CELL_DATE:
		value_format(shown, sizeof(shown), cell);
		html_open(html, "time", NULL);
		html_attr(html, "datetime", shown);
		html_text(html, shown);
		html_close(html);
		break;
	case CELL_FLAG:
		html_text(html, cell->flag ? "yes" : "no");
		break;
	case CELL_TEXT:
		html_open(html, "span",
			  value_is_prose(cell->text) ? "text" : "text sym");
		html_attr(html, "title", cell->text);
		html_text(html, cell->text);
		html_close(html);
		break;
	case CELL_STACK:
		html_stack_site(html, cell->stack);
		html_stack_calls(html, cell->stack);
		break;
	case CELL_LINK:
		html_open(html, "a", NULL);
		html_href(html, cell->link->path);
		html_text(html, cell->link->text);
		html_close(html);
		break;
	case CELL_LIST:
		html_open(html, "span", "text");
		for (size_t i = 0; i < cell->list->count; i++) {
			if (i)
				html_text(html, " ");
			html_element(html, "code", NULL, cell->list->items[i]);
		}
		html_close(html);
		break;
	case CELL_NONE:
		html_element(html, "span", "none", "\xe2\x80\x93");
		break;
	}
}

void html_term(struct html *html, const char *label, const char *definition)
{
	const struct definition *found = definition_find(definition);

	if (!found) {
		html_text(html, label);
		return;
	}
	html_open(html, "abbr", NULL);
	html_attr(html, "title", found->text);
	html_text(html, label);
	html_close(html);
}

void html_definition_popup(struct html *html, const char *label,
			   const char *definition)
{
	const struct definition *found = definition_find(definition);

	if (!found)
		return;
	html_open(html, "details", "what");
	html_open(html, "summary", NULL);
	html_attr_printf(html, "aria-label", "What is \xe2\x80\x9c%s\xe2\x80\x9d?",
			 label);
	html_text(html, "?");
	html_close(html);
	html_element(html, "p", NULL, found->text);
	html_close(html);
}
