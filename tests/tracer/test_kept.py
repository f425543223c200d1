#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names of generated code and files kept in the trace.  Started by kept.sh."""
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time

from test_tracer import PROGRAMS, RECORD, Run, Skip, check, check_equal

REPORT = os.path.join(sys.argv[1], "memprof-report")
TESTS, SKIPPED = [], []


def test(function):
    TESTS.append(function)
    return function


def need(program):
    path = shutil.which(program)
    if not path:
        raise Skip(program)
    return path


def report(*args):
    return subprocess.run([REPORT, *args], capture_output=True,
                          check=True).stdout.decode()


def remove_map(run):
    """Of the program, not of memprof-record."""
    pid, = re.findall(r"^  process +(\d+)$", report("--list", run.path), re.M)
    path = f"/tmp/perf-{pid}.map"
    if os.path.lexists(path):
        os.unlink(path)


def generated(path):
    """What the frame below main is called, and how often, by name."""
    counts = {}
    out = report("--view", "size_min=4711&size_max=4711", "--as", "folded",
                 path)
    for line in out.splitlines():
        stack, _, size = line.rpartition(" ")
        name = stack.split(";")[-1]
        counts[name] = counts.get(name, 0) + int(size) // 4711
    return counts


def jit(*how, record=True, remove=True):
    """Runs programs/jit.c; its map is gone before the report is made."""
    if platform.machine() != "x86_64":
        raise Skip("the program generates x86-64 code")
    run = Run(["jit", *how], record=record)
    if remove:
        remove_map(run)
    return run


MAP_NAMES = {"JS:~first thing.js:1": 10, "second": 20}
OBJECT_NAMES = {"first_object": 10, "second::object()": 20}
NO_NAMES = {"[anonymous]": 30}


@test
def perf_map():
    for record in True, False:
        run = jit("map", record=record)
        check_equal([f["kind"] for f in run.trace.files], ["perf map"])
        check_equal(generated(run.path), MAP_NAMES)
        run.done()


@test
def perf_map_of_killed_program():
    run = jit("map", "kill")
    check_equal(run.status, -signal.SIGKILL)
    check_equal(generated(run.path), MAP_NAMES)
    run.done()


@test
def perf_map_of_other_process():
    for record in True, False:
        run = jit("map", "stale", record=record)
        check_equal(run.trace.files, [])
        check_equal(generated(run.path), NO_NAMES)
        run.done()


@test
def perf_map_outside_of_trace():
    """Nobody could put it there; the report finds it."""
    run = jit("map", "kill", record=False, remove=False)
    check_equal(run.trace.files, [])
    check_equal(generated(run.path), MAP_NAMES)
    remove_map(run)
    check_equal(generated(run.path), NO_NAMES)
    run.done()


@test
def perf_map_is_a_trap():
    """Neither links nor pipes are read."""
    for trap in "link", "pipe":
        for record in True, False:
            run = jit(trap, record=record, remove=False)
            check_equal(run.status, 0)
            check_equal(run.trace.files, [])
            check_equal(generated(run.path), NO_NAMES)
            remove_map(run)
            run.done()


@test
def objects_for_debuggers():
    for record in True, False:
        run = jit("gdb", record=record)
        check_equal([f["kind"] for f in run.trace.files], ["JIT object"] * 2)
        check_equal(run.trace.damaged, 0)
        run.only_end(1, 0)
        check_equal(generated(run.path), OBJECT_NAMES)
        run.done()


@test
def no_names():
    run = jit("none")
    check_equal(run.trace.files, [])
    check_equal(generated(run.path), NO_NAMES)
    run.done()


@test
def node():
    program = need("node")
    script = ("function keepBuffers(n) { const all = []; for (let i = 0; "
              "i < n; i++) all.push(Buffer.alloc(100000 + i)); return all; }"
              "console.log(keepBuffers(300).length)")
    run = Run([program, "--perf-basic-prof",
               "--interpreted-frames-native-stack", "-e", script],
              record=True, must_trace=False)
    remove_map(run)
    check_equal((run.status, run.stdout), (0, b"300\n"))
    out = report("--view", "size_min=100000&size_max=100300", "--as", "folded",
                 run.path)
    check("keepBuffers" in out, out[:2000])
    run.done()


@test
def java():
    """HotSpot writes its map as the last thing it does."""
    program = need("java")
    if not os.path.exists(os.path.join(PROGRAMS, "Threads.class")):
        raise Skip("Threads.class")
    run = Run([program, "-XX:+UnlockDiagnosticVMOptions",
               "-XX:+DumpPerfMapAtExit", "-cp", PROGRAMS, "Threads"],
              record=True, must_trace=False)
    remove_map(run)
    out = report("--as", "folded", run.path)
    check("Interpreter" in out, out[:2000])
    run.done()


def main():
    wanted = sys.argv[3:]
    passed = failed = 0
    for function in TESTS:
        name = function.__name__
        if wanted and name not in wanted:
            continue
        started = time.time()
        try:
            function()
        except Skip as skip:
            SKIPPED.append(f"{name} ({skip})")
        except Exception as error:  # a test must not hide the others
            failed += 1
            print(f"FAIL {name}: {type(error).__name__}: {error}")
            if os.environ.get("V"):
                raise
        else:
            passed += 1
            print(f"ok   {name} {time.time() - started:.1f} s")
        sys.stdout.flush()
    if SKIPPED:
        print("skipped:", ", ".join(SKIPPED))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
