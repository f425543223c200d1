/* SPDX-License-Identifier: MIT */
/*
 * A mangled name may refer back to its own parts, so a few hundred bytes can
 * spell out terabytes.  libiberty's callbacks cannot ask it to stop, hence
 * the longjmp() out of them: the callback forms keep nothing on the heap.
 */
#include "report/symbol/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	MANGLED_MAX = 4096, /* bounds libiberty's use of the stack */
	READABLE_MAX = 32768,
	RAW_MAX = 65536, /* of names that are not mangled */
};

struct demangled {
	jmp_buf too_long;
	size_t len;
	char text[READABLE_MAX + 1];
};

static void demangled_add(const char *text, size_t len, void *opaque)
{
	struct demangled *out = opaque;

	if (len > READABLE_MAX - out->len)
		longjmp(out->too_long, 1);
	memcpy(out->text + out->len, text, len);
	out->len += len;
}

/* Whether @word (@len bytes) marks a copy made by gcc or clang. */
static bool is_clone_mark(const char *word, size_t len)
{
	static const char *const marks[] = {
	    "cold", "constprop",  "part",  "isra",   "lto_priv",
	    "llvm", "localalias", "clone", "__uniq", "hot",
	};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strlen(marks[i]) == len && memcmp(marks[i], word, len) == 0)
			return true;
	return false;
}

/* Length of @name without its last ".word" or ".word.number" if that marks a
   copy, otherwise @len. */
static size_t without_clone_mark(const char *name, size_t len)
{
	size_t end = len;
	size_t start = len;

	while (start && name[start - 1] >= '0' && name[start - 1] <= '9')
		start--;
	if (start > 1 && start < len && name[start - 1] == '.')
		end = start - 1;
	start = end;
	while (start && name[start - 1] != '.')
		start--;
	if (start < 2 || !is_clone_mark(name + start, end - start))
		return len;
	return start - 1;
}

static size_t plain_length(const char *name, size_t len)
{
	const char *version = memchr(name, '@', len);
	size_t shorter;

	if (version && version > name)
		len = (size_t)(version - name);
	while ((shorter = without_clone_mark(name, len)) < len)
		len = shorter;
	return len;
}

/* Replaces every @from in @text by the shorter @to.  Return: new length. */
static size_t shorten(char *text, size_t len, const char *from, const char *to)
{
	size_t from_len = strlen(from), to_len = strlen(to);
	const char *end = text + len;
	char *out, *in, *hit;

	out = in = memmem(text, len, from, from_len);
	if (!in)
		return len;
	while ((hit = memmem(in, (size_t)(end - in), from, from_len))) {
		memmove(out, in, (size_t)(hit - in));
		out += hit - in;
		memcpy(out, to, to_len);
		out += to_len;
		in = hit + from_len;
	}
	memmove(out, in, (size_t)(end - in));
	out += end - in;
	return (size_t)(out - text);
}

static size_t tidy_cxx(char *text, size_t len)
{
	static const char *const spellings[][2] = {
	    {"std::__cxx11::", "std::"},
	    {"[abi:cxx11]", ""},
	    {"std::basic_string<char, std::char_traits<char>, "
	     "std::allocator<char> >",
	     "std::string"},
	    {"std::basic_string_view<char, std::char_traits<char> >",
	     "std::string_view"},
	    {"std::basic_istream<char, std::char_traits<char> >",
	     "std::istream"},
	    {"std::basic_ostream<char, std::char_traits<char> >",
	     "std::ostream"},
	    {"std::basic_stringstream<char, std::char_traits<char>, "
	     "std::allocator<char> >",
	     "std::stringstream"},
	    {"std::basic_ostringstream<char, std::char_traits<char>, "
	     "std::allocator<char> >",
	     "std::ostringstream"},
	};

	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++)
		len = shorten(text, len, spellings[i][0], spellings[i][1]);
	/* libiberty writes this space only to part one '>' from the next. */
	return shorten(text, len, " >", ">");
}

static bool demangle_into(struct demangled *out, const char *mangled)
{
	int options = DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP;

	out->len = 0;
	if (setjmp(out->too_long))
		return false;
	if (rust_demangle_callback(mangled, DMGL_PARAMS | DMGL_ANSI | DMGL_RUST,
				   demangled_add, out))
		return true;
	out->len = 0;
	if (mangled[1] != 'Z')
		return false;
	/* Without this flag, names beyond 1 KiB are given up. */
	if (!cplus_demangle_v3_callback(
		mangled, options | DMGL_NO_RECURSE_LIMIT, demangled_add, out))
		return false;
	out->len = tidy_cxx(out->text, out->len);
	return true;
}

char *demangle_name(const char *name, size_t len)
{
	char mangled[MANGLED_MAX + 1];
	struct demangled out;

	len = plain_length(name, len < RAW_MAX ? len : RAW_MAX);
	if (len < 3 || len > MANGLED_MAX || name[0] != '_' ||
	    (name[1] != 'Z' && name[1] != 'R'))
		return strndup(name, len);
	memcpy(mangled, name, len);
	mangled[len] = '\0';
	if (!demangle_into(&out, mangled) || !out.len)
		return strndup(name, len);
	return strndup(out.text, out.len);
}
