#!/bin/sh
# SPDX-License-Identifier: MIT
# What switches and options of the tracer and of memprof-record do.
#   tests/tracer/controls.sh BUILD_DIR [TEST]...
# BUILD_DIR holds libmemprof.so and memprof-record.  Last line: N passed, ...
set -eu
. "$(dirname "$0")/head.sh"

# memprof.h with every kind of code, and no library named.
build_phases() {
  "$@" -iquote "$here/../.." -g -Wall -Wextra -fno-builtin -pthread -Werror \
    "$src/phases.c"
}

build_c() { "$CC" -std=gnu17 -O1 -g -Wall -Wextra -fno-builtin -pthread "$@"; }

for name in basic steps zeroed toggled sequence; do
  build_c -o "$out/$name" "$src/$name.c"
done
build_c -static -o "$out/starting_static" "$src/starting.c"
build_phases "$CC" -O1 -fPIE -pie -o "$out/phases_pie"
build_phases "$CC" -O2 -fno-pie -no-pie -o "$out/phases_fixed"
build_phases "$CC" -O0 -fno-pie -static -o "$out/phases_static"
if command -v clang >/dev/null; then
  build_phases clang -O2 -fno-pie -no-pie -o "$out/phases_clang"
fi
for language in c++ c++98 c89 c17; do
  echo 'void mark(void), start(void), end(void);
        #include "tracer/memprof.h"' | "$CC" -iquote "$here/../.." -x \
    "$(case $language in c++*) echo c++ ;; *) echo c ;; esac)" \
    $([ $language = c++ ] || echo -std=$language) -pedantic -Wall -Wextra \
    -Wshadow -Wno-unused-function -Werror -fsyntax-only -
done

PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/env python3 "$here/test_controls.py" \
  "$build" "$out" "$@"
