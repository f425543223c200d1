#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the test programs and has each traced into several files.
#   tests/tracer/pieces.sh BUILD_DIR [TEST]...
# BUILD_DIR holds libmemprof.so and memprof-record.  Last line: N passed, ...
set -eu
. "$(dirname "$0")/head.sh"

for name in basic pieces forking sequence moments meddle \
    no_links; do
  "$CC" -std=gnu17 -iquote "$here/../.." -O1 -g -Wall -Wextra -fno-builtin \
    -pthread -o "$out/$name" "$src/$name.c"
done

PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/env python3 "$here/test_pieces.py" \
  "$build" "$out" "$@"
