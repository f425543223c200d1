#!/bin/sh
# SPDX-License-Identifier: MIT
# What switches and options of the tracer and of memprof-record do.
#   tests/tracer/controls.sh BUILD_DIR [TEST]...
# BUILD_DIR holds libmemprof.so and memprof-record.  Last line: N passed, ...
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
shift
src=$here/../programs
out=$build/tests/programs
CC=${CC:-cc}
mkdir -p "$out"

build_c() { "$CC" -std=gnu17 -O1 -g -Wall -Wextra -fno-builtin -pthread "$@"; }

for name in basic steps zeroed; do
  build_c -o "$out/$name" "$src/$name.c"
done

PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/env python3 "$here/test_controls.py" \
  "$build" "$out" "$@"
