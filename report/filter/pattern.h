/* SPDX-License-Identifier: MIT */
/*
 * Regular expressions (PCRE2) that cannot hang a report.
 *
 * Layer: filter.
 */
#ifndef REPORT_FILTER_PATTERN_H
#define REPORT_FILTER_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

struct diag;
struct pattern;

/* Return: 0; -EINVAL with @diag->text when @text does not compile: offset in
   it and PCRE2's message. */
int pattern_check(const char *text, struct diag *diag);

/**
 * pattern_new() - compile
 * @text: PCRE2, UTF-8, searched anywhere in a subject, case matters
 *
 * Return: owned by the caller; NULL with @diag as from pattern_check(), or out
 * of memory.
 */
struct pattern *pattern_new(const char *text, struct diag *diag);
void pattern_free(struct pattern *pattern);

/* Whether @pattern is found in @subject.  A search that runs into PCRE2's
   limits finds nothing and counts as a failure. */
bool pattern_match(struct pattern *pattern, const char *subject);

/* Return: searches that were given up. */
uint64_t pattern_failures(const struct pattern *pattern);

#endif /* REPORT_FILTER_PATTERN_H */
