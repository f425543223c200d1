# SPDX-License-Identifier: MIT
"""What the tests of the tracer share: programs are run, traced, compared.

The tests' own arguments are BUILD_DIR, the directory of the programs, and
names of tests, or none for all.
"""
import bisect
import copy
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from dump_trace import Trace

BUILD, PROGRAMS = sys.argv[1], sys.argv[2]
LIBRARY = os.path.join(BUILD, "libmemprof.so")
RECORD = os.path.join(BUILD, "memprof-record")
TESTS = []
SKIPPED = []

PATIENCE = 300  # seconds for what happens at once unless the machine is busy

LIVE_HELPER = 32  # where PATH.live names the process that writes

EXIT, SIGNALLED, CONTINUED, STOPPED = 1, 5, 8, 9  # how a trace ends


def test(function):
    TESTS.append(function)
    return function


class Skip(Exception):
    """The machine lacks something."""


def check(condition, *what):
    if not condition:
        raise AssertionError(" ".join(str(w) for w in what))


def check_equal(got, want, what=""):
    check(got == want, f"{what}: got {got!r}, want {want!r}")


class Run:
    """One traced run: status, output, truth and trace."""

    def __init__(self, argv, env=None, record=False, options=(), traced=True,
                 keep_stacks=True, output=None, preload=(), must_trace=True,
                 address_space=None):
        self.dir = tempfile.mkdtemp(prefix="memprof-test-")
        self.path = output or os.path.join(self.dir, "trace.dat")
        if not os.path.isabs(argv[0]) and "/" not in argv[0]:
            own = os.path.join(PROGRAMS, argv[0])
            if os.path.exists(own):
                argv = [own] + argv[1:]
        full = {k: v for k, v in os.environ.items()
                if not k.startswith("MEMORY_PROFILER_")}
        full.update(env or {})
        reader, writer = os.pipe()
        os.set_inheritable(writer, True)
        if writer < 200:
            high = 200
            os.dup2(writer, high, inheritable=True)
            os.close(writer)
            writer = high
        full["MEMPROF_TRUTH_FD"] = str(writer)
        if record:
            argv = [RECORD, "-o", self.path, *options, "--", *argv]
        elif traced:
            full["LD_PRELOAD"] = " ".join([LIBRARY, *preload])
            full["MEMORY_PROFILER_OUTPUT"] = self.path
        p = subprocess.Popen(argv, env=full, pass_fds=[writer],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             cwd=self.dir,
                             preexec_fn=address_space and (
                                 lambda: resource.setrlimit(
                                     resource.RLIMIT_AS,
                                     (address_space, address_space))))
        os.close(writer)
        self.pid = p.pid
        self.stdout, self.stderr = p.communicate(timeout=PATIENCE)
        self.status = p.returncode
        with os.fdopen(reader, "rb") as f:
            self.truth = f.read().decode().splitlines()
        self.trace = None
        if traced and must_trace:
            check(os.path.exists(self.path), "no trace;", self.stderr.decode())
            await_writer(self.path)
            self.trace = Trace(self.path, keep_stacks)

    def sizes(self):
        return [ev.size for ev in self.trace.events
                if ev.kind in ("malloc", "calloc", "memalign", "new")]

    def only_end(self, how, status):
        check_equal(len(self.trace.ends), 1, "END chunks")
        check_equal((self.trace.ends[0]["how"], self.trace.ends[0]["status"]),
                    (how, status), "END")

    def clean_order(self):
        twice, unknown, live = self.trace.check_order()
        check(not twice, "allocated twice:", twice[:3])
        check(not unknown, "unknown freed:", unknown[:3])
        return live

    def no_live_file(self):
        check(not os.path.exists(self.path + ".live"), ".live was left")

    def done(self):
        shutil.rmtree(self.dir, ignore_errors=True)


def await_writer(path):
    """The process beside a program outlives it by the chunk that it is at."""
    try:
        with open(path + ".live", "rb") as f:
            page = f.read(4096)
    except OSError:
        return
    helper, = struct.unpack_from("<I", page, LIVE_HELPER)
    check(not helper or is_gone(helper), "it still writes", path)


def is_gone(pid):
    """Whether the process ends by itself."""
    started = time.monotonic()
    while time.monotonic() - started < PATIENCE:
        try:
            with open(f"/proc/{pid}/stat") as f:
                if f.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.005)
    return False


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(word) for word in f.read().split()]


def wait_for(process, condition):
    """Waits, while the process lives, until something is true."""
    started = time.monotonic()
    while not condition():
        check(process.poll() is None, "it has ended:", process.returncode)
        check(time.monotonic() - started < PATIENCE, "it never comes")
        time.sleep(0.0002)


def read_progress(path):
    """Blocks that each thread of programs/sequence.c has had, from its file,
    which may be empty at first."""
    with open(path, "rb") as f:
        return struct.unpack("<64Q", f.read() or bytes(64 * 8))


def start_sequence(path, threads, has_begun, env, pause_us=0):
    """Starts programs/sequence.c under the launcher; path.n counts its blocks.
    Return: the launcher and its child's id, once it has begun."""
    p = subprocess.Popen([RECORD, "-q", "-o", path, "--",
                          os.path.join(PROGRAMS, "sequence"), path + ".n",
                          str(threads), "100000000", str(pause_us)],
                         env=dict(os.environ, **env), stderr=subprocess.PIPE)
    wait_for(p, lambda: os.path.exists(path + ".n") and has_begun())
    return p, children_of(p.pid)[0]


def check_sequence(traces, progress, what):
    """Every block of every thread of sequence is there, once and in its order.
    A thread that is killed may have one more than it has counted."""
    sizes = {}
    for trace in traces:
        for ev in trace.events:
            if ev.kind == "malloc" and ev.size >= 1000 and ev.thread > 1:
                sizes.setdefault(ev.size // 1000 - 1, []).append(ev.size % 1000)
    for t, count in enumerate(progress):
        got = sizes.get(t, [])
        check(count <= len(got) <= count + 1, what, "thread", t, len(got),
              count)
        check(got == [i % 1000 for i in range(len(got))], what, "thread", t)


def later(run, number=1):
    """The same run with another one of its pieces."""
    other = copy.copy(run)
    other.path = f"{run.path}.{number}"
    other.trace = Trace(other.path)
    return other


SYMBOLS = {}


def function_of(trace, pc, tick):
    module = trace.find_module(pc, tick)
    if not module or not os.path.exists(module["path"]):
        return None
    path = module["path"]
    if path not in SYMBOLS:
        out = subprocess.run(["nm", "-n", "--defined-only", path],
                             capture_output=True, text=True).stdout
        table = [line.split() for line in out.splitlines()]
        SYMBOLS[path] = [(int(t[0], 16), t[2]) for t in table if len(t) == 3]
    table = SYMBOLS[path]
    i = bisect.bisect_right(table, (pc - 1 - module["bias"], "\xff")) - 1
    return table[i][1] if i >= 0 else None


def names(run, ev):
    return [function_of(run.trace, pc, ev.tick) for pc in reversed(ev.stack)]


def truth_events(run):
    want = []
    for line in run.truth:
        word = line.split()
        if word[0] == "free":
            want.append(("free", int(word[1], 16)))
        elif word[0] in ("malloc", "calloc", "memalign"):
            addr = int(word[1], 16) if word[1] != "(nil)" else 0
            want.append((word[0], addr, int(word[2])))
        elif word[0] == "realloc":
            want.append(("realloc", int(word[1], 16), int(word[2], 16),
                         int(word[3])))
        elif word[0] in ("mmap", "munmap"):
            want.append((word[0], int(word[1], 16), int(word[2])))
        elif word[0] == "mremap":
            want.append(("mremap", int(word[1], 16), int(word[2], 16),
                         int(word[3])))
        elif word[0] == "mallopt":
            want.append(("mallopt", tuple(int(w) for w in word[1:])))
    return want


def as_truth(ev):
    if ev.kind in ("malloc", "calloc", "memalign", "mmap", "munmap"):
        return (ev.kind, ev.addr, ev.size)
    if ev.kind == "free":
        return ("free", ev.addr)
    if ev.kind in ("realloc", "mremap"):
        return (ev.kind, ev.old, ev.addr, ev.size)
    if ev.kind == "mallopt":
        return ("mallopt", ev.fields)
    return None


def is_subsequence(want, got):
    it = iter(got)
    for w in want:
        if not any(g == w for g in it):
            return w
    return None


def run_alone(function):
    """Runs one test.  Its files, and those of its runs, are in a directory of
    their own, which stays only where it fails: then that is said."""
    outer = tempfile.tempdir
    tempfile.tempdir = tempfile.mkdtemp(prefix="memprof-test-")
    os.chmod(tempfile.tempdir, 0o711)  # programs may run as another user
    has_failed = False
    try:
        function()
    except Skip:
        raise
    except Exception:
        has_failed = bool(os.listdir(tempfile.tempdir))
        if has_failed:
            print("kept", tempfile.tempdir)
        raise
    finally:
        if not has_failed:
            shutil.rmtree(tempfile.tempdir, ignore_errors=True)
        tempfile.tempdir = outer


def run_tests():
    wanted = sys.argv[3:]
    passed = failed = 0
    # As an interrupt by the keyboard: no Exception, but what is open is closed.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    for function in TESTS:
        name = function.__name__
        if wanted and name not in wanted:
            continue
        started = time.time()
        try:
            run_alone(function)
        except Skip as skip:
            SKIPPED.append(f"{name} ({skip})")
        except Exception as error:  # a test must not hide the others
            failed += 1
            print(f"FAIL {name}: {type(error).__name__}: {error}"
                  f" ({time.time() - started:.1f} s)")
            if os.environ.get("V"):
                raise
        else:
            passed += 1
            print(f"ok   {name} {time.time() - started:.1f} s")
        sys.stdout.flush()
    if SKIPPED:
        print("skipped:", ", ".join(SKIPPED))
    tail = f", {len(SKIPPED)} skipped" if SKIPPED else ""
    print(f"{passed} passed, {failed} failed{tail}")
    return 1 if failed else 0
