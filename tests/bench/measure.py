# SPDX-License-Identifier: MIT
"""One run: start a command under programs/watch.c, wait for the last process."""
import os
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field

TIMEOUT_S = 300
KIB = 1024
# Tracers and what steers them must not reach the untraced run.
HIDDEN = ("LD_PRELOAD", "DISPLAY", "WAYLAND_DISPLAY", "DEBUGINFOD_URLS")


@dataclass
class Run:
    """What one run took.  failure: None, or in a few words what went wrong."""
    wall_s: float = 0.0      # until the command ended
    wall_all_s: float = 0.0  # until its last process ended
    cpu_s: float = 0.0       # user and system, all processes
    rss_program: int = 0     # bytes: peak of the program
    rss_all: int = 0         # bytes: sum of the peaks of all processes
    trace_bytes: int = 0
    extra: dict = field(default_factory=dict)
    failure: str = None
    log: str = ""


def clean_environment():
    env = {name: value for name, value in os.environ.items()
           if name not in HIDDEN and not name.startswith("MEMORY_PROFILER_")}
    env["LC_ALL"] = "C"
    return env


def failure_of(wait_status):
    if os.WIFSIGNALED(wait_status):
        return "ended by " + signal.Signals(os.WTERMSIG(wait_status)).name
    status = os.WEXITSTATUS(wait_status)
    return f"exit status {status}" if status else None


def read_watch(path, program):
    """The lines of watch.c as a Run; @program is the traced executable."""
    run = Run()
    started, peaks, exact = None, {}, {}
    with open(path) as lines:
        for line in lines:
            kind, pid, *rest = line.split(maxsplit=3 if line[0] == "p" else -1)
            if kind == "start":
                started = pid
            elif kind == "peak":
                executable = rest[1].rstrip("\n") if len(rest) > 1 else ""
                peaks[pid] = [int(rest[0]) * KIB, executable]
            else:
                status, cpu_us, maxrss_kib, wall_ns = map(int, rest)
                run.cpu_s += cpu_us / 1e6
                run.wall_all_s = wall_ns / 1e9
                exact[pid] = maxrss_kib * KIB
                if pid == started:
                    run.wall_s = wall_ns / 1e9
                    run.failure = failure_of(status)
    if not exact:
        run.failure = "nothing was run"
        return run
    # Samples are a little early; the kernel's maximum is that of the largest.
    peaks.setdefault(started, [exact.get(started, 0), program])
    largest = max(peaks, key=lambda pid: peaks[pid][0])
    peaks[largest][0] = max(peaks[largest][0], max(exact.values()))
    run.rss_all = sum(peak for peak, _ in peaks.values())
    run.rss_program = max((peak for peak, executable in peaks.values()
                           if executable == program), default=0)
    return run


def trace_size(folder):
    """Files named trace.* that the run has left."""
    return sum(entry.stat().st_size for entry in os.scandir(folder)
               if entry.name.startswith("trace."))


def stop(process):
    """Ends the run: watch.c kills what is below it."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def run_case(tools, work, workload, case, keep=None):
    """Runs @workload under @case once, in a folder of its own below @work.

    keep(folder), if given, is called before the folder is removed."""
    folder = tempfile.mkdtemp(prefix="run-", dir=work)
    env = dict(clean_environment(), **workload.env, **case.env)
    command = case.command(folder, workload.command)
    log = os.path.join(folder, "log")
    watched = os.path.join(folder, "watch")
    extra, failure = {}, None
    try:
        with open(log, "w") as output:
            process = subprocess.Popen(
                [os.path.join(tools, "watch"), watched,
                 str(case.address_space_bytes), *command],
                cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True)
        try:
            if workload.load:
                extra = workload.load(folder, process)
            process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            failure = f"not finished after {TIMEOUT_S} s"
        except OSError as error:
            failure = str(error)
        finally:
            if process.poll() is None:
                stop(process)
        run = read_watch(watched, os.path.realpath(workload.command[0]))
        with open(log, errors="replace") as text:
            run.log = text.read()
        run.extra = extra
        run.trace_bytes = trace_size(folder)
        run.failure = failure or case.failure(run.log) or run.failure
        if keep and not run.failure:
            keep(folder)
        return run
    finally:
        shutil.rmtree(folder, ignore_errors=True)
