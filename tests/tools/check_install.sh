#!/bin/sh
# SPDX-License-Identifier: MIT
# check_install.sh - install into an empty tree, use it from there, remove it.
set -eu
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
make --no-print-directory install DESTDIR="$root" PREFIX=/usr >/dev/null

"$root/usr/bin/memprof-record" --quiet -o "$root/t.dat" -- sh -c 'true' || exit 1
"$root/usr/bin/memprof-record" --quiet -o "$root/ls.dat" -- ls / >/dev/null
"$root/usr/bin/memprof-report" --quiet -o "$root/report" "$root/ls.dat"
for file in index.html report.md summary.json leaks.flamegraph.svg; do
	[ -s "$root/report/$file" ] || {
		echo "missing: $file"
		exit 1
	}
done
for page in memprof-record.1 memprof-report.1 memprof.3; do
	[ -s "$root/usr/share/man/man${page##*.}/$page" ] || {
		echo "missing: $page"
		exit 1
	}
done
tests/tools/check_docs.py "$root/usr/share/doc/memprof" || exit 1
cat >"$root/program.c" <<'EOF'
#include <memprof.h>
int main(void)
{
	memprof_mark("by an installed header");
	return 5;
}
EOF
"${CC:-cc}" -I "$root/usr/include" -o "$root/program" "$root/program.c"
status=0
"$root/usr/bin/memprof-record" --quiet -o "$root/program.dat" -- \
	"$root/program" || status=$?
[ "$status" -eq 5 ] || {
	echo "status $status of a program that uses memprof.h"
	exit 1
}
grep -q "by an installed header" "$root/program.dat" || {
	echo "no mark in the trace"
	exit 1
}
make --no-print-directory uninstall DESTDIR="$root" PREFIX=/usr >/dev/null
left=$(find "$root/usr" -type f)
if [ -n "$left" ]; then
	echo "uninstall left: $left"
	exit 1
fi
echo "1 passed, 0 failed"
