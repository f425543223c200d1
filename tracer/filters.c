/* SPDX-License-Identifier: MIT */
#include "tracer/filters.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>

#include "tracer/compiler.h"
#include "tracer/pool.h"
#include "tracer/sys.h"
#include "tracer/thread.h"
#include "tracer/tls.h"

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

enum {
	FILTERS_MAX = 64,
	CHILDREN_MAX = 16,
	WORD = sizeof(uint32_t),
	DATA_WORDS = sizeof(struct seccomp_data) / sizeof(uint32_t),
};

/**
 * struct filter - one of the program's
 * @code, @len:  its instructions, NULL where they could not be read: all is
 *               forbidden
 * @all_threads: it binds all
 * @thread:      number of the one that installed it
 * @last_thread: newest thread then: later ones may have it from their parent
 */
struct filter {
	struct sock_filter *code;
	uint16_t len;
	bool all_threads;
	uint32_t thread;
	uint32_t last_thread;
};

/**
 * struct filters - all of them; each is asked
 * @lock:    of adding one
 * @count:   of them
 * @helpers: those below it are the helper's, too
 */
static struct {
	struct spinlock lock;
	struct filter items[FILTERS_MAX];
	atomic_uint count;
	unsigned helpers;
} filters;

bool filters_hinder;
bool filters_hinder_wake;

/**
 * struct child - a process under a filter that has our memory (vfork())
 * @pid:    0: none; negative: about to be one.  The kernel clears it when the
 *          child gives the memory back, before its parent goes on
 * @thread: whose thread-local storage it uses; its parent's as well
 */
static struct child {
	atomic_int pid;
	const struct tls *_Atomic thread;
} children[CHILDREN_MAX];

/**
 * struct machine - a filter at work: the part of BPF that seccomp allows
 */
struct machine {
	uint32_t a;
	uint32_t x;
	uint32_t memory[BPF_MEMWORDS];
	uint32_t data[DATA_WORDS];
};

/* Safety: pure.  Return: what a load gives; 0 out of bounds, which the kernel
   lets no filter do. */
static uint32_t load(const struct machine *m, const struct sock_filter *in)
{
	switch (BPF_MODE(in->code)) {
	case BPF_IMM:
		return in->k;
	case BPF_ABS:
		return in->k / WORD < DATA_WORDS ? m->data[in->k / WORD] : 0;
	case BPF_MEM:
		return in->k < BPF_MEMWORDS ? m->memory[in->k] : 0;
	default: /* BPF_LEN */
		return sizeof(struct seccomp_data);
	}
}

/* Safety: pure. */
static uint32_t compute(uint16_t code, uint32_t a, uint32_t b)
{
	switch (BPF_OP(code)) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return a / b; /* not 0: run() */
	case BPF_OR:
		return a | b;
	case BPF_AND:
		return a & b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return a << (b & 31); /* as the kernel does */
	case BPF_RSH:
		return a >> (b & 31);
	default: /* BPF_NEG */
		return -a;
	}
}

/* Safety: pure.  Return: instructions to leave out. */
static uint32_t jump(const struct sock_filter *in, uint32_t a, uint32_t b)
{
	bool holds;

	switch (BPF_OP(in->code)) {
	case BPF_JA:
		return in->k;
	case BPF_JEQ:
		holds = a == b;
		break;
	case BPF_JGT:
		holds = a > b;
		break;
	case BPF_JGE:
		holds = a >= b;
		break;
	default: /* BPF_JSET */
		holds = a & b;
		break;
	}
	return holds ? in->jt : in->jf;
}

/* Safety: pure.  Jumps lead forward only, so this ends.  Return: the filter's
   answer. */
static uint32_t run(const struct filter *filter, struct machine *m)
{
	for (uint32_t i = 0; i < filter->len; i++) {
		const struct sock_filter *in = &filter->code[i];
		uint32_t b = BPF_SRC(in->code) == BPF_X ? m->x : in->k;

		switch (BPF_CLASS(in->code)) {
		case BPF_LD:
			m->a = load(m, in);
			break;
		case BPF_LDX:
			m->x = load(m, in);
			break;
		case BPF_ST:
		case BPF_STX:
			if (in->k < BPF_MEMWORDS)
				m->memory[in->k] =
				    BPF_CLASS(in->code) == BPF_ST ? m->a : m->x;
			break;
		case BPF_ALU:
			if (BPF_OP(in->code) == BPF_DIV && !b)
				return SECCOMP_RET_KILL_THREAD;
			m->a = compute(in->code, m->a, b);
			break;
		case BPF_JMP:
			i += jump(in, m->a, b);
			break;
		case BPF_RET:
			return BPF_RVAL(in->code) == BPF_A ? m->a : in->k;
		default: /* BPF_MISC */
			if (BPF_MISCOP(in->code) == BPF_TAX)
				m->x = m->a;
			else
				m->a = m->x;
			break;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

/* Safety: pure.  Return: the answer of @filter about @call. */
static uint32_t ask(const struct filter *filter, const long call[7])
{
	struct seccomp_data data = {
		.nr = (int)call[0],
		.arch = ARCHITECTURE,
		.instruction_pointer = (uintptr_t)ask,
	};
	struct machine machine = {0};

	if (!filter->code)
		return SECCOMP_RET_KILL_PROCESS;
	for (int i = 0; i < 6; i++)
		data.args[i] = (uint64_t)call[1 + i];
	memcpy(machine.data, &data, sizeof(data));
	return run(filter, &machine) & SECCOMP_RET_ACTION_FULL;
}

/* Safety: pure.  To be killed, to be sent a signal, or to have another process
   asked are all not for a call that the program does not make. */
static bool is_harmless(uint32_t answer)
{
	return answer == SECCOMP_RET_ALLOW || answer == SECCOMP_RET_LOG ||
	       answer == SECCOMP_RET_ERRNO;
}

/* Safety: pure.  Whether the calling thread has the filter of number @i. */
static bool binds(unsigned i)
{
	const struct filter *filter = &filters.items[i];

	if (tls.is_helper)
		return i < filters.helpers;
	return filter->all_threads || !tls.number ||
	       tls.number == filter->thread ||
	       tls.number > filter->last_thread;
}

/* Safety: anywhere.  Return: what the calling process is noted as, or NULL. */
static struct child *find_child(void)
{
	for (int i = 0; i < CHILDREN_MAX; i++)
		if (children[i].thread == &tls && children[i].pid > 0)
			return &children[i];
	return NULL;
}

int filters_child_pid(void)
{
	const struct child *child = sys_filtered ? find_child() : NULL;

	return child ? child->pid : 0;
}

bool filters_forbid(const long call[7])
{
	unsigned count = atomic_load(&filters.count);

	if (find_child())
		return true;
	for (unsigned i = 0; i < count; i++)
		if (binds(i) && !is_harmless(ask(&filters.items[i], call)))
			return true;
	return false;
}

/* Safety: as sys_filtered. */
static COLD long make_call(const long call[7])
{
	if (filters_forbid(call))
		return -EPERM;
	return sys_call_raw(call[0], call[1], call[2], call[3], call[4],
			    call[5], call[6]);
}

/* Safety: as filters_add().  Whether all of it can be read. */
static bool is_readable(const void *p, size_t bytes)
{
	const char *first = p, *last = first + bytes - 1;

	for (const char *at = first; at < last; at += 4096)
		if (!sys_can_read(at))
			return false;
	return sys_can_read(last);
}

/* Safety: as filters_add(). */
static void copy(const struct sock_fprog *program, struct filter *ret)
{
	size_t bytes;

	if (!is_readable(program, sizeof(*program)) || !program->len)
		return;
	bytes = program->len * sizeof(*program->filter);
	if (!is_readable(program->filter, bytes))
		return;
	ret->code = pool_map(bytes);
	if (!ret->code)
		return;
	memcpy(ret->code, program->filter, bytes);
	ret->len = program->len;
}

/* Safety: pure. */
static bool allows(const struct filter *filter, long number)
{
	const long call[7] = {number};

	return ask(filter, call) == SECCOMP_RET_ALLOW;
}

/* Safety: pure. */
static bool hinders(const struct filter *filter)
{
	static const int calls[] = {
		SYS_openat,    SYS_close,     SYS_fstat,  SYS_newfstatat,
		SYS_fallocate, SYS_mmap,      SYS_write,  SYS_pwritev,
		SYS_read,      SYS_prlimit64, SYS_unlinkat};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!allows(filter, calls[i]))
			return true;
	return false;
}

/* Safety: lock held.  Return: a place for one more, the last one for all those
   that there are too many of. */
static struct filter *add_place(void)
{
	unsigned count = filters.count;

	return &filters.items[count < FILTERS_MAX ? count : FILTERS_MAX - 1];
}

unsigned filters_add(const struct sock_fprog *program, bool all_threads)
{
	struct filter *filter;
	uint64_t signals = 0;
	unsigned index;

	sys_signals_block(&signals);
	spinlock_take(&filters.lock);
	filter = add_place();
	index = (unsigned)(filter - filters.items);
	*filter = (struct filter){
		.all_threads = all_threads || index < filters.count,
		.thread = tls.number,
		.last_thread = thread_last_number(),
	};
	if (index == filters.count)
		copy(program, filter);
	filters_hinder |= hinders(filter);
	filters_hinder_wake |= !allows(filter, SYS_futex);
	atomic_store(&filters.count, index + 1);
	spinlock_give(&filters.lock);
	sys_signals_restore(&signals);
	sys_filtered = make_call; /* the filter is not there yet */
	return index;
}

/* What it was thought to hinder stays as it is. */
void filters_take_back(unsigned index)
{
	static struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K,
						   SECCOMP_RET_ALLOW);
	struct filter *filter = &filters.items[index];

	if (index == FILTERS_MAX - 1)
		return;
	filter->len = 1;
	filter->code = &allow;
}

/* Safety: anywhere.  Return: a place that is free and now taken, or NULL. */
static struct child *take_place(void)
{
	for (int i = 0; i < CHILDREN_MAX; i++) {
		int none = 0;

		if (atomic_compare_exchange_strong(&children[i].pid, &none, -1))
			return &children[i];
	}
	return NULL;
}

/* Safety: anywhere.  Who made the child may have the kernel clear a word of his
   own, of which there can be one only. */
static bool has_word_to_clear(void)
{
	void *word = NULL;

	sys_prctl(PR_GET_TID_ADDRESS, (long)(uintptr_t)&word, 0, 0, 0);
	return word;
}

bool filters_add_child(void)
{
	struct child *child = NULL;
	int pid;

	if (!find_child() && !has_word_to_clear())
		child = take_place();
	if (!child)
		return false;
	pid = sys_set_tid_address(&child->pid);
	child->thread = &tls;
	child->pid = pid > 0 ? pid : 0;
	if (pid > 0)
		sys_filtered = make_call;
	return pid > 0;
}

void filters_take_back_child(void)
{
	struct child *child = find_child();

	if (!child)
		return;
	child->pid = 0;
	sys_set_tid_address(NULL);
}

void filters_after_fork(void)
{
	for (int i = 0; i < CHILDREN_MAX; i++)
		if (children[i].thread != &tls)
			children[i].pid = 0;
}

void filters_bind_helper(void)
{
	filters.helpers = filters.count;
}
