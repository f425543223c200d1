/* SPDX-License-Identifier: MIT */
#include "report/aggregate/site_frame.h"

#include <stdbool.h>
#include <string.h>

#include "report/aggregate/scope.h"
#include "report/core/vec.h"
#include "report/event/stacks.h"
#include "report/symbol/symbol.h"

/* How far above an unnamed frame a wrapper is looked for. */
enum { UNNAMED_MAX = 3 };

/*
 * Functions that programs do not think of as the ones that allocate: the
 * allocator's own, the plumbing of standard libraries, and wrappers that every
 * call goes through.  A name ending in `*` stands for all that begin so.
 */
static const char *const passed_over[] = {
	/* C */
	"malloc", "calloc", "realloc", "reallocarray", "memalign",
	"aligned_alloc", "posix_memalign", "strdup", "__strdup", "strndup",
	"__strndup", "xmalloc*", "xcalloc", "xrealloc*", "xstrdup",
	"g_malloc*", "g_realloc*", "g_strdup*", "g_try_malloc*",
	"zmalloc*", "zcalloc*", "zrealloc*", "ztrymalloc*", "ztrycalloc*",
	"sqlite3Malloc*", "sqlite3_malloc*", "sqlite3Realloc*",
	"sqlite3_realloc*", "sqlite3DbMalloc*", "sqlite3DbRealloc*",
	"sqlite3DbStrDup", "sqlite3DbStrNDup",
	/* C++ */
	"operator new*", "std::*", "__gnu_cxx::*", "__cxa_allocate_exception",
	"boost::container::new_allocator*",
	/* Rust */
	"__rust_alloc*", "__rust_realloc", "__rdl_*", "__rg_*", "alloc::*",
	"<alloc::*", "core::*", "<core::*", "<std::*", "<str>::*",
	"hashbrown::*",
};

/*
 * Where the source of Rust's standard library lies: as rust-lang.org and Debian
 * build it, and as installed for reading.  Names do not tell: <T as
 * core::fmt::Display>::fmt may be the program's.
 */
static bool is_rust_library(const char *file)
{
	static const char *const begin[] = {
		"/rustc/", "/rust/deps/", "/usr/src/rustc-",
	};

	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++)
		if (strncmp(file, begin[i], strlen(begin[i])) == 0)
			return true;
	return strstr(file, "/rustlib/src/rust/library/") != NULL;
}

static bool name_matches(const char *name, const char *pattern)
{
	size_t len;

	if (*name != *pattern)
		return false;
	len = strlen(pattern);
	if (pattern[len - 1] == '*')
		return strncmp(name, pattern, len - 1) == 0;
	return strcmp(name, pattern) == 0;
}

/* Of a frame: kept by its id, as most backtraces end in the same few. */
enum site_kind {
	SITE_UNKNOWN,
	SITE_ALLOCATOR,
	SITE_OTHER,
};

static enum site_kind frame_kind(const struct symbol_frame *frame)
{
	const char *function = frame->function;

	for (size_t i = 0; i < sizeof(passed_over) / sizeof(passed_over[0]);
	     i++)
		if (name_matches(function, passed_over[i]))
			return SITE_ALLOCATOR;
	return frame->file && is_rust_library(frame->file) ? SITE_ALLOCATOR
							   : SITE_OTHER;
}

static bool is_allocator(const struct scope *scope,
			 const struct symbol_frame *frame)
{
	struct scope_frames *frames = scope->frames;
	uint8_t *kind;

	while (frames->count <= frame->id)
		if (!vec_push(frames))
			return frame_kind(frame) == SITE_ALLOCATOR;
	kind = &frames->items[frame->id];
	if (*kind == SITE_UNKNOWN)
		*kind = (uint8_t)frame_kind(frame);
	return *kind == SITE_ALLOCATOR;
}

const struct symbol_frame *site_frame(const struct scope *scope, uint32_t stack,
				      size_t *ret_inner)
{
	const struct stacks_node *nodes = scope->stacks->nodes;
	const struct symbol_frame *innermost = NULL, *candidate = NULL;
	size_t at = 0, inner = 0;
	int unnamed = 0;
	bool is_found = false;

	for (; stack != STACKS_ROOT && !is_found; stack = nodes[stack].parent) {
		size_t count;
		const struct symbol_frame *frames = symbols_resolve(
			scope->symbols, nodes[stack].pc_key, &count);

		innermost = innermost ? innermost : frames;
		for (size_t i = 0; i < count; i++, at++) {
			if (is_allocator(scope, &frames[i])) {
				candidate = NULL;
				unnamed = 0;
				continue;
			}
			if (!candidate) {
				candidate = &frames[i];
				inner = at;
			}
			is_found = frames[i].quality > SYMBOL_MODULE ||
				   ++unnamed == UNNAMED_MAX;
			if (is_found)
				break;
		}
	}
	if (ret_inner)
		*ret_inner = candidate ? inner : 0;
	return candidate ? candidate : innermost;
}
