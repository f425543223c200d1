/* SPDX-License-Identifier: MIT */
/*
 * Which addresses the calls of mmap held, and when.
 *
 * Layer: engine.
 */
#ifndef REPORT_ENGINE_MAP_PIECE_H
#define REPORT_ENGINE_MAP_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes [begin, end) were mapped by call number @owner, from @from_tick until
   before @to_tick, UINT64_MAX where nothing unmapped them. */
struct map_piece {
	uint64_t begin;
	uint64_t end;
	uint64_t from_tick;
	uint64_t to_tick;
	uint32_t owner;
};

/* @is_cut: there were more, which are forgotten. */
struct map_pieces {
	struct map_piece *items;
	size_t count;
	size_t capacity;
	bool is_cut;
};

#endif /* REPORT_ENGINE_MAP_PIECE_H */
