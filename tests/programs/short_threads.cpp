// SPDX-License-Identifier: MIT
// Many short threads, which allocate and free in every kind of thread-exit
// destructor.  Argument: threads.  Truth: "threads N", "blocks N".
#include <pthread.h>

#include "truth.h"

static pthread_key_t key;

struct AtExit {
	void *p = std::malloc(301);
	~AtExit()
	{
		std::free(p);
		void *q = std::malloc(302);
		TRUTH_KEEP(q);
		std::free(q);
	}
};

static thread_local AtExit at_exit;

// Puts itself off for as long as it may, and so runs after everything else.
static void key_gone(void *arg)
{
	long round = reinterpret_cast<long>(arg);
	void *p = std::malloc(303);

	TRUTH_KEEP(p);
	std::free(p);
	if (round < 4)
		pthread_setspecific(key, reinterpret_cast<void *>(round + 1));
}

static void *work(void *arg)
{
	void *p = std::malloc(304);

	TRUTH_KEEP(p);
	TRUTH_KEEP(at_exit.p);
	pthread_setspecific(key, reinterpret_cast<void *>(1L));
	std::free(p);
	return arg;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? std::atol(argv[1]) : 100;

	pthread_key_create(&key, key_gone);
	for (long i = 0; i < count; i += 4) {
		pthread_t threads[4];
		for (pthread_t &t : threads)
			pthread_create(&t, nullptr, work, nullptr);
		for (pthread_t t : threads)
			pthread_join(t, nullptr);
	}
	truth("threads %ld\n", count);
	return 0;
}
