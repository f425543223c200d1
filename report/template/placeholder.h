/* SPDX-License-Identifier: MIT */
/*
 * The words of the template language: what stands between {{ and }}.
 *
 * Layer: template.
 */
#ifndef REPORT_TEMPLATE_PLACEHOLDER_H
#define REPORT_TEMPLATE_PLACEHOLDER_H

#include <stdbool.h>
#include <stddef.h>

struct arena;

enum placeholder_kind {
	PLACEHOLDER_NAME,  /* {{name}} */
	PLACEHOLDER_TILES, /* {{tiles name name …}} */
	PLACEHOLDER_IF,    /* {{#if name}} … {{/if}} */
	PLACEHOLDER_UNLESS,
	PLACEHOLDER_EACH,
	PLACEHOLDER_DETAILS,
	PLACEHOLDER_TABS,
	PLACEHOLDER_END, /* {{/word}} */
};

/**
 * struct placeholder
 * @word:     "if", "each" … for opening and closing ones, else ""
 * @argument: what follows the word, blanks trimmed; the name itself
 */
struct placeholder {
	enum placeholder_kind kind;
	const char *word;
	const char *argument;
};

/* Return: first "{{" of @text, or NULL. */
const char *placeholder_find(const char *text);

/**
 * placeholder_parse() - read one
 * @text:    at its "{{"
 * @ret_end: first byte after its "}}"
 *
 * Return: NULL, or what is wrong with it, in words: *@ret and *@ret_end are
 * not written then.
 */
const char *placeholder_parse(struct placeholder *ret, const char **ret_end,
			      const char *text, struct arena *arena);

/* Return: whether @kind begins a section that {{/word}} ends. */
bool placeholder_opens(enum placeholder_kind kind);

#endif /* REPORT_TEMPLATE_PLACEHOLDER_H */
