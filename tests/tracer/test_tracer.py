#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Traces programs that know the truth and compares.  Started by run.sh."""
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

# pylint: disable=unused-import
import ends
from dump_trace import Trace
from traced import (LIBRARY, PATIENCE, PROGRAMS, RECORD, SKIPPED, Run, Skip,
                    as_truth, await_writer, check, check_equal, is_subsequence,
                    names, run_tests, test, truth_events)


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


@test
def long_chunks_of_threads():
    """However far behind their writer is."""
    file = os.path.join(tempfile.mkdtemp(prefix="memprof-test-"), "progress")
    run = Run(["sequence", file, "3", "30000"], keep_stacks=False)
    shutil.rmtree(os.path.dirname(file))
    counts = run.trace.buffer_counts
    for thread in (2, 3, 4):
        check(8 in counts[thread] and
              len([n for n in counts[thread] if n != 8]) <= 1, counts)
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
    check_equal(run.sizes().count(998), 2 * 400 * 4, "strings")
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
def little_address_space():
    """Not much more than the program itself needs, and nothing is lost."""
    plain = Run(["spare"], traced=False)
    peak, = (int(line.split()[1]) for line in plain.truth)
    limit = (peak << 10) + (16 << 20)
    made = [base + i % 1000 for base in range(1000, 5000, 1000)
            for i in range(3000)]
    for argv, settings, record in (
            (["spare"], {}, False), (["spare", "kill"], {}, True),
            (["spare"], {"CULL_TEMPORARY_ALLOCATIONS": "1"}, False),
            (["spare"], {"WRITE_BINARIES_TO_OUTPUT": "1"}, False)):
        env = {"MEMORY_PROFILER_" + k: v for k, v in settings.items()}
        run = Run(argv, env=env, record=record, options=["-q"],
                  address_space=limit)
        check_equal((run.status, run.stdout, run.stderr),
                    (-signal.SIGKILL if record else plain.status, plain.stdout,
                     b""), (argv, settings))
        check_equal((run.trace.damaged, run.trace.lost), (0, []))
        check_equal(len(run.trace.ends), 1)
        run.clean_order()
        events = {}
        for ev in run.trace.events:
            if ev.kind == "malloc":
                events.setdefault(tuple(ev.stack), []).append(ev)
        check_equal(sorted(ev.size for alike in events.values() for ev in alike
                           if names(run, alike[0])[:2] == ["make", "work"]),
                    sorted(made))
        run.no_live_file()
        run.done()


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
def release_before_the_first_event():
    for how, kind in (("move", "realloc"), ("release", "free")):
        run = Run(["first_release", how], keep_stacks=False,
                  preload=[os.path.join(PROGRAMS, "reusing.so")])
        check_equal((run.status, run.truth), (0, ["same 1"]))
        addr = next(ev.addr for ev in run.trace.events if ev.size == 4321)
        events = sorted((ev for ev in run.trace.events
                         if addr in (ev.addr, ev.old)), key=lambda ev: ev.tick)
        check_equal([ev.kind for ev in events], ["malloc", kind, "malloc"])
        check(addr in run.clean_order(), how)
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
def launcher_whose_messages_are_too_long():
    """The status is the program's where the kernel lets nothing be added to the
    file that standard error is."""
    directory = tempfile.mkdtemp(prefix="memprof-test-")
    path = os.path.join(directory, "trace.dat")
    limit = 1 << 20
    for program, status in (("exit 7", 7),
                            ("kill -XFSZ $$", -signal.SIGXFSZ)):
        with open(os.path.join(directory, "stderr"), "ab") as err:
            err.truncate(limit)
            got = subprocess.run(
                [RECORD, "-o", path, "--", "sh", "-c", program], stderr=err,
                timeout=PATIENCE, preexec_fn=lambda: resource.setrlimit(
                    resource.RLIMIT_FSIZE, (limit, limit)))
            check_equal(os.fstat(err.fileno()).st_size, limit)
        check_equal(got.returncode, status, program)
    check_equal(Trace(path).ends[0]["how"], 5)
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
        waitpid wait4 waitid prctl syscall
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
