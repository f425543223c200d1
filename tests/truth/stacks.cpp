// SPDX-License-Identifier: MIT
// Known stacks: new and delete in all forms, allocations before, in and after
// exceptions.  Truth as JSON on descriptor 3: size -> function that asked.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>

#include <unistd.h>

#define NOINLINE __attribute__((noinline))

struct alignas(128) Aligned {
  char bytes[384];
};

static void *volatile sink;

NOINLINE void truth_plain() { sink = ::operator new(10001); }
NOINLINE void truth_array() { sink = ::operator new[](10002); }
NOINLINE void truth_nothrow() { sink = ::operator new(10003, std::nothrow); }
NOINLINE void truth_aligned() { sink = new Aligned[3]; }
NOINLINE void truth_freed() {
  void *block = ::operator new(10005);
  sink = block;
  ::operator delete(block, std::size_t{10005});
}
NOINLINE void truth_thrower(int depth) {
  sink = std::malloc(10006);
  if (depth == 0) throw std::runtime_error("expected");
  truth_thrower(depth - 1);
  sink = nullptr;
}
NOINLINE void truth_catcher() {
  try {
    truth_thrower(3);
  } catch (const std::exception &) {
    sink = std::malloc(10007);
  }
  sink = std::malloc(10008);
}
NOINLINE bool truth_bad_alloc() {
  try {
    sink = ::operator new(std::size_t{1} << 60);
  } catch (const std::bad_alloc &) {
    return true;
  }
  return false;
}

int main() {
  truth_plain();
  truth_array();
  truth_nothrow();
  truth_aligned();
  truth_freed();
  truth_catcher();
  if (!truth_bad_alloc()) return 3;
  static const char text[] =
      "{\"10001\": [\"truth_plain()\", 1], \"10002\": [\"truth_array()\", 1],"
      " \"10003\": [\"truth_nothrow()\", 1],"
      " \"1152\": [\"truth_aligned()\", 1],"
      " \"10005\": [\"truth_freed()\", 1],"
      " \"10006\": [\"truth_thrower(int)\", 4],"
      " \"10007\": [\"truth_catcher()\", 1],"
      " \"10008\": [\"truth_catcher()\", 1]}\n";
  return write(3, text, sizeof(text) - 1) == (ssize_t)sizeof(text) - 1 ? 0 : 1;
}
