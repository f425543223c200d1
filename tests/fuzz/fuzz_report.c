/* SPDX-License-Identifier: MIT */
/*
 * All of memprof-report, from a trace to one artifact.  The first byte chooses
 * the artifact, the second the question; the rest is the trace, whose checksums
 * are made right.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "report/artifacts.h"
#include "report/cli.h"
#include "report/core/diag.h"
#include "report/core/sink.h"
#include "report/output/artifact.h"
#include "report/pipeline.h"
#include "report/spec.h"
#include "tests/fuzz/chunk_mutator.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/trace_write.h"

enum { PREFIX = 2 };

static const char *const artifacts[] = {
	"flamegraph", "folded", "tree", "allocations", "allocations.csv",
	"groups", "groups.csv", "timeline", "timeline.json", "sizes",
	"sizes.json", "lifetimes", "lifetimes.json", "heaptrack", "summary",
	"mmaps", "mallopts", "threads", "modules", "markers", "residency",
	"mappings",
};

static const char *const queries[] = {
	"", "lifetime=only_leaked", "alive_at=peak", "cost=peak",
	"sort_by=size&count=3&skip=1", "chain_length_min=2",
	"group_allocations_min=2", "temporary=freed", "thread=1",
	"function_regex=a", "marker=1", "size_min=10&size_max=1000",
	"only_chain_leaked=1", "lifetime_min=1us", "cost=leaked",
	"not_thread=1", "cost=temporary", "direction=callees",
	"from=1ms&to=90%", "library_regex=c", "cost=count",
};

static void report(const char *path, const struct artifact_format *format,
		   const char *query)
{
	struct diag diag = { .offset = DIAG_NO_OFFSET };
	struct cli cli = { .mode = CLI_VIEW,
			   .as = format,
			   .quiet = true,
			   .memory = UINT64_MAX,
			   .jobs = 1 };
	char *name = strdup(path);
	struct spec spec = { 0 };
	struct pipeline pipeline;
	struct sink sink;
	int status;

	if (!name)
		abort();
	if (spec_view_parse(&spec, query, format, NULL, &diag) == 0) {
		status = pipeline_open(&pipeline, &cli, &spec, &name, 1, &diag);
		if (status == 0)
			status = pipeline_run(&pipeline, &diag);
		sink_init_memory(&sink);
		if (status == 0)
			status = artifacts_write_view(&pipeline, format, &sink,
						      &diag);
		if (status && !diag.text[0])
			abort();
		sink_done(&sink);
		pipeline_close(&pipeline);
	}
	spec_done(&spec);
	free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *name, *query;
	char path[40];
	uint8_t *copy;
	int fd;

	if (size < PREFIX)
		return 0;
	name = artifacts[data[0] % (sizeof(artifacts) / sizeof(*artifacts))];
	query = queries[data[1] % (sizeof(queries) / sizeof(*queries))];
	data += PREFIX;
	size -= PREFIX;
	copy = malloc(size + 1);
	fd = memfd_create("trace", MFD_CLOEXEC);
	if (!copy || fd < 0)
		abort();
	memcpy(copy, data, size);
	trace_repair(copy, size);
	if (write(fd, copy, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	report(path, artifact_find(name), query);
	close(fd);
	free(copy);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
			       unsigned seed)
{
	if (size <= PREFIX || seed % 16 == 15)
		return LLVMFuzzerMutate(data, size, max_size);
	return PREFIX + chunk_mutate(data + PREFIX, size - PREFIX,
				     max_size - PREFIX, seed / 16);
}
