#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names of generated code and files kept in the trace.  Started by kept.sh."""
import ctypes
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from traced import (BUILD, PROGRAMS, Run, Skip, check, check_equal, run_tests,
                    test)

REPORT = os.path.join(BUILD, "memprof-report")


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
    pid, = re.findall(r"^  process +(\d+)", report("--list", run.path), re.M)
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
def perf_map_before_exec():
    """It is kept then, as another program may overwrite it; but once."""
    run = jit("map", "exec", record=False)
    check_equal([f["kind"] for f in run.trace.files], ["perf map"])
    check_equal(generated(run.path), MAP_NAMES)
    run.done()
    run = jit("gdb", "exec", record=False)
    check_equal([f["kind"] for f in run.trace.files], ["JIT object"] * 2)
    check_equal(generated(run.path), OBJECT_NAMES)
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
def objects_that_are_gone():
    """What was registered while the program worked is there once."""
    for end in "kill", "forget":
        for record in True, False:
            run = jit("gdb", "busy", end, record=record)
            check_equal([f["kind"] for f in run.trace.files],
                        ["JIT object"] * 2)
            check_equal(run.trace.damaged, 0)
            check_equal(generated(run.path), OBJECT_NAMES)
            run.done()


@test
def objects_of_a_compiler():
    """LLVM's own, from its library."""
    llvm, compiler = need("lli"), need("clang")
    files = Files()
    source = files.write("program.c", """
        #include <stdlib.h>
        void *volatile kept;
        __attribute__((noinline)) void inner(int n) { kept = malloc(n); }
        __attribute__((noinline)) void outer(int n)
        { inner(n); kept = NULL; }
        int main(void)
        { for (int i = 0; i < 100; i++) outer(4711); return 3; }
        """)
    subprocess.run([compiler, "-O1", "-fno-omit-frame-pointer", "-S",
                    "-emit-llvm", "-o", files.path("program.ll"), source],
                   check=True)
    argv = [llvm, "-jit-kind=mcjit", "-frame-pointer=all",
            files.path("program.ll")]
    if Run(argv, traced=False).status != 3:
        raise Skip("lli does not take what clang writes")
    run = Run(argv, must_trace=False)
    check_equal(run.status, 3, run.stderr.decode())
    out = report("--view", "size_min=4711&size_max=4711", "--as", "folded",
                 run.path)
    check(re.search(r"main;outer;inner 471100$", out, re.M), out)
    run.done()
    files.done()


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
    if run.status:
        raise Skip("java before 17")
    out = report("--as", "folded", run.path)
    check("Interpreter" in out, out[:2000])
    run.done()


class Files:
    """A directory with a program, or other files, of a test's own."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="memprof-kept-")

    def path(self, name):
        return os.path.join(self.dir, name)

    def copy(self, source, name):
        shutil.copy(source, self.path(name))
        return self.path(name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        return self.path(name)

    def done(self):
        shutil.rmtree(self.dir, ignore_errors=True)


def kept(run, kind):
    return {f["path"]: f for f in run.trace.files if f["kind"] == kind}


def content(path):
    with open(path, "rb") as f:
        return f.read()


KEEP = {"MEMORY_PROFILER_WRITE_BINARIES_TO_OUTPUT": "1"}


@test
def no_files_unless_asked_for():
    run = Run(["basic"])
    check_equal(run.trace.files, [])
    run.done()


@test
def binaries():
    """The report names functions of a program that is gone."""
    for settings in {"record": True, "options": ["--binaries"]}, {"env": KEEP}:
        files = Files()
        program = files.copy(os.path.join(PROGRAMS, "basic"), "gone")
        run = Run([program], **settings)
        check_equal(run.status, 7)
        found = kept(run, "binary")
        paths = {m["path"] for m in run.trace.modules} - {"[vdso]"}
        check_equal(set(found), paths)
        for module in run.trace.modules:
            if module["path"] in found:
                file = found[module["path"]]
                check(file["whole"] and not file["cut"], module["path"])
                check_equal(file["build_id"], module["build_id"])
        check_equal(found[program]["data"], content(program))
        before = report("--as", "folded", run.path)
        os.unlink(program)
        check_equal(report("--as", "folded", run.path), before)
        # What is at its place now is another program.
        files.copy(os.path.join(PROGRAMS, "jit"), "gone")
        check_equal(report("--as", "folded", run.path), before)
        check("main" in before, before)
        out = report("--list", run.path)
        check(re.search(rf"binary .* {program}$", out, re.M), out)
        run.done()
        files.done()


@test
def rebuilt_program():
    """The report says why a program that was replaced has no names."""
    said = ("gone was rebuilt or replaced since it was traced: its functions "
            "have no names; record with --binaries to keep them")
    for options in [], ["--binaries"]:
        files = Files()
        program = files.copy(os.path.join(PROGRAMS, "basic"), "gone")
        run = Run([program], record=True, options=options)
        for is_same in True, False:
            if not is_same:
                files.copy(os.path.join(PROGRAMS, "jit"), "gone")
            is_said = not is_same and not options
            for mode in ["--quiet", "-o", files.path("out")], ["--as", "tree"]:
                done = subprocess.run([REPORT, *mode, run.path], check=True,
                                      capture_output=True)
                check_equal(done.stderr.decode(),
                            f"memprof-report: {run.path}: {said}\n"
                            if is_said else "")
            for page in "index.html", "report.md", "summary.json":
                check_equal(content(files.path("out/" + page)).decode()
                            .count(said), int(is_said), page)
        run.done()
        files.done()


@test
def binary_that_is_loaded_often():
    """A library is there once, and as it was though it has gone since."""
    files = Files()
    plugin = files.copy(os.path.join(PROGRAMS, "kept_plugin.so"), "plugin.so")
    code = ("import ctypes, os, _ctypes\n"
            "for i in range(20):\n"
            f"    library = ctypes.CDLL({plugin!r})\n"
            "    library.plugin_allocate()\n"
            "    _ctypes.dlclose(library._handle)\n"
            "    bytes(100000)\n"
            f"os.unlink({plugin!r})\n")
    run = Run([sys.executable, "-c", code], env=KEEP, keep_stacks=False)
    check_equal(run.status, 0, run.stderr.decode())
    check_equal([f["path"] for f in run.trace.files].count(plugin), 1)
    check_equal(kept(run, "binary")[plugin]["data"],
                content(os.path.join(PROGRAMS, "kept_plugin.so")))
    run.done()
    files.done()


@test
def included_files():
    files = Files()
    one = files.write("a/one.log", "one\n")
    two = files.write("b/two.log", "two" * 1000000)
    files.write("b/.hidden.log", "")
    files.write("b/other.txt", "")
    os.mkdir(files.path("b/directory.log"))
    os.mkfifo(files.path("b/pipe.log"))
    pattern = files.path("[a-b]/*.log")
    missing = files.path("missing")
    want = {one: b"one\n", two: b"two" * 1000000,
            "/proc/self/status": None}
    by_variable = {"env": {"MEMORY_PROFILER_INCLUDE_FILE":
                           f"{pattern}:/proc/self/stat?s:{missing}"}}
    by_options = {"record": True,
                  "options": ["--include", pattern, "--include",
                              f"/proc/self/stat?s:{missing}"]}
    for settings in by_variable, by_options:
        run = Run(["basic"], **settings)
        check_equal(run.status, 7)
        found = kept(run, "included")
        check_equal(set(found), set(want))
        for path, data in want.items():
            check(found[path]["whole"] and not found[path]["cut"], path)
            check(data is None or found[path]["data"] == data, path)
        # As long as /proc says nothing about its length.
        check_equal(found["/proc/self/status"]["data"].split(b"\n")[0],
                    b"Name:\tbasic")
        check(f"{missing}: No such file".encode() in run.stderr, run.stderr)
        check(run.stderr.count(b"not kept") == 1, run.stderr)
        out = files.path("out")
        report("--extract", out, run.path)
        check_equal(content(out + two), want[two])
        run.done()
    files.done()


class Openings:
    """Tells how often a file was opened."""

    def __init__(self, path):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        is_open = 0x20  # IN_OPEN
        if libc.inotify_add_watch(self.fd, os.fsencode(path), is_open) < 0:
            raise Skip("inotify")

    def count(self):
        """Since the last time."""
        try:
            return len(os.read(self.fd, 4096)) // 16
        except BlockingIOError:
            return 0


@test
def what_is_no_file_is_not_opened():
    """A writer of the pipe would take it for a reader, a device may act."""
    files = Files()
    path = files.path("pipe.log")
    os.mkfifo(path)
    openings = Openings(path)
    os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    if openings.count() != 1:
        raise Skip("openings are not told")
    run = Run(["basic"], env={"MEMORY_PROFILER_INCLUDE_FILE":
                              files.path("*.log")})
    check_equal((run.status, run.trace.files), (7, []))
    check_equal(openings.count(), 0, "openings")
    os.close(openings.fd)
    run.done()
    files.done()


@test
def trace_does_not_include_itself():
    run = Run(["basic"], env={"MEMORY_PROFILER_INCLUDE_FILE": "*.dat"})
    check_equal((run.status, run.trace.files), (7, []))
    run.done()


@test
def long_files_are_cut():
    files = Files()
    path = files.path("long")
    with open(path, "wb") as f:
        f.truncate((64 << 20) + 1)
    run = Run(["basic"], env={"MEMORY_PROFILER_INCLUDE_FILE": path})
    file = kept(run, "included")[path]
    check_equal((len(file["data"]), file["whole"], file["cut"]),
                (64 << 20, True, True))
    check(b"kept in part" in run.stderr, run.stderr)
    run.done()
    files.done()


if __name__ == "__main__":
    sys.exit(run_tests())
