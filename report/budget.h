/* SPDX-License-Identifier: MIT */
/*
 * fail_if: limits whose excess is an exit status, for continuous integration.
 */
#ifndef REPORT_BUDGET_H
#define REPORT_BUDGET_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct arena;
struct budget;
struct diag;
struct figure;
struct pipeline;

enum budget_subject { BUDGET_OF_RUN, BUDGET_OF_VIEW };

/* @items: @count of them, owned by the arena they were parsed into.  @line:
   where they stand in the spec, 0 in --view; set by whoever knows. */
struct budgets {
	struct budget *items;
	size_t count;
	uint32_t line;
};

/**
 * budgets_parse() - "groups > 0, bytes > 1MiB"
 *
 * Return: 0; -EINVAL with @diag->text saying what was found and what is
 * allowed; -ENOMEM.
 */
int budgets_parse(struct budgets *ret, enum budget_subject subject,
		  const char *text, struct arena *arena, struct diag *diag);

/* Return: how many conditions the spec has; *@ret_failed of them hold now that
   the trace has been read. */
size_t budgets_count(const struct pipeline *pipeline, size_t *ret_failed);

/* Writes a line to @out for each condition of the spec that holds now that the
   trace has been read; it names the trace where there are several.  Return: how
   many do. */
size_t budgets_check(const struct pipeline *pipeline, FILE *out);

/**
 * budgets_figures() - the same for readers of the report
 * @ret_table: TABLE "limits", a row for each condition; NULL if the spec has none
 * @ret_failed: GROUP "failed", an error note for each that holds; NULL if none does
 *
 * Return: 0 or -ENOMEM.
 */
int budgets_figures(const struct pipeline *pipeline,
		    const struct figure **ret_table,
		    const struct figure **ret_failed);

#endif /* REPORT_BUDGET_H */
