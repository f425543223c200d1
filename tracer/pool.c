/* SPDX-License-Identifier: MIT */
#include "tracer/pool.h"

#include <stdint.h>
#include <sys/prctl.h>

#include "tracer/sys.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

/* Sixteen times and more of what the tracer takes at ease. */
#define SCARCE_BYTES (UINT64_C(1) << 30)

bool pool_is_scarce;

void pool_init(void)
{
	struct rlimit lim;

	pool_is_scarce = sys_getrlimit(RLIMIT_AS, &lim) == 0 &&
			 lim.rlim_cur < SCARCE_BYTES;
}

void *pool_map(size_t bytes)
{
	void *p = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (sys_mmap_failed(p))
		return NULL;
	/* Not the program's, so not for its core files; smaps_take() tells it by
	   that where the kernel keeps no names. */
	sys_madvise(p, bytes, MADV_DONTDUMP);
	sys_prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, (long)p, (long)bytes,
		  (long)"memprof");
	return p;
}

void pool_unmap(void *p, size_t bytes)
{
	if (p)
		sys_munmap(p, bytes);
}
