#!/bin/sh
# SPDX-License-Identifier: MIT
# Samples of what memory is made of.
#   tests/tracer/smaps.sh BUILD_DIR [TEST]...
# BUILD_DIR holds all three programs.  Last line: N passed, ...
set -eu
. "$(dirname "$0")/head.sh"
"$CC" -std=gnu17 -O1 -g -Wall -Wextra -fno-builtin -pthread \
  -o "$out/residency" "$here/../programs/residency.c"
PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/env python3 "$here/test_smaps.py" \
  "$build" "$out" "$@"
