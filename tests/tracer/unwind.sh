#!/bin/sh
# SPDX-License-Identifier: MIT
# Stacks compared frame by frame with libunwind's and libgcc's.
#   tests/tracer/unwind.sh BUILD_DIR [TEST]...
# BUILD_DIR holds libmemprof.so.  FULL=1: all workloads.  Last line: N passed...
set -eu
. "$(dirname "$0")/head.sh"

build_c() { "$CC" -std=gnu17 -O1 -g -Wall -Wextra -fno-builtin -pthread "$@"; }

build_c -o "$out/deep" "$src/deep.c"
build_c -o "$out/recursion" "$src/recursion.c"
build_c -o "$out/deep_walk" "$src/deep_walk.c"
build_c -O2 -fno-omit-frame-pointer -o "$out/deep_walk_fp" "$src/deep_walk.c"
build_c -o "$out/no_address" "$src/no_address.c"
build_c -o "$out/swap" "$src/swap.c" -ldl
build_c -o "$out/many_threads" "$src/many_threads.c"
build_c -o "$out/registered" "$src/registered.c" -lgcc_s
build_c -o "$out/first_stack" "$src/first_stack.c"
build_c -rdynamic -o "$out/own_symbols" "$src/own_symbols.c"
build_c -o "$out/own_unwind" "$src/own_unwind.c" -l:libunwind.so.8
# Frames that only the files know.
no_tables="-O2 -fomit-frame-pointer -fno-asynchronous-unwind-tables"
build_c -no-pie $no_tables -c -o "$out/middle.o" "$src/debug_frame_middle.c"
build_c -no-pie -o "$out/debug_frame" "$src/debug_frame.c" "$out/middle.o"
build_c $no_tables -shared -fPIC -o "$out/libmiddle.so" \
  "$src/debug_frame_middle.c"
# Its segments lie apart.
build_c -no-pie -rdynamic -Wl,-rpath,"$out" -Wl,-z,max-page-size=0x200000 \
  -o "$out/debug_frame_library" "$src/debug_frame.c" "$out/libmiddle.so"
build_c -o "$out/c_host" "$src/c_host.c" -ldl
for bytes in 600 3000; do
  build_c -shared -fPIC -DFRAME_BYTES=$bytes -o "$out/swap_$bytes.so" \
    "$src/swap_plugin.c"
done
for runtime in shared static; do
  "$CXX" -std=c++17 -O1 -g -Wall -Wextra -shared -fPIC \
    -$runtime-libgcc $([ $runtime = shared ] || echo -static-libstdc++) \
    -o "$out/frame_plugin_$runtime.so" "$src/frame_plugin.cpp"
done
for level in 0 1 2; do
  "$CXX" -std=c++17 -O$level -g -Wall -Wextra -fno-builtin -pthread \
    -o "$out/unwinding_$level" "$src/unwinding.cpp"
done
"$CXX" -std=c++17 -O2 -fno-omit-frame-pointer -g -fno-builtin -pthread \
  -o "$out/unwinding_fp" "$src/unwinding.cpp"
# With and without frame pointers, at several levels; binding lazily.
for kind in 0 1 2 fp; do
  level=-O$kind
  [ $kind = fp ] && level="-O2 -fno-omit-frame-pointer"
  build_c $level -o "$out/fibers_$kind" "$src/fibers.c"
  build_c $level -fno-optimize-sibling-calls -Wl,-z,lazy \
    -o "$out/every_instruction_$kind" "$src/every_instruction.c"
done
if command -v rustc >/dev/null; then
  rustc -O -o "$out/panics" "$src/panics.rs"
fi
if command -v javac >/dev/null; then
  javac -d "$out" "$src/Threads.java" "$src/Load.java"
fi

PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/env python3 "$here/test_unwind.py" \
  "$build" "$out" "$@"
