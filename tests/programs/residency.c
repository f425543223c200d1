/* SPDX-License-Identifier: MIT */
/*
 * Has resident memory of every kind, of known size, when it ends.
 *   residency FILE [BLOCKS TRACE]
 * FILE is made, 8 MiB, and mapped.  With BLOCKS it allocates so many every now
 * and then before, until its own TRACE has a sample that was begun and ended
 * meanwhile.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "truth.h"

enum {
	MIB = 1 << 20,
	BLOCKS = 512,
	BLOCK_BYTES = 32 << 10,
	HEAD_BYTES = 10, /* magic and type of a chunk */
};

static sem_t is_deep;

static void must(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	_exit(99);
}

static void map(size_t bytes, int prot, int flags, int fd)
{
	volatile char *p = mmap(NULL, bytes, prot, flags, fd, 0);

	must(p != MAP_FAILED, "mmap");
	for (size_t at = 0; at < bytes; at += 4096) {
		if (prot & PROT_WRITE)
			p[at] = 1;
		else
			(void)p[at];
	}
}

static void *go_deep(void *arg)
{
	char room[3 * MIB];

	memset(room, 1, sizeof(room));
	arg = malloc(100); /* threads that do nothing are not known */
	TRUTH_KEEP(arg);
	sem_post(&is_deep);
	pause();
	return room[0] ? arg : NULL;
}

static int make_file(const char *path)
{
	static char block[MIB];
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	must(fd >= 0, path);
	for (int i = 0; i < 8; i++)
		must(write(fd, block, MIB) == MIB, path);
	return fd;
}

/* Return: samples in the trace so far, found by the heads of their chunks. */
static int count_samples(const char *trace)
{
	static const char head[] = "\xfeMPchnk\n\x0d";
	static char bytes[MIB];
	int fd = open(trace, O_RDONLY), count = 0;
	off_t at = 0;
	ssize_t len;

	must(fd >= 0, trace);
	while ((len = pread(fd, bytes, sizeof(bytes), at)) >= HEAD_BYTES) {
		char *p = bytes, *end = bytes + len;

		while ((p = memmem(p, (size_t)(end - p), head, HEAD_BYTES))) {
			count++;
			p += HEAD_BYTES;
		}
		at += len - HEAD_BYTES + 1;
	}
	close(fd);
	return count;
}

/* The first sample that ends from now on may have begun before. */
static void await_sample(int blocks, const char *trace)
{
	struct timespec step = { 0, 50 * 1000 * 1000 };
	int before = count_samples(trace);

	while (count_samples(trace) < before + 2) {
		for (int k = 0; k < blocks; k++) {
			void *p = malloc(100);

			TRUTH_KEEP(p);
			free(p);
		}
		nanosleep(&step, NULL);
	}
}

int main(int argc, char **argv)
{
	int anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
	int rw = PROT_READ | PROT_WRITE;
	pthread_t thread;

	must(argc > 1, "usage: residency FILE [BLOCKS TRACE]");
	sem_init(&is_deep, 0, 0);
	must(pthread_create(&thread, NULL, go_deep, NULL) == 0, "thread");
	sem_wait(&is_deep);
	if (argc > 3)
		await_sample(atoi(argv[2]), argv[3]);
	map(8 * MIB, PROT_READ, MAP_SHARED, make_file(argv[1]));
	map(16 * MIB, rw, anonymous, -1);
	map(4 * MIB, rw, MAP_SHARED | MAP_ANONYMOUS, -1);
	map(2 * MIB, rw | PROT_EXEC, anonymous, -1);
	for (int i = 0; i < BLOCKS; i++) {
		char *p = malloc(BLOCK_BYTES);

		must(p != NULL, "malloc");
		memset(p, 1, BLOCK_BYTES);
		TRUTH_KEEP(p);
	}
	return 0;
}
