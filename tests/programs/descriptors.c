/* SPDX-License-Identifier: MIT */
/*
 * Takes the descriptor numbers it would get without a tracer, closes all
 * others, and fills the freed numbers with files of its own, whose contents
 * must stay its own.  Argument: a directory.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "truth.h"

static void churn(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		void *p = malloc(100 + (size_t)i % 1000);

		TRUTH_KEEP(p);
		free(p);
	}
}

int main(int argc, char **argv)
{
	static int fds[1024];
	struct stat st;
	char path[4096];
	int n = 0;

	if (argc < 2)
		return 2;
	snprintf(path, sizeof(path), "%s/first", argv[1]);
	fds[0] = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
	printf("first descriptor %d\n", fds[0]);
	churn(20000);
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	while (n < 1000) {
		snprintf(path, sizeof(path), "%s/f%d", argv[1], n);
		fds[n] = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
		if (fds[n] < 0)
			break;
		n++;
	}
	churn(20000);
	for (int i = 0; i < n; i++) {
		if (fstat(fds[i], &st) != 0 || st.st_size != 0)
			return 4;
		close(fds[i]);
	}
	churn(20000);
	printf("files %d\n", n > 900);
	return 0;
}
