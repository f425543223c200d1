#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Our unwinder against libunwind and libgcc, stack by stack.

The tracer itself compares, with MEMORY_PROFILER_VERIFY_UNWIND, and says at the
end how many stacks there were and how many differed.  Started by unwind.sh.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

from dump_trace import Trace
from traced import (LIBRARY, PATIENCE, PROGRAMS, Skip, function_of, run_tests,
                    test, wait_for)

HERE = os.path.dirname(os.path.abspath(__file__))
WORKLOADS = os.path.join(HERE, "..", "workloads")
LIMIT = 1e-5
FULL = os.environ.get("FULL") == "1"
LOAD_SECONDS = "120" if FULL else "0"  # then an amount of work


def need(program):
    path = shutil.which(program)
    if not path:
        raise Skip(program)
    return path


def program(name):
    path = os.path.join(PROGRAMS, name)
    if not os.path.exists(path):
        raise Skip(name)
    return path


def environment(directory, **settings):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("MEMORY_PROFILER_")}
    env["LD_PRELOAD"] = LIBRARY
    env["MEMORY_PROFILER_OUTPUT"] = os.path.join(directory, "trace-%p.dat")
    env.update(settings)
    return env


def count(stderr, what):
    found = re.findall(rf"unwind check: {what}: (\d+)", stderr)
    if not found:
        raise AssertionError("no count: " + stderr[-2000:])
    return sum(map(int, found))


def judge(stderr, least, limit=LIMIT, left_limit=1e-4):
    """At most @limit of at least @least stacks differ.  Of those that are left
    to libunwind a comparison says nothing: they have to be few."""
    total, different = count(stderr, "stacks compared"), count(stderr, "different")
    left = sum(map(int, re.findall(r"left to libunwind: (\d+)", stderr)))
    print(f"     {total} stacks, {different} different, {left} not ours",
          flush=True)
    if left > total * left_limit:
        raise AssertionError(f"{left} of {total} left to libunwind")
    if total < least:
        raise AssertionError(f"only {total} stacks")
    if different > total * limit:
        raise AssertionError(f"{different} of {total} differ:\n" + stderr[:4000])


def compare(argv, least, against="libunwind", statuses=(0,), limit=LIMIT,
            left_limit=1e-4, **options):
    with tempfile.TemporaryDirectory(prefix="memprof-unwind-") as directory:
        env = environment(directory, MEMORY_PROFILER_VERIFY_UNWIND=against,
                          MEMORY_PROFILER_LOG="info", **options.pop("env", {}))
        p = subprocess.run(argv, env=env, stdout=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, timeout=PATIENCE, **options)
    stderr = p.stderr.decode(errors="replace")
    if p.returncode not in statuses:
        raise AssertionError(f"status {p.returncode}: {stderr[-2000:]}")
    judge(stderr, least, limit, left_limit)


@test
def difficult_stacks():
    """libgcc faults on some stacks of signals at any instant: none for it."""
    for build in ("0", "1", "2", "fp"):
        for against, any_instant in (("libunwind", "1"), ("libgcc", "0")):
            compare([program("unwinding_" + build), "60", "3", any_instant],
                    50000, against)


@test
def ends_at_no_address():
    compare([program("no_address"), "1000"], 28000)


@test
def deep_stacks():
    for depth in (1000, 5000, 9000):
        compare([program("recursion"), str(depth)], 5 * depth)


@test
def deep_stacks_that_change():
    """About as deep as can be handed over, and far deeper."""
    for build in ("deep_walk", "deep_walk_fp"):
        for low, high, events in ((100, 300, 15000), (3500, 9000, 1200),
                                  (9000, 20000, 1200)):
            compare([program(build), str(low), str(high), str(events)],
                    2 * events)


@test
def libraries_at_one_address():
    """libunwind is wrong here: its rules outlive the library."""
    argv = [program("swap"), "100", program("swap_600.so"),
            program("swap_3000.so")]
    compare(argv, 10000, "libgcc")


def traced(argv, read=True, **settings):
    """Runs @argv.  Its output, its truth and the trace."""
    with tempfile.TemporaryDirectory(prefix="memprof-unwind-") as directory:
        truth = os.path.join(directory, "truth")
        with open(truth, "wb") as file:
            env = environment(directory, MEMPROF_TRUTH_FD=str(file.fileno()),
                              MEMORY_PROFILER_OUTPUT=directory + "/trace.dat",
                              **settings)
            p = subprocess.run(argv, env=env, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, timeout=PATIENCE,
                               pass_fds=[file.fileno()])
        if p.returncode != 0:
            raise AssertionError(f"status {p.returncode}: {p.stderr[-2000:]}")
        with open(truth) as file:
            lines = file.read().splitlines()
        trace = Trace(directory + "/trace.dat") if read else None
        return p.stdout, lines, trace


@test
def registered_frames():
    """Stacks through code made at run time, against libgcc's: libunwind does
    not know what was registered."""
    for threads in ("0", "7"):
        _, lines, trace = traced([program("registered"), "300", threads])
        want = {}
        for line in lines:
            words = line.split()
            want[int(words[1])] = [int(word, 16) for word in words[2:]]
        seen, deep = set(), 0
        for event in trace.events:
            if event.kind != "malloc" or event.size not in want:
                continue
            got = list(reversed(event.stack))[1:]
            seen.add(event.size)
            deep += len(got) > 3
            if got != want[event.size]:
                raise AssertionError(f"{event.size}: {[*map(hex, got)]}, "
                                     f"{[*map(hex, want[event.size])]}")
        print(f"     {len(seen)} stacks, {deep} of them whole", flush=True)
        if len(seen) != len(want) or deep < 300:
            raise AssertionError(f"{len(want)} expected")


@test
def registered_by_a_private_library():
    for kind in ("shared", "static"):
        argv = [program("c_host"), program(f"frame_plugin_{kind}.so")]
        plain = subprocess.run(argv, stdout=subprocess.PIPE, check=True)
        out, _, _ = traced(argv, read=False)
        if out != plain.stdout or out.count(b"caught 400\n") != 2:
            raise AssertionError(f"{kind}: {out} {plain.stdout}")


@test
def frames_that_only_files_know():
    """libunwind, unless built for it, does not read .debug_frame."""
    for name, most in (("debug_frame", 5), ("debug_frame_library", 3)):
        path = program(name)
        with tempfile.TemporaryDirectory(prefix="memprof-unwind-") as directory:
            env = environment(directory, MEMORY_PROFILER_VERIFY_UNWIND="1",
                              MEMORY_PROFILER_LOG="info")
            stderr = subprocess.run([path, "100"], env=env, check=True,
                                    stderr=subprocess.PIPE, text=True).stderr
        out = subprocess.run(["nm", "-n", "--defined-only", path], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
        table = [line.split() for line in out.splitlines()]
        starts = [(int(t[0], 16), t[2]) for t in table if len(t) == 3]
        names = set()
        for frames in re.findall(r"ours, .*frames: (.*)", stderr):
            found = []
            for pc in (int(word, 16) - 1 for word in frames.split()):
                below = [symbol for start, symbol in starts if start <= pc]
                if below and pc < 0x1000000:
                    found.append(below[-1])
            names.add(tuple(found[:most]))
        want = ("inner", "middle", "middle_outer", "outer", "main")
        if most == 3:
            want = ("inner", "outer", "main")
        if "left to libunwind" in stderr:
            raise AssertionError(stderr[-2000:])
        if count(stderr, "different") and names != {want}:
            raise AssertionError(f"{names}: {stderr[-2000:]}")
        print(f"     {names}", flush=True)


@test
def many_threads():
    compare([program("many_threads"), "2000"], 200000)


@test
def first_stack_of_a_thread():
    """What one thread has learnt serves all others: nothing is made ready for
    a thread, neither for one that has another's place nor for a further one."""
    for together, most in (("0", 4), ("1", 16)):
        faults = {}
        for own in ("0", "1"):
            _, lines, _ = traced([program("first_stack"), "40", together],
                                 read=False,
                                 MEMORY_PROFILER_USE_SHADOW_STACK=own)
            faults[own] = int(lines[0].split()[1])
        print(f"     {faults['1']} pages, libunwind {faults['0']}", flush=True)
        if faults["1"] > most or faults["0"] < faults["1"] + 32:
            raise AssertionError(faults)


@test
def coroutines():
    for build in ("0", "2", "fp"):
        for against in ("libunwind", "libgcc"):
            compare([program("fibers_" + build), "8", "2"], 300000, against)


def check_chain(names, calls):
    """From the outside in each calls the next, until it is no function of the
    program's own, which the handler interrupted, or the end."""
    if "main" not in names:
        return False
    names = names[:names.index("main") + 1]
    own = [name for name in names if name in calls]
    return own == names[len(names) - len(own):] and all(
        callee in calls[caller] for callee, caller in zip(own, own[1:]))


@test
def every_instruction():
    """A trap after each: prologues, epilogues, the PLT and lazy binding."""
    for build in ("0", "1", "2", "fp"):
        compare([program("every_instruction_" + build), "2"], 5000,
                left_limit=0.6)
        _, lines, trace = traced([program("every_instruction_" + build), "2"])
        calls = {"leaf": [], "library": [], "set_trap": []}
        for line in lines:
            words = line.split()
            if words[0] == "calls":
                calls.setdefault(words[1], []).extend(words[2:])
        wrong, seen = [], 0
        for event in trace.events:
            if event.kind != "mmap" or event.size != 3 * 4096:
                continue
            # Inside lie the handler and the trampoline; the third frame is
            # an instruction, where all others are what follows a call.
            names = [function_of(trace, pc + (i == 2), event.tick)
                     for i, pc in enumerate(reversed(event.stack))]
            seen += 1
            if names[0] != "on_trap" or not check_chain(names[2:], calls):
                wrong.append(names)
        mapped = int(lines[0].split()[1])
        print(f"     {seen} stacks of {mapped} instructions, {len(wrong)} "
              "wrong", flush=True)
        if seen < mapped * 0.9 or len(wrong) > 0:
            raise AssertionError(wrong[:5])


@test
def symbols_of_the_program():
    """Functions by the names of the tracer's libraries' are the program's."""
    for settings in ({}, {"MEMORY_PROFILER_USE_SHADOW_STACK": "0"},
                     {"MEMORY_PROFILER_VERIFY_UNWIND": "libunwind"},
                     {"MEMORY_PROFILER_VERIFY_UNWIND": "libgcc"}):
        _, lines, _ = traced([program("own_symbols"), "50000"], read=False,
                             **settings)
        if not lines:
            raise AssertionError(settings)


@test
def libunwind_of_the_program():
    """The tracer's and the program's are two, each with its own caches."""
    plain = subprocess.run([program("own_unwind")], stdout=subprocess.PIPE,
                           check=True)
    for settings in ({}, {"MEMORY_PROFILER_USE_SHADOW_STACK": "0"}):
        out, lines, _ = traced([program("own_unwind")], read=False, **settings)
        if out != plain.stdout or lines != ["maps 1"]:
            raise AssertionError((settings, out, plain.stdout, lines))
    compare([program("own_unwind")], 40000)


@test
def libunwind_is_inside():
    """Its stacks need no file of its own, nor one that it depends on."""
    with tempfile.TemporaryDirectory(prefix="memprof-unwind-") as directory:
        env = environment(directory, MEMORY_PROFILER_VERIFY_UNWIND="libunwind",
                          MEMORY_PROFILER_LOG="info")
        script = "while read -r line; do echo $line; done </proc/self/maps"
        p = subprocess.run(["sh", "-c", script], env=env, check=True,
                           capture_output=True, text=True)
    judge(p.stderr, 1)
    if "libmemprof" not in p.stdout or "using libgcc" in p.stderr or \
            "libunwind" in p.stdout or "lzma" in p.stdout:
        raise AssertionError(p.stdout + p.stderr)


@test
def functions_that_must_not_be_called():
    """Those that lock what an allocation inside them would wait for."""
    out = subprocess.run(["nm", "-D", "--undefined-only", LIBRARY],
                         stdout=subprocess.PIPE, check=True, text=True).stdout
    used = {line.split()[-1].split("@")[0] for line in out.splitlines()}
    bad = used & {"pthread_getattr_np", "pthread_attr_getstack", "backtrace",
                  "malloc", "calloc", "realloc", "free", "printf", "fprintf"}
    if bad or "dlsym" not in used:
        raise AssertionError(bad)


@test
def rust():
    compare([program("panics")], 50000)


@test
def perl():
    script = ("my %h; for my $i (1..20000) { $h{$i} = [$i, 'x' x ($i % 50)];"
              " delete $h{$i - 100} } sub f { my $n = shift;"
              " $n ? 1 + f($n - 1) : 0 } f(500)")
    compare([need("perl"), "-e", script], 50000)


@test
def node():
    script = ("const z = require('zlib'); let s = 0;"
              "function f(n) { return n ? f(n - 1) + 1 :"
              " z.deflateSync(Buffer.alloc(500, n)).length }"
              "for (let i = 0; i < 2000; i++) s += f(i % 30);"
              "console.log(s)")
    compare([need("node"), "-e", script], 50000)


@test
def java_version():
    compare([need("java"), "-version"], 1000)


@test
def java_threads():
    program("Threads.class")
    compare([need("java"), "-cp", PROGRAMS, "Threads"], 100000)


@test
def node_under_load():
    """V8's deoptimizer takes the frame that rbp points to off the stack, some
    30 to 50 times while the program warms up, however long it runs."""
    compare([need("node"), "load.js", LOAD_SECONDS], 50000, cwd=WORKLOADS,
            limit=1e-4)


@test
def java_under_load():
    """On a busy machine libunwind ends at one place of generated code some 6 to
    18 times; ours goes on from there to the thread's start."""
    program("Load.class")
    compare([need("java"), "-cp", PROGRAMS, "Load", LOAD_SECONDS], 50000,
            limit=1e-4)


@test
def sqlite():
    script = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
              " WHERE i < 20000) SELECT sum(length(hex(i) || printf('%d', i)))"
              " FROM n;")
    compare([need("sqlite3"), ":memory:", script], 10000)


@test
def python():
    code = "import json; json.loads(json.dumps([{'a': i} for i in range(50000)]))"
    compare([sys.executable, "-c", code], 200000,
            env={"PYTHONMALLOC": "malloc"})


@test
def compiler():
    cc1plus = subprocess.run(["g++", "-print-prog-name=cc1plus"], check=True,
                             stdout=subprocess.PIPE, text=True).stdout.strip()
    if not os.path.exists(cc1plus):
        raise Skip("cc1plus")
    source = "templates.cpp" if FULL else None
    text = None if source else b"#include <map>\n#include <string>\n" \
        b"int main() { return std::map<std::string, int>().size(); }\n"
    with tempfile.TemporaryDirectory() as directory:
        output = os.path.join(directory, "t.ii")
        subprocess.run(["g++", "-E", "-x", "c++", source or "-", "-o", output],
                       input=text, cwd=WORKLOADS, check=True)
        compare([cc1plus, "-quiet", "-O1", "-fpreprocessed", output, "-o",
                 "/dev/null"], 200000)


def accepts(path):
    """Whether a server listens at the socket."""
    with socket.socket(socket.AF_UNIX) as one:
        return one.connect_ex(path) == 0


@test
def redis():
    server, bench = need("redis-server"), need("redis-benchmark")
    with tempfile.TemporaryDirectory(prefix="memprof-unwind-") as directory:
        env = environment(directory, MEMORY_PROFILER_VERIFY_UNWIND="1",
                          MEMORY_PROFILER_LOG="info")
        place = os.path.join(directory, "socket")
        messages = os.path.join(directory, "messages")
        with open(messages, "wb") as log:
            p = subprocess.Popen([server, "--port", "0", "--unixsocket",
                                  place, "--save", "", "--io-threads", "2"],
                                 env=env, cwd=directory, stderr=log,
                                 stdout=subprocess.DEVNULL)
        try:
            wait_for(p, lambda: accepts(place))
            subprocess.run([bench, "-s", place, "-n", "20000", "-q", "-t",
                            "set,get,lpush"], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=PATIENCE,
                           check=True)
        finally:
            p.send_signal(signal.SIGTERM)
            p.wait(PATIENCE)
        with open(messages, errors="replace") as log:
            judge(log.read(), 100000)


if __name__ == "__main__":
    sys.exit(run_tests())
