/* SPDX-License-Identifier: MIT */
#include "report/engine/chains.h"

#include <string.h>

#include "report/core/vec.h"

int chains_keep(struct chains *chains, const char *directory)
{
	int status = scratch_open(&chains->ends, directory);

	chains->is_kept = status == 0;
	return status;
}

void chains_done(struct chains *chains)
{
	vec_done(chains);
	scratch_close(&chains->ends);
	memset(chains, 0, sizeof(*chains));
}

void chains_begin(struct chains *chains)
{
	chains->count = 0;
	chains->free_head = 0;
	chains->numbered = 0;
}

void chains_finish(struct chains *chains)
{
	if (chains->is_kept)
		chains->known = chains->numbered;
}

static struct chain_end *chain_end_at(const struct chains *chains,
				      uint32_t number)
{
	return (struct chain_end *)(void *)chains->ends.data + (number - 1);
}

/* Return: slot + 1, or 0. */
static uint32_t slot_take(struct chains *chains)
{
	uint32_t slot = chains->free_head;

	if (slot) {
		chains->free_head = chains->items[slot - 1].position;
		return slot;
	}
	return chains->count < UINT32_MAX && vec_push(chains)
		       ? (uint32_t)chains->count
		       : 0;
}

uint32_t chains_add(struct chains *chains, uint64_t first_size,
		    uint64_t first_tick)
{
	uint32_t slot = chains->numbered < UINT32_MAX ? slot_take(chains) : 0;
	struct chain *chain;

	if (!slot)
		return 0;
	chain = &chains->items[slot - 1];
	memset(chain, 0, sizeof(*chain));
	chain->number = ++chains->numbered;
	chain->first_size = first_size;
	chain->first_tick = first_tick;
	if (chain->number <= chains->known)
		chain->end = *chain_end_at(chains, chain->number);
	return slot;
}

int chains_end(struct chains *chains, uint32_t slot, uint64_t last_size,
	       uint64_t end_tick)
{
	struct chain *chain = &chains->items[slot - 1];
	int status = 0;

	/* A later pass would write the same again. */
	if (chains->is_kept && chain->number > chains->known) {
		status = scratch_reserve(&chains->ends,
					 (size_t)chain->number *
						 sizeof(struct chain_end));
		if (status == 0)
			*chain_end_at(chains, chain->number) =
				(struct chain_end){
					.last_size = last_size,
					.end_tick = end_tick,
					.length = chain->position + 1,
				};
	}
	chain->number = 0;
	chain->position = chains->free_head;
	chains->free_head = slot;
	return status;
}
