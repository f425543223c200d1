#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh [--bless] - memprof-report from the command line: exit statuses,
# messages, what each query selects.  A golden holds one command with all it
# printed; --bless writes them anew, to be read in the diff.
set -uo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
golden=$root/tests/golden/cli
report=${MEMPROF_REPORT:-$root/build/release/memprof-report}
bless=
[ "${1:-}" = --bless ] && bless=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
mkdir -p "$golden"

pass() { passed=$((passed + 1)); }

fail() { # WHAT…
	failed=$((failed + 1))
	printf 'FAILED: %s\n' "$*"
}

# expect NAME COMMAND… - everything a command prints, and its status, equals
# tests/golden/cli/NAME.  The command runs in $work; memprof-report is a function.
expect() {
	local name=$1 status=0
	shift
	{
		printf '$ %s\n' "$*"
		(cd "$work" && eval "$*" 2>"$work/.stderr") || status=$?
		sed 's/^/stderr: /' "$work/.stderr"
		printf 'status: %d\n' "$status"
	} >"$work/.actual" </dev/null
	if [ -n "$bless" ]; then
		cp "$work/.actual" "$golden/$name"
	fi
	if diff -u "$golden/$name" "$work/.actual"; then
		pass
	else
		fail "$name"
	fi
	rm -f "$work/.actual" "$work/.stderr"
}

memprof-report() { "$report" "$@"; }

# status WANTED COMMAND… - only the exit status matters.
status() {
	local wanted=$1 got=0
	shift
	(cd "$work" && eval "$*") >"$work/.out" 2>&1 </dev/null || got=$?
	if [ "$got" -eq "$wanted" ]; then
		pass
	else
		fail "status $got, not $wanted: $*"
		head -n 5 "$work/.out"
	fi
	rm -f "$work/.out"
}

# ids QUERY WANTED [TRACE] - numbers of the allocations that QUERY selects.
ids() {
	local got
	got=$("$report" --view "$1" --as allocations "$work/${3:-t.dat}" 2>&1 |
		python3 -c 'import json, sys
print(*(a["id"] for a in json.load(sys.stdin)["allocations"]))' 2>&1)
	if [ "$got" = "$2" ]; then
		pass
	else
		fail "$1 selects [$got], not [$2]"
	fi
}

# groups QUERY WANTED - requested bytes of the groups, in order.
groups() {
	local got
	got=$("$report" --view "$1" --as groups "$work/t.dat" 2>&1 |
		python3 -c 'import json, sys
print(*("%d/%d" % (g["only_matched_size"], g["all_size"])
        for g in json.load(sys.stdin)["groups"]))' 2>&1)
	if [ "$got" = "$2" ]; then
		pass
	else
		fail "groups of $1 are [$got], not [$2]"
	fi
}

# same WHAT A B - two files or trees are equal, byte by byte.
same() {
	if diff -r "$2" "$3"; then
		pass
	else
		fail "$1"
	fi
}

make_inputs() {
	cd "$work" || exit 1
	python3 "$root/tests/cli/make_trace.py" t.dat
	python3 "$root/tests/cli/make_trace.py" --marks marks.dat
	python3 "$root/tests/cli/make_trace.py" --maps maps.dat
	python3 "$root/tests/cli/make_trace.py" --exec /bin/next exec.dat
	python3 "$root/tests/cli/make_trace.py" --stopped stopped.dat
	python3 "$root/tests/cli/make_trace.py" --piece 0 --gap late0.dat
	python3 "$root/tests/cli/make_trace.py" --bomb 60 bomb.dat
	for piece in 0 1 2; do
		python3 "$root/tests/cli/make_trace.py" --piece $piece p$piece.dat
	done
	python3 "$root/tests/cli/make_trace.py" --piece 1 --gap gap1.dat
	python3 "$root/tests/cli/make_trace.py" --version 3.0 newer.dat
	python3 "$root/tests/cli/make_trace.py" --version 1.7 minor.dat
	: >empty.dat
	mkdir directory
	head -c 20 t.dat >preamble-cut.dat
	head -c 32 t.dat >preamble.dat
	head -c 900 t.dat >cut.dat
	head -c -40 t.dat >end-cut.dat
	{ head -c 700 t.dat; printf X; tail -c +702 t.dat; } >flipped.dat
	{ printf X; tail -c +2 t.dat; } >magic.dat
	printf '\177ELF\2\1\1' >elf.dat
	head -c 4096 /dev/zero >zeros.dat
	printf 'v 10400 3\nX /usr/bin/ls\n' >text.dat
	printf '\x1f\x8b\x08\0\0\0\0\0\0\3junk' >gzip.dat
	printf '\x28\xb5\x2f\xfd\x24\0junk' >zstd.dat
	cd "$root" || exit 1
}

test_usage() {
	expect no-trace memprof-report
	expect version memprof-report --version
	expect unknown-option memprof-report --verbos3 t.dat
	expect unknown-artifact memprof-report --as flamegrap t.dat
	expect view-without-as memprof-report --view lifetime=all t.dat
	expect view-and-spec memprof-report --view "''" --as tree --spec x t.dat
	expect unknown-view-key memprof-report --view lifetme=all --as tree t.dat
	expect unknown-negative-key memprof-report --view not_function_regex=x --as tree t.dat
	expect view-unheeded memprof-report --view sort_by=size --as tree t.dat
	expect view-unheeded-cost memprof-report --view cost=count --as groups t.dat
	expect view-many "memprof-report --view 'size_mn=1&from=x&%00&use=a&not_use=b' --as tree t.dat"
	expect view-names-filter memprof-report --view not_use=a --as tree t.dat
	expect view-title "memprof-report --view 'not_thread=1,2&size_min=1KiB' --as tree t.dat | head -n 1"
	expect bad-view-value memprof-report --view size_min=12q --as tree t.dat
	expect bad-view-regex "memprof-report --view 'function_regex=a(b' --as tree t.dat"
	status 0 memprof-report --help
	status 2 memprof-report --as tree t.dat t.dat
	status 2 memprof-report --jobs 0 t.dat
}

test_inputs() {
	local file

	expect missing memprof-report missing.dat
	expect directory memprof-report directory
	expect empty memprof-report empty.dat
	expect newer memprof-report newer.dat
	for file in elf zeros text gzip zstd magic preamble-cut; do
		expect "foreign-$file" memprof-report --check "$file.dat"
	done
	status 0 memprof-report --check minor.dat
	for file in preamble cut end-cut flipped; do
		expect "damaged-$file" memprof-report --check "$file.dat"
	done
	# 60 times 65,536 frames in a file of 2.5 kB.
	expect too-many-frames memprof-report --check bomb.dat
	expect too-many-frames-group "memprof-report --view count=1 --as groups.csv bomb.dat 2>/dev/null | tail -n 1 | cut -d, -f1,3"
	status 3 memprof-report --as tree missing.dat
	status 3 memprof-report --list empty.dat
	status 4 memprof-report -o damaged-report flipped.dat
	status 0 test -s damaged-report/index.html
	status 3 memprof-report -o both t.dat missing.dat
	status 0 test -s both/t.dat/index.html
}

test_text() {
	test_marks
	test_pieces
	expect list memprof-report --list t.dat
	expect check memprof-report --check t.dat
	expect digest memprof-report -o report t.dat
	expect quiet memprof-report --quiet -o quiet t.dat
	expect tree memprof-report --as tree t.dat
	expect tree-count memprof-report --view cost=count --as tree t.dat
	expect tree-nothing memprof-report --view size_min=1GiB --as tree t.dat
	expect folded memprof-report --as folded t.dat
	expect threads memprof-report --as threads t.dat
	expect modules memprof-report --as modules t.dat
	expect csv-allocations memprof-report --view count=2 --as allocations.csv t.dat
	expect csv-groups memprof-report --view count=2 --as groups.csv t.dat
	expect folded-callees memprof-report --view direction=callees --as folded t.dat
	expect tree-callees memprof-report --view direction=callees --as tree t.dat
	expect cost-temporary memprof-report --view cost=temporary --as folded t.dat
	expect cost-leaked memprof-report --view cost=leaked --as folded t.dat
	expect cost-peak memprof-report --view cost=peak --as folded t.dat
	expect cost-none "memprof-report --view 'size_min=5000&cost=temporary' --as tree t.dat"
	expect folded-peak memprof-report --view alive_at=peak --as folded t.dat
	status 0 "memprof-report --view cost=peak --as folded -o a.folded t.dat"
	status 0 "memprof-report --view alive_at=peak --as folded -o b.folded t.dat"
	same 'the cost "peak" and the peak' "$work/a.folded" "$work/b.folded"
	status 0 "memprof-report --view cost=leaked --as folded -o a.folded t.dat"
	status 0 "memprof-report --view lifetime=only_leaked --as folded -o b.folded t.dat"
	same 'the cost "leaked" and the leaks' "$work/a.folded" "$work/b.folded"
}

# What the program said about itself: shown, and as moments of queries.
test_marks() {
	expect marks memprof-report --as markers marks.dat
	ids 'from=mark:requests' '6' marks.dat
	ids 'from=phase:load&to=phase:load' '1 2 3 4' marks.dat
	ids 'from=phase:serve&to=phase:serve' '' marks.dat
	ids 'alive_at=mark:started' '' marks.dat
	ids 'alive_at=mark:requests' '3 4 5' marks.dat
	ids 'marker=0' '' marks.dat
	ids 'marker=1' '0 1 2 3 4 5' marks.dat
	ids 'not_marker=0,1' '6' marks.dat
	expect marks-missing memprof-report --view from=mark:begun --as folded marks.dat
	status 0 "memprof-report --quiet -o marked marks.dat && test -s marked/markers.json"
	status 0 "grep -q 'mp-span-name[^>]*>load<' marked/timeline.svg"
	status 0 "grep -q 'Marks and phases' marked/index.html"
	status 0 "memprof-report --quiet -o unmarked t.dat && ! test -e unmarked/markers.json"
}

# A run in pieces is one run, whatever their order: the same answers as of one
# file.
test_pieces() {
	local as
	for as in "--view '' --as allocations" "--view '' --as groups" \
		"--view '' --as tree" "--as timeline.json" \
		"--view alive_at=peak --as folded"; do
		status 0 "memprof-report $as -o whole.out t.dat"
		status 0 "memprof-report $as -o pieces.out p2.dat p0.dat p1.dat"
		same "pieces, $as" "$work/whole.out" "$work/pieces.out"
	done
	expect pieces-list "memprof-report --list p2.dat gap1.dat p0.dat | sed -n '/process/,/started/p'"
	expect pieces memprof-report --check p1.dat p0.dat t.dat p2.dat
	expect pieces-missing "memprof-report --as summary p2.dat p0.dat |
		sed -n '/\"completeness\"/,/ ]/p'"
	status 4 "memprof-report -o missing p2.dat p0.dat"
	expect pieces-missing-digest "memprof-report -o missing p2.dat p0.dat | grep trace"
	expect pieces-missing-check memprof-report --check p2.dat p0.dat
	expect pieces-missing-first memprof-report --check p2.dat
	expect pieces-missing-last memprof-report --check p0.dat p1.dat
	expect pieces-missing-list "memprof-report --list p2.dat p0.dat | sed -n '/pieces/,/started/p'"
	expect pieces-gap-digest "memprof-report -o gap p0.dat gap1.dat p2.dat | grep trace"
	status 0 "! grep -q 'Recording was off' missing/index.html"
	expect pieces-gap "memprof-report --as summary p0.dat gap1.dat |
		sed -n '/\"completeness\"/,/ ]/p'"
	# What is said where recording was not on for all of the run.
	expect stopped "memprof-report -o stopped stopped.dat | grep -E 'ended|trace '
		sed -n '/\"completeness\"/,/ ]/p' stopped/summary.json"
	expect late "memprof-report -o late late0.dat p1.dat p2.dat | grep trace
		sed -n '/\"completeness\"/,/ ]/p' late/summary.json"
	expect exec-digest "memprof-report -o exec exec.dat | grep -E 'ended|trace '"
	# What a process became stands below it; where it is not given, that is said.
	expect exec-next "memprof-report -o next exec.dat t.dat; sed -n '5,/^\$/p' next/report.md
		sed -n '/^| Command/,/^\$/p' next/report.md"
	status 0 "grep -q '<th[^>]* style=\"--hang:2ch\"><span[^>]*>↪ app' next/index.html"
	expect exec-lost "memprof-report -o lost t.dat exec.dat; grep '2 runs' lost/report.md"
	expect two-runs memprof-report --as tree p0.dat t.dat
	status 0 "memprof-report --quiet -o pieces p0.dat p1.dat p2.dat && test -s pieces/index.html"
	status 0 "memprof-report --quiet -o runs p0.dat p1.dat p2.dat t.dat &&
		test -s runs/p0.dat/index.html && test -s runs/t.dat/index.html"
	status 0 "cp t.dat 'a #b%20.dat' && memprof-report --quiet -o odd t.dat 'a #b%20.dat' &&
		grep -q 'href=\"a%20%23b%2520.dat/index.html\"' odd/index.html"
	expect processes cat runs/processes.json
	status 0 "grep -q 'href=\"p0.dat/index.html\"' runs/index.html"
	status 0 "grep -q '<td[^>]*><a href=\"p0.dat/index.html\">p0.dat<' runs/index.html"
	status 0 "grep -q '(t.dat/report.md)' runs/report.md"
	status 0 "grep -q '^|.*| .t.dat. |' runs/report.md"
	printf '[report]\npages = markdown\n' >"$work/markdown.ini"
	status 0 "memprof-report --quiet --spec markdown.ini -o plain p0.dat p1.dat p2.dat t.dat &&
		test -s plain/report.md && ! test -e plain/index.html"
}

# timeline QUERY WANTED - highest level of live bytes in each second, how many
# blocks came and went in it.
timeline() {
	local got
	got=$("$report" --view "$1" --as timeline.json "$work/t.dat" 2>&1 |
		python3 -c 'import json, sys
t = json.load(sys.stdin)
seconds = [[0, 0, 0] for _ in range(10)]
for i, end in enumerate(t["seconds"]):
    at = seconds[min(9, int(end - 0.001))]
    at[0] = max(at[0], t["live_bytes"][i])
    at[1] += t["allocations"][i]
    at[2] += t["deallocations"][i]
print(*("%d+%d-%d" % tuple(at) for at in seconds))' 2>&1)
	if [ "$got" = "$2" ]; then
		pass
	else
		fail "timeline of $1 is [$got], not [$2]"
	fi
}

# A bin is 10 ms and a 1000th of a tick, so what happens at a full second is in
# the last bin of the second before.
test_timelines() {
	local all='1000+1-0 3000+1-0 7000+1-0 7000+0-1 6500+1-1 6500+1-1'
	all="$all 6516+1-0 6564+1-1 6564+0-1 6064+0-0"

	timeline '' "$all"
	timeline 'lifetime=all' "$all"
	timeline 'lifetime=only_leaked' \
		'0+0-0 0+0-0 0+0-0 0+0-0 0+0-0 6000+1-0 6000+0-0 6064+1-0 6064+0-0 6064+0-0'
	timeline 'alive_at=peak' \
		'1000+1-0 3000+1-0 7000+1-0 7000+0-1 6000+0-1 2000+0-1 0+0-0 0+0-0 0+0-0 0+0-0'
	timeline 'size_max=16' \
		'0+0-0 0+0-0 0+0-0 0+0-0 0+0-0 0+0-0 16+1-0 16+0-1 0+0-0 0+0-0'
	status 0 "memprof-report --as timeline -o trace.svg t.dat"
	status 0 "memprof-report --quiet -o report t.dat"
	same 'timeline of the trace' "$work/trace.svg" "$work/report/timeline.svg"
	status 0 "memprof-report --as residency -o none.svg t.dat &&
		grep -q 'holds no sample of memory' none.svg"
}

# classes ARTIFACT QUERY WANTED - LOWER-BOUND:ALLOCATIONS/AT-PEAK of the classes
# that are not empty.
classes() {
	local got
	got=$("$report" --view "$2" --as "$1" "$work/t.dat" 2>&1 |
		python3 -c 'import json, sys
print(*("%s:%d/%d" % (c.get("min", "never"), c["allocations"], c["peak_blocks"])
        for c in json.load(sys.stdin)["classes"] if c["allocations"]))' 2>&1)
	if [ "$got" = "$3" ]; then
		pass
	else
		fail "$1 of $2 is [$got], not [$3]"
	fi
}

test_classes() {
	classes sizes.json '' '16:1/0 64:1/0 256:1/0 512:1/1 1024:1/1 2048:1/1 4096:1/0'
	classes sizes.json 'size_max=500' '16:1/0 64:1/0 256:1/0'
	classes lifetimes.json '' '0.5:1/0 2.0:4/3 never:2/0'
	classes lifetimes.json 'alive_at=peak' '2.0:3/3'
	classes lifetimes.json 'size_min=1TiB' ''
}

# heaptrack NAME COMMAND… - a file for heaptrack, as text, equals the golden one.
heaptrack() {
	local name=$1
	shift
	expect "heaptrack-$name" "memprof-report $* --as heaptrack" \
		">x.heaptrack.zst; echo status: \$?; zstd -dcq x.heaptrack.zst"
}

# printed FILE WANTED - what heaptrack_print counts: calls, temporary ones, and
# the exact sums of bytes at the peak and never freed.
printed() {
	local got cost
	got=$(cd "$work" && heaptrack_print -f "$1" -a0 -p0 -T0 |
		sed -n 's/^\(calls\|temp\).*: \([0-9]*\) .*/\2/p' | xargs
	for cost in peak leaked; do
		heaptrack_print -f "$1" -a0 -p0 -T0 -l0 \
			--disable-builtin-suppressions \
			--flamegraph-cost-type $cost -F .stacks >.printed
		awk '{ sum += $NF } END { printf " %d", sum }' .stacks
	done)
	got=$(echo $got)
	if [ "$got" = "$2" ]; then
		pass
	else
		fail "heaptrack_print says of $1 [$got], not [$2]"
	fi
	rm -f "$work/.stacks" "$work/.printed"
}

# The truth is the table in make_trace.py.
test_heaptrack() {
	heaptrack all t.dat
	printed x.heaptrack.zst '7 1 7000 6064'
	heaptrack filtered --view "function_regex=^libparse" t.dat
	printed x.heaptrack.zst '3 0 6500 6000'
	heaptrack leaked --view lifetime=only_leaked t.dat
	printed x.heaptrack.zst '2 0 6064 6064'
	heaptrack none --view size_min=1TiB t.dat
	printed x.heaptrack.zst '0 0 0 0'
	heaptrack damaged end-cut.dat
	printed x.heaptrack.zst '7 1 7000 6064'
	status 2 "memprof-report --view 'count=3' --as heaptrack t.dat"
	status 0 "memprof-report --as heaptrack -o file.heaptrack.zst t.dat"
	printed file.heaptrack.zst '7 1 7000 6064'
	# What lies in a temporary file needs a place for it.
	expect heaptrack-no-room \
		"TMPDIR=/nowhere memprof-report --as heaptrack t.dat"
}

# The truth is the table in make_trace.py.
test_queries() {
	ids '' '0 1 2 3 4 5 6'
	ids 'lifetime=all' '0 1 2 3 4 5 6'
	ids 'lifetime=only_leaked' '4 6'
	ids 'lifetime=only_temporary' '0 1 2 3 5'
	ids 'alive_at=peak' '0 1 2'
	ids 'alive_at=3' '0 1 2'
	ids 'alive_at=30%' '0 1 2'
	ids 'alive_at=4' '1 2'
	ids 'alive_at=2.999999999' '0 1'
	ids 'alive_at=5' '1 3'
	ids 'alive_at=6s' '3 4'
	ids 'alive_at=100%' '4 6'
	ids 'alive_at=0' ''
	ids 'from=5' '3 4 5 6'
	ids 'from=5.000000001' '4 5 6'
	ids 'to=5' '0 1 2 3'
	ids 'to=4999ms' '0 1 2'
	ids 'from=20%&to=60%' '1 2 3 4'
	ids 'from=0&to=100%' '0 1 2 3 4 5 6'
	ids 'from=peak' '2 3 4 5 6'
	ids 'to=peak' '0 1 2'
	ids 'size_min=1000' '0 1 2 4'
	ids 'size_min=1001' '1 2 4'
	ids 'size_max=500' '3 5 6'
	ids 'size_max=499' '5 6'
	ids 'size_min=0x10&size_max=16' '5'
	ids 'function_regex=libparse' '1 3 4'
	ids 'function_regex=0x2100$' '4'
	ids 'function_regex=^app\+0x401010$' '0 1 2 3 4 5 6'
	ids 'function_regex=^0x2100' ''
	ids 'negative_function_regex=libparse' '0 2 5 6'
	ids 'function_regex=401300&negative_function_regex=2100$' '1 3'
	ids 'function_regex=libparse&lifetime=only_leaked' '4'
	ids 'sort_by=size' '5 6 3 0 1 2 4'
	ids 'sort_by=size&order=dsc&count=3' '4 2 1'
	ids 'sort_by=address&order=asc&count=2' '0 1'
	ids 'order=dsc&count=2' '6 5'
	ids 'sort_by=usable_size&count=3' '5 6 3'
	ids 'sort_by=lifetime' '5 2 6 0 1 3 4'
	ids 'sort_by=lifetime&order=dsc&count=3' '1 3 4'
	ids 'count=all&order=asc&sort_by=timestamp' '0 1 2 3 4 5 6'
	ids 'lifetime=only_deallocated_in_current_range&to=5' '0 2'
	ids 'lifetime=only_not_deallocated_in_current_range&to=5' '1 3'
	ids 'lifetime=only_chain_leaked' '1 4 6'
	ids 'lifetime=only_whole_group_leaked' '4 6'
	ids 'not_lifetime=only_whole_group_leaked' '0 1 2 3 5'
	ids 'lifetime_min=3&lifetime_max=4' '0 1 3 4'
	ids 'temporary=heaptrack' '5'
	ids 'usable_size_max=72' '5 6'
	ids 'address_min=0x40000&address_max=0x60000' '3 5 6'
	ids 'first_size_min=2000' '1 2 4'
	ids 'last_size_min=2000' '1 2 4'
	ids 'chain_length_min=2' '1 4'
	ids 'position_in_chain_min=1' '4'
	ids 'chain_lifetime_min=9' ''
	ids 'chain_lifetime_min=8' '1 4'
	ids 'group_allocations_min=3' '0 2 5'
	ids 'group_leaked_allocations_min=1' '4 6'
	ids 'group_leaked_allocations_max=0%' '0 1 2 3 5'
	ids 'group_interval_min=60%' '0 2 5'
	ids 'group_interval_max=0' '4 6'
	ids 'group_max_total_usage_first_seen_max=peak' '0 2 5'
	ids 'group_max_total_usage_first_seen_min=5' '1 3 4 6'
	ids 'thread=1' '0 1 2 3 4 5 6'
	ids 'not_thread=1' ''
	ids 'thread_name=^app$' '0 1 2 3 4 5 6'
	ids 'backtrace_depth_min=3' '1 3 4'
	ids 'backtrace_depth_max=1' '6'
	ids 'library_regex=^libparse' '1 3 4'
	ids 'library_regex=^app&function_regex=2020' ''
	ids 'function_regex=2100$&function_regex=1200$' '0 2 4 5'
	ids 'negative_library_regex=parse' '0 2 5 6'
	ids 'marker=0' '0 1 2 3 4 5 6'
	groups '' '6000/6000 5016/5016 2500/2500 64/64'
	groups 'order=asc&count=2' '64/64 2500/2500'
	groups 'order=asc&count=2&skip=1' '2500/2500 5016/5016'
	groups 'skip=4' ''
	ids 'sort_by=size&order=dsc&count=3&skip=2' '1 0 3'
	ids 'skip=5' '5 6'
	ids 'skip=18446744073709551615&count=2' ''
	groups 'lifetime=only_temporary' '5016/5016 2500/2500'
	groups 'size_max=1000' '1016/5016 500/2500 64/64'
	groups 'size_max=1000&sort_by=all.size&order=dsc' \
		'1016/5016 500/2500 64/64'
	groups 'sort_by=only_matched.allocated_count&order=dsc' \
		'5016/5016 2500/2500 6000/6000 64/64'
	groups 'sort_by=all.leaked_count&count=2' '6000/6000 64/64'
	groups 'sort_by=all.size&order=asc&count=2' '64/64 2500/2500'
	# The fourth example of memory-profiler's manual, as it stands there.
	groups 'group_allocations_min=1&group_leaked_allocations_min=50%&sort_by=all.size&count=3' \
		'6000/6000 64/64'
	groups 'sort_by=all.min_timestamp' '5016/5016 2500/2500 6000/6000 64/64'
	groups 'sort_by=all.max_total_usage_first_seen_at' \
		'5016/5016 2500/2500 6000/6000 64/64'
	groups 'sort_by=all.interval&count=2' '5016/5016 2500/2500'
	test_page_order
}

# What pages sort rows by stands first, then its share, whatever the values are.
test_page_order() {
	local by

	for by in only_matched.allocated_count only_matched.size all.interval; do
		printf '[report]\npages = markdown\n[view v]\n%s\n' \
			"lifetime = only_temporary
artifacts = groups
sort_by = $by
order = dsc" >"$work/order.ini"
		expect "page-order-$by" "memprof-report --quiet --spec order.ini \
			-o order t.dat; sed -n '/Top groups/,\$p' order/report.md |
			grep '^| '| head -n 4"
	done
	# What has no names is said once, and what would help.
	status 0 "test \"\$(grep -c 'debuginfod-find' order/report.md)\" = 1"
	# A tree on the page needs no flamegraph.svg, and why there is none is told.
	printf '[report]\npages = html\n[view v]\nartifacts = tree\n' >"$work/page.ini"
	status 0 "memprof-report --quiet --spec page.ini -o page t.dat &&
		grep -q 'id=\"view.v.tree\"' page/index.html"
	for by in flamegraph timeline sizes lifetimes; do
		status 0 "memprof-report --view size_min=1GiB --as $by t.dat |
			tr -d '\n' | sed 's/<[^>]*>/ /g' | tr -s ' ' |
			grep -q 'of 7 allocations, size_min = 1GiB removed 7'"
	done
	expect page-order-sites "grep -B1 -A2 '^| ---: | ---: | ---' order/report.md"
}

write_specs() {
	cd "$work" || exit 1
	printf '[view leaks]\n\nlifetme = only_leaked\n' >key.ini
	printf '[veiw leaks]\n' >section.ini
	printf '[view leaks]\nlifetime = only_leak\n' >value.ini
	printf '[view leaks]\nfunction_regex = [\n' >regex.ini
	printf '[report]\npages = none\n[view a]\nartifacts = folded\n' >one.ini
	printf '[report]\noutput = from-spec\npages = markdown\nviews = none\ntitle = T\n' \
		>output.ini
	printf '%s\n' '[report]' 'pages = htlm' 'nonsense' '[view a]' \
		'size_min = big' 'sort_by = sise' 'lifetime = all' '[veiw b]' \
		'what = ever' '[view c]' 'use = d, e' 'from = 7' 'to = 3' \
		'size_min = 2' 'size_max = 1' '[view c]' 'cost = all' \
		'[filter d]' 'use = d' 'count = 1' '[report]' 'theme = red' \
		>many.ini
	printf '[view a]\nuse = big, leked\n[filter leaked]\n[filter big]\n' >use.ini
	printf '[filter a]\nuse = b\n[filter b]\nuse = a\n' >cycle.ini
	printf '[filter a]\nuse = b, c\n[filter b]\nnot_use = a\n[view v]\nsize_min = x\nuse_any = d, a\nnot_use = e\n[view w]\nuse = d\n' \
		>uses.ini
	printf '[report]\npages = none\n[filter old]\nto = 5\n[view a]\nuse = old\nsize_min = 1001\nartifacts = folded\n' \
		>used.ini
	printf '[report]\npages = none\nfail_if = peak_bytes > 6KiB, leaked > 2\n[view a]\nartifacts = folded\nfail_if = groups >= 4\n' \
		>fail.ini
	sed 's/none/html, markdown/' fail.ini >limits.ini
	printf '[report]\nfail_if = leaked > 1\n' >only-fail.ini
	printf '[report]\nviews = none\n' >views-none.ini
	printf '[report]\nviews = default\n[view a]\nto = 1\n' >views-both.ini
	printf '[report]\nviews = all\n' >views-word.ini
	mkdir templates
	printf '[view mine]\nartifacts = tree\n' >templates/default.ini
	cd "$root" || exit 1
}

test_specs() {
	expect spec-key memprof-report --spec key.ini t.dat
	expect spec-section memprof-report --spec section.ini t.dat
	expect spec-value memprof-report --spec value.ini t.dat
	expect spec-regex memprof-report --spec regex.ini t.dat
	expect spec-many memprof-report --spec many.ini t.dat
	expect spec-uses memprof-report --spec uses.ini t.dat
	expect spec-use memprof-report --spec use.ini t.dat
	expect spec-cycle memprof-report --spec cycle.ini t.dat
	expect spec-used "memprof-report --quiet --spec used.ini -o used t.dat && cat used/a.folded"
	expect spec-fail memprof-report --quiet --spec fail.ini -o fail t.dat
	expect limits "memprof-report --quiet --spec limits.ini -o limits t.dat;
		sed -n '/limits/,/^ \]/p' limits/summary.json; sed -n '3,9p' limits/report.md;
		sed -n '/^### Limits/,/^### /p' limits/report.md;
		tr -d '\\n' <limits/index.html | grep -c 'Failed in view a: groups'"
	expect limits-traces memprof-report --quiet --spec limits.ini -o limits t.dat marks.dat
	expect limits-processes "grep failed limits/processes.json; sed -n '/^| Command/,/^\$/p' limits/report.md"
	# What a spec does not say is as in the built-in one, views too.
	expect spec-no-views "memprof-report -q --spec only-fail.ini -o only t.dat; ls only"
	expect spec-views-none "memprof-report -q --spec views-none.ini -o none t.dat; ls none"
	expect spec-views-both memprof-report --spec views-both.ini t.dat
	expect spec-views-word memprof-report --spec views-word.ini t.dat
	status 0 "memprof-report -q --spec views-none.ini --templates templates -o none t.dat"
	expect spec-views-templates "memprof-report -q --spec only-fail.ini --templates templates -o own t.dat; ls own"
	status 0 "memprof-report --quiet --spec one.ini -o one t.dat && ! grep -q limits one/summary.json"
	expect view-fail memprof-report --view "'fail_if=bytes>13KiB'" --as folded t.dat
	status 0 "memprof-report --view 'fail_if=bytes>16KiB' --as folded t.dat"
	status 1 "memprof-report --view 'fail_if=bytes>13KiB' --as folded t.dat"
	status 4 "memprof-report --quiet --spec fail.ini -o fail flipped.dat"
	expect tree-nothing-two "memprof-report --view 'lifetime=only_leaked&size_min=100KiB' --as tree t.dat"
	expect spec-missing memprof-report --spec missing.ini t.dat
	expect spec-directory memprof-report --spec directory t.dat
	expect spec-one "memprof-report --spec one.ini -o one t.dat && ls one"
	expect spec-output \
		"memprof-report --spec output.ini t.dat && ls from-spec"
	expect spec-override "memprof-report --quiet --spec output.ini -o other t.dat && ls other"
	expect spec-default "memprof-report --quiet --templates templates -o mine t.dat && ls mine"
}

# maps QUERY WANTED - numbers of the maps that QUERY selects, and how many passed.
maps() {
	local got
	got=$("$report" --view "$1" --as mmaps "$work/maps.dat" 2>&1 |
		python3 -c 'import json, sys
maps = json.load(sys.stdin)
print(*(m["id"] for m in maps["mmaps"]), "of", maps["total_count"])' 2>&1)
	if [ "$got" = "$2" ]; then
		pass
	else
		fail "--view '$1' --as mmaps: maps $got, not $2"
	fi
}

test_maps() {
	maps 'order=asc' '0 1 2 3 of 4'
	maps 'size_min=8KiB' '0 2 of 2'
	maps 'size_max=4KiB' '1 3 of 2'
	maps 'address_min=0x3000000' '2 3 of 2'
	maps 'address_max=0x1ffffff' '0 of 1'
	maps 'sort_by=size&order=dsc' '0 2 1 3 of 4'
	maps 'sort_by=size&count=1&skip=2' '2 of 4'
	maps 'sort_by=address&order=dsc&count=2' '3 2 of 4'
	maps 'sort_by=lifetime' '0 2 3 1 of 4'
	maps 'from=2&to=30%' '1 2 of 2'
	maps 'from=peak' '3 of 1'
	maps 'to=peak' '0 1 2 of 3'
	maps 'alive_at=peak' '0 1 2 of 3'
	maps 'alive_at=4.999999999' '0 1 2 of 3'
	maps 'alive_at=5' '1 2 of 2'
	maps 'alive_at=50%&not_alive_at_2=10s' '2 of 1'
	maps 'lifetime=only_leaked' '1 3 of 2'
	maps 'lifetime=only_temporary' '0 2 of 2'
	maps 'not_lifetime=only_leaked' '0 2 of 2'
	maps 'from=1&to=5&lifetime=only_deallocated_in_current_range' '0 of 1'
	maps 'to=5&lifetime=only_not_deallocated_in_current_range' '1 2 of 2'
	maps 'lifetime_min=4s' '0 1 2 3 of 4'
	maps 'lifetime_max=4s' '0 2 3 of 3'
	maps 'readable=no' '2 of 1'
	maps 'writable=yes' '0 of 1'
	maps 'executable=yes&readable=yes' '1 of 1'
	maps 'library_regex=libparse' '1 of 1'
	maps 'negative_library_regex=libparse' '0 2 3 of 3'
	maps 'backtrace_depth_min=3' '1 of 1'
	maps 'thread=1&thread_name=^app' '0 1 2 3 of 4'
	maps 'not_thread=1' 'of 0'
	for bad in group_allocations_min=1 title=x fail_if=bytes\>1 cost=bytes \
		lifetime=only_chain_leaked sort_by=usable_size \
		use=a marker=0 'size_min=2&size_max=1' readable=maybe; do
		expect "maps-${bad%%=*}" memprof-report --view "'$bad'" --as mmaps maps.dat
	done
	expect maps-of-allocations memprof-report --view readable=yes --as tree maps.dat
}

test_places() {
	status 0 "memprof-report --as folded -o file.folded t.dat"
	status 0 "memprof-report --as folded t.dat >stdout.folded"
	status 0 "memprof-report --as folded -o - t.dat >dash.folded"
	status 0 "memprof-report --as folded - <t.dat >stdin.folded"
	status 0 "cat t.dat | memprof-report --as folded - >pipe.folded"
	status 0 "memprof-report t.dat --as folded -o late.folded"
	for file in stdout dash stdin pipe late; do
		same "$file" "$work/file.folded" "$work/$file.folded"
	done
	expect output-is-file memprof-report -o t.dat t.dat
	cp "$work/t.dat" "$work/own.dat"
	cp "$work/t.dat" "$work/own.dat.live"
	ln -s own.dat "$work/link.dat"
	expect output-is-trace "memprof-report --as tree -o own.dat own.dat; memprof-report --as tree -o ./link.dat t.dat own.dat; memprof-report --as tree -o own.dat.live own.dat; memprof-report --as tree -o link.dat - <own.dat"
	same 'a trace named by -o' "$work/t.dat" "$work/own.dat"
	same 'what was saved of it' "$work/t.dat" "$work/own.dat.live"
	rm "$work"/own.dat* "$work/link.dat"
	expect output-below-file memprof-report -o t.dat/x t.dat
	expect artifact-not-writable memprof-report --as tree -o directory t.dat
	expect disk-full "memprof-report --as tree t.dat >/dev/full"
	expect disk-full-json "memprof-report --as groups t.dat >/dev/full"
	expect disk-full-drawing "memprof-report --as flamegraph t.dat >/dev/full"
	expect file-too-large "(ulimit -f 1; memprof-report --as flamegraph -o large.svg t.dat); ls -A | grep large"
	expect chains-too-large "(ulimit -f 1; TMPDIR=. memprof-report --view chain_length_min=2 --as tree t.dat)"
	expect report-too-large "(ulimit -f 1; memprof-report -o large t.dat); ls -A | grep large"
	expect device memprof-report /dev/null
	# Nothing of the report may be taken for the closed standard error.
	status 4 "memprof-report --quiet -o opened flipped.dat"
	status 4 "memprof-report --quiet -o closed flipped.dat <&- >&- 2>&-"
	same 'a report with all descriptors closed' "$work/opened" "$work/closed"
	status 2 "memprof-report --as tree t.dat >&-"
	status 2 "memprof-report --list t.dat >/dev/full"
	status 2 "memprof-report --help >/dev/full"
	status 0 "memprof-report --quiet -o deep/er/report t.dat"
	status 0 "memprof-report --quiet -o deep/er/report t.dat"
}

test_determinism() {
	status 0 "memprof-report --quiet -o once t.dat"
	status 0 "LC_ALL=C TZ=Asia/Tokyo COLUMNS=20 memprof-report --jobs 1 --quiet -o twice t.dat"
	status 0 "LC_ALL=de_DE.UTF-8 TZ=UTC memprof-report --jobs 7 --quiet -o thrice t.dat"
	same 'a second report' "$work/once" "$work/twice"
	same 'a third report' "$work/once" "$work/thrice"
	status 0 "memprof-report --timings --quiet -o once t.dat 2>timings"
	same 'a report with --timings' "$work/once" "$work/twice"
	for row in opening reading decoding symbols index.html all; do
		status 0 "grep -Eq '^ *$row +[0-9]+\.[0-9]+' timings"
	done
}

# What README and docs/spec.md show must be accepted.
test_documents() {
	local count=0 spec query

	python3 - "$root" "$work" <<'PYTHON'
import pathlib
import re
import sys

root, work = map(pathlib.Path, sys.argv[1:])
queries = set()
blocks = []
for name in ("README.md", "docs/spec.md", "docs/man/memprof-report.1"):
    text = (root / name).read_text()
    blocks += re.findall(r"```ini\n(.*?)```", text, re.S)
    queries |= set(re.findall(r"--view '([^']*)'", text))
    queries |= set(re.findall(r"^\| [^|]*\? ?\| `([^`]*)` \| `\w+` \|$", text,
                              re.M))
    queries |= set(re.findall(r"^\| the [^|]*\| `([^`]*)` \| `\w+` \|$", text,
                              re.M))
text = (root / "docs/spec.md").read_text()
text = text[text.index("## Filter keys"):text.index("## Artifacts")]
# Numbers of backtraces and names of filters need not exist in this trace.
queries |= {q.replace(" ", "") for q in
            re.findall(r"`((?!(?:\w*backtraces|use\w*|not_use) )\w+ = [^`]+)`",
                       text)}
assert len(blocks) >= 2 and len(queries) >= 12, (blocks, queries)
for i, block in enumerate(blocks):
    (work / f"doc{i}.ini").write_text(block)
(work / "queries").write_text("".join(q + "\n" for q in sorted(queries)))
PYTHON
	status 0 test -s queries
	for spec in "$work"/doc*.ini; do
		status 0 "memprof-report --quiet --spec $spec -o doc t.dat"
	done
	while read -r query; do
		case $query in
		*readable=* | *writable=* | *executable=*)
			status 0 "memprof-report --view '$query' --as mmaps t.dat" ;;
		*cost=* | *direction=*)
			status 0 "memprof-report --view '$query' --as tree t.dat" ;;
		*sort_by=all.* | *sort_by=only_matched.*)
			status 0 "memprof-report --view '$query' --as groups t.dat" ;;
		*) status 0 "memprof-report --view '$query' --as allocations t.dat" ;;
		esac
		count=$((count + 1))
	done <"$work/queries"
	[ "$count" -gt 0 ] && pass
}

make_inputs
write_specs
test_usage
test_inputs
test_text
test_queries
test_timelines
test_classes
test_heaptrack
test_specs
test_maps
test_places
test_determinism
test_documents
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
