#!/bin/sh
# SPDX-License-Identifier: MIT
# demo.sh BUILD_DIR - trace a real sqlite3 run and report it.
set -eu
build=$1
out=build/demo
rm -rf "$out"
mkdir -p "$out"

echo "tracing sqlite3 …"
"$build/memprof-record" --quiet -o "$out/sqlite3.dat" -- \
	sqlite3 :memory: '.read tests/workloads/demo.sql' >"$out/sqlite3.out"
"$build/memprof-report" -o "$out/report" "$out/sqlite3.dat"
echo
echo "open $PWD/$out/report/index.html"
