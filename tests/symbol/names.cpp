/* SPDX-License-Identifier: MIT */
/* Functions with names of all kinds, each with a label called mark_…. */
#include <cstddef>
#include <new>
#include <string>
#include <vector>

#define MARK(name) __asm__ volatile(".globl mark_" #name "\nmark_" #name ": nop")
#define APART __attribute__((noinline, used))

namespace
{
APART int hidden(int x)
{
	MARK(hidden);
	return x + 1;
}

struct Secret {
	int value;
	APART int get() const
	{
		MARK(secret);
		return value;
	}
};
} // namespace

namespace shapes
{
struct Vec {
	int x;
	APART explicit operator bool() const
	{
		MARK(convert);
		return x != 0;
	}
	APART int operator()(int y)
	{
		MARK(call);
		return x + y;
	}
	APART explicit Vec(int from) : x(from)
	{
		MARK(construct);
	}
};

APART Vec operator+(const Vec &a, const Vec &b)
{
	MARK(plus);
	return Vec(a.x + b.x);
}

template <typename T> struct Box {
	std::vector<T> items;
	APART T &operator[](std::size_t i)
	{
		MARK(subscript);
		return items[i];
	}
};

template <typename T> APART T twice(T value)
{
	MARK(twice);
	return value + value;
}

inline namespace v2
{
static inline __attribute__((always_inline)) int inlined(int x)
{
	MARK(inlined);
	return x * 3;
}
} // namespace v2

APART std::size_t total(const std::vector<std::vector<std::string>> &all,
			const std::string &name)
{
	MARK(nested);
	return all.size() + name.size();
}
} // namespace shapes

APART void *operator new(std::size_t size, const std::string &)
{
	MARK(new);
	return ::operator new(size);
}

int main(int argc, char **)
{
	shapes::Box<std::string> box{ { "a", "b" } };
	auto lambda = [&](int x) APART {
		MARK(lambda);
		return x + argc;
	};
	shapes::Vec v = shapes::Vec(argc) + shapes::Vec(2);
	Secret secret{ argc };
	void *block = new (std::string("x")) int;

	return hidden(argc) + secret.get() + (bool)v + v(3) +
	       (int)box[1].size() + (int)shapes::twice(std::string("q")).size() +
	       shapes::inlined(argc) +
	       (int)shapes::total({ { "z" } }, "name") + lambda(4) +
	       (block != nullptr);
}
