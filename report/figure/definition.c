/* SPDX-License-Identifier: MIT */
#include "report/figure/definition.h"

#include <string.h>

const struct definition definitions[] = {
	{ "program", "Program", "The traced executable." },
	{ "arguments", "Arguments", "Its command line, the program included." },
	{ "run_time", "Run time",
	  "From the start of tracing to the last event or the end record." },
	{ "end", "End of the run",
	  "How the program ended, as far as the trace knows." },
	{ "peak_bytes", "Peak",
	  "The largest sum of requested bytes of all blocks alive at one "
	  "moment. Requested bytes are what the program asked for, not what "
	  "its allocator took." },
	{ "peak_blocks", "Blocks at the peak",
	  "Number of blocks alive at the moment of the peak." },
	{ "reallocs", "Reallocs",
	  "Calls of realloc of a block that gave a block. Each counts as one "
	  "allocation and one free; a realloc of NULL is an allocation like "
	  "any other." },
	{ "peak_time", "Time of the peak",
	  "When the peak was first reached, in seconds from the start." },
	{ "leaked", "Leaked",
	  "Allocated and never freed before the trace ended. There is no test "
	  "whether the program could still reach the block. Libraries keep "
	  "some on purpose: in every C++ program libstdc++ holds 71.0 KiB "
	  "(72,704 bytes) from the start, for exceptions thrown when memory "
	  "has run out, and stdio the buffers of its streams." },
	{ "allocations", "Allocations",
	  "Successful calls that gave the program a block: malloc, calloc, "
	  "realloc, aligned forms, operator new. A realloc ends one "
	  "allocation and begins another, even when the block does not move." },
	{ "frees", "Frees",
	  "Calls that ended an allocation: free, operator delete, realloc." },
	{ "allocated_bytes", "Allocated",
	  "Sum of the requested bytes of all allocations, freed or not." },
	{ "temporary", "Temporary",
	  "Allocations freed by the very next allocation-related call of the "
	  "same thread. heaptrack's figure is higher: it also counts a free "
	  "that follows an allocation of another block of the same size and "
	  "backtrace." },
	{ "usable_bytes", "Usable",
	  "What the allocator set aside for the blocks "
	  "(malloc_usable_size), at the peak of requested bytes." },
	{ "peak_share", "At the peak",
	  "Requested bytes of the call site's blocks that were alive at the "
	  "moment of the peak." },
	{ "call_site", "Call site",
	  "The innermost function outside of allocators, well-known wrappers "
	  "(xmalloc, strdup) and the C++ and Rust standard libraries: the "
	  "code that wanted the memory. "
	  "All allocations with the same function, file and line count "
	  "together, whatever their callers." },
	{ "group", "Group",
	  "All allocations with the same backtrace." },
	{ "backtrace", "Backtrace",
	  "The call stack at the moment of the call. Pages and CSV begin "
	  "with its innermost function, short forms with the call site; "
	  "JSON, folded stacks, trees and flamegraphs with the outermost, the "
	  "program's entry." },
	{ "culled", "Culled",
	  "Allocations that were soon freed, by any thread, and that the "
	  "trace, recorded with culling, has only as sums by backtrace, "
	  "function and size. They count wherever allocations, frees and "
	  "temporary ones are counted, never as live, and are in no list of "
	  "allocations." },
	{ "culled_most", "Culled, alive at once",
	  "Requested bytes that were alive at most of what was culled, summed "
	  "over the threads. The peak and the levels may be too low by up to "
	  "this much." },
	{ "undecided", "Undecided",
	  "Culled allocations of which it is not known whether they pass the "
	  "view's filter: their addresses, who freed them and their exact "
	  "times and lifetimes are not in the trace. They are left out." },
	{ "completeness", "Completeness",
	  "Whether everything the program did is in the trace: events the "
	  "tracer lost, damaged parts of the file, a missing end." },
	{ "symbol_quality", "Symbol quality",
	  "Share of allocated bytes by what is known about the frame that "
	  "allocated them: function and line, function only, module only." },
	{ "live_bytes", "Live bytes",
	  "Requested bytes of the blocks alive; the highest level within each "
	  "bin of the chart." },
	{ "live_blocks", "Live blocks",
	  "Number of blocks alive; the highest level within each bin." },
	{ "mark_live", "Live bytes at a mark",
	  "Requested bytes of the blocks alive at that moment; of a phase, when "
	  "it began." },
	{ "phase_highest", "Highest within a phase",
	  "The most requested bytes alive at any time from the phase's "
	  "beginning to its end." },
	{ "phase_allocations", "Allocations within a phase",
	  "Made by all threads from the phase's beginning to its end; a realloc "
	  "is one." },
	{ "phase_own", "Of its thread, within a phase",
	  "Those of a phase's allocations that the thread which gave the "
	  "phase made." },
	{ "bin_allocations", "Allocations in the bin",
	  "Allocations made within the bin; a realloc is one." },
	{ "bin_deallocations", "Blocks ended in the bin",
	  "Allocations that ended within the bin: by a free, by a realloc, or "
	  "because their address was given out anew." },
	{ "rss", "Resident memory",
	  "Physical memory of the whole process as the kernel counts it, code, "
	  "stacks, allocator overhead and the tracer included." },
	{ "peak_rss", "Peak resident memory",
	  "The most that the kernel counted for the whole process (its high "
	  "water mark: VmHWM, or ru_maxrss of a process that was killed) up to "
	  "the end of the run, the tracer's own 2 to 7 MiB included; the curve "
	  "of resident memory is of samples, between which it can have been "
	  "higher. The largest sample where that is more, since the kernel "
	  "counts in batches, or where the run's end is not in the trace." },
	{ "highest_sample", "Highest sample",
	  "The sample of the process's mappings (/proc/PID/smaps) with the "
	  "most resident memory. Samples are at most a second apart in most "
	  "programs, so there can have been more between them." },
	{ "last_sample", "Last sample",
	  "The last sample of the process's mappings, at the end of the run "
	  "where the program ended by itself." },
	{ "anonymous", "Anonymous memory",
	  "Resident memory that no file backs: the heap, stacks, and pages of "
	  "a private file mapping that were written to." },
	{ "threads", "Threads", "Threads that made at least one event." },
	{ "events", "Events",
	  "Everything recorded, each once: allocations, frees, reallocs, calls "
	  "of mmap, munmap, mremap and mallopt, markers, and the samples of "
	  "resident memory that the tracer takes itself." },
	{ "events_lost", "Lost events",
	  "Calls the tracer saw but could not record, for the reason given." },
	{ "trace_bytes", "Trace size", "Size of the trace file." },
	{ "unmatched_frees", "Unmatched frees",
	  "Frees of blocks whose allocation is not in the trace: made before "
	  "tracing began, or by an allocator that is not traced, or lost." },
	{ "overwritten", "Reused while live",
	  "Allocations at an address whose earlier block was never seen freed: "
	  "its free was lost or not traced. The earlier block counts as freed "
	  "at that moment." },
	{ "share", "Share",
	  "The row's part of the sum over the whole run, or over all that "
	  "passes the view, of what the rows are sorted by." },
	{ "lifetime", "Lifetime",
	  "From the allocation to the call that freed it." },
	{ "size_class", "Requested size",
	  "Classes of requested sizes: no bytes, then from each power of two "
	  "to below the next." },
	{ "lifetime_class", "Lifetime class",
	  "Classes of lifetimes: from each of 1, 2 and 5 times a power of ten "
	  "to below the next. What was never freed has no lifetime and is a "
	  "class of its own." },
	{ "class_at_peak", "Of a class, at the peak",
	  "Allocations of the class that were alive at the moment of the "
	  "run's peak." },
	{ "mmaps", "Maps",
	  "Calls of mmap, munmap and mremap made through the C library." },
	{ "mallopts", "mallopt calls", "Calls that tuned the allocator." },
};

const size_t definition_count = sizeof(definitions) / sizeof(definitions[0]);

const struct definition *definition_find(const char *id)
{
	for (size_t i = 0; id && i < definition_count; i++)
		if (strcmp(definitions[i].id, id) == 0)
			return &definitions[i];
	return NULL;
}
