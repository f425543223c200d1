#!/bin/sh
# SPDX-License-Identifier: MIT
# Samples of what memory is made of.
#   tests/tracer/smaps.sh BUILD_DIR [TEST]...
# BUILD_DIR holds all three programs.  Last line: N passed, ...
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
shift
out=$build/tests/programs
mkdir -p "$out"
"${CC:-cc}" -std=gnu17 -O1 -g -Wall -Wextra -fno-builtin -pthread \
  -o "$out/residency" "$here/../programs/residency.c"
PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/env python3 "$here/test_smaps.py" \
  "$build" "$out" "$@"
