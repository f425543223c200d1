/* SPDX-License-Identifier: MIT */
#include "report/event/run.h"

#include <math.h>
#include <string.h>

void run_done(struct run *run)
{
	findings_done(&run->damage);
	arena_done(&run->arena);
	memset(run, 0, sizeof(*run));
}

double run_seconds(const struct run *run, uint64_t tick)
{
	if (tick <= run->first_tick)
		return 0;
	return (double)(tick - run->first_tick) * run->tick_ns * 1e-9;
}

uint64_t run_span_ns(const struct run *run, uint64_t from, uint64_t to)
{
	double span = round(run_seconds(run, to) * 1e9) -
		      round(run_seconds(run, from) * 1e9);

	if (!(span > 0))
		return 0;
	return span < (double)UINT64_MAX ? (uint64_t)span : UINT64_MAX;
}

double run_span(const struct run *run, uint64_t from, uint64_t to)
{
	return (double)run_span_ns(run, from, to) / 1e9;
}

uint64_t run_peak_rss(const struct run *run, uint64_t sampled)
{
	uint64_t highest = run->mappings_highest.sums.resident_all;

	if (highest < sampled)
		highest = sampled;
	return highest > run->peak_rss_bytes ? highest : run->peak_rss_bytes;
}

double run_duration(const struct run *run)
{
	return run_seconds(run, run->last_tick);
}

const struct run_thread *run_thread_find(const struct run *run,
					 uint32_t number)
{
	size_t low = 0, high = run->thread_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (run->threads[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < run->thread_count && run->threads[low].number == number)
		return &run->threads[low];
	return NULL;
}

uint32_t run_piece_missing(const struct run *run, size_t piece)
{
	const struct run_piece *pieces = run->pieces;
	uint64_t expected = piece ? (uint64_t)pieces[piece - 1].index + 1 : 0;

	if (pieces[piece].index <= expected)
		return 0;
	return pieces[piece].index - (uint32_t)expected;
}

bool run_misses_pieces(const struct run *run)
{
	for (size_t i = 0; i < run->piece_count; i++)
		if (run_piece_missing(run, i))
			return true;
	return run->end == RUN_END_CONTINUED;
}

bool run_piece_has_gap(const struct run *run, size_t piece)
{
	return piece && piece < run->piece_count &&
	       (run->pieces[piece].has_gap || run_piece_missing(run, piece));
}

double run_off_seconds(const struct run *run)
{
	uint64_t sum = 0;

	for (size_t i = 1; i < run->piece_count; i++) {
		const struct run_piece *piece = &run->pieces[i];
		uint64_t end = piece[-1].end_tick;

		if (piece->has_gap && end && !run_piece_missing(run, i))
			sum += run_span_ns(run, end, piece->start_tick);
	}
	return (double)sum / 1e9;
}

bool run_has_gap(const struct run *run, uint64_t from, uint64_t to)
{
	for (size_t i = 1; i < run->piece_count; i++)
		if (run_piece_has_gap(run, i) &&
		    run->pieces[i].start_tick > from &&
		    run->pieces[i].start_tick <= to)
			return true;
	return false;
}
