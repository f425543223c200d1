#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Controls: variables, options, signals, the C API.  Started by controls.sh."""
import os
import shutil
import sys
import tempfile

from traced import Run, Skip, check, check_equal, run_tests, test

PREFIX = "MEMORY_PROFILER_"
JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"


def controlled(argv, must_trace=True, record=False, **settings):
    """Run with variables, named without their prefix."""
    return Run(argv, env={PREFIX + name: value
                          for name, value in settings.items()},
               must_trace=must_trace, record=record, options=["-q"])


@test
def values_in_force():
    run = controlled(["/bin/true"], LOG="info", GRAB_BACKTRACES_ON_FREE="no",
                     ENABLE_SERVER="1", BACKTRACE_CACHE_SIZE_LEVEL_1="5")
    log = run.stderr.decode()
    for line in (f"{PREFIX}OUTPUT={run.path}\n", f"{PREFIX}LOG=info\n",
                 f"{PREFIX}GRAB_BACKTRACES_ON_FREE=0\n",
                 f"{PREFIX}CHOWN_OUTPUT_TO=\n", f"{PREFIX}HELPER=1\n",
                 f"{PREFIX}ENABLE_SERVER=1 (has no effect)\n",
                 f"{PREFIX}BACKTRACE_CACHE_SIZE_LEVEL_1=5 (has no effect)\n"):
        check(line in log, "not said:", line, log)
    check("BASE_SERVER_PORT" not in log, "said without being set")
    run.done()
    run = controlled(["/bin/true"], ENABLE_SERVER="1")
    check_equal(run.stderr, b"", "said without being asked")
    run.done()


@test
def values_that_cannot_be():
    plain = Run(["basic"], traced=False)
    for name, value in (("CHOWN_OUTPUT_TO", "root"),
                        ("CHOWN_OUTPUT_TO", "4294967295"),
                        ("LOGFILE_ROTATE_WHEN_BIGGER_THAN", "1x"),
                        ("LOGFILE_ROTATE_WHEN_BIGGER_THAN", ""),
                        ("LOGFILE_ROTATE_WHEN_BIGGER_THAN", "9" * 30),
                        ("LOGFILE", "l" * 2000)):
        run = controlled(["basic"], **{name: value})
        check_equal((run.status, run.stdout), (plain.status, plain.stdout))
        lines = run.stderr.decode().splitlines()
        check_equal(len(lines), 1, f"lines for {name}={value[:20]}")
        check(PREFIX + name in lines[0], lines)
        run.done()


@test
def zeroed_memory():
    ways = ["malloc", "memalign", "aligned", "valloc", "realloc", "shrunk"]
    run = controlled(["zeroed"])
    check("used" in run.stdout.decode(), "it is zero without us")
    run.done()
    for preload in ([], [JEMALLOC]):
        if preload and not os.path.exists(JEMALLOC):
            raise Skip("libjemalloc.so.2")
        run = Run(["zeroed"], env={PREFIX + "ZERO_MEMORY": "1"},
                  preload=preload)
        check_equal(run.stdout.decode().split("\n")[:-1],
                    [way + " zero" for way in ways], preload)
        run.clean_order()
        # The calls are the program's, whatever answers them.
        kinds = {ev.kind for ev in run.trace.events if ev.size == 70000}
        check_equal(kinds, {"malloc", "memalign"})
        run.done()


@test
def owner_of_the_trace():
    if os.geteuid() != 0:
        run = controlled(["basic"], CHOWN_OUTPUT_TO="0")
        check_equal(len(run.stderr.splitlines()), 1, run.stderr)
        run.done()
        raise Skip("being root")
    run = controlled(["steps", "alloc", "kill"], CHOWN_OUTPUT_TO="65534")
    for path in (run.path, run.path + ".live"):
        st = os.stat(path)
        check_equal((st.st_uid, st.st_gid), (65534, os.getegid()), path)
    run.done()


@test
def log_that_is_put_aside():
    directory = tempfile.mkdtemp(prefix="memprof-test-")
    log = os.path.join(directory, "log")
    settings = {"LOG": "info", "LOGFILE": log}
    controlled(["/bin/true"], **settings).done()
    with open(log, encoding="utf-8") as f:
        whole = [line.partition("]: ")[2] for line in f]
    check(len(whole) > 10, "lines", whole)
    os.unlink(log)
    controlled(["/bin/true"], LOGFILE_ROTATE_WHEN_BIGGER_THAN="200",
               **settings).done()
    check_equal(sorted(os.listdir(directory)),
                ["log", "log.initial", "log.old"])
    parts = []
    for name in ("log.initial", "log.old", "log"):
        path = os.path.join(directory, name)
        check(os.path.getsize(path) < 400, name, os.path.getsize(path))
        with open(path, encoding="utf-8") as f:
            parts.append([line.partition("]: ")[2] for line in f])
    check_equal(parts[0][1], whole[1], "the second line")
    check(parts[0][0].startswith(PREFIX + "OUTPUT="), parts[0][0])
    check(parts[2][-1].startswith("tracing to "), parts[2][-1])
    shutil.rmtree(directory)


if __name__ == "__main__":
    sys.exit(run_tests())
