/* SPDX-License-Identifier: MIT */
/* Why --memory was not enough. */
#ifndef REPORT_REFUSAL_H
#define REPORT_REFUSAL_H

struct diag;
struct pipeline;

/* The limit has refused memory: says in @diag what has how much of it.  Return:
   -ENOMEM. */
int refusal_explain(const struct pipeline *pipeline, const char *trace,
		    struct diag *diag);

#endif /* REPORT_REFUSAL_H */
