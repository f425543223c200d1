/* SPDX-License-Identifier: MIT */
/*
 * An executable or library that was mapped during the run.
 *
 * Layer: core, because input fills it, symbol reads it and neither may know
 * the other.
 */
#ifndef REPORT_CORE_MODULE_H
#define REPORT_CORE_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct module_segment {
	uint64_t vaddr;     /* ELF virtual address */
	uint64_t mem_bytes;
	uint64_t file_off;
	uint64_t file_bytes;
	uint64_t flags;     /* ELF p_flags */
};

#define MODULE_NEVER_UNLOADED UINT64_MAX

/**
 * struct module - one mapping of one file
 * @number:      as in the trace, unique
 * @bias:        run-time address minus ELF virtual address
 * @start, @end: run-time addresses, end exclusive
 * @load_tick:   when it was first seen
 * @unload_tick: when it was gone, or MODULE_NEVER_UNLOADED
 * @path:        raw bytes as in the trace, NUL-terminated: for open()
 * @name:        sanitised @path, for people
 * @generation:  how many of the modules that are connected with it by overlaps
 *               were loaded before it
 *
 * start < end; load_tick <= unload_tick.
 */
struct module {
	uint32_t number;
	bool is_program;
	bool is_tracer;
	bool is_vdso;
	uint64_t bias;
	uint64_t start;
	uint64_t end;
	uint64_t load_tick;
	uint64_t unload_tick;
	const char *path;
	const char *name;
	const uint8_t *build_id;
	size_t build_id_len;
	const struct module_segment *segments;
	size_t segment_count;
	uint32_t generation;
};

/*
 * A pc key names a return address for the whole run: bits 0 to 47 are the
 * address, bits 48 to 63 the generation of the module that was mapped there
 * when the stack was taken.  Without unloading, a pc key is the address.
 */
#define PC_KEY_ADDR_BITS 48
#define PC_KEY_ADDR(key) ((key) & ((UINT64_C(1) << PC_KEY_ADDR_BITS) - 1))
#define PC_KEY_GENERATION(key) ((uint32_t)((key) >> PC_KEY_ADDR_BITS))

/* Stands for the outer frames that the tracer's depth limit cut off. */
#define PC_KEY_TRUNCATED UINT64_C(1)

/**
 * struct module_map - the modules, indexed by address
 * @items:       sorted by (start, load_tick); owned by the arena given to
 *               module_map_build()
 * @reused:      whether any two overlap in addresses
 * @reused_start, @reused_end: range outside of which no two overlap
 */
struct module_map {
	struct module *items;
	size_t count;
	bool reused;
	uint64_t reused_start;
	uint64_t reused_end;
	uint64_t longest; /* of all end - start */
};

/**
 * module_map_build() - sort @items and number their generations
 * @items: @count modules, at most 0x10000; taken over, must stay valid as long
 *         as @ret
 */
void module_map_build(struct module_map *ret, struct module *items,
		      size_t count);

/* Return: pc key of return address @addr seen at @tick.  Cost: one compare
   where no address was used twice. */
uint64_t module_map_key(const struct module_map *map, uint64_t addr,
			uint64_t tick);

/* Return: the module that @key lies in, NULL if none.  A return address
   belongs to the instruction before it, so @key - 1 is looked up. */
const struct module *module_map_find(const struct module_map *map,
				     uint64_t key);

#endif /* REPORT_CORE_MODULE_H */
