#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Controls: variables, options, signals, the C API.  Started by controls.sh."""
import os
import shutil
import subprocess
import sys
import tempfile

from traced import (PROGRAMS, RECORD, Run, Skip, check, check_equal,
                    run_tests, test)

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


PHASES = [name for name in ("phases_pie", "phases_fixed", "phases_clang")
          if os.path.exists(os.path.join(PROGRAMS, name))]
MARK_TEXT, PHASE_BEGIN, PHASE_END, MARK_NUMBER = range(1, 5)


def sizes_between(run, thread, begin, end):
    """Sizes that a thread allocated after one tick and before another."""
    return [ev.size for ev in run.trace.events if ev.thread == thread and
            ev.kind == "malloc" and begin <= ev.tick < end]


@test
def programs_that_tell_nobody():
    for name in [*PHASES, "phases_static"]:
        for part in ("", "threads", "pieces", "handler", "old"):
            run = Run([name, part], traced=False)
            check_equal((run.status, run.stdout, run.stderr),
                        (3, b"done\n", b""), (name, part))
            run.done()


@test
def marks_and_phases():
    for name in PHASES:
        run = Run([name])
        check_equal((run.status, run.stdout, run.stderr),
                    (3, b"done\n", b""), name)
        marks = run.trace.marks
        check_equal([(m["kind"], m["value"], m["text"]) for m in marks],
                    [(PHASE_BEGIN, 0, "load"), (MARK_TEXT, 0, "half of it"),
                     (PHASE_END, 0, "load"), (PHASE_BEGIN, 0, "serve"),
                     (PHASE_BEGIN, 0, ""),
                     (MARK_NUMBER, 1234567890123, "requests"),
                     (PHASE_END, 0, "serve"), (MARK_TEXT, 0, ""),
                     (MARK_TEXT, 0, "x" * 4096), (MARK_TEXT, 0, ""),
                     (MARK_TEXT, 0, "\udcff\x01 \xe4")], name)
        check_equal({m["thread"] for m in marks}, {1}, "threads")
        ticks = [m["tick"] for m in marks]
        check_equal(ticks, sorted(ticks), "order")
        for begin, end, want in ((0, 1, [2000] * 5), (1, 2, [2001] * 5),
                                 (2, 3, [1001] * 3), (5, 6, [3000] * 7),
                                 (6, 10, [])):
            check_equal(sizes_between(run, 1, ticks[begin], ticks[end]), want,
                        (name, begin))
        check_equal(run.trace.ends[0]["event_count"], len(run.trace.events))
        run.done()


@test
def phases_of_threads():
    run = Run(["phases_pie", "threads"], keep_stacks=False)
    for thread in range(2, 6):
        number, = {ev.size - 100 for ev in run.trace.events
                   if ev.thread == thread and 100 <= ev.size < 104}
        mine = [m for m in run.trace.marks if m["thread"] == thread]
        check_equal(len(mine), 400, "marks")
        for i, mark in enumerate(mine[:-1]):
            check_equal(mark["kind"], PHASE_BEGIN + i % 2)
            check_equal(sizes_between(run, thread, mark["tick"],
                                      mine[i + 1]["tick"]),
                        [4000 + number + i % 2 * 1000] * 3, (thread, i))
    run.done()


@test
def marks_in_signal_handlers():
    run = Run(["phases_pie", "handler"])
    check_equal([m["text"] for m in run.trace.marks], ["signal"] * 10)
    ticks = [m["tick"] for m in run.trace.marks]
    for begin, end in zip(ticks, ticks[1:]):
        check_equal(sizes_between(run, 1, begin, end), [8000] * 100)
    run.done()


@test
def marks_of_children_that_are_not_traced():
    run = Run(["sh", "-c", os.path.join(PROGRAMS, "phases_pie")])
    check_equal((run.stdout, run.trace.marks), (b"done\n", []))
    run.done()


def launch(*argv, cwd=None, **kept):
    """memprof-record itself.  Return: status, output, messages."""
    p = subprocess.run([RECORD, *argv], capture_output=True, text=True,
                       cwd=cwd, check=False, **kept)
    return p.returncode, p.stdout, p.stderr


@test
def traces_that_cannot_be_made():
    directory = tempfile.mkdtemp(prefix="memprof-test-")
    open(os.path.join(directory, "file"), "w", encoding="utf-8").close()
    for output, why in (("nodir/x", "No such file"),
                        ("nodir/%p.dat", "No such file"),
                        (".", "Is a directory"), ("file/x", "Not a dir"),
                        ("/dev/null", "File exists"),
                        ("x" * 300, "name too long"),
                        ("x" * 2000, "name too long")):
        for argv, env in ((["-o", output], {}),
                          ([], {PREFIX + "OUTPUT": output})):
            status, out, err = launch(*argv, "--", "sh", "-c",
                                      "echo ran >>file", cwd=directory,
                                      env=dict(os.environ, **env))
            check_equal((status, out), (125, ""), output[:20])
            check(why in err and len(err.splitlines()) == 1, err)
    check_equal(os.path.getsize(os.path.join(directory, "file")), 0,
                "the program has run")
    shutil.rmtree(directory)


@test
def options_that_set_variables():
    directory = tempfile.mkdtemp(prefix="memprof-test-")
    path = os.path.join(directory, "t.dat")
    for option, line in (("--no-free-stacks", "GRAB_BACKTRACES_ON_FREE=0"),
                         ("--zero-memory", "ZERO_MEMORY=1"),
                         ("--no-helper", "HELPER=0"),
                         ("--children", "TRACK_CHILD_PROCESSES=1"),
                         (f"--chown={os.getuid()}",
                          f"CHOWN_OUTPUT_TO={os.getuid()}"),
                         ("--log-file=%e.log", "LOGFILE=%e.log"),
                         ("--log=debug", "LOG=debug")):
        status, out, err = launch("-q", "-o", path, "--log=info", option,
                                  "true", cwd=directory)
        check_equal((status, out), (0, ""), option)
        log = os.path.join(directory, "true.log")
        if os.path.exists(log):
            with open(log, encoding="utf-8") as f:
                err += f.read()
        check(f" {PREFIX}{line}\n" in err, option, err)
    for option in ("--log=of", "--log=", "--chown=root", "--chown"):
        status, _, err = launch("-o", path, option, "true", cwd=directory)
        check_equal(status, 125, option)
        check("--" in err, err)
    shutil.rmtree(directory)


if __name__ == "__main__":
    sys.exit(run_tests())
