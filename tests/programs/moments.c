/* SPDX-License-Identifier: MIT */
/*
 * Has the files of its trace change while meddle counts its system calls.
 * Arguments: a file, and what it does meanwhile: "rotate" fills buffers,
 * "start" begins to record, "restart" stops that and begins again, "fork" has a
 * child and waits for it, "limit" fills buffers while no file may become longer
 * than a further one, its trace, is.
 *
 * There is a block of 1000 + i bytes for i from 0; the file has their number as
 * a u64, and a second one for those of a child, which come after the parent's.
 */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "meddle.h"
#include "truth.h"

#include "tracer/memprof.h"

enum {
	FEW = 10,
	MANY = 3500, /* more than a buffer */
};

static volatile uint64_t *progress;
static size_t next_block;

static void allocate(volatile uint64_t *count, int blocks)
{
	for (int i = 0; i < blocks; i++) {
		void *p = malloc(1000 + next_block++);

		TRUTH_KEEP(p);
		++*count;
		free(p);
	}
}

static void have_child(void)
{
	pid_t pid;

	close(MEDDLE_NEXT_CHILD);
	pid = fork();
	if (pid == 0) {
		allocate(&progress[1], FEW);
		close(MEDDLE_END);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void allocate_with_limit(const char *trace)
{
	struct rlimit all, limit;
	struct stat st;

	if (stat(trace, &st) != 0 || getrlimit(RLIMIT_FSIZE, &all) != 0)
		exit(4);
	limit = all;
	limit.rlim_cur = (rlim_t)st.st_size;
	if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
		exit(5);
	allocate(progress, MANY); /* so that something is lost already */
	close(MEDDLE_BEGIN);
	allocate(progress, MANY);
	close(MEDDLE_END);
	setrlimit(RLIMIT_FSIZE, &all);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[2] : "";
	int fd = argc > 2 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;

	if (fd < 0 || ftruncate(fd, 2 * sizeof(*progress)) != 0)
		return 2;
	progress = mmap(NULL, 2 * sizeof(*progress), PROT_READ | PROT_WRITE,
			MAP_SHARED, fd, 0);
	if (progress == MAP_FAILED)
		return 3;
	if (strcmp(what, "start") != 0)
		allocate(progress, FEW);
	if (strcmp(what, "fork") == 0) {
		have_child();
		return 0;
	}
	if (strcmp(what, "limit") == 0 && argc > 3) {
		allocate_with_limit(argv[3]);
		return 0;
	}
	close(MEDDLE_BEGIN);
	if (strcmp(what, "rotate") == 0)
		allocate(progress, MANY);
	if (strcmp(what, "restart") == 0)
		memprof_stop();
	if (strcmp(what, "rotate") != 0)
		memprof_start();
	allocate(progress, FEW);
	close(MEDDLE_END);
	return 0;
}
