/* SPDX-License-Identifier: MIT */
#include "report/output/markdown/markdown_text.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "report/core/sink.h"

#define NOTHING "<!-- -->"

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9');
}

/* Return: whether GitHub would make something of the letter at @text. */
static bool is_magic(const char *text)
{
	size_t name;

	switch (*text) {
	case '@':
	case '#':
		return is_word(text[1]);
	case ':':
		if (text[1] == '/' && text[2] == '/')
			return true;
		name = strspn(text + 1, "abcdefghijklmnopqrstuvwxyz"
					"0123456789_+-");
		return name > 0 && text[1 + name] == ':';
	case 'w':
	case 'W':
		return strncasecmp(text, "www.", 4) == 0;
	default:
		return false;
	}
}

/* Return: how many letters at the start of @text would begin a list or a
   rule if they began a line; the last of them gets a backslash. */
static size_t line_start(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	if (*text == '-' || *text == '+' || *text == '=')
		return 1;
	return digits && (text[digits] == '.' || text[digits] == ')')
		       ? digits + 1
		       : 0;
}

void markdown_text(struct sink *out, const char *text)
{
	size_t start = line_start(text);

	if (start) {
		sink_write(out, text, start - 1);
		sink_puts(out, "\\");
		sink_write(out, text + start - 1, 1);
		text += start;
	}
	for (char before = ' '; *text; before = *text++) {
		/* Inside of a word an underscore means nothing. */
		bool joins = *text == '_' && is_word(before) &&
			     is_word(text[1]);

		if (strchr("\\`*_{}[]<>#|~&$", *text) && !joins)
			sink_puts(out, "\\");
		sink_write(out, text, 1);
		if (is_magic(text))
			sink_puts(out, NOTHING);
	}
}

/* Return: longest run of backquotes in @len bytes of @text. */
static size_t backquote_run(const char *text, size_t len)
{
	size_t longest = 0;
	size_t run = 0;

	for (size_t i = 0; i < len; i++) {
		run = text[i] == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

/* Return: bytes of @text up to @max_letters code points. */
static size_t letters_len(const char *text, size_t max_letters)
{
	size_t len = 0;

	for (size_t letters = 0; text[len]; len++) {
		bool begins = ((unsigned char)text[len] & 0xc0) != 0x80;

		if (begins && ++letters > max_letters)
			break;
	}
	return len;
}

static void backquotes(struct sink *out, size_t count)
{
	while (count--)
		sink_puts(out, "`");
}

/* In a table's cell a backslash only escapes a pipe, and only an odd run of
   them does: an even run gets one more, which the table takes away again. */
static void code_content(struct sink *out, const char *text, size_t len,
			 bool in_table)
{
	size_t backslashes = 0;

	for (size_t i = 0; i < len; i++) {
		if (in_table && text[i] == '|')
			sink_puts(out, backslashes % 2 ? "\\\\" : "\\");
		backslashes = text[i] == '\\' ? backslashes + 1 : 0;
		sink_write(out, text + i, 1);
	}
}

static void code_span(struct sink *out, const char *text, size_t max_letters,
		      bool in_table)
{
	size_t len = letters_len(text, max_letters);
	size_t fence = backquote_run(text, len) + 1;
	bool pad;

	if (!len) {
		sink_puts(out, "\xe2\x80\x93");
		return;
	}
	pad = strchr("` ", text[0]) || strchr("` ", text[len - 1]);
	backquotes(out, fence);
	sink_puts(out, pad ? " " : "");
	code_content(out, text, len, in_table);
	sink_puts(out, text[len] ? "\xe2\x80\xa6" : "");
	sink_puts(out, pad ? " " : "");
	backquotes(out, fence);
}

void markdown_code(struct sink *out, const char *text, size_t max_letters)
{
	code_span(out, text, max_letters, true);
}

void markdown_code_outside(struct sink *out, const char *text,
			   size_t max_letters)
{
	code_span(out, text, max_letters, false);
}

void markdown_target(struct sink *out, const char *path)
{
	for (; *path; path++) {
		if (is_word(*path) || strchr("._~/-", *path))
			sink_write(out, path, 1);
		else
			sink_printf(out, "%%%02X", (unsigned char)*path);
	}
}

void markdown_block(struct sink *out, const char *text)
{
	size_t fence = backquote_run(text, strlen(text)) + 1;

	fence = fence < 3 ? 3 : fence;
	backquotes(out, fence);
	sink_printf(out, "text\n%s", text);
	backquotes(out, fence);
	sink_puts(out, "\n");
}

void markdown_html_text(struct sink *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '<')
			sink_puts(out, "&lt;");
		else if (*text == '>')
			sink_puts(out, "&gt;");
		else if (*text == '&')
			sink_puts(out, "&amp;");
		else
			sink_write(out, text, 1);
		if (is_magic(text))
			sink_puts(out, NOTHING);
	}
}
