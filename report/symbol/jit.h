/* SPDX-License-Identifier: MIT */
/*
 * Names of code that is in no module: what the program generated.  They come
 * from objects of the GDB JIT interface and from the perf map, both kept in the
 * trace; the map also from where the program wrote it, if it is still there.
 *
 * Layer: symbol.
 */
#ifndef REPORT_SYMBOL_JIT_H
#define REPORT_SYMBOL_JIT_H

#include <stddef.h>
#include <stdint.h>

struct code_frames;
struct jit;
struct kept_file;
struct names;

/**
 * struct jit_run - the run whose code it is
 * @files, @file_count: kept in the trace, of any kind; borrowed as long as the
 *             struct jit
 * @pid:       0: no map is looked for outside of the trace
 * @start_ns, @end_ns: since 1970; a map last written to at another time is not
 *             of this run
 */
struct jit_run {
	const struct kept_file *files;
	size_t file_count;
	uint32_t pid;
	uint64_t start_ns;
	uint64_t end_ns;
};

/* Reads all that there is for @run; what cannot be read is left out.  Return:
   owned by the caller, NULL when out of memory. */
struct jit *jit_new(const struct jit_run *run);
void jit_free(struct jit *jit);

/**
 * jit_find() - frames at run-time address @addr, innermost first
 * @names: owner of the texts, the same in every call
 * @ret:   emptied first; stays empty if nothing is known
 *
 * Return: 0, -ENOMEM.
 */
int jit_find(struct jit *jit, struct names *names, uint64_t addr,
	     struct code_frames *ret);

#endif /* REPORT_SYMBOL_JIT_H */
