/* SPDX-License-Identifier: MIT */
/*
 * Allocates below code made at run time, whose call frame information it
 * registers; the next function at the same address has another frame.
 * Arguments: rounds, threads.  Truth: "stack SIZE ADDRESS…", the frames that
 * the compiler's library finds around the allocation of that size, innermost
 * first, without the allocating function itself.
 */
#include <pthread.h>
#include <unwind.h>

#include "generated.h"
#include "truth.h"

enum {
	SIZE = 5001,
	FRAMES_MAX = 32,
	LATER = 3, /* words of a table */
};

extern void __register_frame(void *begin);
extern void __register_frame_table(void *begin);
extern void __deregister_frame(void *begin);

static __thread size_t size;
static __thread size_t found;
static __thread void *frames[FRAMES_MAX];

static _Unwind_Reason_Code add(struct _Unwind_Context *context, void *arg)
{
	(void)arg;
	/* The last one is where the outermost frame would return to. */
	if (found < FRAMES_MAX && _Unwind_GetIP(context))
		frames[found++] = (void *)_Unwind_GetIP(context);
	return _URC_NO_REASON;
}

TRUTH_NOINLINE static void allocate(void)
{
	void *p = malloc(size);

	TRUTH_KEEP(p);
	free(p);
	found = 0;
	_Unwind_Backtrace(add, NULL);
}

static void say(void)
{
	char line[FRAMES_MAX * 20] = "";
	size_t len = 0;

	for (size_t i = 1; i < found; i++)
		len += (size_t)snprintf(line + len, sizeof(line) - len, " %p",
					frames[i]);
	truth("stack %zu%s\n", size, line);
}

/* One function: its code at @code, called while registered and after. */
TRUTH_NOINLINE static void use(uint8_t *code, int round)
{
	uint32_t frame_bytes = round % 2 ? 128 : 608;
	uint8_t *records = generate_map(PROT_READ | PROT_WRITE);
	void *table[LATER] = { records, NULL };
	generated_function function = (generated_function)(uintptr_t)code;
	void *begin = round % 3 ? (void *)records : (void *)table;

	generate_code(code, frame_bytes);
	generate_frames(records, code, frame_bytes);
	if (round % 3)
		__register_frame(begin);
	else
		__register_frame_table(begin);
	function(allocate);
	say();
	size++;
	__deregister_frame(begin);
	munmap(records, GENERATED_BYTES);
	if (round % 5 == 0) {
		function(allocate);
		say();
		size++;
	}
}

static long rounds;

static void *run(void *arg)
{
	uint8_t *code = generate_map(PROT_READ | PROT_WRITE | PROT_EXEC);

	size = SIZE + (size_t)(uintptr_t)arg * 100000;
	for (int round = 0; round < rounds; round++)
		use(code, round);
	munmap(code, GENERATED_BYTES);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[16];
	int count = argc > 2 ? atoi(argv[2]) : 0;

	rounds = argc > 1 ? atol(argv[1]) : 10;
	for (int i = 0; i < count && i < 16; i++)
		pthread_create(&threads[i], NULL, run,
			       (void *)(uintptr_t)(i + 1));
	run(NULL);
	for (int i = 0; i < count && i < 16; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
