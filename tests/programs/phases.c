/* SPDX-License-Identifier: MIT */
/*
 * Tells the profiler what it does, through memprof.h; it is not linked with
 * it, and runs the same without.  As said by its arguments:
 *   (nothing)  loads and serves, in phases, with marks and numbers
 *   threads    each of four threads has a phase of the same name
 *   flush      says "flushed" after 100 blocks, and waits for a byte
 *   pieces     is recorded in two of its three parts
 *   handler    marks from a signal handler
 *   old        by the names that bytehound's programs use
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "tracer/memprof.h"
#include "truth.h"

static void allocate(size_t size, int count)
{
	for (int i = 0; i < count; i++) {
		void *p = malloc(size);

		TRUTH_KEEP(p);
	}
}

static void load_and_serve(void)
{
	char text[6000];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	allocate(1000, 3);
	memprof_phase_begin("load");
	allocate(2000, 5);
	memprof_mark("half of it");
	allocate(2001, 5);
	memprof_phase_end("load");
	allocate(1001, 3);
	memprof_phase_begin("serve");
	memprof_phase_begin("");
	memprof_number("requests", 1234567890123);
	allocate(3000, 7);
	memprof_phase_end("serve");
	memprof_mark("");
	memprof_mark(text);
	memprof_mark(NULL);
	memprof_mark("\xff\x01 \xc3\xa4");
	allocate(1002, 2);
}

static void *work(void *arg)
{
	size_t number = (size_t)arg;

	allocate(100 + number, 1);
	for (size_t i = 0; i < 200; i++) {
		memprof_phase_begin("work");
		allocate(4000 + number, 3);
		memprof_phase_end("work");
		allocate(5000 + number, 3);
	}
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[4];

	for (size_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (size_t i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static void flush(void)
{
	char c;

	allocate(6000, 100);
	memprof_flush();
	if (write(1, "flushed\n", 8) != 8 || read(0, &c, 1) != 1)
		_exit(98);
	allocate(6001, 100);
}

static void record_pieces(void)
{
	allocate(7000, 10);
	memprof_stop();
	memprof_stop();
	truth("recording %d\n", memprof_is_recording());
	allocate(7001, 10);
	memprof_mark("nobody hears");
	memprof_start();
	memprof_start();
	truth("recording %d\n", memprof_is_recording());
	allocate(7002, 10);
}

static void on_signal(int signal)
{
	(void)signal;
	memprof_mark("signal");
}

static void mark_in_handler(void)
{
	signal(SIGPROF, on_signal);
	for (int i = 0; i < 10; i++) {
		allocate(8000, 100);
		raise(SIGPROF);
	}
}

#if defined(__PIC__)
static void use_old_names(void)
{
	if (!memory_profiler_start)
		return;
	memory_profiler_override_next_timestamp(5);
	allocate(7000, 10);
	memory_profiler_stop();
	memory_profiler_sync();
	allocate(7001, 10);
	memory_profiler_start();
	memory_profiler_set_marker(4294967295);
	allocate(7002, 10);
	memory_profiler_sync();
}
#else
static void use_old_names(void)
{
}
#endif

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} parts[] = {
	    {"", load_and_serve},         {"threads", run_threads},
	    {"flush", flush},             {"pieces", record_pieces},
	    {"handler", mark_in_handler}, {"old", use_old_names},
	};
	const char *part = argc > 1 ? argv[1] : "";

	errno = 4321;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcmp(part, parts[i].name) == 0)
			parts[i].run();
	if (errno != 4321 && strcmp(part, "threads") != 0)
		printf("errno %d\n", errno);
	puts("done");
	return 3;
}
