/* SPDX-License-Identifier: MIT */
/* Why a program left no trace. */
#ifndef TRACER_RECORD_DIAGNOSE_H
#define TRACER_RECORD_DIAGNOSE_H

/*
 * @program is searched for in PATH as execvp() does.
 *
 * Safety: single thread.  Return: a reason, as far as it can be told; static.
 */
const char *diagnose_untraced(const char *program);

#endif /* TRACER_RECORD_DIAGNOSE_H */
