/* SPDX-License-Identifier: MIT */
/*
 * From addresses to functions, files, lines and inlined frames, with
 * elfutils' libdw.
 *
 * Layer: symbol.  May include core/ and source/.
 */
#ifndef REPORT_SYMBOL_SYMBOL_H
#define REPORT_SYMBOL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/core/module.h"

struct kept_file;
struct symbols;

enum symbol_quality {
	SYMBOL_ADDRESS,  /* in no module: only the address is known */
	SYMBOL_MODULE,   /* module and offset */
	SYMBOL_FUNCTION, /* function, from a symbol table or DWARF */
	SYMBOL_LINE,     /* function, file and line */
	SYMBOL_QUALITY_COUNT,
};

/**
 * struct symbol_frame - one function, inlined or not, at an address
 * @function: demangled, never NULL; where unknown "module+0xoffset" (offset:
 *            ELF virtual address), outside of modules "[anonymous]", or
 *            "0xaddress" if no module is known
 * @file:     source path, NULL if unknown
 * @line:     1-based, 0 if unknown
 * @module:   base name, never NULL; outside of modules "", and "[jit]" if the
 *            program has named the code that it generated
 * @is_inlined: inlined into the next frame of the array
 * @id:       equal for frames with equal function, file, line and module; dense
 *            from 0
 *
 * All text sanitised and owned by the struct symbols.
 */
struct symbol_frame {
	const char *function;
	const char *file;
	const char *module;
	uint32_t line;
	uint32_t id;
	bool is_inlined;
	uint8_t quality; /* enum symbol_quality */
};

/* How well one module could be read; for the report's table of modules. */
struct symbol_module_status {
	const struct module *module;
	const char *debug_path; /* where DWARF came from, NULL if there is none */
	const char *note; /* why not better: "no such file", "build ID differs",
			     "stripped", …; "" if all is well */
	bool is_rebuilt; /* no names since its file is of another build */
	uint64_t addresses; /* distinct addresses looked up */
	uint64_t resolved[SYMBOL_QUALITY_COUNT];
};

/**
 * symbols_new() - nothing is opened before an address asks for it
 * @modules:   borrowed
 * @debug_dirs: @debug_dir_count directories, searched before the system's
 *             (DIR/.build-id/xx/….debug, DIR/BUILD-ID/debuginfo,
 *             DIR/PATH.debug, DIR/BASENAME.debug, DIR/BASENAME, DIR/PATH);
 *             borrowed
 *
 * Return: owned by the caller, NULL when out of memory.
 */
struct symbols *symbols_new(const struct module_map *modules,
			    const char *const *debug_dirs,
			    size_t debug_dir_count);
void symbols_free(struct symbols *symbols);

/**
 * symbols_set_run() - what the trace has besides modules
 * @files: kept in it, @file_count of any kind; borrowed
 * @pid:   of the program, where a map of generated code may still be found by
 *         it; 0 if not
 * @start_ns, @end_ns: of the run, since 1970
 *
 * To be called before any address is asked for.
 */
void symbols_set_run(struct symbols *symbols, const struct kept_file *files,
		     size_t file_count, uint32_t pid, uint64_t start_ns,
		     uint64_t end_ns);

/**
 * symbols_open_ahead() - open the files of modules in a thread of its own
 * @pc_keys: @count addresses in these modules; copied
 *
 * What needs the files waits for it.  Only the first call does anything, and
 * nothing depends on it but time: debug information is often compressed.
 */
void symbols_open_ahead(struct symbols *symbols, const uint64_t *pc_keys,
			size_t count);

/**
 * symbols_resolve() - frames at a return address, innermost first
 * @pc_key:    return address; the call before it is looked up
 * @ret_count: at least 1
 *
 * Never fails: what cannot be resolved reads module+0xoffset.  Results are
 * kept, so a second call for a key costs one hash lookup.  Not thread-safe.
 *
 * Return: frames, valid as long as @symbols.
 */
const struct symbol_frame *symbols_resolve(struct symbols *symbols,
					   uint64_t pc_key, size_t *ret_count);

/* Return: nanoseconds that went into files and into addresses seen for the first
   time. */
uint64_t symbols_resolve_ns(const struct symbols *symbols);

/* Return: @ret_count rows, one a module that was looked at, by address;
   owned by @symbols. */
const struct symbol_module_status *
symbols_module_status(struct symbols *symbols, size_t *ret_count);

#endif /* REPORT_SYMBOL_SYMBOL_H */
