/* SPDX-License-Identifier: MIT */
/*
 * Chains: records joined by realloc.
 *
 * While a chain lives, what its next record must know is kept here.  How a
 * chain ends, its earlier records can only know in a later pass: the ends of
 * one pass are kept in a temporary file, by number of the chain.  A chain gets
 * its number at its first realloc, so the pass that writes and the pass that
 * reads meet them in one order, and the reading one goes through the file from
 * front to back.
 *
 * Cost: 56 bytes a living chain, 24 bytes of file a chain.
 *
 * Layer: engine.
 */
#ifndef REPORT_ENGINE_CHAINS_H
#define REPORT_ENGINE_CHAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/core/scratch.h"

/* How a chain ends; members as in struct record without `chain_`. */
struct chain_end {
	uint64_t last_size;
	uint64_t end_tick;
	uint32_t length;
};

/**
 * struct chain - a living chain of two records or more
 * @number:    from 1; 0: unused, @position is the next unused one + 1
 * @position:  of its newest record
 * @last_size: of the record that the realloc under way ended
 * @last_tick: when
 * @end:       length 0 if not known
 */
struct chain {
	uint32_t number;
	uint32_t position;
	uint64_t first_size;
	uint64_t first_tick;
	uint64_t last_size;
	uint64_t last_tick;
	struct chain_end end;
};

/**
 * struct chains
 * @items:    @count slots
 * @numbered: chains so far in this pass
 * @ends:     by number; @known of them are from a finished pass
 */
struct chains {
	struct chain *items;
	size_t count;
	size_t capacity;
	uint32_t free_head;
	uint32_t numbered;
	uint32_t known;
	bool is_kept;
	struct scratch ends;
};

/* Keeps ends from now on, in a file in @directory.  Return: 0 or -errno. */
int chains_keep(struct chains *chains, const char *directory);
void chains_done(struct chains *chains);

/* Forgets living chains and numbers them from 1 again; ends stay. */
void chains_begin(struct chains *chains);

/* The pass is over: the ends are known. */
void chains_finish(struct chains *chains);

/* Return: slot + 1 of a new chain whose first record is given; 0 when out of
   memory or numbers. */
uint32_t chains_add(struct chains *chains, uint64_t first_size,
		    uint64_t first_tick);

static inline struct chain *chains_get(const struct chains *chains,
				       uint32_t slot)
{
	return &chains->items[slot - 1];
}

/* The chain ends with @position and what is given; its slot is free.  Return: 0
   or -errno. */
int chains_end(struct chains *chains, uint32_t slot, uint64_t last_size,
	       uint64_t end_tick);

#endif /* REPORT_ENGINE_CHAINS_H */
