#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh - every test, as `make check` does.  Each suite prints a closing line
# "N passed, N failed[, N skipped]"; the last line adds them up.  Before it
# stands what failed, in few lines, for whoever keeps only the end of this.
set -uo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)
passed=0 failed=0 skipped=0 failures=
log=build/check
mkdir -p "$log"
ulimit -c 0 # some programs here are to crash

# cmocka_counts FILE - the sum of cmocka's closing lines, empty if there is none.
cmocka_counts() {
	sed -nE 's/^\[  (PASSED|FAILED)  \] ([0-9]+) test\(s\).*/\1 \2/p' "$1" |
		awk '{n[$1] += $2}
		     END {if (NR) print n["PASSED"] + 0 " passed, " n["FAILED"] + 0 " failed"}'
}

# failed_tests FILE - the first lines that say what failed.
failed_tests() {
	local found
	found=$(grep -aE '^(FAIL|\[  FAILED  \]|==[0-9]+==ERROR|.*(rror: |ERROR: |WARNING: Thread))' \
		"$1" | grep -avE '^\[  FAILED  \] [0-9]+ test' | head -n 8)
	[ -n "$found" ] || found=$(tail -n 3 "$1")
	cut -c 1-200 <<<"$found" | sed 's/^/    /'
}

# suite NAME COMMAND… - runs it, shows its output when it fails, counts.
suite() {
	local name=$1 started=$SECONDS status=0 line
	shift
	printf '%-24s' "$name"
	"$@" >"$log/$name.log" 2>&1 </dev/null || status=$?
	line=$(grep -E '^([a-z]+: )?[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' \
		"$log/$name.log" | tail -n 1)
	if [ -z "$line" ]; then
		line=$(cmocka_counts "$log/$name.log")
	fi
	if [ -z "$line" ]; then
		line="$((status == 0)) passed, $((status != 0)) failed"
	fi
	line=${line#*: }
	local p f s
	p=$(sed -E 's/^([0-9]+) passed.*/\1/' <<<"$line")
	f=$(sed -E 's/.* ([0-9]+) failed.*/\1/' <<<"$line")
	s=$(sed -nE 's/.* ([0-9]+) skipped$/\1/p' <<<"$line")
	if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then
		f=1
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + ${s:-0}))
	printf '%s (%d s)\n' "$line" $((SECONDS - started))
	if [ "$f" -ne 0 ]; then
		echo "--- $log/$name.log"
		tail -n 60 "$log/$name.log"
		echo "---"
		failures+="$name: $line, status $status, after"
		failures+=" $((SECONDS - started)) s"$'\n'
		failures+=$(failed_tests "$log/$name.log")$'\n'
	fi
}

outputs() {
	make -j"$jobs" test-tools && tests/output/check_outputs.py
}

oracle() {
	make -j"$jobs" test-tools && tests/oracle/run.py --steady
}

memory() {
	make -j"$jobs" test-tools && tests/cli/memory.py
}

suite build make -j"$jobs" CFLAGS=-Werror all
suite build-asan make -j"$jobs" MODE=asan build/asan/memprof-report
suite build-clang make -j"$jobs" OBJ=build/clang MODE=debug CC=clang \
	CFLAGS=-Werror all test-tools unit-build
suite analyse tests/tools/analyse.sh
suite layers tests/tools/check_layers.py
suite docs tests/tools/check_docs.py
suite unit make -j"$jobs" unit MODE=asan
suite races make races
suite fuzz make -j"$jobs" -Otarget fuzz-check
suite tracer tests/tracer/run.sh build/release
suite controls tests/tracer/controls.sh build/release
suite pieces tests/tracer/pieces.sh build/release
suite torture tests/torture/run.sh build/release
suite instructions tests/tracer/instructions.py build/release
suite kept tests/tracer/kept.sh build/release
suite cull tests/tracer/cull.sh build/release
suite smaps tests/tracer/smaps.sh build/release
suite unwind tests/tracer/unwind.sh build/release
suite truth tests/truth/run.py
suite oracle oracle
suite cli tests/cli/run.sh
suite memory memory
suite corruption tests/cli/corruption.py
suite compare tests/compare/compare.py --quick
suite bench tests/bench/smoke.py
suite outputs outputs
suite browser tests/browser/run.sh
suite install tests/tools/check_install.sh

echo
if [ -n "$failures" ]; then
	printf 'failed, in %d s:\n%s' $SECONDS "$failures"
fi
if [ "$skipped" -gt 0 ]; then
	echo "$passed passed, $failed failed, $skipped skipped"
else
	echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ]
