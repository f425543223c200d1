/* SPDX-License-Identifier: MIT */
/*
 * Words out of a fixed set: looking one up, and saying what is allowed when it
 * is none of them.
 *
 * Layer: filter.
 */
#ifndef REPORT_FILTER_CHOICE_H
#define REPORT_FILTER_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

struct diag;

/**
 * choice_find() - position of @word among @words
 * @words: NULL-terminated
 * @what:  what the word should have been, with its article: "a lifetime"
 *
 * Return: index; -EINVAL with @diag->text `"WORD" is not WHAT; did you mean
 * "NEAREST"? Allowed: …`.
 */
int choice_find(const char *word, const char *const *words, const char *what,
		struct diag *diag);

/* Fills @buf with "A, B, C", cut at @size. */
void choice_list(const char *const *words, char *buf, size_t size);

/**
 * choice_hint() - `; did you mean "NEAREST"? Allowed: A, B`
 * @buf: result, NUL-terminated, cut at @size
 *
 * There is no question when no word is near.  Of more than 24 words only those
 * near @word are named, if any: `Near it: A, B; there are 66`.
 *
 * Return: whether words were left out.
 */
bool choice_hint(const char *word, const char *const *words, char *buf,
		 size_t size);

#endif /* REPORT_FILTER_CHOICE_H */
