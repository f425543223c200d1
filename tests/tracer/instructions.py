#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the instructions that tracing one event takes, so that none creep in.

    instructions.py BUILD_DIR

Two runs of tests/programs/pairs under callgrind differ only in their number
of events; the difference of their costs is that of the events.  Counts are
the same in every run of the same binary; the limits leave room for another
compiler.

Three runs of tests/programs/deep differ in their depth: what an event costs
must not depend on it where the stack is deeper than can be handed over.
"""
import os
import re
import subprocess
import sys
import tempfile

COUNTS = 20000, 60000
EVENTS = 2 * (COUNTS[1] - COUNTS[0])
DEPTHS = 20000, 40000, 60000
DEEP_GROWTH = 1.1

# Part of the path, the functions' files (or, without one, their names) and
# how many instructions an event may take there.  Compression depends on the
# times, which differ from run to run: it takes 98 to 131.
PARTS = (
    ("stack", r"tracer/(unwind\w*|rules|cfi\w*)\.", 315),
    ("coding in columns", r"tracer/(columns\w*|encode)\.", 290),
    ("copying bytes", r"tracer/bytes\.", 14),
    ("hooks and records", r"tracer/\w+\.", 200),
    ("compression", r":(ZSTD|HUF|FSE|HIST|XXH)\w*", 160),
    ("the rest", r"", 5),
)


def run(build, name, count, folder):
    """Returns {(file, function): instructions} of libmemprof.so."""
    out = os.path.join(folder, f"callgrind.{name}.{count}")
    env = dict(os.environ, LC_ALL="C",
               MEMORY_PROFILER_TRACK_CHILD_PROCESSES="1",
               MEMORY_PROFILER_GATHER_MAPS="0",  # by time, not by events
               MEMORY_PROFILER_OUTPUT=os.path.join(folder, "%p.dat"),
               LD_PRELOAD=os.path.join(build, "libmemprof.so"))
    program = os.path.join(build, "tests", "programs", name)
    subprocess.run(["valgrind", "--tool=callgrind", "-q",
                    f"--callgrind-out-file={out}", program, str(count)],
                   env=env, check=True, stdout=subprocess.DEVNULL)
    text = subprocess.run(["callgrind_annotate", "--threshold=100", out],
                          check=True, capture_output=True, text=True).stdout
    costs = {}
    # What a header's functions were inlined into is named without the library.
    line = re.compile(r"\s*([\d,]+) \([^)]*\)\s+"
                      r"(\S*tracer/\S+\.h:\S+$|\S+(?= \[.*libmemprof\.so\]))")
    for match in filter(None, map(line.match, text.splitlines())):
        costs[match[2]] = int(match[1].replace(",", ""))
    return costs


def part_of(name):
    return next(part for part, pattern, _ in PARTS if re.search(pattern, name))


def check_depth(build, folder):
    """Returns whether the outer events cost what the inner ones do."""
    costs = [sum(cost for name, cost in run(build, "deep", depth, folder).items()
                 if part_of(name) == "stack") for depth in DEPTHS]
    outer, inner = costs[1] - costs[0], costs[2] - costs[1]
    passed = 0 < inner < DEEP_GROWTH * outer
    print(f"{'ok' if passed else 'FAIL'}  stack, deep recursion: {inner / outer:.2f}"
          f" times the instructions when deeper, at most {DEEP_GROWTH}")
    return passed


def main():
    build = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        few, many = (run(build, "pairs", count, folder) for count in COUNTS)
        failed = not check_depth(build, folder)
    per_event = dict.fromkeys((part for part, _, _ in PARTS), 0.0)
    for name, cost in many.items():
        per_event[part_of(name)] += (cost - few.get(name, 0)) / EVENTS
    for part, _, limit in PARTS:
        over = per_event[part] > limit
        failed += over
        print(f"{'FAIL' if over else 'ok'}  {part}: {per_event[part]:.1f}"
              f" instructions an event, at most {limit}")
    if per_event["stack"] <= 0 or per_event["coding in columns"] <= 0:
        print("FAIL  nothing was traced")
        failed += 1
    checks = len(PARTS) + 1
    print(f"{checks - min(failed, checks)} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
