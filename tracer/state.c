/* SPDX-License-Identifier: MIT */
#include "tracer/state.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/allocators.h"
#include "tracer/chunk.h"
#include "tracer/clock.h"
#include "tracer/compiler.h"
#include "tracer/cull_stamps.h"
#include "tracer/duration.h"
#include "tracer/event.h"
#include "tracer/filters.h"
#include "tracer/helper.h"
#include "tracer/hooks_new.h"
#include "tracer/jit.h"
#include "tracer/libc.h"
#include "tracer/live.h"
#include "tracer/log.h"
#include "tracer/modules.h"
#include "tracer/options.h"
#include "tracer/output_name.h"
#include "tracer/piece.h"
#include "tracer/pool.h"
#include "tracer/real.h"
#include "tracer/record.h"
#include "tracer/signals.h"
#include "tracer/smaps.h"
#include "tracer/thread.h"
#include "tracer/tls.h"
#include "tracer/trace_file.h"
#include "tracer/unwind.h"
#include "tracer/zero.h"

/* In glibc for ever, in no header; @dso NULL: run after all destructors. */
extern int __cxa_at_quick_exit(void (*fn)(void *), void *dso);

static struct state_page off_page;
HOT_DATA struct state_page *state_page = &off_page;
HOT_DATA atomic_bool state_settled;

static pthread_key_t end_key;
static bool end_key_valid;
static int quick_status = -1;
static bool live_is_away; /* removed for an exec that may fail */

/* Held while pieces begin and end. */
static struct spinlock lock;

/**
 * struct work - what beginning and ending pieces has to put back
 */
struct work {
	uintptr_t guard;
	uint64_t signals;
	int error;
};

int state_pid(void)
{
	int pid = filters_child_pid(), tid;

	if (!pid)
		pid = sys_getpid();
	if (LIKELY(pid > 0))
		return pid;
	/* A vfork() child has our memory, but is none of our threads. */
	tid = sys_gettid();
	return tid > 0 && sys_tgkill(state_page->pid, tid, 0) == -ESRCH
		       ? tid
		       : state_page->pid;
}

/* Safety: the process's only thread.  Return: not above 0 where a filter
   refuses to tell. */
static int find_pid(void)
{
	int pid = sys_getpid();

	return pid > 0 ? pid : sys_gettid();
}

/* Safety: anywhere.  Return: whether end_work() must follow; not while another
   thread is at it and @waits is false. */
static bool begin_work(struct work *work, bool waits)
{
	if (!state_settled || !state_page->pid ||
	    state_page->pid != state_pid())
		return false;
	work->error = errno;
	work->guard = tls_enter_internal();
	sys_signals_block(&work->signals);
	if (waits ? spinlock_take_patiently(&lock) : spinlock_try(&lock))
		return true;
	sys_signals_restore(&work->signals);
	tls_leave_internal(work->guard);
	return false;
}

/* Safety: after begin_work(). */
static void end_work(const struct work *work)
{
	spinlock_give(&lock);
	sys_signals_restore(&work->signals);
	tls_leave_internal(work->guard);
	errno = work->error;
}

/* Safety: system calls.  Makes @state_page one that forks wipe. */
static bool map_state_page(void)
{
	struct state_page *page = pool_map(4096);

	if (!page)
		return false;
	if (sys_madvise(page, 4096, MADV_WIPEONFORK) != 0) {
		log_line(LOG_ERROR, "the kernel lacks MADV_WIPEONFORK", NULL,
			 0);
		return false;
	}
	page->pid = find_pid();
	state_page = page;
	return true;
}

/* Safety: signals blocked, inside the guard.  Return: whether it is on. */
static bool start_trace(void)
{
	struct program_start start = program_start_get();

	options_read(start.envp);
	pool_init();
	if (options.zero_memory)
		zero_install();
	if (!options.output[0])
		return false;
	output_name_init(options.base);
	clock_init();
	log_init();
	options_log();
	cull_stamps_init();
	modules_init();
	jit_init();
	if (!map_state_page() || record_process_init(&start) != 0)
		return false;
	signals_init();
	if (options.disabled) {
		piece_note_gap();
		return false;
	}
	if (piece_begin(TRACE_PIECE_START) == 0)
		return true;
	state_page->pid = 0;
	return false;
}

bool state_start(void)
{
	static atomic_flag starting = ATOMIC_FLAG_INIT;
	uintptr_t guard;
	uint64_t signals;
	bool on;

	if (!real_ready() || atomic_flag_test_and_set(&starting))
		return false;
	guard = tls_enter_internal();
	sys_signals_block(&signals);
	on = start_trace();
	if (on) {
		modules_scan();
		modules_loader.dirty = 0;
		atomic_store(&state_page->on, true);
	}
	atomic_store(&state_settled, true);
	sys_signals_restore(&signals); /* one may have come to stop it */
	tls_leave_internal(guard);
	return on;
}

bool state_is_owner(void)
{
	return state_page->on && state_page->pid == state_pid();
}

/* Safety: the helper. */
static void take_last_smaps(void *arg)
{
	(void)arg;
	smaps_take();
}

/* Memory as it is at the end.  A failing exec may be one of a hundred.
   Safety: inside the guard, owner, without the helper. */
static void take_smaps(enum trace_end_how how)
{
	uint64_t signals;

	sys_signals_block(&signals);
	if (how == TRACE_END_EXEC)
		smaps_take_if_due();
	else if (!filters_hinder || !helper_call(take_last_smaps, NULL))
		smaps_take();
	sys_signals_restore(&signals);
}

/* Safety: inside the guard, owner.  What every end has in common.  Under a
   filter it takes the helper to write. */
static void write_end(enum trace_end_how how, int status, const char *program)
{
	bool needs_helper = filters_hinder;

	event_rss_last();
	unwind_report();
	thread_flush_all();
	modules_scan();
	if (!needs_helper)
		helper_stop();
	take_smaps(how);
	jit_keep(how == TRACE_END_EXEC);
	piece_end(how, status, program);
	if (needs_helper)
		helper_stop();
}

/*
 * Whether no other thread can run, so that PATH.live can be exchanged: one
 * that has no stream yet is the kernel's to tell.
 *
 * Safety: inside the guard, owner.
 */
static bool is_alone(void)
{
	struct stat st;

	return thread_is_only() && sys_stat("/proc/self/task", &st) == 0 &&
	       st.st_nlink == 2 + 1; /* ".", ".." and the one thread */
}

/*
 * With one thread PATH.live goes before an exec and comes back when that
 * fails.  With more it stays: it could not be brought back while others write
 * to it, and after an exec that succeeded it holds nothing that is missing.
 *
 * Safety: inside the guard, owner.
 */
static void remove_live(enum trace_end_how how)
{
	/* What a full disk has taken is told there. */
	if (how == TRACE_END_ABORT || chunk_lost_pending())
		return;
	if (how == TRACE_END_EXEC) {
		if (!is_alone())
			return;
		live_is_away = true;
	}
	live_remove();
}

/* Safety: inside the guard, owner, alone.  Undoes remove_live(). */
static void restore_live(void)
{
	struct thread *th = tls.thread;

	live_is_away = false;
	if (!live_has_file())
		return;
	thread_flush_all();
	live_restore();
	if (th && th->buffer)
		thread_restore_buffer(th);
}

/*
 * With abort and exec the process may go on, so recording stays on; else it
 * is switched off first, and nothing can come after the end.
 */
void state_end(enum trace_end_how how, int status, const char *program)
{
	bool goes_on = how == TRACE_END_ABORT || how == TRACE_END_EXEC;
	struct work work;

	if (!state_is_owner() || !begin_work(&work, true))
		return;
	if (goes_on ? state_page->on
		    : atomic_exchange(&state_page->on, false)) {
		write_end(how, status, program);
		remove_live(how);
		if (chunk_lost_count())
			log_number(LOG_ERROR, "events missing from the trace:",
				   (long long)chunk_lost_count());
	}
	end_work(&work);
}

/*
 * The loader was not watched while nothing was recorded.
 *
 * Safety: after begin_work().
 */
static void begin(enum trace_piece_why why)
{
	if (piece_begin(why) != 0)
		return;
	modules_mark_dirty();
	duration_begin();
	state_page->on = true;
}

bool state_begin(enum trace_piece_why why)
{
	struct work work;
	bool on;

	if (!begin_work(&work, true))
		return false;
	if (!state_page->on)
		begin(why);
	on = state_page->on;
	end_work(&work);
	return on;
}

bool state_stop(void)
{
	struct work work;
	bool on;

	if (!begin_work(&work, true))
		return false;
	on = atomic_exchange(&state_page->on, false);
	if (on)
		piece_stop();
	end_work(&work);
	return on;
}

void state_rotate(void)
{
	struct work work;

	if (!begin_work(&work, false))
		return;
	if (state_page->on && piece_is_due())
		piece_cut(TRACE_PIECE_ROTATION);
	end_work(&work);
}

void state_flush(void)
{
	struct work work;

	if (!begin_work(&work, true))
		return;
	if (state_page->on)
		thread_flush_all();
	end_work(&work);
}

void state_resume(void)
{
	int saved = errno;
	uintptr_t guard;

	if (!state_is_owner())
		return;
	guard = tls_enter_internal();
	if (live_is_away && is_alone())
		restore_live(); /* the helper would write to it, too */
	helper_allow();
	record_clock(); /* tells the reader that there was no end */
	tls_leave_internal(guard);
	errno = saved;
}

void state_set_quick_status(int status)
{
	quick_status = status;
}

/* Runs after the program's destructors.  Safety: exiting thread. */
static void at_exit(int status, void *arg)
{
	(void)arg;
	state_end(TRACE_END_EXIT, status, NULL);
}

/* Safety: as at_exit(). */
static void at_quick_exit_(void *arg)
{
	(void)arg;
	state_end(TRACE_END_QUICK_EXIT, quick_status, NULL);
}

/* Safety: thread that forks.  A child of one that is inside the tracer is not
   traced. */
static void before_fork(void)
{
	tls.forks = options.children && !tls.guard && state_page->pid;
	if (tls.forks)
		modules_before_fork();
}

/* Safety: thread that has forked. */
static void after_fork_in_parent(void)
{
	if (tls.forks)
		modules_after_fork();
	tls.forks = false;
}

/* Safety: child of fork(), single thread.  Goes on as the parent did. */
static void begin_in_child(int pid)
{
	bool was_on = piece_now != PIECE_NONE;
	uintptr_t guard = tls_enter_internal();
	uint64_t signals;

	sys_signals_block(&signals);
	lock = (struct spinlock){0};
	live_is_away = false;
	piece_leave_parent();
	state_page->pid = pid;
	if (was_on)
		state_page->on = piece_begin(TRACE_PIECE_FORK) == 0;
	if (state_page->on)
		duration_begin();
	sys_signals_restore(&signals);
	tls_leave_internal(guard);
}

/* Safety: child of fork(), single thread. */
static void after_fork_in_child(void)
{
	bool forks = tls.forks;
	int pid;

	filters_after_fork();
	pid = forks ? find_pid() : 0;
	tls.forks = false;
	if (state_page == &off_page || state_page->pid)
		return;
	if (forks)
		modules_after_fork_in_child();
	if (pid <= 0) {
		trace_file_close(0);
		trace_file_close(1);
		live_detach_child();
		return;
	}
	begin_in_child(pid);
}

/*
 * Other keys' destructors may free and allocate: put the end off for as many
 * rounds as the C library promises to make, and a little is left to the next
 * sweep.
 *
 * Safety: ending thread.
 */
static void on_thread_end(void *arg)
{
	uintptr_t guard;

	(void)arg;
	if (!state_on() || !tls.thread)
		return;
	guard = tls_enter_internal();
	if (++tls.key_rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
		libc_pthread_setspecific(end_key, &tls);
	else
		thread_release(tls.thread);
	tls_leave_internal(guard);
}

void state_thread_started(void)
{
	uintptr_t guard;

	if (!end_key_valid)
		return;
	guard = tls_enter_internal();
	libc_pthread_setspecific(end_key, &tls);
	tls_leave_internal(guard);
}

/*
 * Handlers registered here come before those of the C start-up code, and so
 * run after everything else, the destructors of all libraries included.
 *
 * Safety: constructor.
 */
__attribute__((constructor(101))) static void start_up(void)
{
	uintptr_t guard;

	state_on();
	if (!state_settled)
		return;
	guard = tls_enter_internal();
	options_adjust_environment(program_start_get().envp);
	if (state_page->pid) {
		hooks_new_init();
		allocators_init();
		allocators_check_order();
		unwind_init();
		end_key_valid =
		    libc_pthread_key_create(&end_key, on_thread_end) == 0;
		if (tls.thread && end_key_valid)
			libc_pthread_setspecific(end_key, &tls);
		libc_on_exit(at_exit, NULL);
		__cxa_at_quick_exit(at_quick_exit_, NULL);
		pthread_atfork(before_fork, after_fork_in_parent,
			       after_fork_in_child);
		if (state_page->on) {
			record_clock();
			duration_begin();
		}
	}
	tls_leave_internal(guard);
}
