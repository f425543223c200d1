#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the test programs and traces them.
#   tests/tracer/run.sh BUILD_DIR [TEST]...
# BUILD_DIR holds libmemprof.so and memprof-record.  Last line: N passed, ...
set -eu
. "$(dirname "$0")/head.sh"
mkdir -p "$out/first" "$out/second"

build_c() { "$CC" -std=gnu17 -O1 -g -Wall -Wextra -fno-builtin -pthread "$@"; }
build_cxx() { "$CXX" -std=c++17 -fsized-deallocation -O1 -g -Wall -Wextra -fno-builtin -pthread "$@"; }

for name in basic handover ending deep descriptors limits interrupted \
    counted reload c_host storm contexts failing_exec steps beside sequence \
    many_threads pairs spare first_release; do
  build_c -o "$out/$name" "$src/$name.c" -ldl
done
build_cxx -o "$out/operators" "$src/operators.cpp"
build_cxx -o "$out/short_threads" "$src/short_threads.cpp"
build_c -shared -fPIC -o "$out/counting.so" "$src/counting.c"
build_c -shared -fPIC -o "$out/reusing.so" "$src/reusing.c"
build_c -shared -fPIC -DPLUGIN_SIZE=5001 -o "$out/first/plugin.so" "$src/plugin.c"
build_c -shared -fPIC -DPLUGIN_SIZE=6001 -o "$out/second/plugin.so" "$src/plugin.c"
build_cxx -shared -fPIC -o "$out/cxx_plugin.so" "$src/cxx_plugin.cpp"

PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/env python3 "$here/test_tracer.py" \
  "$build" "$out" "$@"
