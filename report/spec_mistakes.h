/* SPDX-License-Identifier: MIT */
/*
 * All mistakes of one spec file or --view, in the order of their lines: each is
 * kept and the reading goes on.
 */
#ifndef REPORT_SPEC_MISTAKES_H
#define REPORT_SPEC_MISTAKES_H

#include <stdbool.h>

#include "report/core/diag.h"

/**
 * struct mistakes
 * @last:  filled by who finds one
 * @first: the first of them, if there are @any
 * @more:  gets those after the first, in order; borrowed, may be NULL, has no
 *         others
 */
struct mistakes {
	struct diag last;
	struct diag first;
	struct findings *more;
	bool any;
};

/* @status is that of something which may have failed, @last filled then.  Return:
   0 if the reading can go on, that is after -EINVAL too; else @status. */
int mistakes_keep(struct mistakes *mistakes, int status);

/* At the end, @status that of the reading.  Return: @status, or -EINVAL where
   there are mistakes; @diag, which may be NULL, filled with what ended the reading
   or with the first mistake. */
int mistakes_finish(const struct mistakes *mistakes, int status,
		    struct diag *diag);

#endif /* REPORT_SPEC_MISTAKES_H */
