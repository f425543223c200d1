/* SPDX-License-Identifier: MIT */
#include "tracer/helper.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tracer/buffer.h"
#include "tracer/chunk.h"
#include "tracer/cull.h"
#include "tracer/duration.h"
#include "tracer/filters.h"
#include "tracer/log.h"
#include "tracer/options.h"
#include "tracer/piece.h"
#include "tracer/pool.h"
#include "tracer/queue.h"
#include "tracer/smaps.h"
#include "tracer/state.h"
#include "tracer/sys_clone.h"
#include "tracer/text.h"
#include "tracer/thread.h"
#include "tracer/tls.h"
#include "tracer/trace_file.h"

enum {
	STACK_BYTES = 256 << 10,
	TLS_MARGIN = 4096,
	TLS_MAX = 16 << 20,
	IDLE_MS = 2000,
	UNWOKEN_MS = 1, /* where a filter keeps threads from waking it */
};

enum helper_phase {
	HELPER_NONE, /* not yet */
	HELPER_RUNS,
	HELPER_NEVER, /* failed, killed, forbidden */
};

/**
 * struct helper - the process
 * @lock:   of starting and stopping it; not taken by itself
 * @phase:  enum helper_phase; changed with @lock held, but for its death
 * @pid:    while it runs
 * @tid:    0 once it has ended; the kernel sees to that
 * @parent: the program
 * @ready:  it has let go of the program's files
 * @quit:   it is to end
 * @stops:  helper_stop() calls not taken back; above 0 none is started
 * @insisted: it is needed even without a processor for it
 * @calls:  of helper_call(), one at a time
 * @work, @arg: what it is asked to do; @work NULL again: done
 * @memory, @bytes: its thread-local storage and stack
 * @pointer: its thread pointer, in @memory
 */
static struct {
	struct queue_lock lock;
	atomic_int phase;
	int pid;
	atomic_int tid;
	int parent;
	atomic_bool ready;
	atomic_bool quit;
	atomic_int stops;
	bool insisted;
	struct spinlock calls;
	void (*_Atomic work)(void *arg);
	void *arg;
	char *memory;
	size_t bytes;
	char *pointer;
} helper;

/*
 * Ends the helper's sleep, or keeps it from falling asleep: it looks at the
 * count of pushes first.  Safety: signal handler.
 */
static void on_orphaned(int signal)
{
	(void)signal;
	atomic_fetch_add(queue_turn(), 1);
}

/* Safety: the helper.  Keeps no file of the program's but the trace. */
static void close_files(void)
{
	int fd = trace_file_inherit(piece_now);

	if (fd > 0)
		sys_close_range(0, (unsigned)fd - 1);
	sys_close_range((unsigned)(fd + 1), ~0u);
	sys_chdir("/");
}

/*
 * The program's death is told by a signal, and so is that of the thread that
 * we are a child of just now, which means nothing.
 *
 * Safety: the helper.
 */
static void watch_parent(void)
{
	uint64_t blocked = ~(UINT64_C(1) << (SIGUSR1 - 1));

	sys_signal(SIGUSR1, on_orphaned);
	sys_prctl(PR_SET_PDEATHSIG, SIGUSR1, 0, 0, 0);
	sys_prctl(PR_SET_NAME, (long)"memprof", 0, 0, 0);
	sys_signals_restore(&blocked);
}

/*
 * Where the stack of a process began: another place after an exec, unless
 * addresses are not randomised.
 *
 * Safety: the helper.  Return: field 28 of @path; 0 when it cannot be read,
 * is not told to us, or the process's first thread has ended.
 */
static uint64_t read_stack_start(const char *path)
{
	char buf[1024];
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	ssize_t len = fd < 0 ? 0 : sys_read(fd, buf, sizeof(buf) - 1);
	const char *p = buf;
	uint64_t value = 0;

	if (fd >= 0)
		sys_close(fd);
	if (len <= 0)
		return 0;
	buf[len] = '\0';
	while (strchr(p, ')')) /* ends the name, field 2 */
		p = strchr(p, ')') + 1;
	for (int field = 2; field < 28 && p; field++)
		p = strchr(p + 1, ' ');
	for (p = p ? p + 1 : buf + len; *p >= '0' && *p <= '9'; p++)
		value = value * 10 + (uint64_t)(*p - '0');
	return value;
}

/*
 * Whether the program has executed another one in a way that we do not see.
 * Safety: the helper.
 */
static bool is_left_behind(void)
{
	char buf[32];
	struct text path = text_init(buf, sizeof(buf));
	uint64_t its;

	text_add(&path, "/proc/");
	text_add_int(&path, helper.parent);
	text_add(&path, "/stat");
	its = read_stack_start(buf);
	return its && (its != read_stack_start("/proc/self/stat") ||
		       sys_compare_memory(helper.parent, sys_getpid()) > 0);
}

/* Safety: the helper. */
static _Noreturn void leave(void)
{
	for (;;)
		SYS_CALL1(SYS_exit_group, 0);
}

void helper_leave_if_orphaned(void)
{
	if (sys_getppid() != helper.parent || is_left_behind())
		leave();
}

/* Safety: the helper. */
static void answer_call(void)
{
	void (*work)(void *) = helper.work;

	if (LIKELY(!work))
		return;
	work(helper.arg);
	helper.work = (void (*)(void *))NULL;
}

/* Safety: the helper.  Return: milliseconds that it may sleep. */
static long get_idle_ms(void)
{
	long ms = duration_left_ms(smaps_due_ms(IDLE_MS));

	return filters_hinder_wake && ms > UNWOKEN_MS ? UNWOKEN_MS : ms;
}

/*
 * Once the program is dead nothing more is written, however much waits: it is
 * in PATH.live.
 *
 * Safety: the helper.
 */
static void helper_main(void)
{
	bool idle = false;

	tls.is_helper = true;
	if (!chunk_prepare())
		leave();
	close_files();
	watch_parent();
	atomic_store(&helper.ready, true);
	while (sys_getppid() == helper.parent && !helper.quit) {
		unsigned turn = atomic_load(queue_turn());
		struct batch batch;

		answer_call();
		smaps_take_if_due();
		queue_take(CULL_BUFFERS_MAX, &batch);
		if (batch.count) {
			chunk_write_batch(&batch);
			queue_finish(&batch);
			continue;
		}
		if (idle && is_left_behind())
			break;
		if (piece_is_due() || duration_is_over())
			thread_hurry_all();
		sys_futex_wait(queue_turn(), turn, get_idle_ms());
		idle = turn == atomic_load(queue_turn());
	}
	leave();
}

/* Safety: system calls.  Whether another processor could be free. */
static bool has_other_processor(void)
{
	uint64_t mask[16] = {0};
	int count = 0;

	sys_sched_getaffinity(mask, sizeof(mask));
	for (size_t i = 0; i < sizeof(mask) / sizeof(mask[0]); i++)
		count += __builtin_popcountll(mask[i]);
	return count > 1;
}

/*
 * Whether the program has asked for a new namespace of process ids: its next
 * child is the first process in it, and that must not be the helper.
 *
 * Safety: system calls.
 */
static bool awaits_first_child(void)
{
	static const char children[] = "/proc/thread-self/ns/pid_for_children";
	char own[64], next[64];
	struct stat st;
	ssize_t own_len =
	    sys_readlink("/proc/thread-self/ns/pid", own, sizeof(own));
	ssize_t len = sys_readlink(children, next, sizeof(next));

	if (len < 0) /* not known, or not there until it has a process */
		return sys_lstat(children, &st) == 0;
	return len != own_len || memcmp(own, next, (size_t)len) != 0;
}

/*
 * The helper's own storage: what is relative to the thread pointer, then its
 * stack.  On x86-64 thread-local variables lie below the pointer, and the
 * word at it is the pointer itself; elsewhere they lie above.  Of all of them
 * only ours is used: the helper calls nothing of the C library but functions
 * like memcpy().
 *
 * Safety: system calls.  Return: whether there is memory.
 */
static bool map_memory(void)
{
	char *pointer = __builtin_thread_pointer();
	size_t below = TLS_MARGIN, above = TLS_MARGIN;

	if ((char *)&tls < pointer)
		below += (size_t)(pointer - (char *)&tls);
	else
		above += (size_t)((char *)&tls - pointer);
	if (below > TLS_MAX || above > TLS_MAX)
		return false;
	below = (below + 4095) & ~(size_t)4095;
	above = (above + 4095) & ~(size_t)4095;
	if (!helper.memory) {
		helper.bytes = below + above + STACK_BYTES;
		helper.memory = pool_map(helper.bytes);
	}
	if (!helper.memory)
		return false;
	memset(helper.memory, 0, below + above);
	helper.pointer = helper.memory + below;
#if defined(__x86_64__)
	((void **)(void *)helper.pointer)[0] = helper.pointer;
	((void **)(void *)helper.pointer)[2] = helper.pointer;
#endif
	return true;
}

#define CLONE_FLAGS \
	(CLONE_VM | CLONE_UNTRACED | CLONE_SETTLS | CLONE_CHILD_CLEARTID)

/* Safety: system calls. */
static bool may_start(void)
{
	static const long call[7] = {SYS_clone, CLONE_FLAGS};

	return options.helper && !pool_is_scarce && !awaits_first_child() &&
	       (has_other_processor() || options.duration_ns ||
		helper.insisted) &&
	       !filters_forbid(call);
}

/* Safety: as helper_start(), lock held.  Other threads wait for what becomes of
   it: they are not to work as if there were none. */
static void start(void)
{
	int pid = -ENOMEM;

	if (!may_start()) {
		helper.phase = HELPER_NEVER;
		return;
	}
	helper.parent = state_page->pid;
	helper.ready = false;
	helper.quit = false;
	helper.tid = -1;
	filters_bind_helper();
	if (map_memory())
		pid = sys_clone_onto(CLONE_FLAGS, helper.memory + helper.bytes,
				     helper.pointer, &helper.tid, helper_main);
	if (pid < 0) {
		helper.phase = HELPER_NEVER;
		log_line(LOG_INFO, "no helper process; threads compress", NULL,
			 0);
		return;
	}
	helper.pid = pid;
	live_set_helper(pid);
	helper.phase = HELPER_RUNS;
	/* Until then it, too, has the program's pipes and sockets open. */
	for (int i = 0; !helper.ready && helper_is_alive(); i++)
		wait_step(i);
}

bool helper_start(void)
{
	int phase = helper.phase;

	if (LIKELY(phase == HELPER_RUNS))
		return true;
	if (phase != HELPER_NONE || helper.stops ||
	    state_pid() != state_page->pid)
		return false;
	queue_lock_take(&helper.lock);
	if (helper.phase == HELPER_NONE && !helper.stops)
		start();
	queue_lock_give(&helper.lock);
	return helper.phase == HELPER_RUNS;
}

void helper_insist(void)
{
	helper.insisted = true;
	if (helper.phase == HELPER_NEVER && !helper.pid)
		helper.phase = HELPER_NONE;
	helper_start();
}

bool helper_call(void (*work)(void *arg), void *arg)
{
	bool is_done;

	if (tls.is_helper || !helper_is_alive() ||
	    !spinlock_take_patiently(&helper.calls))
		return false;
	helper.arg = arg;
	helper.work = work;
	atomic_fetch_add(queue_turn(), 1);
	sys_futex_wake(queue_turn());
	for (int i = 0; helper.work && helper_is_alive(); i++) {
		if (i == WAIT_PATIENCE)
			helper_kill();
		wait_step_of_work(i);
	}
	is_done = !atomic_exchange(&helper.work, NULL);
	spinlock_give(&helper.calls);
	return is_done;
}

/* Safety: anywhere.  It is gone, and there will be no other. */
static void note_death(void)
{
	int phase = HELPER_RUNS;

	atomic_compare_exchange_strong(&helper.phase, &phase, HELPER_NEVER);
}

bool helper_is_known(void)
{
	return helper.phase == HELPER_RUNS;
}

bool helper_is_alive(void)
{
	int ended;

	if (helper.phase != HELPER_RUNS)
		return false;
	if (state_pid() != helper.parent)
		return true; /* a vfork() child cannot know */
	ended = sys_wait4(helper.pid, WNOHANG | __WCLONE);
	if (ended == 0)
		return true;
	/* A filter may refuse the call; some other wait() may have been first. */
	if (ended < 0 && ended != -ECHILD && helper.tid)
		return true;
	note_death();
	return false;
}

void helper_kill(void)
{
	if (state_pid() != helper.parent || !helper_is_alive())
		return;
	sys_tgkill(helper.pid, helper.pid, SIGKILL);
	for (int i = 0; i < WAIT_PATIENCE && helper_is_alive(); i++)
		wait_step(i);
	note_death();
}

/* Safety: lock held.  Return: once it has ended. */
static void stop(void)
{
	atomic_store(&helper.quit, true);
	atomic_fetch_add(queue_turn(), 1);
	sys_futex_wake(queue_turn());
	for (int i = 0; helper_is_alive(); i++) {
		if (i == WAIT_PATIENCE)
			helper_kill();
		else
			wait_step_of_work(i);
	}
	live_set_helper(0);
}

void helper_stop(void)
{
	uint64_t signals;

	sys_signals_block(&signals);
	queue_lock_take(&helper.lock);
	helper.stops++;
	if (helper.phase == HELPER_RUNS) {
		stop();
		helper.phase = HELPER_NONE;
	}
	queue_lock_give(&helper.lock);
	queue_drain(); /* what it has not come to */
	sys_signals_restore(&signals);
}

void helper_allow(void)
{
	helper.stops--;
}

void helper_forget(void)
{
	helper.lock = (struct queue_lock){0};
	helper.phase = HELPER_NONE;
	helper.stops = 0;
	helper.pid = 0;
	helper.calls = (struct spinlock){0};
	helper.work = (void (*)(void *))NULL;
}
