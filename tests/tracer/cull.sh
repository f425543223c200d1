#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the test programs and has each traced with culling.
#   tests/tracer/cull.sh BUILD_DIR [TEST]...
# BUILD_DIR holds all three programs.  Last line: N passed, ...
set -eu
. "$(dirname "$0")/head.sh"

for name in culled handover meddle passed_on sequence; do
  "$CC" -std=gnu17 -iquote "$here/../.." -O1 -g -Wall -Wextra -fno-builtin \
    -pthread -o "$out/$name" "$src/$name.c"
done

PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/env python3 "$here/test_cull.py" \
  "$build" "$out" "$@"
