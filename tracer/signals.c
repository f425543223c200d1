/* SPDX-License-Identifier: MIT */
#include "tracer/signals.h"

#include "tracer/control.h"
#include "tracer/options.h"
#include "tracer/state.h"
#include "tracer/sys_clone.h"

/*
 * A forked child that is not traced has the handler, too, and not the reason
 * for it: the signal does there what it would do without us.
 *
 * Safety: signal handler.
 */
static void on_signal(int sig)
{
	int pid = sys_getpid();

	if (state_page->pid && state_page->pid == state_pid()) {
		control_toggle(TRACE_PIECE_SIGNAL);
		return;
	}
	sys_signal(sig, SIG_DFL);
	sys_tgkill(pid, sys_gettid(), sig);
}

/* Safety: system calls. */
static void install(int sig)
{
	struct sys_sigaction old;

	if (sys_signal_get(sig, &old) == 0 && old.handler == SIG_DFL)
		sys_signal(sig, on_signal);
}

void signals_init(void)
{
	if (state_page->pid != state_pid())
		return;
	if (options.sigusr1)
		install(SIGUSR1);
	if (options.sigusr2)
		install(SIGUSR2);
}
