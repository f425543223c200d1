/* SPDX-License-Identifier: MIT */
#include "report/core/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "report/core/arena.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Length of the valid UTF-8 sequence at @s, 0 if there is none; *@ret is its
   code point.  Unicode 15, table 3-7 (well-formed byte sequences). */
static size_t utf8_decode(const unsigned char *s, size_t len, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t need;
	uint32_t code;

	if (s[0] < 0x80) {
		*ret = s[0];
		return 1;
	}
	if ((s[0] & 0xe0) == 0xc0) {
		need = 2;
		code = s[0] & 0x1f;
	} else if ((s[0] & 0xf0) == 0xe0) {
		need = 3;
		code = s[0] & 0x0f;
	} else if ((s[0] & 0xf8) == 0xf0) {
		need = 4;
		code = s[0] & 0x07;
	} else {
		return 0;
	}
	if (len < need)
		return 0;
	for (size_t i = 1; i < need; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < least[need] || code > 0x10ffff ||
	    (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret = code;
	return need;
}

static bool code_is_plain(uint32_t code)
{
	if (code < 0x20 || (code >= 0x7f && code < 0xa0))
		return false;
	if (code >= 0x2028 && code <= 0x202e)
		return false;
	if (code >= 0x2066 && code <= 0x2069)
		return false;
	return code != 0xfffe && code != 0xffff;
}

char *text_sanitize(struct arena *arena, const char *text, size_t len)
{
	const unsigned char *in = (const unsigned char *)text;
	size_t out_len = 0;
	char *result = NULL;
	char *out = NULL;

	for (int pass = 0; pass < 2; pass++) {
		if (pass == 1) {
			result = arena_alloc(arena, out_len + 1);
			if (!result)
				return NULL;
			out = result;
		}
		for (size_t i = 0; i < len;) {
			uint32_t code;
			size_t n = utf8_decode(in + i, len - i, &code);
			bool plain = n && code_is_plain(code);
			size_t put = plain ? n : sizeof(REPLACEMENT) - 1;

			if (pass == 1) {
				memcpy(out, plain ? text + i : REPLACEMENT,
				       put);
				out += put;
			} else {
				out_len += put;
			}
			i += n ? n : 1;
		}
	}
	return result;
}

const char *text_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

enum { WORD_MAX = 64 };

/* Levenshtein distance, two-row form; words longer than WORD_MAX are far. */
size_t text_distance(const char *a, const char *b)
{
	size_t a_len = strlen(a), b_len = strlen(b);
	size_t row[WORD_MAX + 1];

	if (a_len > WORD_MAX || b_len > WORD_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t change = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < change)
				change = row[j] + 1;
			if (row[j - 1] + 1 < change)
				change = row[j - 1] + 1;
			row[j] = change;
		}
	}
	return row[b_len];
}

const char *text_nearest(const char *word, const char *const *words)
{
	size_t best = strlen(word) / 2 + 1;
	const char *nearest = NULL;

	for (; *words; words++) {
		size_t distance = text_distance(word, *words);

		if (distance < best) {
			best = distance;
			nearest = *words;
		}
	}
	return nearest;
}
