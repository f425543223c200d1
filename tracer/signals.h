/* SPDX-License-Identifier: MIT */
/* SIGUSR1 and SIGUSR2 switch recording on and off. */
#ifndef TRACER_SIGNALS_H
#define TRACER_SIGNALS_H

/*
 * Installs handlers for the signals that the options name, but where the
 * default is to be had no more: what the process was started with to ignore
 * stays ignored, and a handler that is there already stays.  The program's
 * own, installed later, replaces ours without our noticing.
 *
 * Safety: once, at the start, signals blocked until start-up is done.  errno:
 * untouched.
 */
void signals_init(void);

#endif /* TRACER_SIGNALS_H */
