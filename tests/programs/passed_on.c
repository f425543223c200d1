/* SPDX-License-Identifier: MIT */
/*
 * Threads that allocate, and others that free what these pass on to them
 * through a ring: maker t blocks of 1000 (t + 1) + i % 1000 bytes, i from 0, each
 * after one of 50 bytes that it frees itself.  Arguments: threads of each kind,
 * blocks of each thread; a file (or ""), which says how many blocks each maker
 * has passed on, as a u64.  Truth: "blocks N" passed on and freed unchanged.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

#include "meddle.h"
#include "truth.h"

enum {
	PAIRS_MAX = 32,
	PLACES = 64,
	GROWN = 100, /* one in so many is grown by who gets it */
};

static struct ring {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	void *blocks[PLACES];
	long in;
	long out;
} rings[PAIRS_MAX];

static pthread_barrier_t start; /* until all threads are made */
static volatile uint64_t *progress;
static uint64_t no_file[PAIRS_MAX];
static long blocks;

static void put(struct ring *ring, void *p)
{
	pthread_mutex_lock(&ring->lock);
	while (ring->in - ring->out == PLACES)
		pthread_cond_wait(&ring->changed, &ring->lock);
	ring->blocks[ring->in++ % PLACES] = p;
	pthread_cond_broadcast(&ring->changed);
	pthread_mutex_unlock(&ring->lock);
}

static void *get(struct ring *ring)
{
	void *p;

	pthread_mutex_lock(&ring->lock);
	while (ring->in == ring->out)
		pthread_cond_wait(&ring->changed, &ring->lock);
	p = ring->blocks[ring->out++ % PLACES];
	pthread_cond_broadcast(&ring->changed);
	pthread_mutex_unlock(&ring->lock);
	return p;
}

static TRUTH_NOINLINE void *make_one(size_t size)
{
	void *p = malloc(size);

	TRUTH_KEEP(p);
	return p;
}

static void *make(void *arg)
{
	struct ring *ring = arg;
	size_t t = (size_t)(ring - rings);

	pthread_barrier_wait(&start);
	for (long i = 0; i < blocks; i++) {
		void *p = malloc(50); /* for itself */

		put(ring, make_one(1000 * (t + 1) + (size_t)i % 1000));
		progress[t] = (uint64_t)i + 1;
		TRUTH_KEEP(p);
		free(p);
	}
	return NULL;
}

static void *take(void *arg)
{
	struct ring *ring = arg;

	/* The time of a thread's first event is not before it is known: that must
	   not be of a block that another one may have by then. */
	free(make_one(10));
	pthread_barrier_wait(&start);
	for (long i = 0; i < blocks; i++) {
		void *p = get(ring);

		if (i % GROWN == 0) {
			p = realloc(p, 100000);
			TRUTH_KEEP(p);
		}
		free(p);
	}
	return NULL;
}

static volatile uint64_t *map(const char *path)
{
	size_t len = 2 * PAIRS_MAX * sizeof(uint64_t);
	void *p = MAP_FAILED;
	int fd;

	if (!*path)
		return no_file;
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd >= 0 && ftruncate(fd, (off_t)len) == 0)
		p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		exit(3);
	return p;
}

int main(int argc, char **argv)
{
	int pairs = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t threads[2 * PAIRS_MAX];

	if (pairs < 1 || pairs > PAIRS_MAX)
		return 2;
	blocks = argc > 2 ? atol(argv[2]) : 1000;
	progress = map(argc > 3 ? argv[3] : "");
	pthread_barrier_init(&start, NULL, 2 * (unsigned)pairs);
	for (int i = 0; i < pairs; i++) {
		pthread_mutex_init(&rings[i].lock, NULL);
		pthread_cond_init(&rings[i].changed, NULL);
		pthread_create(&threads[2 * i], NULL, make, &rings[i]);
		pthread_create(&threads[2 * i + 1], NULL, take, &rings[i]);
	}
	for (int i = 0; i < 2 * pairs; i++)
		pthread_join(threads[i], NULL);
	truth("blocks %ld\n", pairs * (blocks - (blocks + GROWN - 1) / GROWN));
	close(MEDDLE_BEGIN);
	return 0;
}
