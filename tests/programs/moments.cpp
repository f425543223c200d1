/* SPDX-License-Identifier: MIT */
/*
 * Allocates at every moment of a process's and a thread's life at which code
 * of the program runs.  Truth: "has SIZE COUNT", allocations of that size.
 */
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <signal.h>

#include "truth.h"

extern "C" void early_mark_thread(void);
extern "C" int on_exit(void (*function)(int, void *), void *arg);

static void once(size_t size)
{
	void *p = malloc(size);

	truth("has %zu 1\n", size);
	TRUTH_KEEP(p);
	free(p);
}

/* Registered before the tracer's own. */
static void last_handler()
{
	once(42007);
}

static void before_all(int, char **, char **)
{
	void *p = malloc(42001); /* there is no environment to tell it by */

	TRUTH_KEEP(p);
	free(p);
	atexit(last_handler);
}

/* Before every constructor. */
__attribute__((section(".preinit_array"), used)) static void (*preinit)(
    int, char **, char **) = before_all;

struct global {
	std::vector<char> bytes;
	explicit global(size_t size) : bytes(size)
	{
		truth("has %zu 1\n", size);
	}
	~global()
	{
		once(bytes.size() + 100);
	}
};

static global first(42002);

__attribute__((constructor(101))) static void constructor()
{
	once(42003);
}

__attribute__((destructor(101))) static void destructor()
{
	once(42004);
}

static void exit_handler()
{
	once(42005);
}

static void exit_handler_with_status(int, void *)
{
	once(42006);
	exit_handler();
}

/* Destroyed at the end of a thread, before and after other such objects. */
struct local {
	std::unique_ptr<char[]> bytes;
	size_t size;
	explicit local(size_t n) : bytes(new char[n]), size(n)
	{
	}
	~local();
};

static thread_local local inner(0);

local::~local()
{
	if (!size)
		return;
	inner.size = 0; /* made while others are destroyed */
	bytes.reset(new char[size + 1]);
	strdup(std::string(size + 1, 'x').c_str());
}

static void in_thread(size_t size)
{
	thread_local local mine(size);

	TRUTH_KEEP(mine.size);
}

static void handler(int)
{
	void *p = malloc(42011);

	TRUTH_KEEP(p);
	free(p);
}

int main()
{
	on_exit(exit_handler_with_status, nullptr);
	std::thread([] {
		early_mark_thread();
		in_thread(43000);
	}).join();
	in_thread(44000);
	truth("has 43000 1\nhas 43001 1\nhas 43002 2\n");
	truth("has 44000 1\nhas 44001 1\nhas 44002 2\n");
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	truth("has 42011 1\nhas 42001 1\n");
	/* The loader's own allocations, and an error of which it keeps a text. */
	if (!dlsym(RTLD_DEFAULT, "there_is_no_such_function") && dlerror())
		puts("not found");
	puts(dlerror() ? "an error" : "no error");
	return 3;
}
