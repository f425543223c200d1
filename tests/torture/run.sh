#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the programs that make life hard for a tracer, and traces them.
#   tests/torture/run.sh BUILD_DIR [TEST]...
# Last line: N passed, N failed
set -eu
. "$(dirname "$0")/../tracer/head.sh"
out=$build/tests/torture
mkdir -p "$out"

build_c() { "$CC" -std=gnu17 -O1 -g -Wall -Wextra -fno-builtin -pthread "$@"; }

build_cxx() { "$CXX" -std=c++17 -O1 -g -Wall -Wextra -fno-builtin -pthread "$@"; }

# --- programs ----------------------------------------------------------------

build_c -shared -fPIC -o "$out/libearly.so" "$src/early.c"
build_c -shared -fPIC -DEARLY_SIZE=51000 -o "$out/liblater.so" "$src/early.c"
build_c -shared -fPIC -DPLUGIN_SIZE=1 -o "$out/libalone.so" "$src/plugin.c"
build_c -shared -fPIC -o "$out/nesting.so" "$src/nesting.c" -ldl
for name in edges ordeal filtered namespaces; do
  build_c -Wno-use-after-free -o "$out/$name" "$src/$name.c" -ldl
done
if [ "$(uname -m)" = x86_64 ]; then
  build_c -rdynamic -o "$out/own_libc" "$src/own_libc.c"
fi
build_cxx -o "$out/moments" "$src/moments.cpp" "$out/libearly.so" \
  -Wl,-rpath,"$out"

# --- programs with an allocator of their own ---------------------------------

# Which of them can be linked is found out; the driver skips what is not there.
allocators=$src/allocators.c
build_c -o "$out/own_glibc" "$allocators"
has_library() { echo 'int main(void){return 0;}' | "$CC" -x c -o /dev/null - "$@" 2>/dev/null; }
shared() { # NAME FLAGS...
  name=$1
  shift
  if has_library "-l$name"; then
    build_c -Wl,--no-as-needed "$@" -o "$out/shared_$name" "$allocators" "-l$name"
    build_c -Wl,--no-as-needed -o "$out/plain_$name" "$allocators" "-l$name"
  fi
}
shared jemalloc -DJEMALLOC
shared mimalloc -DMIMALLOC -DPREFIX=mi_
shared tcmalloc_minimal -DTCMALLOC -DPREFIX=tc_
static() { # NAME FLAGS...
  name=$1
  archive=$("$CC" -print-file-name="lib$name.a")
  shift
  [ -f "$archive" ] || return 0
  build_c "$@" -o "$out/static_$name" "$allocators" "$archive" -lstdc++ -lm -ldl
}
for name in tcmalloc_minimal jemalloc_pic; do
  archive=$("$CC" -print-file-name="lib$name.a")
  if [ -f "$archive" ]; then
    build_cxx -fsized-deallocation -o "$out/cxx_static_$name" \
      "$src/operators.cpp" "$archive" -ldl
  fi
done
if has_library -ltcmalloc_minimal; then
  build_cxx -fsized-deallocation -o "$out/cxx_shared_tcmalloc_minimal" \
    "$src/operators.cpp" -ltcmalloc_minimal
fi
# The runtimes of gcc's sanitizers are libraries, but for -static-lib*san.
for name in address thread leak; do
  short=$(echo "$name" | cut -c 1)san
  if has_library "-fsanitize=$name"; then
    build_c "-fsanitize=$name" -o "$out/gcc_$short" "$allocators"
  fi
  if has_library "-fsanitize=$name" "-static-lib$short"; then
    build_c "-fsanitize=$name" "-static-lib$short" -o "$out/gcc_static_$short" \
      "$allocators"
  fi
done
if command -v clang >/dev/null && echo 'int main(void){return 0;}' |
  clang -fsanitize=address -x c -o "$out/sanitized" - 2>/dev/null; then
  clang -std=gnu17 -O1 -g -fno-builtin -pthread -fsanitize=address \
    -o "$out/sanitized" "$allocators"
fi
static jemalloc_pic -DJEMALLOC
static tcmalloc_minimal
# The names that Rust's crates give it, exported by the program and not.
archive=$("$CC" -print-file-name=libjemalloc_pic.a)
if [ -f "$archive" ]; then
  nm -g --defined-only "$archive" 2>/dev/null |
    awk '$3 ~ /^[a-z]/ && $3 !~ /^je_/ { print $3, "_rjem_" $3 }' | sort -u \
    >"$out/names"
  # Its C++ operators are not part of those.
  objcopy --redefine-syms="$out/names" --strip-symbol=nothing "$archive" \
    "$out/librjem.a" 2>/dev/null
  build_c -DJEMALLOC -DPREFIX=_rjem_ -o "$out/static_rjem" "$allocators" \
    "$out/librjem.a" -lm -ldl
  build_c -DJEMALLOC -DPREFIX=_rjem_ -rdynamic -o "$out/exported_rjem" \
    "$allocators" "$out/librjem.a" -lm -ldl
  strip -o "$out/stripped_rjem" "$out/exported_rjem"
fi

PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/env python3 "$here/test_torture.py" \
  "$build" "$out" "$@"
