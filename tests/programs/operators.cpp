// SPDX-License-Identifier: MIT
// Operators new and delete in all forms, and exceptions through everything.
// Truth: "new SIZE", "delete" per block, in order.
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

#include "truth.h"

struct alignas(128) Wide {
	char c[40128];
};

static volatile std::size_t huge = SIZE_MAX / 4;

template <class T> static void gone(T *p)
{
	TRUTH_KEEP(p);
	truth("delete\n");
}

static void forms()
{
	char *a = static_cast<char *>(::operator new(40001));
	truth("new 40001\n");
	gone(a);
	::operator delete(a);
	a = new char[40003];
	truth("new 40003\n");
	gone(a);
	delete[] a;
	a = new (std::nothrow) char[40009];
	truth("new 40009\n");
	gone(a);
	::operator delete[](a, std::nothrow);
	a = static_cast<char *>(::operator new(40013, std::nothrow));
	truth("new 40013\n");
	gone(a);
#ifdef __cpp_sized_deallocation
	::operator delete(a, std::size_t(40013));
#else
	::operator delete(a);
#endif
	Wide *w = new Wide;
	truth("new 40192\n");
	if (reinterpret_cast<std::uintptr_t>(w) % 128)
		std::abort();
	gone(w);
	delete w;
	Wide *two = new Wide[2];
	truth("new %d\n", 2 * 40192);
	gone(two);
	delete[] two;
	w = new (std::nothrow) Wide;
	truth("new 40192\n");
	gone(w);
	::operator delete(w, std::align_val_t(128), std::nothrow);
	if (new (std::nothrow) char[huge])
		std::abort();
}

TRUTH_NOINLINE static void thrower(int depth)
{
	std::string local(60, 'x');
	char *text = &local[0];
	TRUTH_KEEP(text);
	if (depth == 0)
		throw std::runtime_error(local);
	thrower(depth - 1);
}

int main()
{
	int caught = 0;

	forms();
	for (int i = 0; i < 1000; i++) {
		try {
			thrower(i % 20);
		} catch (const std::exception &) {
			caught++;
		}
	}
	try {
		char *p = new char[huge];
		TRUTH_KEEP(p);
	} catch (const std::bad_alloc &) {
		caught++;
	}
	std::printf("caught %d\n", caught);
	return 0;
}
