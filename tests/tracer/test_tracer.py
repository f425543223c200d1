#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Traces programs that know the truth and compares.  Started by run.sh."""
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

from dump_trace import CHUNK_MAGIC, CLOCK, COLUMNS, END, Trace
from traced import (LIBRARY, LIVE_HELPER, PATIENCE, PROGRAMS, RECORD, SKIPPED,
                    Run, Skip, as_truth, await_writer, check, check_equal,
                    children_of, is_gone, is_subsequence, names, read_progress,
                    run_tests, test, truth_events, wait_for)


@test
def basic_functions():
    plain = Run(["basic"], traced=False)
    run = Run(["basic"])
    check_equal(run.status, 7, "status")
    check_equal(run.status, plain.status, "status")
    check_equal(run.stdout, plain.stdout, "output")
    check_equal(run.stderr, b"", "messages")
    missing = is_subsequence(truth_events(run),
                             [as_truth(ev) for ev in run.trace.events])
    check(missing is None, "not recorded:", missing)
    run.clean_order()
    run.only_end(1, 7)
    run.no_live_file()
    check_equal(len(run.trace.lost), 0, "lost")
    check_equal(run.trace.ends[0]["event_count"], len(run.trace.events))
    inner = [ev for ev in run.trace.events if ev.size == 10001][0]
    check_equal(names(run, inner)[:4], ["inner", "middle", "outer", "plain"])
    check("main" in names(run, inner), "no main")
    free = [ev for ev in run.trace.events
            if ev.kind == "free" and ev.addr == inner.addr][0]
    check_equal(names(run, free)[:2], ["release", "plain"])
    line = [t.split() for t in run.truth if t.startswith("usable")][0]
    ev = [ev for ev in run.trace.events if ev.size == 41][0]
    check_equal(41 + ev.slack, int(line[3]), "usable size")
    check_equal(sum(ev.size == 10007 for ev in run.trace.events), 1)
    align = [ev.align for ev in run.trace.events
             if ev.kind == "memalign"][:5]
    check_equal(align, [4096, 64, 256, 4096, 4096], "alignments")
    rss = [ev for ev in run.trace.events if ev.kind == "rss"]
    check(rss and rss[-1].size > 500000, "no RSS")
    check(run.trace.process["arguments"][0].endswith("basic"))
    check_equal(run.trace.process["pid"], run.pid)
    run.done()


@test
def no_stacks_for_frees():
    run = Run(["basic"], env={"MEMORY_PROFILER_GRAB_BACKTRACES_ON_FREE": "0"})
    check_equal(run.trace.process["flags"] & 1, 0)
    for ev in run.trace.events:
        if ev.kind == "free":
            check_equal(len(ev.stack), 0)
        elif ev.kind == "malloc":
            check(len(ev.stack) > 1)
    run.done()


@test
def handover_order():
    run = Run(["handover", "4", "12000"], keep_stacks=False)
    run.clean_order()
    blocks = int(run.truth[0].split()[1])
    check_equal(len([s for s in run.sizes() if s in (16, 24, 32)]) >= blocks,
                True, "blocks")
    check_equal(run.trace.ends[0]["event_count"], len(run.trace.events))
    check_equal({t["number"] for t in run.trace.threads}, {1, 2, 3, 4, 5})
    run.done()


def operators(run):
    check_equal(run.stdout, b"caught 1001\n")
    run.clean_order()
    want = [int(t.split()[1]) for t in run.truth if t.startswith("new")]
    got = [s for s in run.sizes() if s >= 40000 and s != 72704]
    check_equal(got, want, "sizes")


@test
def cxx_operators():
    run = Run(["operators"])
    operators(run)
    check(all(ev.kind not in ("new", "delete") for ev in run.trace.events))
    ev = [ev for ev in run.trace.events if ev.size == 40001][0]
    check("main" in names(run, ev), names(run, ev))
    deep = max((ev for ev in run.trace.events if ev.size == 61),
               key=lambda ev: len(ev.stack))
    check(sum(n == "_ZL7throweri" for n in names(run, deep)) >= 10,
          names(run, deep))
    run.done()


@test
def cxx_operators_of_jemalloc():
    path = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
    if not os.path.exists(path):
        raise Skip("libjemalloc.so.2")
    run = Run(["operators"], preload=[path])
    operators(run)
    kinds = [ev.kind for ev in run.trace.events]
    check("new" in kinds and "delete" in kinds)
    check(any(ev.kind == "new" and ev.slack > 0 for ev in run.trace.events))
    run.done()


@test
def cxx_plugin_in_c_program():
    plugin = os.path.join(PROGRAMS, "cxx_plugin.so")
    plain = Run(["c_host", plugin], traced=False)
    run = Run(["c_host", plugin])
    check_equal((run.status, run.stdout), (plain.status, plain.stdout))
    run.clean_order()
    check_equal(run.sizes().count(62), 2 * 400 * 4, "strings")
    run.done()


@test
def reloaded_library():
    paths = [os.path.join(PROGRAMS, d, "plugin.so")
             for d in ("first", "second")]
    run = Run(["reload", *(paths * 3)])
    for size, path in ((5001, paths[0]), (6001, paths[1]),
                       (5002, paths[0]), (6002, paths[1])):
        events = [ev for ev in run.trace.events if ev.size == size]
        check_equal(len(events), 3, f"allocations of {size}")
        for ev in events:
            module = run.trace.find_module(ev.stack[-1], ev.tick)
            check_equal(module and module["path"], path, size)
    check_equal(len([m for m in run.trace.modules
                     if m["path"].endswith("plugin.so")]), 6)
    check(len(run.trace.unloads) >= 6, "unloads", len(run.trace.unloads))
    check(all(m["build_id"] for m in run.trace.modules))
    run.done()


ENDS = {"return": (1, 0, 0), "exit": (1, 11, 11), "_exit": (3, 12, 12),
        "_Exit": (3, 13, 13), "quick_exit": (2, 14, 14)}


@test
def ends():
    for how, (end, status, code) in ENDS.items():
        run = Run(["ending", how])
        check_equal(run.status, code, how)
        run.only_end(end, status)
        run.no_live_file()
        check_equal(run.sizes()[-1000:], list(range(1000, 2000)), how)
        check_equal(run.trace.ends[0]["event_count"], len(run.trace.events))
        run.done()


def killed(how, sig, record):
    run = Run(["ending", how], record=record)
    sizes = [s for s in run.sizes() if 1000 <= s < 2000]
    check_equal(sizes, list(range(1000, 2000)), how)
    check_equal(run.status, -sig, how)
    return run


@test
def killed_without_launcher():
    for how, sig in (("kill", signal.SIGKILL), ("segv", signal.SIGSEGV),
                     ("abort", signal.SIGABRT)):
        run = killed(how, sig, False)
        check(os.path.exists(run.path + ".live"), "no .live")
        if how == "abort":
            run.only_end(4, signal.SIGABRT)
        else:
            check_equal(run.trace.ends, [])
        run.done()


@test
def killed_under_launcher():
    for how, sig in (("kill", signal.SIGKILL), ("segv", signal.SIGSEGV),
                     ("abort", signal.SIGABRT)):
        run = killed(how, sig, True)
        run.no_live_file()
        run.only_end(4 if how == "abort" else 5, sig)
        check(run.trace.clocks or how == "abort")
        check(b"trace written to" in run.stderr)
        run.done()
    run = Run(["ending", "raw_exit"], record=True)
    check_equal(run.status, 15)
    run.only_end(3, 15)
    run.done()


@test
def forks():
    for how in ("fork", "raw_fork", "vfork", "spawn"):
        run = Run(["ending", how])
        check_equal(run.status, 0, how)
        run.only_end(1, 0)
        run.no_live_file()
        check_equal(run.sizes().count(77777), 1, how)
        check_equal(run.sizes().count(66666), 0, how)
        run.clean_order()
        run.done()


@test
def executes():
    for how in ("exec", "execlp"):
        run = Run(["ending", how])
        check_equal(run.status, 6, how)
        run.only_end(6, -1)
        check_equal(run.trace.ends[0]["program"][-2:], "sh")
        run.no_live_file()
        run.done()
    run = Run(["ending", "fexec_fail"])
    check_equal(run.status, 0)
    check_equal([e["how"] for e in run.trace.ends], [6, 6, 1])
    check_equal(run.sizes().count(77777), 1)
    run.no_live_file()
    run.clean_order()
    run.done()


@test
def abort_that_is_caught():
    run = Run(["ending", "abort_caught"])
    check_equal(run.status, 0)
    check_equal([e["how"] for e in run.trace.ends], [4, 1])
    check_equal(run.sizes().count(77777), 1)
    run.clean_order()
    run.done()


@test
def child_processes():
    run = Run(["sh", "-c", "/bin/true; /bin/true; exit 4"], record=True,
              options=["--children"])
    check_equal(run.status, 4)
    paths = sorted(p for p in os.listdir(run.dir))
    check_equal(paths, ["trace.dat", "trace.dat.1", "trace.dat.2"])
    for path in paths[1:]:
        trace = Trace(os.path.join(run.dir, path))
        check_equal(trace.process["executable"][-4:], "true")
        check_equal(trace.ends[0]["how"], 1)
    run.done()


@test
def killed_children():
    run = Run(["sh", "-c", f"{os.path.join(PROGRAMS, 'steps')} alloc kill;"
               "exit 4"], record=True, options=["--children"])
    check_equal(run.status, 4)
    trace = Trace(run.path + ".1")
    check_equal([(end["how"], end["status"]) for end in trace.ends],
                [(7, -1)])
    check_equal(sum(ev.kind == "malloc" and 1000 <= ev.size < 2000
                    for ev in trace.events), 1000)
    check(not os.path.exists(run.path + ".1.live"), ".live was left")
    run.done()


@test
def preload_of_the_user_stays():
    other = os.path.join(PROGRAMS, "counting.so")
    run = Run(["sh", "-c", "echo $LD_PRELOAD"], preload=[other])
    check_equal(run.stdout.decode().strip(), other)
    run.done()
    run = Run(["sh", "-c", "env | grep -c -e LD_PRELOAD -e NAME_FILE"],
              record=True)
    check_equal(run.stdout.decode().strip(), "0")
    run.done()


@test
def short_threads():
    run = Run(["short_threads", "2000"], keep_stacks=False)
    check_equal(run.status, 0)
    run.clean_order()
    sizes = run.sizes()
    for size, count in ((301, 2000), (302, 2000), (303, 8000), (304, 2000)):
        check_equal(sizes.count(size), count, size)
    starts = [t for t in run.trace.threads if t["what"] == 1]
    stops = [t for t in run.trace.threads if t["what"] == 3]
    check_equal(len(starts), 2001, "starts")
    check(len(stops) >= 2000, "ends", len(stops))
    run.no_live_file()
    run.done()


@test
def deep_recursion():
    depth = 100000
    plain = Run(["sh", "-c", f"ulimit -s unlimited; {PROGRAMS}/deep {depth}"],
                traced=False)
    run = Run(["sh", "-c", f"ulimit -s unlimited; exec {PROGRAMS}/deep "
               f"{depth}"], record=True, options=["--children", "-q"])
    check_equal((run.status, run.stdout), (plain.status, plain.stdout))
    trace = Trace(run.path + ".1")
    deepest = max(trace.events, key=lambda ev: len(ev.stack))
    check(len(deepest.stack) >= 4096 and deepest.truncated)
    shallow = [ev for ev in trace.events if 100 < len(ev.stack) < 4000]
    check(shallow and not any(ev.truncated for ev in shallow))
    run.done()


@test
def descriptors():
    directory = tempfile.mkdtemp(prefix="memprof-test-")
    plain = Run(["descriptors", directory], traced=False)
    run = Run(["descriptors", directory])
    shutil.rmtree(directory)
    check_equal(run.status, 0)
    check_equal(run.stdout, plain.stdout)
    check_equal(run.stderr, b"")
    check(len(run.trace.events) >= 120000, len(run.trace.events))
    check_equal(run.trace.damaged, 0)
    run.done()


@test
def file_size_limit():
    for limit in (100000, 300000):
        run = Run(["limits", str(limit)], keep_stacks=False)
        check_equal((run.status, run.stdout), (0, b"went on\n"), limit)
        check(os.path.getsize(run.path) <= limit)
        lines = run.stderr.decode().splitlines()
        check(1 <= len(lines) <= 3, "messages", lines)
        check(any("File too large" in line for line in lines), lines)
        run.done()
    run = Run(["sh", "-c", "ulimit -f 0; ls / >/dev/null"], must_trace=False)
    check_equal(run.status, 0)
    run.done()


@test
def full_disk():
    directory = tempfile.mkdtemp(prefix="memprof-test-")
    mount = ["mount", "-t", "tmpfs", "-o", "size=1400k", "tmpfs", directory]
    if os.geteuid() != 0 or subprocess.run(
            mount, capture_output=True).returncode != 0:
        os.rmdir(directory)
        raise Skip("mounting a tmpfs")
    try:
        run = Run(["limits", "0"], output=os.path.join(directory, "t.dat"),
                  keep_stacks=False)
        check_equal((run.status, run.stdout), (0, b"went on\n"))
        check(b"No space left" in run.stderr, run.stderr)
        run.done()
        # What could not be written is told in the room of the last buffers.
        for name in os.listdir(directory):
            os.remove(os.path.join(directory, name))
        run = Run(["limits", "0"], output=os.path.join(directory, "u.dat"),
                  keep_stacks=False, record=True, options=["-q"])
        check_equal((run.status, run.stdout), (0, b"went on\n"))
        missing = re.search(rb"missing from the trace: (\d+)", run.stderr)
        check(missing, run.stderr)
        check_equal(sum(lost["count"] for lost in run.trace.lost),
                    int(missing.group(1)))
        run.done()
    finally:
        subprocess.run(["umount", directory])
        os.rmdir(directory)


@test
def messages_go_to_standard_error_only():
    directory = tempfile.mkdtemp(prefix="memprof-test-")
    data, log = (os.path.join(directory, n) for n in ("data", "log"))
    run = Run(["steps", "alloc", "limit"])
    check(b"File too large" in run.stderr, run.stderr)
    run.done()
    for env in ({}, {"MEMORY_PROFILER_LOGFILE": log}, {
            "MEMORY_PROFILER_LOGFILE": log, "MEMORY_PROFILER_LOG": "info"}):
        run = Run(["steps", "alloc", "stderr:" + data, "limit"], env=env)
        check_equal((run.status, run.stderr), (0, b""))
        check_equal(os.path.getsize(data), 0, "bytes in the program's file")
        run.done()
    check(os.path.getsize(log) > 0, "an empty log")
    shutil.rmtree(directory)


@test
def unwritable_directory():
    run = Run(["basic"], output="/nonexistent/trace.dat", must_trace=False)
    check_equal((run.status, run.stdout), (7, b"output as always\n"))
    check_equal(len(run.stderr.splitlines()), 1, run.stderr)
    run.done()
    run = Run(["basic"], output="", must_trace=False)
    run.done()


@test
def names_that_are_no_files():
    directory = tempfile.mkdtemp(prefix="memprof-test-")
    fifo = os.path.join(directory, "fifo")
    os.mkfifo(fifo)
    os.mkdir(os.path.join(directory, "dir"))
    for path in ("/dev/null", "/dev/full", "/dev/stdout", fifo,
                 os.path.join(directory, "dir")):
        for env in ({}, {"MEMORY_PROFILER_IS_CHILD": "1"}):
            run = Run(["basic"], output=path, env=env, must_trace=False)
            check_equal((run.status, run.stdout), (7, b"output as always\n"),
                        path)
            check_equal(len(run.stderr.splitlines()), 1, run.stderr)
            check(not os.path.exists(path + ".1"), path)
            run.done()
    output = os.path.join(directory, "output")
    env = dict(os.environ, LD_PRELOAD=LIBRARY,
               MEMORY_PROFILER_OUTPUT="/dev/stdout")
    with open(output, "wb") as f:
        subprocess.run([os.path.join(PROGRAMS, "basic")], env=env, stdout=f,
                       stderr=subprocess.DEVNULL, check=False)
    with open(output, "rb") as f:
        check_equal(f.read(), b"output as always\n")
    shutil.rmtree(directory)


@test
def signals_inside_the_tracer():
    run = Run(["interrupted"], keep_stacks=False)
    check_equal(run.status, 0)
    want = int(run.truth[0].split()[1])
    got = sum(ev.kind == "mmap" for ev in run.trace.events)
    lost = sum(ev.fields[0] for ev in run.trace.events
               if ev.kind == "lost" and ev.fields[1] == 1)
    # The handler may jump out between a call and its counting, by either
    # side; what it interrupts in the tracer is lost and counted.
    check(want - 3000 < got + lost and got < want + 3000, got, lost, want)
    check_equal(run.sizes().count(9999), 123)
    check_equal(run.trace.damaged, 0)
    run.done()


@test
def forks_and_an_end_among_threads():
    run = Run(["storm", "30"], keep_stacks=False)
    check_equal(run.status, 0)
    run.only_end(1, 0)
    run.no_live_file()
    check_equal(run.sizes().count(66666), 0)
    check_equal(run.trace.damaged, 0)
    run.clean_order()
    run.done()


@test
def failing_exec_among_threads():
    run = Run(["failing_exec"], keep_stacks=False)
    check_equal(run.status, 0)
    check_equal([e["how"] for e in run.trace.ends], [6] * 20 + [1])
    check_equal(run.sizes().count(77777), 20)
    check_equal(run.trace.damaged, 0)
    # The other threads may each be at an event when an attempt is made.
    lost = sum(entry["count"] for entry in run.trace.lost)
    check(lost <= 3 * 20, lost)
    end = run.trace.ends[-1]
    check_equal(end["lost_count"], lost)
    check(abs(end["event_count"] - lost - len(run.trace.events)) <= 3)
    run.no_live_file()
    run.done()


@test
def strange_stacks():
    run = Run(["contexts"])
    check_equal(run.status, 0)
    run.clean_order()
    sizes = run.sizes()
    for line, size in (("coroutine", 7001), ("handler", 7003)):
        count = [int(t.split()[1]) for t in run.truth if t.startswith(line)]
        check_equal([sizes.count(size)], count, line)
    for ev in run.trace.events:
        if ev.size == 7001:
            check_equal(names(run, ev)[0], "in_coroutine")
        if ev.size == 7003:
            check("main" in names(run, ev), names(run, ev))
    ended = [t for t in run.trace.threads
             if t["what"] == 3 and t["name"] == "cancelled"]
    check_equal(len(ended), 20)
    run.done()


@test
def tracer_never_calls_malloc():
    run = Run(["counted"], preload=[os.path.join(PROGRAMS, "counting.so")],
              keep_stacks=False)
    check_equal(run.stdout, b"calls 200000\n")
    check(len(run.trace.events) >= 200000)
    run.done()


@test
def address_space():
    sizes = []
    for traced in (False, True):
        run = Run(["cat", "/proc/self/status"], traced=traced)
        sizes.append([int(line.split()[1]) for line in
                      run.stdout.decode().splitlines()
                      if line.startswith("VmSize")][0])
        run.done()
    check(sizes[1] - sizes[0] < 12 << 10, "KiB", sizes)


@test
def file_names():
    directory = tempfile.mkdtemp(prefix="memprof-test-")

    def go(pattern):
        run = Run(["/bin/true"], output=os.path.join(directory, pattern),
                  must_trace=False)
        run.done()
        return run

    run = go("%e-%p-%n-100%%.dat")
    check_equal(os.listdir(directory), [f"true-{run.pid}-0-100%.dat"])
    for _ in range(2):
        go("plain.dat")
    check("plain.dat" in os.listdir(directory))
    check("plain.dat.1" not in os.listdir(directory))
    go("%e.dat")
    go("%e.dat")
    check("true.dat.1" in os.listdir(directory), "a trace was overwritten")
    path = os.path.join(directory, "busy.dat")
    busy = start_steps(path, "alloc", "wait")
    go("busy.dat")
    busy.communicate(b"x", timeout=PATIENCE)
    check_equal(Trace(path).process["pid"], busy.pid)
    check(os.path.exists(path + ".1"), "busy.dat.1")
    check_equal(os.stat(path).st_mode & 0o777, 0o600)
    shutil.rmtree(directory)


def start_steps(path, *steps):
    """Starts steps under the tracer; returns once it waits."""
    env = dict(os.environ, LD_PRELOAD=LIBRARY, MEMORY_PROFILER_OUTPUT=path)
    p = subprocess.Popen([os.path.join(PROGRAMS, "steps"), *steps], env=env,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    check_equal(p.stdout.readline(), b"ready\n")
    return p


@test
def second_run_of_the_same_name():
    directory = tempfile.mkdtemp(prefix="memprof-test-")
    path = os.path.join(directory, "trace.dat")
    first = start_steps(path, "alloc", "wait", "alloc")
    os.unlink(path)
    second = start_steps(path, "alloc", "wait", "kill")
    first.communicate(b"x", timeout=PATIENCE)
    check_equal(first.returncode, 0, "status of the first")
    check(os.path.exists(path + ".live"), "the second's .live is gone")
    second.communicate(b"x", timeout=PATIENCE)
    await_writer(path)
    trace = Trace(path)
    check_equal(trace.process["pid"], second.pid)
    check_equal(sum(1000 <= ev.size < 2000 for ev in trace.events
                    if ev.kind == "malloc"), 1000)
    # A stale symbolic link is replaced, too, and its target left alone.
    target = os.path.join(directory, "target")
    with open(target, "w") as f:
        f.write("precious")
    os.unlink(path + ".live")
    os.symlink(target, path + ".live")
    third = start_steps(path, "alloc", "wait")
    check(not os.path.islink(path + ".live"))
    third.communicate(b"x", timeout=PATIENCE)
    with open(target) as f:
        check_equal(f.read(), "precious")
    shutil.rmtree(directory)


def end_counts(trace):
    """Whether the last END is the program's end, by docs/trace-format.md."""
    kinds = [chunk[0] for chunk in trace.chunks]
    if END not in kinds:
        return False
    after = kinds[len(kinds) - kinds[::-1].index(END):]
    if trace.ends[-1]["how"] == 6:
        return CLOCK not in after
    return COLUMNS not in after


@test
def killed_after_a_failed_exec():
    for steps, count in ((("exec", "alloc"), 1000),
                         (("alloc", "exec", "alloc"), 2000),
                         (("thread", "exec", "alloc"), 1000),
                         (("alloc", "thread", "exec", "exec", "alloc"), 2000),
                         (("alloc", "exec"), 1000)):
        for record in (False, True):
            run = Run(["steps", *steps, "kill"], record=record)
            what = (steps, record)
            check_equal(run.status, -signal.SIGKILL, what)
            check_equal(sum(1000 <= s < 2000 for s in run.sizes()), count,
                        what)
            check_equal(os.path.exists(run.path + ".live"), not record, what)
            check_equal(end_counts(run.trace), record, what)
            if record:
                check_equal(run.trace.ends[-1]["how"], 5, what)
            check_equal(run.trace.damaged, 0, what)
            run.done()


def finish_by_launcher(path):
    """Has memprof-record complete a trace that another process left."""
    announce = 'printf "\\0%s%s\\0" "$1" "$2" >>"$MEMORY_PROFILER_NAME_FILE"'
    with open(path, "rb") as f:
        trace_id, = struct.unpack_from("<Q", f.read(32), 16)
    run = subprocess.run([RECORD, "-q", "--children", "-o", path + ".sh", "--",
                          "sh", "-c", announce, "sh", f"{trace_id:016x}",
                          path], check=True,
                         stderr=subprocess.PIPE, text=True)
    for name in os.listdir(os.path.dirname(path)):
        if name.startswith(os.path.basename(path) + ".sh"):
            os.unlink(os.path.join(os.path.dirname(path), name))
    return run.stderr.splitlines()


@test
def killed_while_writing_a_chunk():
    run = Run(["steps", "alloc", "kill"])
    want = sorted(run.sizes())
    files = {}
    for name in (run.path, run.path + ".live"):
        with open(name, "rb") as f:
            files[name] = f.read()
    whole = files[run.path]
    finish_by_launcher(run.path)
    with open(run.path, "rb") as f:
        finished = f.read()
    # What was added begins with the chunk that was not written.
    length = 72 + struct.unpack_from("<I", finished, len(whole) + 16)[0]
    chunk = finished[len(whole):len(whole) + length]
    last = whole.rindex(CHUNK_MAGIC)
    for part in (0, 5, 71, 72, 300, len(chunk) - 1, len(chunk)):
        # With another thread's chunk behind it, or without.
        for behind in (b"", whole[last:]):
            with open(run.path, "wb") as f:
                f.write(whole + chunk[:part] + behind)
            with open(run.path + ".live", "wb") as f:
                f.write(files[run.path + ".live"])
            finish_by_launcher(run.path)
            run.no_live_file()
            trace = Trace(run.path)
            what = (part, len(behind))
            got = sorted(ev.size for ev in trace.events
                         if ev.kind in ("malloc", "calloc", "memalign",
                                        "new"))
            check_equal(got == want, True, f"events after {what}")
            check_equal(trace.damaged,
                        int(bool(behind) and 0 < part < 72),
                        what)
    run.done()


@test
def killed_and_written_over():
    run = Run(["steps", "alloc", "kill"])
    with open(run.path + ".live", "rb") as f:
        live = bytearray(f.read())
    length = struct.unpack_from("<Q", live, 4096 + 24)[0]
    live[8192 + length // 2:8192 + length // 2 + 64] = b"\xff" * 64
    with open(run.path + ".live", "wb") as f:
        f.write(live)
    lines = finish_by_launcher(run.path)
    check_equal(len(lines), 1, lines)
    check("wrote over" in lines[0], lines)
    sizes = [ev.size for ev in Trace(run.path).events if ev.kind == "malloc"]
    count = len(sizes)
    check(400 < count < 600, count)
    check_equal(sizes, list(range(1000, 1000 + count)))
    run.no_live_file()
    run.done()


@test
def killed_and_cut_off():
    run = Run(["steps", "alloc", "kill"])
    with open(run.path, "rb") as f:
        trace = f.read()
    with open(run.path + ".live", "rb") as f:
        live = f.read()
    length = struct.unpack_from("<Q", live, 4096 + 24)[0]
    # Whoever has the file open may shorten it, while it is read, too.
    for size, want in ((8192 + length // 2, range(400, 600)),
                       (8192, range(1)), (4100, range(1)),
                       (4096, range(1))):
        with open(run.path, "wb") as f:
            f.write(trace)
        with open(run.path + ".live", "wb") as f:
            f.write(live[:size])
        lines = finish_by_launcher(run.path)
        check_equal(len(lines), int(size >= 8192), lines)
        sizes = [ev.size for ev in Trace(run.path).events
                 if ev.kind == "malloc"]
        check(len(sizes) in want, size, len(sizes))
        check(sizes == list(range(1000, 1000 + len(sizes))), sizes[-3:])
        run.no_live_file()
    run.done()


@test
def exec_among_threads():
    for record in (False, True):
        run = Run(["steps", "alloc", "thread", "sh"], record=record)
        check_equal(run.status, 6)
        run.only_end(6, -1)
        check(end_counts(run.trace))
        check_equal(run.sizes().count(77777), 1)
        if record:
            run.no_live_file()
        run.done()


def helper_of(run):
    """The process that the program saw beside it, 0 for none."""
    lines = [t.split() for t in run.truth if t.startswith("helper")]
    return int(lines[-1][1]) if lines else 0


def beside(*steps, churned, env=None, record=False, has_helper=True,
           prefix=(), output=None, status=5):
    """Runs beside, which frees as many blocks as it churns."""
    argv = [os.path.join(PROGRAMS, "beside"), *steps]
    plain = Run(argv, traced=False)
    run = Run([*prefix, *argv], env=env, record=record, output=output,
              options=["-q"], keep_stacks=False)
    check_equal((run.status, run.stdout, run.stderr),
                (plain.status, plain.stdout, b""), steps)
    check_equal(run.status, status, steps)
    sizes = run.sizes()
    check_equal(sizes.count(500), churned, steps)
    check_equal(run.trace.damaged, 0, steps)
    helper = helper_of(run)
    if len(os.sched_getaffinity(0)) > 1:
        check_equal(bool(helper), has_helper, steps)
    if helper:
        check(is_gone(helper), "it is still there after", steps)
    plain.done()
    return run


@test
def a_process_beside_the_program():
    # Not seen, not waited for, and with no file of the program's open.
    run = beside("churn:20000", "find", "tasks", "wait", "chld", "pipe",
                 "churn:20000", "chld", churned=40000)
    run.only_end(1, 5)
    run.no_live_file()
    check_equal(run.trace.ends[0]["event_count"], len(run.trace.events))
    run.done()
    for steps in (["abandon"], ["session"], ["vfork"]):
        more = 60000 if steps == ["vfork"] else 0
        run = beside("churn:20000", "find", *steps, "churn:10000",
                     churned=30000 + more)
        run.only_end(1, 5)
        run.no_live_file()
        run.done()


@test
def beside_after_a_failing_exec():
    # PATH.live was made anew: it names the process that writes from then on.
    run = beside("churn:20000", "noexec", "churn:20000", "find", "raw_exit",
                 churned=40000, status=21)
    with open(run.path + ".live", "rb") as f:
        page = f.read(4096)
    check_equal(struct.unpack_from("<I", page, LIVE_HELPER)[0], helper_of(run))
    run.done()


@test
def no_process_beside_the_program():
    beside("churn:20000", "find", churned=20000, has_helper=False,
           env={"MEMORY_PROFILER_HELPER": "0"}).done()
    beside("noclone", "churn:20000", "find", churned=20000,
           has_helper=False).done()
    if shutil.which("taskset"):
        run = Run(["taskset", "-c", "0", os.path.join(PROGRAMS, "beside"),
                   "churn:20000", "find"], record=True,
                  options=["--children", "-q"])
        check_equal(run.status, 5)
        trace = Trace(run.path + ".1", keep_stacks=False)
        check_equal(sum(ev.size == 500 for ev in trace.events), 20000)
        check_equal(helper_of(run), 0)
        run.done()


@test
def programs_with_privileges():
    if os.geteuid() != 0:
        raise Skip("being root")
    run = beside("churn:20000", "find", "user:65534", "churn:20000", "find",
                 churned=40000)
    users = [line.split()[2] for line in run.truth
             if line.startswith("helper")]
    if len(os.sched_getaffinity(0)) > 1:
        check_equal(users, ["0", "65534"], "users of the process beside")
    run.done()
    beside("newpid", "churn:20000", "find", "child", churned=20000,
           has_helper=False).done()
    beside("churn:20000", "find", "newpid", "child", "churn:10",
           churned=20010).done()
    beside("churn:20000", "find", "user:65534", "churn:20000",
           churned=40000).done()
    beside("churn:20000", "find", "root:/var", "churn:20000",
           churned=40000).done()


@test
def killed_beside_the_program():
    for steps in (["kill"], ["killsoon"]):
        for _ in range(2):
            run = beside("churn:20000", "find", *steps, "churn:20000",
                         churned=40000)
            run.only_end(1, 5)
            run.no_live_file()
            run.done()


@test
def stopped_beside_the_program():
    run = beside("churn:20000", "find", "stop", "churn:20000", churned=40000)
    run.only_end(1, 5)
    run.done()


@test
def killed_while_it_is_stopped():
    run = beside("churn:20000", "find", "stop", "die", churned=20000,
                 status=-signal.SIGKILL, record=True)
    run.only_end(5, signal.SIGKILL)
    run.no_live_file()
    run.done()


@test
def ends_that_nobody_sees():
    for step, how, status in (("raw_exit", 3, 21), ("raw:/bin/true", 3, 0)):
        run = beside("churn:20000", "find", step, churned=20000,
                     status=status)
        check_equal(run.trace.ends, [], step)
        run.done()
        run = beside("churn:20000", "find", step, churned=20000,
                     status=status, record=True)
        run.only_end(how, status)
        run.no_live_file()
        run.done()


def start_sequence(path, threads, env):
    """Starts sequence under the launcher.  Return: both processes."""
    full = dict(os.environ, **env)
    p = subprocess.Popen([RECORD, "-q", "-o", path, "--",
                          os.path.join(PROGRAMS, "sequence"), path + ".n",
                          str(threads), "100000000"], env=full,
                         stderr=subprocess.PIPE)
    counts = path + ".n"
    wait_for(p, lambda: os.path.exists(counts) and os.path.getsize(counts))
    return p, children_of(p.pid)[0]


def check_sequence(trace, progress, what):
    """Every block of every thread is there, once and in its order."""
    sizes = {}
    for ev in trace.events:
        if ev.kind == "malloc" and ev.size >= 1000 and ev.thread > 1:
            sizes.setdefault(ev.size // 1000 - 1, []).append(ev.size % 1000)
    for t, count in enumerate(progress):
        got = sizes.get(t, [])
        check(count <= len(got) <= count + 1, what, "thread", t, len(got),
              count)
        check_equal(got == [i % 1000 for i in range(len(got))], True, what)


@test
def killed_among_threads():
    directory = tempfile.mkdtemp(prefix="memprof-test-")
    path = os.path.join(directory, "trace.dat")
    for n in range(8):
        threads = (1, 2, 4, 12)[n % 4]
        p, program = start_sequence(
            path, threads, {"MEMORY_PROFILER_HELPER": "0" if n == 5 else "1"})
        wait_for(p, lambda: sum(read_progress(path + ".n")) >=
                 6000 * (n * 3 % 8))
        if n % 3 == 2:
            for helper in children_of(program):
                os.kill(helper, signal.SIGKILL)
        os.kill(program, signal.SIGKILL)
        _, err = p.communicate(timeout=PATIENCE)
        check_equal((p.returncode, err), (-signal.SIGKILL, b""), n)
        progress = read_progress(path + ".n")
        check(not os.path.exists(path + ".live"), "live", n)
        trace = Trace(path, keep_stacks=False)
        check_equal(trace.damaged, 0, n)
        check_equal(trace.ends[-1]["how"], 5, n)
        check_sequence(trace, progress[:threads], n)
        os.unlink(path + ".n")
    shutil.rmtree(directory)


@test
def many_threads():
    plain = Run(["many_threads", "1000"], traced=False)
    run = Run(["many_threads", "1000"], keep_stacks=False)
    check_equal((run.status, run.stdout), (plain.status, plain.stdout))
    check_equal(len(run.trace.events) >= 102 * 1000, True)
    check_equal(len({ev.thread for ev in run.trace.events}) >= 1001, True)
    run.clean_order()
    run.only_end(1, 0)
    run.no_live_file()
    run.done()


@test
def launcher_statuses():
    directory = tempfile.mkdtemp(prefix="memprof-test-")

    def go(*argv):
        p = subprocess.run([RECORD, *argv], capture_output=True,
                           cwd=directory, text=True)
        return p.returncode, p.stdout, p.stderr

    check_equal(go("--version")[0], 0)
    check(go("--help")[1].startswith("Usage"))
    check_equal(go()[0], 125)
    check_equal(go("--bad")[0], 125)
    check_equal(go("/nonexistent")[0], 127)
    check_equal(go("/etc/passwd")[0], 126)
    status, out, err = go("-q", "sh", "-c", "echo x; exit 9")
    check_equal((status, out, err), (9, "x\n", ""))
    check_equal(len(os.listdir(directory)), 1)
    if os.path.exists("/sbin/ldconfig"):
        check("statically linked" in go("/sbin/ldconfig", "--version")[2])
    p = subprocess.Popen([RECORD, "-q", "sh", "-c",
                          "trap 'exit 21' TERM; echo r; "
                          "while :; do sleep 0.05; done"],
                         stdout=subprocess.PIPE, cwd=directory)
    p.stdout.read(2)
    p.send_signal(signal.SIGTERM)
    check_equal(p.wait(PATIENCE), 21, "forwarded signal")
    p.stdout.close()
    shutil.rmtree(directory)


@test
def launcher_with_signals_ignored():
    directory = tempfile.mkdtemp(prefix="memprof-test-")
    path = os.path.join(directory, "trace.dat")
    p = subprocess.Popen([RECORD, "-q", "-o", path, "--", sys.executable, "-c",
                          "import signal, sys;"
                          "is_ignored = signal.SIG_IGN =="
                          " signal.getsignal(signal.SIGCHLD);"
                          "sys.exit(3 if is_ignored else 4)"],
                         preexec_fn=lambda: signal.signal(signal.SIGCHLD,
                                                          signal.SIG_IGN))
    try:
        check_equal(p.wait(PATIENCE), 3)
    finally:
        p.kill()
    check_equal(Trace(path).ends[0]["status"], 3)
    shutil.rmtree(directory, ignore_errors=True)


@test
def exported_symbols():
    out = subprocess.run(["nm", "-D", "--defined-only", LIBRARY],
                         capture_output=True, text=True).stdout
    got = {line.split()[-1].split("@")[0] for line in out.splitlines()}
    want = set("""
        malloc calloc realloc reallocarray free posix_memalign aligned_alloc
        memalign valloc pvalloc mallopt mmap mmap64 munmap mremap
        _exit _Exit quick_exit abort execve execv execvp execvpe execl execlp
        execle fexecve execveat pthread_setname_np
        setuid setgid seteuid setegid setreuid setregid setresuid setresgid
        setgroups initgroups chroot unshare setns capset
        waitpid wait4 waitid
        __register_frame __register_frame_table __deregister_frame
        memory_profiler_start memory_profiler_stop memory_profiler_sync
        memory_profiler_is_recording memory_profiler_mark
        memory_profiler_number memory_profiler_phase_begin
        memory_profiler_phase_end memory_profiler_set_marker
        memory_profiler_override_next_timestamp
        """.split())
    operators_ = {n for n in got if n.startswith(("_Zn", "_Zd"))}
    check_equal(len(operators_), 20, "operators")
    check_equal(got - operators_, want, "symbols")
    out = subprocess.run(["readelf", "-d", LIBRARY], capture_output=True,
                         text=True).stdout
    needed = {line.split("[")[1].split("]")[0] for line in out.splitlines()
              if "NEEDED" in line}
    check(needed <= {"libc.so.6", "ld-linux-x86-64.so.2",
                     "ld-linux-aarch64.so.1"}, needed)


@test
def imported_symbols():
    """A program's function by such a name would be called instead: what is
    not here is taken from the C library by libc.c, or is in bytes.c."""
    allowed = set("""
        dlsym dlvsym dladdr dladdr1 dlinfo _dl_find_object _r_debug
        getauxval pthread_self strerrordesc_np __errno_location
        __libc_stack_end __environ environ
        __register_atfork __cxa_at_quick_exit
        __stack_chk_fail __cxa_finalize __gmon_start__
        _ITM_deregisterTMCloneTable _ITM_registerTMCloneTable
        ZSTD_trace_compress_begin ZSTD_trace_compress_end
        __pthread_key_create pthread_once pthread_mutex_lock
        pthread_mutex_unlock
        """.split())
    out = subprocess.run(["nm", "-D", "--undefined-only", LIBRARY],
                         capture_output=True, text=True).stdout
    got = {line.split()[-1].split("@")[0] for line in out.splitlines()}
    check(got <= allowed, "new imports:", got - allowed)


REAL = {
    "sqlite3": ["sqlite3", ":memory:", "select count(*) from (with recursive "
                "n(i) as (select 1 union all select i+1 from n where "
                "i<2000) select i||'x' from n);"],
    "python3": ["/usr/bin/python3", "-c",
                "import json; print(len(json.dumps([{'a': i} for i in "
                "range(2000)])))"],
    "bash": ["bash", "-c", "x=$(echo a | tr a b); (exit 3); echo $? $x"],
    "git": ["git", "-c", "safe.directory=*", "--version"],
    "gcc": ["sh", "-c", "echo 'int main(){}' | gcc -x c -o /dev/null -"],
    "node": ["node", "-e", "console.log([1,2,3].map(x=>x*2).join())"],
    "java": ["java", "-Xshare:auto", "-version"],
    "perl": ["perl", "-e", "print join(',', map {$_*2} 1..10)"],
}


@test
def real_programs():
    for name, argv in REAL.items():
        if not shutil.which(argv[0]):
            SKIPPED.append(name)
            continue
        plain = Run(argv, traced=False)
        run = Run(argv, keep_stacks=False)
        check_equal((run.status, run.stdout, run.stderr),
                    (plain.status, plain.stdout, plain.stderr), name)
        twice, unknown, _ = run.trace.check_order()
        check_equal((len(twice), len(unknown)), (0, 0), name)
        check_equal(run.trace.damaged, 0, name)
        run.no_live_file()
        run.done()


if __name__ == "__main__":
    sys.exit(run_tests())
