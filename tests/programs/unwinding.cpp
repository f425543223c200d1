// SPDX-License-Identifier: MIT
// Everything that makes stacks hard: exceptions, longjmp, alloca, re-aligned
// frames, coroutines, signal handlers on the normal and on an alternate stack,
// at chosen instants and at any, threads, fork and vfork.  Meant to be run with
// MEMORY_PROFILER_VERIFY_UNWIND.  Arguments: rounds, threads, and 0 for no
// signals at any instant.
#include <alloca.h>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

namespace
{

long sink;

NOINLINE void touch(size_t size)
{
	void *p = malloc(size);

	asm volatile("" : : "r"(p) : "memory");
	free(p);
	sink++;
}

struct counter {
	~counter()
	{
		touch(24);
	}
};

NOINLINE void throw_at(int depth)
{
	counter c;

	touch(16);
	if (depth == 0)
		throw depth;
	throw_at(depth - 1);
	asm volatile("");
}

NOINLINE void exceptions(int depth)
{
	try {
		throw_at(depth);
	} catch (int) {
		touch(32);
	}
}

NOINLINE void jump_at(jmp_buf &back, int depth)
{
	touch(40);
	if (depth > 0)
		jump_at(back, depth - 1);
	else if (sink > 0)
		longjmp(back, 1);
	asm volatile("");
}

NOINLINE void jumps(int depth)
{
	jmp_buf back;

	if (setjmp(back) == 0)
		jump_at(back, depth);
	touch(48);
}

NOINLINE void on_alloca(int depth)
{
	void *p = alloca(16 + depth * 40 % 700);

	asm volatile("" : : "r"(p) : "memory");
	touch(56);
	if (depth > 0)
		on_alloca(depth - 1);
	touch(57);
}

NOINLINE void realigned(int depth, ...)
{
	alignas(64) char line[128];

	asm volatile("" : : "r"(line) : "memory");
	touch(64);
	if (depth > 0)
		realigned(depth - 1);
	touch(65);
}

NOINLINE void realigned_alloca(int depth)
{
	alignas(128) char line[128];
	void *p = alloca(depth * 24 + 1);

	asm volatile("" : : "r"(line), "r"(p) : "memory");
	touch(72);
	if (depth > 0)
		realigned_alloca(depth - 1);
	exceptions(2);
}

// Coroutines on mapped stacks, unmapped again at once.

struct coroutine {
	ucontext_t self, caller;
	void *stack;
	int depth;
	bool finished;
};

thread_local coroutine *running;

NOINLINE void yield_at(int depth)
{
	touch(80);
	if (depth > 0)
		yield_at(depth - 1);
	else
		swapcontext(&running->self, &running->caller);
	touch(81);
}

void coroutine_main()
{
	yield_at(running->depth);
	exceptions(3);
	running->finished = true;
	swapcontext(&running->self, &running->caller);
}

NOINLINE void resume(coroutine &c)
{
	coroutine *outer = running;

	running = &c;
	swapcontext(&c.caller, &c.self);
	running = outer;
	touch(88);
}

NOINLINE void coroutines(int depth)
{
	constexpr size_t bytes = 64 << 10;
	coroutine c[3] = {};

	for (auto &one : c) {
		one.stack = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		getcontext(&one.self);
		one.self.uc_stack.ss_sp = one.stack;
		one.self.uc_stack.ss_size = bytes;
		one.depth = depth++;
		makecontext(&one.self, coroutine_main, 0);
	}
	for (bool any = true; any;) {
		any = false;
		for (auto &one : c) {
			if (!one.finished) {
				resume(one);
				any = true;
			}
		}
	}
	for (auto &one : c)
		munmap(one.stack, bytes);
}

// Handlers.  Those at any instant only map memory: malloc is not safe there.

void in_handler(int)
{
	touch(96);
	exceptions(2);
}

void at_any_instant(int)
{
	void *p =
	    mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(p, 4096);
}

NOINLINE void raise_at(int depth, int sig)
{
	if (depth > 0)
		raise_at(depth - 1, sig);
	else
		pthread_kill(pthread_self(), sig);
	touch(104);
}

NOINLINE void one_round(int round)
{
	int depth = round % 13;

	exceptions(depth);
	jumps(depth);
	on_alloca(depth);
	realigned(depth);
	realigned_alloca(depth % 5);
	coroutines(depth);
	raise_at(depth, SIGUSR1);
	raise_at(depth, SIGUSR2);
}

NOINLINE void use_alternate_stack()
{
	stack_t stack = {};

	stack.ss_size = 64 << 10;
	stack.ss_sp = malloc(stack.ss_size);
	sigaltstack(&stack, nullptr);
}

void *thread_main(void *arg)
{
	long rounds = reinterpret_cast<long>(arg);

	use_alternate_stack();
	for (long i = 0; i < rounds; i++)
		one_round(static_cast<int>(i));
	return nullptr;
}

NOINLINE void children()
{
	pid_t pid = fork();

	if (pid == 0) {
		one_round(5);
		_exit(0);
	}
	waitpid(pid, nullptr, 0);
	pid = vfork();
	if (pid == 0) {
		touch(112);
		_exit(0);
	}
	waitpid(pid, nullptr, 0);
	touch(113);
}

void install(int sig, void (*handler)(int), int flags)
{
	struct sigaction action = {};

	action.sa_handler = handler;
	action.sa_flags = flags | SA_RESTART;
	sigaction(sig, &action, nullptr);
}

} // namespace

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 100;
	int count = argc > 2 ? atoi(argv[2]) : 4;
	bool any_instant = argc <= 3 || atoi(argv[3]);
	itimerval timer = {{0, 500}, {0, 500}};
	pthread_t threads[64];

	install(SIGUSR1, in_handler, 0);
	install(SIGUSR2, in_handler, SA_ONSTACK);
	install(SIGALRM, at_any_instant, 0);
	use_alternate_stack();
	children();
	if (any_instant)
		setitimer(ITIMER_REAL, &timer, nullptr);
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], nullptr, thread_main,
			       reinterpret_cast<void *>(rounds));
	for (long i = 0; i < rounds; i++)
		one_round(static_cast<int>(i));
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], nullptr);
	timer = {};
	setitimer(ITIMER_REAL, &timer, nullptr);
	printf("done\n");
	return 0;
}
