/* SPDX-License-Identifier: MIT */
/*
 * What a program can tell the memory profiler that it runs under.
 *
 *     #include <memprof.h>
 *
 *     memprof_phase_begin("load");
 *     load();
 *     memprof_phase_end("load");
 *
 * Nothing has to be linked.  The functions do nothing, in a few instructions,
 * where libmemprof.so is not preloaded.  In C and C++, with gcc or clang.
 *
 * All of them may be called by any thread, at any time, in signal handlers,
 * too; errno stays.  Where recording is off only memprof_start() does anything.
 * A mark, a number, the begin or the end of a phase is one write to the trace:
 * some microseconds.
 */
#ifndef MEMPROF_H
#define MEMPROF_H

#include <stdint.h>

#ifndef MEMPROF_API
#define MEMPROF_API __attribute__((weak))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The functions of libmemprof.so; those below call them.  The names that
   memory-profiler and bytehound have, too, mean the same here. */
MEMPROF_API void memory_profiler_start(void);
MEMPROF_API void memory_profiler_stop(void);
MEMPROF_API void memory_profiler_sync(void);
MEMPROF_API int memory_profiler_is_recording(void);
MEMPROF_API void memory_profiler_mark(const char *text);
MEMPROF_API void memory_profiler_number(const char *name, uint64_t value);
MEMPROF_API void memory_profiler_phase_begin(const char *name);
MEMPROF_API void memory_profiler_phase_end(const char *name);
MEMPROF_API void memory_profiler_set_marker(uint32_t value);
MEMPROF_API void memory_profiler_override_next_timestamp(uint64_t usec);

/*
 * Finds a function that may not be there.  In code that is not
 * position-independent the linker would settle on its absence.
 */
#if defined(__x86_64__) && !defined(__ILP32__) && !defined(__PIC__)
#define MEMPROF_FIND_(ret, name)                           \
	__asm__(".weak " #name "\n\tmovq " #name           \
		"@GOTPCREL(%%rip), %0"                     \
		: "=r"(ret))
#else
#define MEMPROF_FIND_(ret, name) ((ret) = (name))
#endif

/* Records from now on, into a new file, unless recording is on. */
static __inline__ void memprof_start(void)
{
	void (*memprof_found_)(void);

	MEMPROF_FIND_(memprof_found_, memory_profiler_start);
	if (memprof_found_)
		memprof_found_();
}

/* Records no more; the file is complete.  What was recorded and is freed from
   now on counts as never freed. */
static __inline__ void memprof_stop(void)
{
	void (*memprof_found_)(void);

	MEMPROF_FIND_(memprof_found_, memory_profiler_stop);
	if (memprof_found_)
		memprof_found_();
}

/* Writes all that was recorded so far into the trace file, so that another
   process can read it there. */
static __inline__ void memprof_flush(void)
{
	void (*memprof_found_)(void);

	MEMPROF_FIND_(memprof_found_, memory_profiler_sync);
	if (memprof_found_)
		memprof_found_();
}

/* Return: 1 while this process is being recorded, else 0. */
static __inline__ int memprof_is_recording(void)
{
	int (*memprof_found_)(void);

	MEMPROF_FIND_(memprof_found_, memory_profiler_is_recording);
	return memprof_found_ ? memprof_found_() : 0;
}

/* Marks this moment.  @text is copied; 4096 bytes of it count. */
static __inline__ void memprof_mark(const char *text)
{
	void (*memprof_found_)(const char *);

	MEMPROF_FIND_(memprof_found_, memory_profiler_mark);
	if (memprof_found_)
		memprof_found_(text);
}

/* Marks this moment with a number: requests so far, the length of a queue. */
static __inline__ void memprof_number(const char *name, uint64_t value)
{
	void (*memprof_found_)(const char *, uint64_t);

	MEMPROF_FIND_(memprof_found_, memory_profiler_number);
	if (memprof_found_)
		memprof_found_(name, value);
}

/*
 * A phase begins, or ends.  Phases may overlap, of one name, too: an end is
 * that of the newest one of its name that the thread has begun, or else of the
 * newest one of its name.
 */
static __inline__ void memprof_phase_begin(const char *name)
{
	void (*memprof_found_)(const char *);

	MEMPROF_FIND_(memprof_found_, memory_profiler_phase_begin);
	if (memprof_found_)
		memprof_found_(name);
}

static __inline__ void memprof_phase_end(const char *name)
{
	void (*memprof_found_)(const char *);

	MEMPROF_FIND_(memprof_found_, memory_profiler_phase_end);
	if (memprof_found_)
		memprof_found_(name);
}

#ifdef __cplusplus
}
#endif

#endif /* MEMPROF_H */
