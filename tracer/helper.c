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
#include "tracer/log.h"
#include "tracer/options.h"
#include "tracer/pool.h"
#include "tracer/queue.h"
#include "tracer/state.h"
#include "tracer/text.h"
#include "tracer/tls.h"
#include "tracer/trace_file.h"

enum {
	STACK_BYTES = 256 << 10,
	TLS_ABOVE = 4096, /* thread control block; on AArch64 TLS itself */
	IDLE_MS = 2000,
	STOP_TRIES = 20000,
	STOP_STEP_NS = 100 * 1000,
};

enum helper_phase {
	HELPER_NONE, /* not yet */
	HELPER_RUNS,
	HELPER_STOPPED, /* the process is about to end */
	HELPER_NEVER,   /* failed, killed, forbidden */
};

/**
 * struct helper - the process
 * @phase: enum helper_phase; changed with @lock held
 * @pid:   while it runs
 * @quit:  it is to end
 * @memory, @bytes: its stack and thread-local storage
 */
static struct {
	struct queue_lock lock;
	atomic_int phase;
	int pid;
	int parent;
	atomic_bool quit;
	char *memory;
	size_t tls_bytes;
	size_t bytes;
} helper;

/* Interrupts the sleep.  Safety: signal handler. */
static void on_orphaned(int signal)
{
	(void)signal;
}

/* Safety: the helper.  Keeps no file of the program's but the trace. */
static void close_files(void)
{
	int fd = trace_file_fd();

	if (fd > 0)
		sys_close_range(0, (unsigned)fd - 1);
	sys_close_range((unsigned)(fd + 1), ~0u);
	sys_chdir("/");
}

/*
 * The program's death is told by a signal, and so is that of the thread that
 * started us, which means nothing.
 *
 * Safety: the helper.
 */
static void watch_parent(void)
{
	struct sigaction action = { .sa_handler = on_orphaned };
	uint64_t only = ~(UINT64_C(1) << (SIGUSR1 - 1));

	sigaction(SIGUSR1, &action, NULL);
	sys_prctl(PR_SET_PDEATHSIG, SIGUSR1, 0, 0, 0);
	sys_prctl(PR_SET_NAME, (long)"memprof", 0, 0, 0);
	sys_signals_restore(&only);
}

/*
 * Where the stack of a process began: another place after an exec, unless
 * addresses are not randomised.
 *
 * Safety: the helper.  Return: field 28 of @path, 0 when it cannot be read.
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

	text_add(&path, "/proc/");
	text_add_int(&path, helper.parent);
	text_add(&path, "/stat");
	return read_stack_start(buf) != read_stack_start("/proc/self/stat");
}

/* Safety: the helper.  Return: whether it should go on. */
static bool is_wanted(void)
{
	return !atomic_load(&helper.quit) && sys_getppid() == helper.parent;
}

/* Safety: the helper. */
static int helper_main(void *arg)
{
	bool idle = false;

	(void)arg;
	tls.is_helper = true;
	close_files();
	watch_parent();
	for (;;) {
		unsigned turn = atomic_load(queue_turn());
		struct chain chain;

		if (sys_getppid() != helper.parent)
			break;
		queue_take(&chain);
		if (chain.count) {
			chunk_write_chain(&chain);
			queue_finish(&chain);
			continue;
		}
		if (!is_wanted() || (idle && is_left_behind()))
			break;
		sys_futex_wait(queue_turn(), turn, IDLE_MS);
		idle = turn == atomic_load(queue_turn());
	}
	return 0;
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
 * The helper's own storage: what is relative to the thread pointer, then its
 * stack.  On x86-64 thread-local variables lie below the pointer, and the
 * word at it is the pointer itself.
 *
 * Safety: system calls.  Return: the thread pointer, or NULL.
 */
static char *map_memory(void)
{
	char *thread_pointer = __builtin_thread_pointer();
	size_t below = (size_t)(thread_pointer - (char *)&tls);

	if (below > (16 << 20)) /* it lies above */
		below = sizeof(tls);
	if (!helper.memory) {
		helper.tls_bytes = (below + 8191) & ~(size_t)4095;
		helper.bytes = helper.tls_bytes + TLS_ABOVE + STACK_BYTES;
		helper.memory = pool_map(helper.bytes);
	}
	if (!helper.memory)
		return NULL;
	memset(helper.memory, 0, helper.tls_bytes);
	thread_pointer = helper.memory + helper.tls_bytes;
	memset(thread_pointer, 0, TLS_ABOVE);
#if defined(__x86_64__)
	((void **)(void *)thread_pointer)[0] = thread_pointer;
	((void **)(void *)thread_pointer)[2] = thread_pointer;
#endif
	return thread_pointer;
}

/* Safety: as helper_start(), lock held. */
static void start(void)
{
	char *thread_pointer = NULL;
	int pid = -1;
	int saved = errno;

	helper.phase = HELPER_NEVER;
	if (!options.helper || !has_other_processor())
		return;
	thread_pointer = map_memory();
	helper.parent = sys_getpid();
	helper.quit = false;
	if (thread_pointer)
		pid = clone(helper_main, helper.memory + helper.bytes,
			    CLONE_VM | CLONE_UNTRACED | CLONE_SETTLS, NULL,
			    NULL, thread_pointer, NULL);
	errno = saved;
	if (pid < 0) {
		log_line(LOG_INFO, "no helper process; threads compress", NULL,
			 0);
		return;
	}
	helper.pid = pid;
	live_set_helper(pid);
	helper.phase = HELPER_RUNS;
}

bool helper_start(void)
{
	int phase = helper.phase;

	if (LIKELY(phase == HELPER_RUNS))
		return true;
	if (phase != HELPER_NONE || sys_getpid() != state_page->pid)
		return false;
	queue_lock_take(&helper.lock);
	if (helper.phase == HELPER_NONE)
		start();
	queue_lock_give(&helper.lock);
	return helper.phase == HELPER_RUNS;
}

bool helper_is_alive(void)
{
	if (helper.phase != HELPER_RUNS)
		return false;
	if (sys_wait4(helper.pid, WNOHANG | __WCLONE) == 0)
		return true;
	helper.phase = HELPER_NEVER;
	return false;
}

void helper_stop(void)
{
	int phase = HELPER_NONE;

	atomic_compare_exchange_strong(&helper.phase, &phase, HELPER_STOPPED);
	if (phase != HELPER_RUNS)
		return;
	atomic_store(&helper.quit, true);
	atomic_fetch_add(queue_turn(), 1);
	sys_futex_wake(queue_turn());
	for (int i = 0; helper_is_alive(); i++) {
		if (i == STOP_TRIES)
			sys_tgkill(helper.pid, helper.pid, SIGKILL);
		sys_nanosleep(STOP_STEP_NS);
	}
	helper.phase = HELPER_STOPPED;
	live_set_helper(0);
}

void helper_allow(void)
{
	int phase = HELPER_STOPPED;

	atomic_compare_exchange_strong(&helper.phase, &phase, HELPER_NONE);
}
