/* SPDX-License-Identifier: MIT */
/* memprof-record: runs a program with the tracer preloaded. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracer/record/diagnose.h"
#include "tracer/record/finish.h"
#include "tracer/record/launch.h"
#include "tracer/record/settings.h"
#include "tracer/trace_format.h"

enum {
	NAMES_BYTES = 1 << 20,
};

/* Safety: single thread.  Finishes each trace and says where the first is. */
static void finish_all(const struct settings *set, char *names, size_t len,
		       const struct launch_result *result)
{
	const char *first = names;
	uint32_t first_how = 0;
	size_t count = 0;

	for (char *name = names; name < names + len; name += strlen(name) + 1) {
		struct finish_result done;
		int err = finish_trace(name, count ? NULL : result, &done);

		if (!count)
			first_how = done.how;
		if (err)
			fprintf(stderr, "memprof-record: %s: %s\n", name,
				strerror(-err));
		if (done.damaged_bytes)
			fprintf(stderr,
				"memprof-record: %s: the program wrote over "
				"%" PRIu64 " bytes of its last events\n",
				name, done.damaged_bytes);
		count++;
	}
	if (set->quiet)
		return;
	if (first_how == TRACE_END_EXEC && count == 1)
		fputs("memprof-record: the program replaced itself by another, "
		      "which was not traced; see --children\n",
		      stderr);
	if (count > 1)
		fprintf(stderr,
			"memprof-record: trace written to %s, and %zu more of "
			"its children\n",
			first, count - 1);
	else
		fprintf(stderr, "memprof-record: trace written to %s\n", first);
}

/* Safety: single thread.  What the tracers wrote into @fd. */
static void report(const struct settings *set, const char *program, int fd,
		   const struct launch_result *result)
{
	char *names = calloc(1, NAMES_BYTES + 1);
	ssize_t len;

	if (!names)
		fail(EXIT_OWN_FAILURE, "trace names", ENOMEM);
	len = pread(fd, names, NAMES_BYTES, 0);
	if (len > 0)
		finish_all(set, names, (size_t)len, result);
	else
		fprintf(stderr, "memprof-record: %s was not traced: %s\n",
			program, diagnose_untraced(program));
	free(names);
}

int main(int argc, char **argv)
{
	struct settings set;
	struct launch_result result = {0};
	int names_fd = memfd_create("memprof-record", MFD_CLOEXEC);
	int err;

	if (names_fd < 0)
		fail(EXIT_OWN_FAILURE, "memfd_create", errno);
	settings_parse(argc, argv, &set);
	settings_set_environment(names_fd);
	err = launch_run(argv + set.program, &result);
	if (err)
		fail(err == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN,
		     argv[set.program], err);
	report(&set, argv[set.program], names_fd, &result);
	launch_exit_like(result.wait_status);
}
