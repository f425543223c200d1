#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the instructions that tracing one event takes, so that none creep in.

    instructions.py BUILD_DIR

Two runs of tests/programs/pairs under callgrind differ only in their number
of events; the difference of their costs is that of the events.  Counts are
the same in every run of the same binary; the limits leave room for another
compiler.
"""
import os
import re
import subprocess
import sys
import tempfile

COUNTS = 20000, 60000
EVENTS = 2 * (COUNTS[1] - COUNTS[0])

# Part of the path, the functions' files (or, without one, their names) and
# how many instructions an event may take there.
PARTS = (
    ("hooks and records", r"tracer/(hooks_\w+|event|clock)\.", 185),
    ("stack", r"tracer/(unwind\w*|rules|cfi\w*)\.", 340),
    ("coding in columns", r"tracer/(columns\w*|encode)\.", 235),
    ("compression", r":(ZSTD|HUF|FSE|HIST|XXH)\w*", 190),
    ("the rest", r"", 5),
)


def run(build, count, folder):
    """Returns {(file, function): instructions} of libmemprof.so."""
    out = os.path.join(folder, f"callgrind.{count}")
    env = dict(os.environ, LC_ALL="C",
               MEMORY_PROFILER_TRACK_CHILD_PROCESSES="1",
               MEMORY_PROFILER_OUTPUT=os.path.join(folder, "%p.dat"),
               LD_PRELOAD=os.path.join(build, "libmemprof.so"))
    program = os.path.join(build, "tests", "programs", "pairs")
    subprocess.run(["valgrind", "--tool=callgrind", "-q",
                    f"--callgrind-out-file={out}", program, str(count)],
                   env=env, check=True, stdout=subprocess.DEVNULL)
    text = subprocess.run(["callgrind_annotate", "--threshold=100", out],
                          check=True, capture_output=True, text=True).stdout
    costs = {}
    line = re.compile(r"\s*([\d,]+) \([^)]*\)\s+(\S+) \[.*libmemprof\.so\]")
    for match in filter(None, map(line.match, text.splitlines())):
        costs[match[2]] = int(match[1].replace(",", ""))
    return costs


def part_of(name):
    return next(part for part, pattern, _ in PARTS if re.search(pattern, name))


def main():
    build = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        few, many = (run(build, count, folder) for count in COUNTS)
    per_event = dict.fromkeys((part for part, _, _ in PARTS), 0.0)
    for name, cost in many.items():
        per_event[part_of(name)] += (cost - few.get(name, 0)) / EVENTS
    failed = 0
    for part, _, limit in PARTS:
        over = per_event[part] > limit
        failed += over
        print(f"{'FAIL' if over else 'ok'}  {part}: {per_event[part]:.1f}"
              f" instructions an event, at most {limit}")
    if per_event["stack"] <= 0 or per_event["coding in columns"] <= 0:
        print("FAIL  nothing was traced")
        failed += 1
    print(f"{len(PARTS) - min(failed, len(PARTS))} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
