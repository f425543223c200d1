#!/bin/sh
# SPDX-License-Identifier: MIT
# Names of generated code, and files that are kept in the trace.
#   tests/tracer/kept.sh BUILD_DIR [TEST]...
# BUILD_DIR holds all three programs.  Last line: N passed, ...
set -eu
. "$(dirname "$0")/head.sh"

build_c() { "$CC" -std=gnu17 -O1 -g -Wall -Wextra -fno-builtin "$@"; }

build_c -rdynamic -o "$out/jit" "$src/jit.c"
build_c -o "$out/basic" "$src/basic.c" -pthread
build_c -shared -fPIC -DPLUGIN_SIZE=7001 -o "$out/kept_plugin.so" \
  "$src/plugin.c"
build_c -o "$out/c_host" "$src/c_host.c" -ldl
if command -v javac >/dev/null; then
  javac -d "$out" "$src/Threads.java"
fi

PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/env python3 "$here/test_kept.py" \
  "$build" "$out" "$@"
