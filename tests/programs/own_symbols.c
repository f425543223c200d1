/* SPDX-License-Identifier: MIT */
/*
 * A program with functions of its own by the names of libunwind's, zstd's,
 * xxHash's and the compiler's library's, which are exported and must be called
 * by nobody else.  Argument: allocations.  Truth: "own N", the calls from here.
 */
#include "truth.h"

static int calls;

/* Ours are called with this, which no library would pass. */
static char mine;

static void count(const void *p)
{
	if (p != &mine)
		abort();
	calls++;
}

/* clang-format off */
#define FUNCTIONS(F)                                                        \
	F(unw_backtrace) F(unw_getcontext) F(unw_init_local) F(unw_step)    \
	F(unw_get_reg) F(unw_flush_cache) F(unw_set_caching_policy)         \
	F(_Ux86_64_getcontext) F(_ULx86_64_init_local) F(_ULx86_64_step)    \
	F(_ULx86_64_get_reg) F(_ULx86_64_init) F(_ULx86_64_dwarf_step)      \
	F(_ULx86_64_get_save_loc) F(_ULx86_64_is_signal_frame)              \
	F(_ULx86_64_dwarf_find_proc_info) F(_ULx86_64_get_proc_info_by_ip)  \
	F(_Ux86_64_flush_cache) F(_U_dyn_info_list) F(_ULx86_64_local_addr_space_init) \
	F(_Ux86_64_init_local) F(_Ux86_64_step) F(_Ux86_64_get_proc_info)   \
	F(backtrace) F(lzma_index_end) F(lzma_stream_footer_decode)         \
	F(ZSTD_compress) F(ZSTD_createCCtx) F(ZSTD_initStaticCCtx)          \
	F(ZSTD_compress2) F(ZSTD_compressStream2) F(ZSTD_CCtx_reset)        \
	F(ZSTD_CCtx_setParameter) F(ZSTD_compressBound) F(ZSTD_isError)     \
	F(ZSTD_compressCCtx) F(ZSTD_freeCCtx) F(ZSTD_estimateCCtxSize)      \
	F(HUF_compress) F(FSE_compress) F(HIST_count)                       \
	F(XXH64) F(XXH32) F(XXH64_digest) F(ZSTD_XXH64) F(XXH3_64bits)      \
	F(_Unwind_Find_FDE) F(__register_frame_info)                        \
	F(tls) F(real) F(state) F(rules) F(options) F(pool_map) F(log_line)
/* clang-format on */

#define DEFINE(name)                 \
	void name(const void *p);    \
	void name(const void *p)     \
	{                            \
		count(p);            \
	}
#define CALL(name) name(&mine);

FUNCTIONS(DEFINE)

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000;

	for (long i = 0; i < n; i++) {
		void *p = malloc((size_t)(i % 5000) + 1);

		TRUTH_KEEP(p);
		free(p);
	}
	FUNCTIONS(CALL)
	truth("own %d\n", calls);
	return calls > 0 ? 0 : 1;
}
