#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What memory is made of, beside the heap.  Started by smaps.sh."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

from traced import BUILD, Run, check, check_equal, run_tests, test

MIB = 1 << 20


def resident(rows, kind, name=None):
    return sum(row["rss"] for key, row in rows.items()
               if key[0] == kind and name in (None, key[1]))


def run(*args, env=None, output=None):
    """Return: the run of residency and the file that it mapped."""
    made = Run(["residency", "file", *args], env=env, output=output)
    check_equal((made.status, made.stdout, made.stderr), (0, b"", b""))
    return made, os.path.join(made.dir, "file")


def run_sampled(blocks, env=None):
    """The same, with samples from before the file is mapped."""
    with tempfile.TemporaryDirectory(prefix="memprof-test-") as directory:
        trace = os.path.join(directory, "trace.dat")
        made, path = run(blocks, trace, env=env, output=trace)
        made.path = shutil.move(trace, made.dir)
    return made, path


@test
def every_kind_at_the_end():
    made, path = run()
    rows = made.trace.samples[-1]["rows"]
    check_equal(resident(rows, "file", path), 8 * MIB)
    check_equal(rows["file", path]["anonymous"], 0)
    check_equal(resident(rows, "shared"), 4 * MIB)
    check_equal(resident(rows, "code"), 2 * MIB)
    for kind, least in (("anonymous", 16), ("stack", 3), ("heap", 16)):
        got = resident(rows, kind)
        check(least * MIB <= got < (least + 1) * MIB, kind, got)
    check(0 < resident(rows, "tracer") < 16 * MIB, resident(rows, "tracer"))
    peak = made.trace.ends[0]["peak_rss"]
    total = sum(row["rss"] for row in rows.values())
    check(total <= peak + MIB, total, peak)
    made.done()


@test
def samples_while_it_runs():
    # Much is allocated, or next to nothing.
    for env, blocks in (({}, "5000"), ({}, "1"),
                        ({"MEMORY_PROFILER_HELPER": "0"}, "5000"),
                        ({"MEMORY_PROFILER_HELPER": "0"}, "1")):
        made, path = run_sampled(blocks, env)
        samples = made.trace.samples
        ticks = [sample["tick"] for sample in samples]
        check_equal(ticks, sorted(ticks))
        before = [sample["rows"] for sample in samples
                  if ("file", path) not in sample["rows"]]
        check(len(before) >= 2, "samples before the file is mapped")
        check(resident(before[-1], "stack") >= 3 * MIB, "the thread's stack")
        made.done()


@test
def gathering_no_maps():
    made, _ = run(env={"MEMORY_PROFILER_GATHER_MAPS": "0"})
    check_equal(made.trace.samples, [])
    check(not any(ev.kind == "mmap" for ev in made.trace.events), "mmap")
    check(made.sizes().count(32 << 10) == 512, "blocks")
    made.done()


@test
def many_names():
    """More files than there are rows: what is left out is added up, in one row
    though some names would still have room."""
    code = ("import mmap, os\n"
            "keep = []\n"
            "for n in range(700):\n"
            "    name = 'f%04d' % n + 'x' * (150 if n % 8 else 0)\n"
            "    f = open(name, 'w+b'); f.write(b'x' * 8192); f.flush()\n"
            "    m = mmap.mmap(f.fileno(), 8192); m[0]; m[4096]\n"
            "    keep.append(m)\n"
            "os._exit(0)\n")
    made = Run([sys.executable, "-c", code])
    check_equal(made.status, 0)
    check_equal(made.trace.damaged, 0)
    rows = made.trace.samples[-1]["rows"]
    named = sum(made.dir in name for _, name in rows)
    rest = rows["rest", ""]
    check(300 < named < 700, named)
    check(rest["mappings"] >= 700 - named, rest)
    check(sum(row["rss"] for row in rows.values()) > 700 * 8192)
    made.done()


@test
def a_chart_of_enough_samples():
    """Of few the pages have the table alone."""
    for made in (run()[0], run_sampled("5000")[0]):
        report = os.path.join(made.dir, "report")
        subprocess.run([os.path.join(BUILD, "memprof-report"), "--quiet",
                        "-o", report, made.path], check=True)
        with open(os.path.join(report, "report.md")) as page:
            text = page.read()
        count = len(made.trace.samples)
        check_equal("by kind](residency.svg)" in text, count >= 4, count)
        check_equal(os.path.exists(os.path.join(report, "residency.svg")),
                    count >= 2, count)
        check("| Resident memory |" in text, text)
        made.done()


@test
def a_report_agrees():
    made, path = run_sampled("5000")
    samples = made.trace.samples
    out = subprocess.run(
        [os.path.join(BUILD, "memprof-report"), "--as", "mappings", made.path],
        capture_output=True, check=True).stdout
    document = json.loads(out)
    check_equal(len(document["samples"]), len(samples))
    for got, want in zip(document["samples"], samples):
        check_equal(got["resident"],
                    sum(row["rss"] for row in want["rows"].values()))
        for kind in ("file", "stack", "code"):
            check_equal(got[kind], resident(want["rows"], kind), kind)
    largest = [row["resident"] for row in document["mappings"]]
    check_equal(largest, sorted(largest, reverse=True))
    row, = [row for row in document["mappings"] if row["name"] == path]
    check_equal((row["resident"], row["kind"]), (8 * MIB, "file"))
    made.done()


if __name__ == "__main__":
    sys.exit(run_tests())
